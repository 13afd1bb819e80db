//! Measured calls beside predictions: the nearest configuration, and whether the predicted range contains the
//! measured mean.
//!
//! Calls are grouped by the place of the grace-period thread after them, if that is known: each group is
//! compared with the predictions for its place. On a machine that was idle during the measurement only idle
//! configurations count. A range is extended by the 2.5 % by which the model may be off (`docs/model.md`).
//!
//! A measurement outside the range is a finding about the model, not about this machine; the command does not
//! fail.

use super::calls::Call;
use super::predict::{self, Prediction, ThreadPlace, in_ticks};
use quiescent_report::rows::stats;
use quiescent_sim::Options;

/// On an idle machine no CPU is busy for a larger share of the time: the caller and RCU's own threads use a
/// little.
pub const IDLE: f64 = 0.05;

/// The largest error of a mean, as in the model's own experiments.
const ALLOWED: f64 = 0.025;

/// The calls of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The place of the thread; none if that is not known.
    pub place: Option<ThreadPlace>,
    /// The durations of the calls, in µs.
    pub us: Vec<f64>,
}

impl Group {
    /// Their mean, in µs.
    pub fn mean_us(&self) -> f64 {
        stats::mean(&self.us).unwrap_or(0.0)
    }

    /// Does a prediction apply to these calls?
    pub fn has(&self, place: ThreadPlace) -> bool {
        self.place.is_none_or(|own| own == place)
    }
}

/// Groups calls by the thread's place, those on another CPU first.
pub fn groups(calls: &[Call]) -> Vec<Group> {
    let is_known = calls.iter().all(|it| it.thread.is_some());
    let place = |call: &Call| match call.thread == Some(call.cpu) {
        _ if !is_known => None,
        true => Some(ThreadPlace::Same),
        false => Some(ThreadPlace::Other),
    };
    let [other, same] = ThreadPlace::ALL.map(Some);
    let groups = [None, other, same].map(|of| {
        let us = calls.iter().filter(|it| place(it) == of);
        let us = us.map(|it| it.us).collect();
        Group { place: of, us }
    });
    groups.into_iter().filter(|it| !it.us.is_empty()).collect()
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// The smallest mean that was predicted for these calls, in µs.
    pub lowest_us: f64,
    /// The largest.
    pub highest_us: f64,
    /// The mean that was measured.
    pub measured_us: f64,
    /// Calls with as many ticks as a call of a matching prediction.
    pub as_predicted: usize,
    /// For each group the index of the nearest prediction.
    pub nearest: Vec<usize>,
}

impl Verdict {
    /// Does the range contain the measured mean?
    pub fn inside(&self) -> bool {
        let (low, high) = (self.lowest_us, self.highest_us);
        (low * (1.0 - ALLOWED)..=high * (1.0 + ALLOWED)).contains(&self.measured_us)
    }

    /// The distance from the range, as a share of its nearer end; 0 inside.
    pub fn off(&self) -> f64 {
        match self.inside() {
            true => 0.0,
            false if self.measured_us < self.lowest_us => self.measured_us / self.lowest_us - 1.0,
            false => self.measured_us / self.highest_us - 1.0,
        }
    }
}

/// Can a prediction apply to these calls, on a machine whose busiest CPU was busy for this share of the time?
fn fits(prediction: &Prediction, group: &Group, busiest: Option<f64>) -> bool {
    let is_idle = busiest.is_some_and(|it| it < IDLE);
    group.has(prediction.place) && (!is_idle || prediction.load == predict::IDLE)
}

/// Compares groups with predictions for this machine; none if there is nothing to compare.
pub fn verdict(
    groups: &[Group],
    predictions: &[Prediction],
    busiest: Option<f64>,
    options: &Options,
) -> Option<Verdict> {
    let calls: usize = groups.iter().map(|it| it.us.len()).sum();
    let mut verdict = Verdict::default();
    for group in groups {
        let share = group.us.len() as f64 / calls as f64;
        let all = predictions.iter().enumerate();
        let own: Vec<_> = all.filter(|it| fits(it.1, group, busiest)).collect();
        let means = own.iter().map(|it| it.1.mean_us);
        let off = |it: &Prediction| (it.mean_us / group.mean_us() - 1.0).abs();
        let nearest = own.iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
        verdict.nearest.push(nearest.0);
        let is_predicted = |ticks: u64| own.iter().any(|it| it.1.ticks.contains_key(&ticks));
        let ticks = in_ticks(&group.us, options).into_iter();
        let predicted = ticks.filter(|it| is_predicted(it.0));
        verdict.as_predicted += predicted.map(|it| it.1 as usize).sum::<usize>();
        verdict.lowest_us += share * means.clone().fold(f64::INFINITY, f64::min);
        verdict.highest_us += share * means.fold(0.0, f64::max);
        verdict.measured_us += share * group.mean_us();
    }
    (calls > 0).then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(us: f64, cpu: u32, thread: Option<u32>) -> Call {
        Call {
            us,
            cpu,
            thread,
            gap_us: 0.0,
        }
    }

    fn prediction(place: ThreadPlace, load: &'static str, mean_us: f64) -> Prediction {
        Prediction {
            place,
            load,
            ways: vec![["classic", "parallel"].map(String::from)],
            mean_us,
            waits: 1.0,
            ticks: [((mean_us / 4_000.0).round() as u64, 1)].into(),
        }
    }

    #[test]
    fn calls_are_held_against_predictions_for_their_own_place() {
        let calls = [
            call(8_000.0, 0, Some(1)),
            call(4_000.0, 1, Some(1)),
            call(9_000.0, 1, Some(0)),
        ];
        let groups = groups(&calls);
        assert_eq!(groups[0].us, [8_000.0, 9_000.0]);
        assert_eq!(groups[1].us, [4_000.0]);
        let predictions = [
            prediction(ThreadPlace::Other, predict::IDLE, 8_500.0),
            prediction(ThreadPlace::Other, "another CPU busy", 17_000.0),
            prediction(ThreadPlace::Same, predict::IDLE, 4_000.0),
        ];
        let options = Options::kernel_6_12(2, 250);
        let of_idle = verdict(&groups, &predictions, Some(0.01), &options).unwrap();
        assert_eq!(of_idle.nearest, [0, 2]);
        for end in [of_idle.lowest_us, of_idle.highest_us] {
            assert!((end - 7_000.0).abs() < 1e-6, "{end}");
        }
        assert!(of_idle.inside());
        assert_eq!(of_idle.as_predicted, 3);
        let of_any = verdict(&groups, &predictions, None, &options).unwrap();
        assert!(of_any.highest_us > 12_000.0 && of_any.lowest_us < 7_001.0);
    }

    #[test]
    fn a_miss_is_called_outside() {
        let groups = groups(&[call(12_000.0, 0, None)]);
        assert_eq!(groups[0].place, None, "the thread's place is unknown");
        let predictions = [
            prediction(ThreadPlace::Same, predict::IDLE, 8_000.0),
            prediction(ThreadPlace::Other, predict::IDLE, 10_000.0),
        ];
        let options = Options::kernel_6_12(2, 250);
        let found = verdict(&groups, &predictions, None, &options).unwrap();
        assert!(!found.inside() && (found.off() - 0.2).abs() < 1e-9);
        assert_eq!(
            (found.nearest.as_slice(), found.as_predicted),
            (&[1][..], 1)
        );
        assert_eq!(verdict(&[], &predictions, None, &options), None);
        assert_eq!(verdict(&groups, &[], None, &options), None);
    }
}

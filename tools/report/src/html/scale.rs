//! From figures to places: a scale maps a figure to a share of an axis, 0 at its start and 1 at its end.
//!
//! The figures decide whether it is linear: if the largest is more than [`WIDE`] times the smallest, small
//! ones would be invisible on a linear scale. A logarithmic scale has no 0, so zeros are at its start; the
//! chart prints the figure beside the bar, and the kind of scale at the axis.

/// From this ratio of the largest figure to the smallest on, a scale is logarithmic.
pub const WIDE: f64 = 40.0;

/// Figures below this share of the largest are at the start of a logarithmic scale: a zero with a rounding
/// error would otherwise take most of the axis.
const DEEPEST: f64 = 1e-5;

/// The largest number of labelled ticks of an axis: more do not fit on a phone.
const TICKS: usize = 5;

/// The map from figures to places on an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// For bars: from 0 to the largest figure, or logarithmic from a power of ten below the smallest figure
    /// above 0. `None` without a figure that is finite and not negative.
    pub fn from_zero(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::linear_or_log(figures, WIDE)
    }

    /// As [`Scale::from_zero`], and always linear.
    pub fn linear(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::linear_or_log(figures, f64::INFINITY)
    }

    /// The same scale, extended to this figure if it ended before it.
    pub fn up_to(self, figure: f64) -> Self {
        match figure.is_finite() {
            true => Scale {
                high: self.high.max(figure),
                ..self
            },
            false => self,
        }
    }

    fn linear_or_log(figures: impl IntoIterator<Item = f64>, wide: f64) -> Option<Self> {
        let mut most = None;
        let mut least: Option<f64> = None;
        for figure in figures
            .into_iter()
            .filter(|it| it.is_finite() && *it >= 0.0)
        {
            most = Some(figure.max(most.unwrap_or(0.0)));
            if figure > 0.0 {
                least = Some(figure.min(least.unwrap_or(figure)));
            }
        }
        let most = most?;
        Some(match least {
            None => Scale::new(0.0, 1.0, false),
            // A margin, so that the shortest bar is visible.
            Some(least) if most / least > wide => {
                let least = least.max(DEEPEST * most);
                Scale::new(power_below(0.7 * least), most, true)
            }
            Some(_) => Scale::new(0.0, most, false),
        })
    }

    /// For points: from a little below the smallest figure to a little above the largest. `None` without a
    /// finite one.
    pub fn around(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut ends: Option<(f64, f64)> = None;
        for figure in figures.into_iter().filter(|it| it.is_finite()) {
            let (low, high) = ends.unwrap_or((figure, figure));
            ends = Some((low.min(figure), high.max(figure)));
        }
        let (low, high) = ends?;
        if low > 0.0 && high / low > WIDE {
            return Some(Scale::new(low / 1.2, high * 1.2, true));
        }
        let pad = match high - low {
            0.0 => (0.05 * high.abs()).max(1e-6),
            width => 0.06 * width,
        };
        Some(Scale::new(low - pad, high + pad, false))
    }

    fn new(low: f64, high: f64, log: bool) -> Self {
        Scale { low, high, log }
    }

    /// Is it logarithmic?
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Its ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The place of a figure; figures beyond an end are at that end, and a NaN is at the start.
    pub fn at(&self, figure: f64) -> f64 {
        let share = match self.log {
            true if figure <= 0.0 => 0.0,
            true => (figure / self.low).ln() / (self.high / self.low).ln(),
            false => (figure - self.low) / (self.high - self.low),
        };
        if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// The places of labelled ticks, in order.
    pub fn ticks(&self) -> Vec<f64> {
        match self.log {
            true => self.powers(),
            false => self.steps(),
        }
    }

    /// Powers of ten, or every second or third of them where there are many; where there is at most one,
    /// steps of 1, 2, 5.
    fn powers(&self) -> Vec<f64> {
        // A power of ten, written as one, may differ from the least tick by a rounding error.
        let first = (self.low.log10() - 1e-9).ceil() as i32;
        let last = (self.high.log10() + 1e-9).floor() as i32;
        let every = ((last - first) as usize / TICKS + 1).max(1);
        (first..=last)
            .step_by(every)
            .map(|power| 10f64.powi(power))
            .collect()
    }

    fn steps(&self) -> Vec<f64> {
        let raw = (self.high - self.low) / (TICKS - 1) as f64;
        let power = power_below(raw);
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|it| it * power)
            .find(|step| *step >= raw)
            .unwrap_or(10.0 * power);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

fn power_below(figure: f64) -> f64 {
    10f64.powi(figure.log10().floor() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero_unless_the_range_is_wide() {
        let near = Scale::from_zero([5.0, 20.0]).unwrap();
        assert_eq!(
            (near.at(0.0), near.at(5.0), near.at(20.0)),
            (0.0, 0.25, 1.0)
        );
        assert!(!near.is_log());
        let wide = Scale::from_zero([0.02, 20.0, 0.0]).unwrap();
        assert!(wide.is_log());
        assert_eq!((wide.at(0.0), wide.at(20.0)), (0.0, 1.0));
        assert!(wide.at(0.02) > 0.0, "the shortest bar can be seen");
        assert!(wide.at(0.2) > wide.at(0.02) && wide.at(0.2) < wide.at(2.0));
        assert!(!Scale::linear([0.02, 20.0]).unwrap().is_log());
        assert_eq!(near.up_to(40.0).at(20.0), 0.5);
        assert_eq!(near.up_to(1.0).up_to(f64::NAN), near);
    }

    #[test]
    fn nothing_but_zeros_and_nothing_at_all() {
        let zeros = Scale::from_zero([0.0, 0.0]).unwrap();
        assert_eq!((zeros.at(0.0), zeros.ticks()[0]), (0.0, 0.0));
        assert_eq!(Scale::from_zero([]), None);
        assert_eq!(Scale::from_zero([f64::NAN, -1.0]), None);
        assert_eq!(Scale::around([f64::INFINITY]), None);
    }

    #[test]
    fn points_are_inside_even_when_there_is_one() {
        for figures in [&[7.0][..], &[0.0], &[1.0, 2.0], &[1.0, 1e6], &[-3.0, 3.0]] {
            let scale = Scale::around(figures.iter().copied()).unwrap();
            for figure in figures {
                let at = scale.at(*figure);
                assert!(at > 0.0 && at < 1.0, "{figures:?}: {figure} at {at}");
            }
        }
    }

    #[test]
    fn ticks_are_few_inside_and_round() {
        for (low, high) in [
            (0.0, 1.0),
            (0.97, 1.031),
            (0.0, 47.0),
            (0.002, 9e6),
            (3.0, 2e4),
        ] {
            for scale in [Scale::from_zero([low, high]), Scale::around([low, high])] {
                let scale = scale.unwrap();
                let ticks = scale.ticks();
                assert!(
                    (2..=TICKS + 1).contains(&ticks.len()),
                    "{low}..{high}: {ticks:?}"
                );
                let (first, last) = scale.ends();
                let slack = 1e-9 * last.abs();
                for tick in &ticks {
                    assert!(*tick >= first - slack && *tick <= last + slack, "{ticks:?}");
                }
                assert!(ticks.is_sorted());
            }
        }
        assert_eq!(
            Scale::from_zero([0.0, 47.0]).unwrap().ticks(),
            [0.0, 20.0, 40.0]
        );
        assert_eq!(
            Scale::from_zero([0.05, 90.0]).unwrap().ticks(),
            [0.01, 0.1, 1.0, 10.0]
        );
    }

    #[test]
    fn what_is_beyond_an_end_is_at_the_end() {
        let scale = Scale::from_zero([10.0]).unwrap();
        assert_eq!(
            (scale.at(20.0), scale.at(-5.0), scale.at(f64::NAN)),
            (1.0, 0.0, 0.0)
        );
    }
}

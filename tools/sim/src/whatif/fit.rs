//! Chooses the recorded machine among those that a trace cannot distinguish: the one whose replay comes
//! nearest.
//!
//! A trace often does not show whether CPUs execute at the same time, when an idle CPU's tick stops, or, if
//! it has no reports, whether there is an early one, and all have large effects. So every combination of what
//! it does not show replays the trace, and the one whose rates are nearest to the recorded ones is used; all
//! that fit as well, or within [`BAD_FIT`], are kept, since the change may differ on them. That is a *fit*:
//! the column "model as recorded" has chosen some of its own settings, and the output says so. The change is
//! still a prediction. A setting that the user gives is not chosen.

use super::inferred::FEW;
use super::{BAD_FIT, Line, Trace, lines};
use crate::input::options::Options;
use crate::load::settings;

/// Settings that are chosen so where they are not given, and their values.
pub const FITTED: [(&str, [&str; 2]); 3] = [
    ("smp", ["parallel", "serial"]),
    ("idle_loop", ["classic", "retain"]),
    ("early_qs", ["off", "init"]),
];

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The machine that fits best; of several that fit as well, one whose CPUs execute at the same time.
    pub options: Options,
    /// Settings that were chosen so.
    pub chosen: Vec<&'static str>,
    /// Other machines that fit, as well or within [`BAD_FIT`] on average: a change may tell them apart.
    pub alike: Vec<Options>,
}

impl Trace {
    /// The number of runs that [`fitted`](Trace::fitted) makes.
    pub(super) fn fits(&self, given: &[&str]) -> u64 {
        1 << self.free(given).len()
    }

    fn free(&self, given: &[&str]) -> Vec<&'static str> {
        let seen = self.inferred.settings();
        let few = self.figures.ended().count() < FEW as usize;
        let free = FITTED.into_iter().map(|it| it.0);
        free.filter(|it| !given.contains(it) && !seen.contains(it))
            .filter(|it| *it != "early_qs" || !few)
            .collect()
    }

    /// `base` with those of [`FITTED`] that neither `given` names nor the trace tells as they fit best. None
    /// if `stop` said so.
    pub fn fitted(&self, base: &Options, given: &[&str], stop: impl Fn() -> bool) -> Option<Fit> {
        let free = self.free(given);
        let mut all = vec![base.clone()];
        for (key, values) in FITTED.into_iter().filter(|it| free.contains(&it.0)) {
            let with = |it: &Options, value| {
                let mut it = it.clone();
                settings::apply(&mut it, &[(key, value)]).map(|()| it)
            };
            let each = |it| values.iter().filter_map(move |value| with(it, value).ok());
            all = all.iter().flat_map(each).collect();
        }
        let mut tried: Vec<(f64, Options)> = Vec::new();
        for options in all {
            let stats = self.run(&options, 1, &stop)?;
            let off = distance(&lines(self, &stats, &stats));
            tried.push((off, options));
        }
        let rank = |off: f64| (off / (BAD_FIT / 10.0)).floor();
        let least = tried.iter().map(|it| it.0).fold(f64::INFINITY, f64::min);
        let best = tried.iter().position(|it| rank(it.0) <= rank(least))?;
        let (_, options) = tried.remove(best);
        let alike = tried.into_iter();
        let alike = alike.filter(|it| it.0 <= BAD_FIT || rank(it.0) <= rank(least));
        Some(Fit {
            options,
            chosen: free,
            alike: alike.map(|it| it.1).collect(),
        })
    }
}

/// How far rates are off, on average: the logarithm of their ratios, so that half is as far as twice.
/// Candidates count as equal within a tenth of a bad fit.
fn distance(lines: &[Line]) -> f64 {
    let those = lines
        .iter()
        .filter(|it| it.decides || it.metric == "idle_entries_per_s");
    let ratios = those.filter_map(Line::ratio);
    let (sum, n) = ratios.fold((0.0, 0u32), |(sum, n), ratio| {
        (sum + ratio.max(0.01).ln().abs(), n + 1)
    });
    sum / f64::from(n.max(1))
}

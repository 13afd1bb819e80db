//! How much work a replay is, known before it begins.
//!
//! A few lines of a trace can ask for any amount: a step in its times is a window of years, and a window of
//! one jiffy is lived through thousands of times for lazy callbacks. What a run costs is bounded by two
//! numbers: the events that it is fed with, which are all made before it and need memory, and the ticks that
//! its CPUs can have.

use quiescent_report::Error;

use super::{Feed, Trace, doings, feed};
use crate::input::options::Options;

/// The most events that a run is fed with: about 3 GB.
pub const MOST_EVENTS: u64 = 1 << 24;

/// The most ticks of a run: an hour of 55 CPUs at 1000 ticks a second. All of them take minutes.
pub const MOST_TICKS: u64 = 200_000_000;

/// An upper bound on what a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Events that it is fed with.
    pub events: u64,
    /// Ticks of all its CPUs, if none of them idled.
    pub ticks: u64,
    /// Virtual time, in nanoseconds.
    length: u64,
}

impl Trace {
    /// What a run on a machine is, fed so.
    pub fn amount(&self, options: &Options, feed: Feed) -> Amount {
        let it = &self.doings;
        let runs = it.lives.iter().flat_map(|it| &it.runs);
        let steps: usize = runs.map(|it| 1 + it.steps.len()).sum();
        let places = self.recorded.placements.iter().map(|it| it.1.len());
        let moves = places.sum::<usize>() + it.driver.len();
        let once = (steps + it.ticks.len() + it.interrupts.len()).max(1) as u64;
        let events = once.saturating_mul(feed.fed.max(1));
        let moves = (moves as u64).saturating_mul(feed.times.max(1));
        let period = doings::period(&self.recorded);
        let again = period.saturating_mul(feed.times.saturating_sub(1));
        // What the trace begins with is before the window.
        let firsts = it.lives.iter().filter_map(|it| Some(it.runs.first()?.at));
        let window = self.recorded.window;
        let first = firsts.fold(window.start_ns, u64::min);
        let length = (window.end_ns - first).saturating_add(again);
        let ticks = u128::from(length) * u128::from(options.hz) / 1_000_000_000;
        let ticks = ticks * u128::from(options.cpus);
        Amount {
            events: events.saturating_add(moves),
            ticks: u64::try_from(ticks).unwrap_or(u64::MAX),
            length,
        }
    }

    /// Refuses a run that is too much; `file` is the trace's name, `remedy` what makes it less.
    ///
    /// # Errors
    /// [`Error::Usage`] with the amount, where it is from, and the remedy.
    pub fn check_amount(
        &self,
        file: &str,
        options: &Options,
        feed: Feed,
        remedy: &str,
    ) -> Result<(), Error> {
        let it = self.amount(options, feed);
        if it.events <= MOST_EVENTS && it.ticks <= MOST_TICKS {
            return Ok(());
        }
        let window = self.recorded.window;
        let [from, to] = [window.start_ns, window.end_ns].map(|ns| ns as f64 / 1e9);
        let (times, seconds) = (feed.times.max(1), it.length as f64 / 1e9);
        let (what, most) = match it.ticks > MOST_TICKS {
            true => (
                format!(
                    "{} ticks ({seconds:.1} s of {} CPUs at {} ticks a second)",
                    it.ticks, options.cpus, options.hz
                ),
                MOST_TICKS,
            ),
            false => (format!("{} events", it.events), MOST_EVENTS),
        };
        Err(Error::Usage(format!(
            "{file}: its window from {from:.6} s to {to:.6} s, replayed {times} times, is a run of {what}, and \
             {most} is the most; {remedy}"
        )))
    }
}

/// Parts of a run between two checks whether to stop: the steps of its progress.
pub(super) fn slices(trace: &Trace, times: u64) -> u64 {
    let start = trace.recorded.window.start_ns;
    let length = feed::end(&trace.recorded, times).saturating_sub(start);
    length.div_ceil(super::SLICE)
}

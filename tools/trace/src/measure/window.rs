//! The part of a trace that is counted.
//!
//! A window is given, or lies between two marks that the recorder wrote into the trace (`WORKLOAD_START …`
//! and `WORKLOAD_END`, the first of each), or is the whole trace. Both ends belong to it. A trace with marks
//! is read once: at the first mark all counts are reset, and the state (queued callbacks, idle CPUs) is kept.

use crate::{Error, Event, Fault, Faults, Record, Summary, Unit};
use serde::Serialize;

/// What a recorder writes to `trace_marker` when the part to be measured starts.
pub const START_MARK: &str = "WORKLOAD_START";

/// What it writes when that part ends.
pub const END_MARK: &str = "WORKLOAD_END";

/// A span of time of the trace's clock, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its first instant, ns.
    pub start_ns: u64,
    /// Its last.
    pub end_ns: u64,
}

impl Window {
    /// Whether an instant lies in it.
    pub fn contains(&self, time_ns: u64) -> bool {
        (self.start_ns..=self.end_ns).contains(&time_ns)
    }

    /// How long it is, s.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// What set the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// The user's request.
    Given,
    /// [`START_MARK`] and [`END_MARK`] in the trace, or one of them.
    Marks,
    /// None: it is the whole trace.
    Whole,
}

/// Where in the window the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Inside,
    Outside,
    /// At the first mark: what was counted so far does not count.
    Starts,
}

/// Follows the window through the trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    given: Option<Window>,
    start: Option<u64>,
    end: Option<u64>,
    /// The latest time so far, which no later record is before; none in a trace without a unit.
    latest: u64,
    has_unit: bool,
    /// Records that do not follow.
    behind: u64,
    /// Records whose event could not be decoded, or whose time cannot be.
    pub(crate) undecoded: Faults,
}

impl Follow {
    pub(crate) fn new(given: Option<Window>) -> Self {
        Follow {
            given,
            ..Follow::default()
        }
    }

    /// Does the record follow those before it? Otherwise it is counted, and is not to be looked at.
    #[inline(always)]
    pub(crate) fn follows(&mut self, record: &Record<'_>) -> bool {
        let has_unit = record.unit == Unit::Seconds;
        if record.time_ns < self.latest || (self.has_unit && !has_unit) {
            self.undecoded.add(record.line, Fault::Backwards);
            self.behind += 1;
            return false;
        }
        (self.latest, self.has_unit) = (record.time_ns, has_unit);
        true
    }

    /// The next record's event; none if it does not follow, or cannot be decoded, which is counted. Borrowed:
    /// an event is eight words.
    #[inline(always)]
    pub(crate) fn see<'d, 'a>(
        &mut self,
        record: &Record<'a>,
        decoded: &'d Result<Event<'a>, Fault>,
    ) -> Option<&'d Event<'a>> {
        if !self.follows(record) {
            return None;
        }
        let failed = |fault: &Fault| self.undecoded.add(record.line, *fault);
        decoded.as_ref().map_err(failed).ok()
    }

    #[inline(always)]
    pub(crate) fn at(&mut self, record: &Record<'_>, event: &Event<'_>) -> Place {
        if let Some(window) = self.given {
            return if window.contains(record.time_ns) {
                Place::Inside
            } else {
                Place::Outside
            };
        }
        if let Event::Mark { text } = event {
            if self.start.is_none() && self.end.is_none() && text.starts_with(START_MARK) {
                self.start = Some(record.time_ns);
                return Place::Starts;
            }
            if self.end.is_none() && text.starts_with(END_MARK) {
                self.end = Some(record.time_ns);
            }
        }
        if self.end.is_some() {
            Place::Outside
        } else {
            Place::Inside
        }
    }

    /// The start of the counted time, as far as it is known.
    pub(crate) fn start(&self) -> u64 {
        self.given.map(|w| w.start_ns).or(self.start).unwrap_or(0)
    }

    /// What was given, or lies between the marks, as far as a trace with these ends reaches.
    fn asked(&self, first: u64, last: u64) -> Window {
        let asked = self.given.unwrap_or(Window {
            start_ns: self.start.unwrap_or(first),
            end_ns: self.end.unwrap_or(last),
        });
        Window {
            start_ns: asked.start_ns.max(first),
            end_ns: asked.end_ns.min(last),
        }
    }

    /// The window as far as the trace reaches, and who said so; clocks without a unit have one too.
    pub(crate) fn bounds(&self, summary: &Summary) -> Result<(Window, Bounds), Error> {
        let (first, last) = self.ends(summary)?;
        let by = match (self.given, self.start, self.end) {
            (Some(_), ..) => Bounds::Given,
            (None, None, None) => Bounds::Whole,
            _ => Bounds::Marks,
        };
        if let (Some(line), Bounds::Whole) = (summary.headers_at.1, by) {
            // A rate would be over the time between the two.
            return Err(order(summary, line, self.behind));
        }
        let window = self.asked(first, last);
        if window.end_ns < window.start_ns {
            return Err(missing(
                summary,
                "record in the window that was asked for",
                "give --from and --to as times of the trace's own clock",
            ));
        }
        Ok((window, by))
    }

    /// The window, at the end of the trace.
    pub(crate) fn finish(&self, summary: &Summary) -> Result<Window, Error> {
        let (window, _) = self.bounds(summary)?;
        if !is_few(summary.unitless, summary) {
            return Err(missing(
                summary,
                "clock with a unit",
                "record with trace_clock mono or boot: this clock gives no durations",
            ));
        }
        if window.end_ns <= window.start_ns {
            return Err(missing(
                summary,
                "time in its window",
                "give a window whose end is after its start",
            ));
        }
        Ok(window)
    }

    /// The times of the first and the last record, of a trace whose records are in order, but for a few.
    fn ends(&self, summary: &Summary) -> Result<(u64, u64), Error> {
        let count = summary.backwards.max(self.behind);
        if let Some(line) = summary.backwards_at
            && !is_few(count, summary)
        {
            return Err(order(summary, line, count));
        }
        let ends = summary.first_ns.zip(summary.last_ns);
        let (first, last) =
            ends.ok_or_else(|| missing(summary, "record", "give a trace with events in it"))?;
        Ok((first, last.max(self.latest)))
    }
}

/// Records that may be in the names of tasks: one in [`ONE_IN`]. Clocks that disagree make more of them.
pub(crate) fn is_few(count: u64, summary: &Summary) -> bool {
    count.saturating_mul(ONE_IN) <= summary.records
}

/// Of so many records one may be out of order.
const ONE_IN: u64 = 100;

fn order(summary: &Summary, line: u64, count: u64) -> Error {
    Error::Order {
        name: summary.name.clone(),
        line,
        count,
        again: summary.headers_at.1,
    }
}

pub(crate) fn missing(summary: &Summary, what: &'static str, remedy: &'static str) -> Error {
    Error::Missing {
        name: summary.name.clone(),
        what,
        lines: summary.lines,
        remedy,
    }
}

//! Grace periods, followed from `start` to `end`: for the analysis, the figures and the input of a replay.
//!
//! A grace period that is torn (the next one starts before its end, or it leaves the window) has no end.

use crate::{Event, Record};
use serde::Serialize;

/// Waits, or scans, of one grace period: beyond this number it is no trace of a kernel.
const MOST: usize = 4096;

/// A grace period that started in the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GracePeriod {
    /// When it started, ns.
    pub start_ns: u64,
    /// When it ended; `None` if it was running when the trace or the window ended.
    pub end_ns: Option<u64>,
    /// Scans that ended.
    pub scans: u32,
}

impl GracePeriod {
    /// How long it took, ns; `None` if it did not end.
    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.end_ns?.saturating_sub(self.start_ns))
    }
}

/// A grace period that runs, or is over.
#[derive(Debug, Default)]
pub(crate) struct Running {
    pub(crate) start: u64,
    /// When it ended, if it did so in the window.
    pub(crate) end: Option<u64>,
    /// It started in the window.
    pub(crate) inside: bool,
    pub(crate) request: Option<u64>,
    /// The end of the one before, if that counts.
    pub(crate) before: Option<u64>,
    pub(crate) init_done: Option<u64>,
    pub(crate) waits_since: Option<u64>,
    scan_since: Option<u64>,
    pub(crate) waits: Vec<(u64, u64)>,
    pub(crate) scans: Vec<(u64, u64)>,
}

impl Running {
    pub(crate) fn is_whole(&self) -> bool {
        self.inside && self.end.is_some()
    }

    /// As a figure, if it counts.
    pub(crate) fn figure(self) -> Option<GracePeriod> {
        self.inside.then_some(GracePeriod {
            start_ns: self.start,
            end_ns: self.end,
            scans: self.scans.len() as u32,
        })
    }
}

/// Follows grace periods through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    pub(crate) now: Option<Running>,
    requested: Option<u64>,
    ended: Option<u64>,
}

impl Follow {
    /// The window starts.
    pub(crate) fn reset(&mut self) {
        (self.now, self.ended) = (None, None);
    }

    /// The next event; `reported`: the last report of the grace period that runs has come. The grace period
    /// that is over with it, whole or torn.
    #[inline(always)]
    pub(crate) fn see(
        &mut self,
        record: &Record<'_>,
        event: &Event<'_>,
        seen: (bool, bool),
    ) -> Option<Running> {
        match event {
            Event::GracePeriod { .. } | Event::FutureGp { .. } => self.step(record, event, seen),
            _ => None, // nearly all
        }
    }

    fn step(
        &mut self,
        record: &Record<'_>,
        event: &Event<'_>,
        (inside, reported): (bool, bool),
    ) -> Option<Running> {
        let time = record.time_ns;
        let what = match *event {
            Event::GracePeriod { what, .. } => what,
            Event::FutureGp {
                what: "Startleaf", ..
            } if self.now.is_none() => "newreq",
            _ => return None,
        };
        match what {
            "newreq" => {
                self.requested.get_or_insert(time);
            }
            "start" => {
                return self.now.replace(Running {
                    start: time,
                    inside,
                    request: self.requested.take(),
                    before: self.ended.take(),
                    ..Running::default()
                });
            }
            "end" => {
                self.ended = None;
                let mut over = self.now.take()?;
                over.end = inside.then_some(time);
                self.ended = over.end.filter(|_| over.inside);
                return Some(over);
            }
            _ => {}
        }
        let now = self.now.as_mut()?;
        match what {
            "fqswait" => {
                now.init_done.get_or_insert(time);
                // Behind the last report it waits for nothing: the grace period ends.
                now.waits_since = (!reported).then_some(time);
            }
            "fqsstart" => {
                now.scan_since = Some(time);
                // A scan after the last report: the wait ended there.
                now.waits
                    .extend(now.waits_since.take().map(|it| (it, time)));
            }
            "fqsend" => now.scans.extend(now.scan_since.take().map(|it| (it, time))),
            _ => {}
        }
        let most = now.waits.len().max(now.scans.len());
        self.now.take_if(|_| most > MOST)
    }
}

#[cfg(test)]
mod tests;

//! Grace periods: phases, scans, who was last, who asked.
//!
//! ```text
//!  request        start      fqswait         fqsstart   fqsend/fqswait …   last report     end       start
//!     │  queueing   │   init    │      wait      │   scan     │    wait …      │   cleanup  │   gap    │
//! ```
//!
//! A grace period counts if it starts and ends in the window. `request` is the first `newreq` since the last
//! start (or the `Startleaf` that led to it); the last wait is cut off at the `last report` (`holdout`).
//!
//! Filters: grace periods with a last holdout on these CPUs, and grace periods for which one of these tasks
//! queued or asked. A thread is known by name here, not by its id.

use super::bounded::{NAMES_MOST, row};
use super::findings::Findings;
use super::holdout::{Course, Last};
use super::origin::{Origin, Origins};
use super::spread::{Room, Spread};
use super::{Part, Seen};
use crate::base::map::Map;
use crate::{Error, Event, Filter, Thread, Window};
use std::collections::BTreeMap;

mod table;

/// The longest ones that are shown.
const LONGEST: usize = 10;

/// Names of the phases, in order.
const PHASES: [&str; 8] = [
    "request to start",
    "init",
    "wait",
    "scan",
    "cleanup",
    "start to end",
    "end to next start",
    "expedited",
];
const REQUEST: usize = 0;
const INIT: usize = 1;
const WAIT: usize = 2;
const SCAN: usize = 3;
const CLEANUP: usize = 4;
const TOTAL: usize = 5;
const GAP: usize = 6;
const EXPEDITED: usize = 7;

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Gps {
    origins: Origins,
    now: Option<Running>,
    requested: Option<u64>,
    ended: Option<u64>,
    expedited: Option<u64>,
    course: Course,
    counts: PhaseCounts,
}

/// A grace period that runs.
#[derive(Debug, Default)]
struct Running {
    start: u64,
    /// It started in the window.
    inside: bool,
    request: Option<u64>,
    /// The end of the one before, if that counts.
    before: Option<u64>,
    init_done: Option<u64>,
    waits_since: Option<u64>,
    scan_since: Option<u64>,
    waits: Vec<(u64, u64)>,
    scans: Vec<(u64, u64)>,
}

/// Counts of the window.
#[derive(Debug, Default)]
struct PhaseCounts {
    unfinished: u64,
    phases: [Spread; 8],
    room: Room,
    scans: BTreeMap<u64, u64>,
    last: Map<String, (u64, Spread)>,
    asked: Map<Origin, Spread>,
    longest: Vec<(u64, u64, u64, String, Option<Origin>)>,
    refused: u64,
}

impl Part for Gps {
    fn reset(&mut self) {
        self.counts = PhaseCounts::default();
        self.now = None;
        self.ended = None;
        self.expedited = None;
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let (record, event) = (seen.record, seen.event);
        self.course.see(record, event);
        match *event {
            Event::GracePeriod { what, .. } => self.goes_on(seen, what),
            Event::FutureGp {
                what: "Startleaf", ..
            } if self.now.is_none() => {
                self.requested.get_or_insert(record.time_ns);
            }
            Event::Expedited { what: "start", .. } => {
                self.expedited = seen.inside.then_some(record.time_ns)
            }
            Event::Expedited { what: "end", .. } => {
                if let (Some(start), true) = (self.expedited.take(), seen.inside) {
                    let room = &mut self.counts.room;
                    self.counts.phases[EXPEDITED].between(start, record.time_ns, room);
                }
            }
            _ => {}
        }
        // After the end of one: its origin is needed there.
        self.origins.see(record, event);
    }

    fn finish(mut self: Box<Self>, findings: &mut Findings, _: Window) -> Result<(), Error> {
        self.counts.unfinished += u64::from(self.now.as_ref().is_some_and(|now| now.inside));
        self.tables(findings);
        let counts = &self.counts;
        if counts.unfinished > 0 {
            findings.notes.push(format!(
                "{} grace periods started in the window and did not end in it",
                counts.unfinished
            ));
        }
        if counts.refused > 0 {
            findings.notes.push(format!(
                "{} grace periods had no room in the tables of who was last and who asked",
                counts.refused
            ));
        }
        findings.about_names(self.origins.names.refused);
        findings.about_spreads("phases", counts.phases.iter().chain(counts.asked.values()));
        Ok(())
    }
}

impl Gps {
    fn goes_on(&mut self, seen: &Seen<'_>, what: &str) {
        let time = seen.record.time_ns;
        match what {
            "newreq" => {
                self.requested.get_or_insert(time);
            }
            "start" => self.starts(seen),
            "end" => self.ends(seen),
            _ => {}
        }
        let Some(now) = &mut self.now else {
            return;
        };
        match what {
            "fqswait" => {
                now.init_done.get_or_insert(time);
                // Behind the last report it waits for nothing: the grace period ends.
                now.waits_since = self.course.last.is_none().then_some(time);
            }
            "fqsstart" => {
                now.scan_since = Some(time);
                // A scan after the last report: the wait ended there.
                if let Some(since) = now.waits_since.take() {
                    now.waits.push((since, time));
                }
            }
            "fqsend" => {
                if let Some(since) = now.scan_since.take() {
                    now.scans.push((since, time));
                }
            }
            _ => {}
        }
        // Waits and scans of one grace period: beyond this number it is no trace of a kernel.
        if now.waits.len() > NAMES_MOST || now.scans.len() > NAMES_MOST {
            self.now = None;
            self.counts.unfinished += 1;
        }
    }

    fn starts(&mut self, seen: &Seen<'_>) {
        let time = seen.record.time_ns;
        self.counts.unfinished += u64::from(self.now.as_ref().is_some_and(|now| now.inside));
        self.now = Some(Running {
            start: time,
            inside: seen.inside,
            request: self.requested.take(),
            before: self.ended.take(),
            ..Running::default()
        });
    }

    fn ends(&mut self, seen: &Seen<'_>) {
        let time = seen.record.time_ns;
        self.ended = None;
        let Some(mut now) = self.now.take() else {
            return;
        };
        if !now.inside || !seen.inside {
            self.counts.unfinished += u64::from(now.inside);
            return;
        }
        self.ended = Some(time);
        let origin = self.origins.current;
        let last = self.course.last.as_ref();
        if !is_wanted(seen.filter, last, origin, &self.origins) {
            return;
        }
        if let (Some(since), Some(last)) = (now.waits_since, last) {
            // The last report came while it waited.
            now.waits.push((since, last.time_ns));
        }
        let PhaseCounts { phases, room, .. } = &mut self.counts;
        if let Some(request) = now.request {
            phases[REQUEST].between(request, now.start, room);
        }
        if let Some(done) = now.init_done {
            phases[INIT].between(now.start, done, room);
        }
        now.waits
            .iter()
            .for_each(|(from, to)| phases[WAIT].between(*from, *to, room));
        now.scans
            .iter()
            .for_each(|(from, to)| phases[SCAN].between(*from, *to, room));
        if let Some(last) = last {
            phases[CLEANUP].between(last.time_ns, time, room);
        }
        phases[TOTAL].between(now.start, time, room);
        if let Some(end) = now.before {
            phases[GAP].between(end, now.start, room);
        }
        self.counts.add(&now, last, time, origin);
    }
}

impl PhaseCounts {
    fn add(&mut self, now: &Running, last: Option<&Last>, end: u64, origin: Option<Origin>) {
        let duration = end.saturating_sub(now.start);
        let scans = now.scans.len() as u64;
        *self.scans.entry(scans).or_insert(0) += 1;
        let who = last.map_or("not traced".to_owned(), |last| last.named(scans));
        match row(&mut self.last, NAMES_MOST, who.clone()) {
            Some((n, durations)) => {
                *n += 1;
                durations.span(now.start, end);
            }
            None => self.refused += 1,
        }
        if let Some(origin) = origin {
            match row(&mut self.asked, NAMES_MOST, origin) {
                Some(durations) => durations.span(now.start, end),
                None => self.refused += 1,
            }
        }
        let place = self.longest.partition_point(|l| l.0 >= duration);
        self.longest
            .insert(place, (duration, now.start, scans, who, origin));
        self.longest.truncate(LONGEST);
    }
}

/// Whether the filter selects a grace period.
fn is_wanted(
    filter: &Filter,
    last: Option<&Last>,
    origin: Option<Origin>,
    origins: &Origins,
) -> bool {
    let on_cpu = filter.cpus.is_none()
        || last.is_some_and(|last| last.holdouts.iter().any(|cpu| filter.cpu(cpu)));
    let for_task = filter.threads.is_empty()
        || origin.is_some_and(|origin| {
            let [_, task, by] = origins.labels(origin);
            filter
                .threads
                .iter()
                .any(|thread| matches!(thread, Thread::Name(name) if name == task || name == by))
        });
    on_cpu && for_task
}

#[cfg(test)]
mod tests;

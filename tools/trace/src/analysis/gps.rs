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
use super::own::Own;
use super::spread::{Room, Spread};
use super::{Part, Seen};
use crate::base::map::Map;
use crate::measure::{Follow, Running};
use crate::{Error, Event, Filter, Thread};
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
    follow: Follow,
    expedited: Option<u64>,
    course: Course,
    counts: PhaseCounts,
}

/// Counts of the window.
#[derive(Debug, Default)]
struct PhaseCounts {
    unfinished: u64,
    phases: [Spread; 8],
    room: Room,
    scans: BTreeMap<u64, u64>,
    last: Map<String, Spread>,
    asked: Map<Origin, Spread>,
    longest: Vec<(u64, u64, u64, String, Option<Origin>)>,
    refused: u64,
}

impl Part for Gps {
    fn reset(&mut self) {
        self.counts = PhaseCounts::default();
        self.follow.reset();
        self.expedited = None;
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let (record, event) = (seen.record, seen.event);
        self.course.see(record, event);
        let reported = self.course.last.is_some();
        if let Some(over) = self.follow.see(record, event, (seen.inside, reported)) {
            match over.is_whole() {
                true => self.ends(seen, over),
                false => self.counts.unfinished += u64::from(over.inside),
            }
        }
        match *event {
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

    fn finish(mut self: Box<Self>, findings: &mut Findings, _: &Own) -> Result<(), Error> {
        self.counts.unfinished += u64::from(self.follow.now.as_ref().is_some_and(|it| it.inside));
        self.tables(findings);
        let counts = &self.counts;
        let what = "grace periods started in the window and did not end in it";
        findings.say(counts.unfinished, what);
        let what = "grace periods had no room in the tables of who was last and who asked";
        findings.say(counts.refused, what);
        findings.about_names(self.origins.names.refused);
        findings.about_spreads("phases", counts.phases.iter().chain(counts.asked.values()));
        Ok(())
    }
}

impl Gps {
    fn ends(&mut self, seen: &Seen<'_>, mut now: Running) {
        let time = seen.record.time_ns;
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
        for (phase, parts) in [(WAIT, &now.waits), (SCAN, &now.scans)] {
            for (from, to) in parts {
                phases[phase].between(*from, *to, room);
            }
        }
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
        let last = row(&mut self.last, NAMES_MOST, who.clone());
        let asked = origin.map(|origin| row(&mut self.asked, NAMES_MOST, origin));
        for of in [Some(last), asked].into_iter().flatten() {
            match of {
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

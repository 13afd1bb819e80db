//! What a trace shows, as tables: who wakes up, which callbacks, which grace periods, and what that does to
//! idle CPUs.
//!
//! | module | [`Kind`] | what it shows |
//! |---|---|---|
//! | `summary` | `Summary` | RCU's threads: wake-ups by kind, idle periods ended, what settings could save |
//! | `wakeups`, `chains` | `Wakeups` | threads by wake-ups and intervals; which callbacks caused them |
//! | `callbacks` | `Callbacks` | by function, by the task and the system call that queued them; delays |
//! | `batches` | `Batches` | sizes, durations and spacing, by who invokes |
//! | `gps` | `Gps` | phases, scans, who was last, who asked |
//! | `waits` | `Waits` | who waited for a grace period or for all callbacks, and for what |
//! | `idle`, `lost` | `Idle` | idle segments and states, ticks that hit idle CPUs, time lost |
//! | `timeline`, `proto` | [`Analysis::timeline`] | a file for Perfetto |
//!
//! `origin` finds the requester of a grace period, `holdout` who was last; `filter`, `findings`, `about` and
//! `bounded` are common parts.
//!
//! Invariants. One pass; memory is bounded by the constants of `bounded`, and losses to these bounds are in
//! the notes. Events outside the window update the state and are not counted. A figure that the trace does
//! not show is absent, never zero. Tests compare every table, to the last digit, with an independent script
//! (`data/traces/analyses.py`) on whole traces.

mod about;
mod batches;
mod bounded;
mod callbacks;
mod chains;
mod filter;
mod findings;
mod gps;
mod holdout;
mod idle;
mod lost;
mod origin;
mod own;
mod proto;
mod spread;
mod summary;
mod timeline;
mod waits;
mod wakeups;

pub use about::{About, damage};
pub use bounded::{NAMES_MOST, WAITING_MOST};
pub use filter::{Filter, Thread};
pub use findings::{Column, Findings, Line, Table};
pub use spread::{DISTINCT_MOST, VALUES_MOST};

use crate::measure::window::{Follow, Place, is_few};
use crate::{Error, Event, Record, Summary, Window};
use about::Present;
use own::Own;
use std::collections::BTreeSet;
use std::io::Write;

/// Which analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What RCU's threads cost in wake-ups and idle periods: what every trace of the scheduler shows.
    Summary,
    /// Threads by wake-ups, and the chains that lead to those of RCU's threads.
    Wakeups,
    /// Callbacks by function, task and system call.
    Callbacks,
    /// Batches of callbacks.
    Batches,
    /// Grace periods: phases, scans, holdouts, requesters.
    Gps,
    /// Waits for a grace period or for all callbacks.
    Waits,
    /// Idle CPUs: segments, states, ticks, time lost.
    Idle,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] = [
        Kind::Summary,
        Kind::Wakeups,
        Kind::Callbacks,
        Kind::Batches,
        Kind::Gps,
        Kind::Waits,
        Kind::Idle,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Summary => "summary",
            Kind::Wakeups => "wakeups",
            Kind::Callbacks => "callbacks",
            Kind::Batches => "batches",
            Kind::Gps => "gps",
            Kind::Waits => "waits",
            Kind::Idle => "idle",
        }
    }
}

/// An analysis in progress: feed it every record, then finish.
///
/// ```
/// use quiescent_trace::{Analysis, Filter, Kind, Reader, open};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/classic-b-nocb-file100.txt.xz");
/// let mut reader = Reader::new(path, open(path)?);
/// let mut analysis = Analysis::new(Kind::Callbacks, Filter::default());
/// while let Some(record) = reader.next_record()? {
///     analysis.feed(&record);
/// }
/// let findings = analysis.finish(reader.summary())?;
/// assert_eq!(findings.tables[0].figure("__d_free", "queued"), Some(1010.0));
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
pub struct Analysis {
    /// None for the timeline.
    kind: Option<Kind>,
    filter: Filter,
    /// A selected thread was met.
    met: bool,
    /// Until then, some that were.
    threads: BTreeSet<String>,
    window: Follow,
    part: Box<dyn Part>,
    /// It looks at events that are not decoded, too.
    others: bool,
    present: Present,
}

impl std::fmt::Debug for Analysis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis")
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

/// What one analysis does with the records.
trait Part {
    /// The window starts: forget the counts, keep what is known.
    fn reset(&mut self);
    /// The next record.
    fn see(&mut self, seen: &Seen<'_>);
    /// The tables and notes.
    ///
    /// # Errors
    /// When the output could not be written; only the timeline has one.
    fn finish(self: Box<Self>, findings: &mut Findings, own: &Own) -> Result<(), Error>;
}

/// A record with what every analysis needs to know about it.
struct Seen<'a> {
    record: &'a Record<'a>,
    event: &'a Event<'a>,
    /// In the window: what begins or happens now counts.
    inside: bool,
    /// The start of the counted time, as far as it is known.
    start: u64,
    filter: &'a Filter,
}

impl Seen<'_> {
    /// Whether what happens to a thread on a CPU counts: in the window, and both are selected.
    fn wants(&self, cpu: u32, task: &str, pid: u32) -> bool {
        self.inside && self.filter.cpu(cpu) && self.filter.thread(task, pid)
    }
}

impl Analysis {
    /// An analysis of the part of a trace that `filter` says. Without times the window lies between the marks
    /// [`START_MARK`](crate::START_MARK) and [`END_MARK`](crate::END_MARK), or is the whole trace.
    pub fn new(kind: Kind, filter: Filter) -> Self {
        let part: Box<dyn Part> = match kind {
            Kind::Summary => Box::<summary::Summary>::default(),
            Kind::Wakeups => Box::<wakeups::Wakeups>::default(),
            Kind::Callbacks => Box::<callbacks::Callbacks>::default(),
            Kind::Batches => Box::<batches::Batches>::default(),
            Kind::Gps => Box::<gps::Gps>::default(),
            Kind::Waits => Box::<waits::Waits>::default(),
            Kind::Idle => Box::<idle::Idle>::default(),
        };
        Analysis {
            kind: Some(kind),
            others: matches!(kind, Kind::Summary | Kind::Idle | Kind::Waits),
            ..Analysis::with(part, filter)
        }
    }

    /// Writes a timeline in Perfetto's format while the trace is read. Its findings say what was written.
    pub fn timeline(filter: Filter, output: Box<dyn Write>) -> Self {
        Analysis::with(Box::new(timeline::Timeline::new(output)), filter)
    }

    fn with(part: Box<dyn Part>, filter: Filter) -> Self {
        let given = (filter.from_ns.is_some() || filter.to_ns.is_some()).then(|| Window {
            start_ns: filter.from_ns.unwrap_or(0),
            end_ns: filter.to_ns.unwrap_or(u64::MAX),
        });
        Analysis {
            kind: None,
            met: filter.threads.is_empty(),
            threads: BTreeSet::new(),
            filter,
            window: Follow::new(given),
            part,
            others: true,
            present: Present::default(),
        }
    }

    /// The next record of the trace.
    pub fn feed(&mut self, record: &Record<'_>) {
        let decoded = record.decode();
        let Some(event) = self.window.see(record, &decoded) else {
            return;
        };
        self.present.note(record, event);
        let place = self.window.at(record, event);
        if place == Place::Starts {
            self.part.reset();
        }
        if !self.met {
            self.met = names(&self.filter, record, event);
            if self.threads.len() <= THREADS_MOST && !self.threads.contains(record.task()) {
                self.threads.insert(record.task().to_owned());
            }
        }
        if !self.others && matches!(event, Event::Other) {
            return;
        }
        self.part.see(&Seen {
            record,
            event,
            inside: place != Place::Outside,
            start: self.window.start(),
            filter: &self.filter,
        });
    }

    /// What was found.
    ///
    /// # Errors
    /// [`Error::Missing`] when the trace has no record, or none in the window; [`Error::Output`] when the
    /// timeline could not be written.
    pub fn finish(mut self, summary: &Summary) -> Result<Findings, Error> {
        let (window, by) = self.window.bounds(summary)?;
        let own = self.present.parts.own(window, summary);
        let kind = self.kind;
        let about = About::new(
            summary,
            self.window.undecoded,
            (&own, by),
            &self.present,
            kind,
        );
        let mut findings = Findings {
            about,
            tables: Vec::new(),
            notes: Vec::new(),
        };
        self.part.finish(&mut findings, &own)?;
        if let Some(kind) = kind {
            let threads = (!self.met).then_some(&self.threads);
            let mut lacks = self.present.lacks_selected(&self.filter, threads);
            if findings.tables.iter().all(Table::is_empty) {
                let none = || "nothing of this kind in the counted part".to_owned();
                let is_said = !findings.notes.is_empty();
                lacks = lacks.or_else(|| self.present.lacks(kind));
                lacks = lacks.or_else(|| (!is_said).then(none));
            }
            findings.notes.extend(lacks);
            if kind == Kind::Summary {
                findings.notes.push(self.present.applies());
            }
        }
        if !is_few(summary.unitless, summary) {
            findings.without_times();
        }
        Ok(findings)
    }
}

/// Threads that are named where the selected one is not in the trace.
const THREADS_MOST: usize = 16;

/// Whether a thread that is selected by name or id is in this record.
#[inline(never)]
fn names(filter: &Filter, record: &Record<'_>, event: &Event<'_>) -> bool {
    let of = match *event {
        Event::Wakeup { task, pid, .. } | Event::Waking { task, pid, .. } => Some((task, pid)),
        Event::Switch { next, next_pid, .. } => Some((next, next_pid)),
        _ => None,
    };
    filter.thread(record.task(), record.pid)
        || of.is_some_and(|(task, pid)| filter.thread(task, pid))
}

/// A count as a rate over the window.
fn per_second(n: u64, window: Window) -> Option<f64> {
    let seconds = window.seconds();
    (seconds > 0.0).then(|| n as f64 / seconds)
}

#[cfg(test)]
mod tests;

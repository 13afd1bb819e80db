//! The bounds of one search.

use std::fmt;

use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::{Config, EarlyQs};

/// A planted defect of the host, which the rules must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    No,
    /// A kernel's CPU departs without a report.
    SilentDeparture,
    /// The grace-period thread reports that its CPU is outside, although it is in a section.
    OwnQuiescent,
    /// A quiescent state is reported under the current number, not the number for which it was noted.
    StaleNote,
    /// The grace-period thread is never woken for a request.
    DeafThread,
    /// A task is preempted in a section, and the engine is not notified.
    UnreportedReader,
    /// The interrupt of an expedited grace period is accepted and never arrives.
    LostInterrupt,
}

/// The number of each kind of action, except for those that are counted for each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    pub nests: u8,
    /// Preemptions of a task in a section.
    pub preempts: u8,
    /// Requests for expedited grace periods.
    pub expedites: u8,
    /// Interrupts of them that a present CPU refuses.
    pub refusals: u8,
    pub waits: u8,
    pub polls: u8,
    /// Times that the grace-period thread leaves its CPU.
    pub leaves: u8,
    pub arrivals: u8,
    pub departures: u8,
    /// Times that the timer of the grace-period thread fires.
    pub timers: u8,
    pub strays: u8,
}

/// The machine of one search, and the number of each kind of action.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub name: &'static str,
    /// CPUs: present, absent, and those that never come.
    pub cpus: u32,
    /// CPUs that are absent at first.
    pub absent: u32,
    /// CPUs that never come: they only make the tree deeper.
    pub ghosts: u32,
    /// CPUs a leaf and children an inner node.
    pub fanout: u32,
    pub early_qs: EarlyQs,
    /// Ticks before the first scan.
    pub first_fqs: u64,
    pub direct_wakes_max: u32,
    /// CPUs that may open sections.
    pub readers: u32,
    /// CPUs that may request, or on which the grace-period thread may run.
    pub callers: u32,
    /// Sections that each of the `readers` may open.
    pub sections: u8,
    /// Quiescent states that each of them notes.
    pub notes: u8,
    pub budget: Budget,
    pub broken: Broken,
}

impl Bounds {
    /// A small search.
    pub const SMALL: Bounds = Bounds {
        name: "small",
        cpus: 2,
        absent: 0,
        ghosts: 0,
        fanout: 64,
        early_qs: EarlyQs::Off,
        first_fqs: 3,
        direct_wakes_max: 5,
        readers: u32::MAX,
        callers: 0b1,
        sections: 1,
        notes: 0,
        budget: Budget {
            nests: 0,
            preempts: 0,
            expedites: 0,
            refusals: 0,
            waits: 1,
            polls: 0,
            leaves: 0,
            arrivals: 0,
            departures: 0,
            timers: 3,
            strays: 0,
        },
        broken: Broken::No,
    };

    /// The same with other numbers, such as `waits 2 callers 0b11`.
    pub fn but(mut self, numbers: &str) -> Bounds {
        let words: Vec<&str> = numbers.split_whitespace().collect();
        for pair in words.chunks(2) {
            let value = match pair[1].strip_prefix("0b") {
                Some(bits) => u32::from_str_radix(bits, 2),
                None => pair[1].parse(),
            };
            self.set(pair[0], value.expect("a number"));
        }
        self
    }

    fn set(&mut self, name: &str, value: u32) {
        let (few, budget) = (value as u8, &mut self.budget);
        match name {
            "cpus" => self.cpus = value,
            "absent" => self.absent = value,
            "ghosts" => self.ghosts = value,
            "fanout" => self.fanout = value,
            "first_fqs" => self.first_fqs = value.into(),
            "direct_wakes_max" => self.direct_wakes_max = value,
            "readers" => self.readers = value,
            "callers" => self.callers = value,
            "sections" => self.sections = few,
            "notes" => self.notes = few,
            "nests" => budget.nests = few,
            "preempts" => budget.preempts = few,
            "expedites" => budget.expedites = few,
            "refusals" => budget.refusals = few,
            "waits" => budget.waits = few,
            "polls" => budget.polls = few,
            "leaves" => budget.leaves = few,
            "arrivals" => budget.arrivals = few,
            "departures" => budget.departures = few,
            "timers" => budget.timers = few,
            "strays" => budget.strays = few,
            _ => panic!("no bound is called {name}"),
        }
    }

    pub fn config(&self) -> Config {
        let geometry = GeometryParams {
            leaf_fanout: self.fanout,
            inner_fanout: self.fanout,
            exact: true,
        };
        Config {
            geometry,
            early_qs: self.early_qs,
            first_fqs: self.first_fqs,
            next_fqs: 3,
            // Ages of grace periods would multiply the states, and grant no credit: `tests/urgency.rs`
            // tests them.
            escalation: None,
            direct_wakes_max: self.direct_wakes_max,
            wait_markers: if self.direct_wakes_max == 0 { 1 } else { 5 },
            ..Config::kernel_6_12(self.cpus, 1000)
        }
    }

    /// Is `cpu` in this mask?
    pub fn is_in(mask: u32, cpu: usize) -> bool {
        mask & 1 << cpu != 0
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let budget = self.budget;
        write!(f, "\"{}\" early_qs {:?},", self.name, self.early_qs)?;
        let in_use = self.cpus - self.ghosts.count_ones();
        write!(
            f,
            " {in_use} CPUs ({} absent), fan-out {}:",
            self.absent.count_ones(),
            self.fanout
        )?;
        for (name, count) in [
            ("section a CPU", self.sections),
            ("nest", budget.nests),
            ("preemption", budget.preempts),
            ("expedited", budget.expedites),
            ("refusal", budget.refusals),
            ("wait", budget.waits),
            ("poll", budget.polls),
            ("leave", budget.leaves),
            ("arrival", budget.arrivals),
            ("departure", budget.departures),
            ("note a CPU", self.notes),
            ("timer", budget.timers),
            ("stray", budget.strays),
        ] {
            if count > 0 {
                write!(f, " {count} {name}")?;
            }
        }
        Ok(())
    }
}

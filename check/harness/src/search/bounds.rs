//! The bounds of one search.

use std::fmt;

use quiescent_engine::geometry::GeometryParams;
use quiescent_engine::{Config, EarlyQs, Pace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    Threads,
    Kernel,
}

/// A defect of the host, put in on purpose: the rules must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    No,
    /// A kernel's CPU departs without a report.
    SilentDeparture,
    /// A reader clears its flag and wakes no driver.
    NoWake,
    /// A driver inside a section reports that it is outside.
    OwnQuiescent,
    /// A quiescent state is reported under the current number, not the one it was noted under.
    StaleNote,
    /// A newly registered thread does not show in its leaf.
    HiddenArrival,
    /// The grace-period thread is never woken for a request.
    DeafThread,
    /// A task is preempted in a section, and the engine is not told.
    UntoldReader,
    /// The interrupt of an expedited grace period is accepted and never arrives.
    LostInterrupt,
    /// A driver that lost the role carries on as if it had it.
    Oblivious,
    /// It notices, but not before it has reported the fence that it was asked for, and gone on a step.
    StaleFence,
}

/// How much may happen in one search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub name: &'static str,
    pub flavour: Flavour,
    /// CPUs, present, absent, and ghosts.
    pub cpus: u32,
    /// CPUs that are absent at first.
    pub absent: u32,
    /// CPUs that never come: they only make the tree deeper.
    pub ghosts: u32,
    /// CPUs a leaf and children an inner node.
    pub fanout: u32,
    pub early_qs: EarlyQs,
    /// Ticks before the first scan (kernel).
    pub first_fqs: u64,
    pub direct_wakes_max: u32,
    /// Sections each CPU may open, but for those of `readers` not in it.
    pub sections: u8,
    /// CPUs that read.
    pub readers: u32,
    /// CPUs that request (bit `cpus`: the outsider), or that the grace-period thread may run on.
    pub callers: u32,
    pub nests: u8,
    /// Times a task is preempted in a section (kernel).
    pub preempts: u8,
    /// Requested expedited grace periods (kernel).
    pub expedites: u8,
    /// Times their interrupts are refused by a CPU that is there.
    pub refusals: u8,
    pub waits: u8,
    pub polls: u8,
    /// Times a poller drives.
    pub helps: u8,
    /// Times the driver leaves before it is told to.
    pub leaves: u8,
    /// Takeovers from a driver that makes no calls (threads).
    pub takeovers: u8,
    pub arrivals: u8,
    pub departures: u8,
    /// Quiescent states each CPU notes (kernel).
    pub notes: u8,
    /// Times the grace-period thread's timer fires (kernel).
    pub timers: u8,
    pub strays: u8,
    pub broken: Broken,
}

impl Bounds {
    /// A small search of the thread flavour.
    pub const THREADS: Bounds = Bounds {
        name: "threads",
        flavour: Flavour::Threads,
        cpus: 2,
        absent: 0,
        ghosts: 0,
        fanout: 64,
        early_qs: EarlyQs::Off,
        first_fqs: 0,
        direct_wakes_max: u32::MAX,
        sections: 1,
        readers: u32::MAX,
        callers: 0b1,
        nests: 0,
        preempts: 0,
        expedites: 0,
        refusals: 0,
        waits: 1,
        polls: 0,
        helps: 0,
        leaves: 0,
        takeovers: 0,
        arrivals: 0,
        departures: 0,
        notes: 0,
        timers: 0,
        strays: 0,
        broken: Broken::No,
    };

    /// A small search of the kernel flavour.
    pub const KERNEL: Bounds = Bounds {
        name: "kernel",
        flavour: Flavour::Kernel,
        first_fqs: 3,
        timers: 3,
        direct_wakes_max: 5,
        ..Bounds::THREADS
    };

    pub fn config(&self) -> Config {
        let geometry = GeometryParams {
            leaf_fanout: self.fanout,
            inner_fanout: self.fanout,
            exact: true,
        };
        match self.flavour {
            Flavour::Threads => Config {
                geometry,
                early_qs: self.early_qs,
                pace: Pace::Direct {
                    spin: 1,
                    spins_before_flag: 1,
                    spins_after_flag: 1,
                    expedited_factor: 1,
                    stall_ns: u64::MAX,
                },
                takeover_after_ns: Some(0), // any time is long enough
                ..Config::threads()
            },
            Flavour::Kernel => Config {
                geometry,
                early_qs: self.early_qs,
                pace: Pace::Jiffies {
                    first_fqs: self.first_fqs,
                    next_fqs: 3,
                },
                // Ages of grace periods would multiply the states, and credit nobody: `tests/urgency.rs`.
                escalation: None,
                direct_wakes_max: self.direct_wakes_max,
                wait_markers: if self.direct_wakes_max == 0 { 1 } else { 5 },
                ..Config::kernel_6_12(self.cpus, 1000)
            },
        }
    }

    /// Is `cpu` in this mask?
    pub fn is_in(mask: u32, cpu: usize) -> bool {
        mask & 1 << cpu != 0
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavour = match self.flavour {
            Flavour::Threads => "threads",
            Flavour::Kernel => "kernel",
        };
        write!(
            f,
            "{flavour} \"{}\" early_qs {:?},",
            self.name, self.early_qs
        )?;
        let in_use = self.cpus - self.ghosts.count_ones();
        write!(
            f,
            " {in_use} CPUs ({} absent), fan-out {}:",
            self.absent.count_ones(),
            self.fanout
        )?;
        for (name, count) in [
            ("section a CPU", self.sections),
            ("nest", self.nests),
            ("preemption", self.preempts),
            ("expedited", self.expedites),
            ("refusal", self.refusals),
            ("wait", self.waits),
            ("poll", self.polls),
            ("help", self.helps),
            ("leave", self.leaves),
            ("takeover", self.takeovers),
            ("arrival", self.arrivals),
            ("departure", self.departures),
            ("note a CPU", self.notes),
            ("timer", self.timers),
            ("stray", self.strays),
        ] {
            if count > 0 {
                write!(f, " {count} {name}")?;
            }
        }
        Ok(())
    }
}

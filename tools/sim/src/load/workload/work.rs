//! The action of a workload's task, as its section of the file describes it: a pattern, which every task of
//! the section copies.
//!
//! The last four kinds need a kernel: they wait for a callback of their own, have memory reclaimed, close
//! buffers by system calls, or take CPUs offline. A program that uses the library has none of that, so a
//! machine of threads refuses them.

use super::function::Function;
use super::stage::Stage;
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::op::Work;
use crate::input::options::{MachineKind, Options};
use crate::input::work::{
    Closer, Plugger, Queued, Queuer, Reads, Reclaimer, Rounds, Switcher, Turns,
};
use crate::text::fields::{Cpus, Fields};

/// The values of `work`.
const WORKS: [&str; 8] = [
    "rounds", "turns", "queue", "read", "switch", "reclaim", "close", "plug",
];

/// Where a reader sleeps, rather than compute.
const SLEEPS: [&str; 4] = ["outside", "inside", "both", "never"];

/// The default number of lazy callbacks to flush: all.
const ALL: u64 = 1_000_000_000;

/// A pattern: its callbacks' functions have no number yet, and its chance is not the task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Rounds(Rounds, Option<Function>),
    Turns(Turns),
    Queue(Queuer, Vec<Function>),
    Read(Reads),
    Switch(Switcher, Function),
    Reclaim(Reclaimer),
    Close(Closer, Vec<Function>),
    Plug(Plugger),
}

type Found = (&'static [&'static str], Pattern);

impl Pattern {
    /// The pattern of a section, and the fields that are its own.
    pub fn read(
        it: &Fields<'_>,
        callbacks: impl Fn() -> Result<Vec<Function>, Error>,
        options: &Options,
    ) -> Result<Found, Error> {
        let word = it.word("work", &WORKS)?;
        if let Some(index @ 4..) = word
            && options.kind != MachineKind::Kernel
        {
            let work = WORKS[index];
            let why = format!("work = \"{work}\" is a kernel's: set machine=kernel");
            return Err(it.wrong(why));
        }
        match word {
            Some(0) => rounds(it, callbacks()?, options.kind),
            Some(1) => turns(it),
            Some(2) => queue(it, callbacks()?, options.costs.work),
            Some(3) => read(it),
            Some(4) => switch(it, callbacks()?),
            Some(5) => reclaim(it),
            Some(6) => close(it, callbacks()?),
            Some(7) => plug(it),
            _ => Err(it.need("work").expect_err("it is not there")),
        }
    }

    /// A task's own copy, on this machine.
    pub fn work(&self, machine: &mut impl Stage, chance: Chance) -> Box<dyn Work> {
        let mut queued = |all: Vec<Function>| all.iter().map(|it| it.queued(machine)).collect();
        match self.clone() {
            Pattern::Rounds(it, function) => Box::new(Rounds {
                chance,
                callback: function.map_or(it.callback, |it| it.queued(machine)),
                ..it
            }),
            Pattern::Turns(it) => Box::new(Turns { chance, ..it }),
            Pattern::Queue(it, all) => Box::new(Queuer {
                chance,
                callbacks: queued(all),
                ..it
            }),
            Pattern::Read(it) => Box::new(Reads { chance, ..it }),
            Pattern::Switch(it, function) => Box::new(Switcher {
                chance,
                callback: function.queued(machine),
                ..it
            }),
            Pattern::Reclaim(it) => Box::new(it),
            Pattern::Plug(it) => Box::new(Plugger { chance, ..it }),
            Pattern::Close(it, all) => Box::new(Closer {
                chance,
                callbacks: queued(all),
                ..it
            }),
        }
    }

    /// CPUs and callbacks of which each task has a copy.
    pub fn listed(&self) -> u64 {
        let count = match self {
            Pattern::Queue(_, all) | Pattern::Close(_, all) => all.len(),
            Pattern::Plug(it) => it.cpus.len(),
            _ => 0,
        };
        count as u64
    }

    /// Does it run for ever, or does no run wait for it, unless the file says otherwise?
    pub fn is_endless(&self) -> bool {
        !matches!(self, Pattern::Rounds(..) | Pattern::Switch(..))
    }
}

/// What a pattern's chance is before a task has its own.
const NO_CHANCE: Chance = Chance::new(0);

fn rounds(
    it: &Fields<'_>,
    mut functions: Vec<Function>,
    kind: MachineKind,
) -> Result<Found, Error> {
    let awaits = it.count("awaits", 0)?;
    let function = functions.pop();
    if !functions.is_empty() || (awaits > 0 && function.is_none()) {
        let why =
            "work = \"rounds\" with `awaits` has one callback: callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    }
    if awaits > 0 && kind != MachineKind::Kernel {
        return Err(it.wrong("`awaits` is a kernel's: set machine=kernel".into()));
    }
    let pattern = Rounds {
        rounds: it.count("rounds", 1)?,
        calls: it.count("calls", 1)?,
        awaits,
        callback: Queued::of(0),
        pause: it.time("pause", 0)?,
        compute: it.time("compute", 0)?,
        rest: it.time("rest", 0)?,
        vary: it.flag("vary", false)?,
        chance: NO_CHANCE,
        at: Default::default(),
    };
    let known = &[
        "rounds", "calls", "awaits", "pause", "compute", "rest", "vary",
    ];
    Ok((known, Pattern::Rounds(pattern, function)))
}

fn turns(it: &Fields<'_>) -> Result<Found, Error> {
    let pattern = Turns {
        compute: it.time("compute", 1_000_000_000)?,
        sleep: it.time("sleep", 0)?,
        vary: it.flag("vary", false)?,
        chance: NO_CHANCE,
        computed: false,
    };
    Ok((&["compute", "sleep", "vary"], Pattern::Turns(pattern)))
}

fn queue(it: &Fields<'_>, functions: Vec<Function>, work: u64) -> Result<Found, Error> {
    if functions.is_empty() {
        let why = "work = \"queue\" has callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    }
    let pattern = Queuer {
        every: it.rate("rate")?,
        vary: it.flag("vary", true)?,
        times: it.count("times", 1)?,
        callbacks: Vec::new(),
        work: it.time("compute", work)?,
        between: it.time("between", 0)?,
        stop: it.time("stop", u64::MAX)?,
        chance: NO_CHANCE,
        at: Default::default(),
    };
    let known = &["rate", "vary", "times", "compute", "between", "stop"];
    Ok((known, Pattern::Queue(pattern, functions)))
}

fn read(it: &Fields<'_>) -> Result<Found, Error> {
    let (sections, inside) = (it.count("sections", 0)?, it.time("inside", 1000)?);
    let outside = it.time("outside", 1000)?;
    let sleeps = SLEEPS[it.word("sleeps", &SLEEPS)?.unwrap_or(0)];
    let pattern = Reads {
        sections,
        inside,
        outside,
        sleeps_inside: matches!(sleeps, "inside" | "both"),
        sleeps_outside: matches!(sleeps, "outside" | "both"),
        vary: it.flag("vary", false)?,
        chance: NO_CHANCE,
        at: Default::default(),
    };
    let known = &["sections", "inside", "outside", "sleeps", "vary"];
    Ok((known, Pattern::Read(pattern)))
}

fn switch(it: &Fields<'_>, mut functions: Vec<Function>) -> Result<Found, Error> {
    let (Some(function), true) = (functions.pop(), functions.is_empty()) else {
        let why = "work = \"switch\" has one callback: callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    };
    let pattern = Switcher {
        times: it.count("times", 1)?,
        callback: Queued::of(0),
        compute: it.time("compute", 0)?,
        rest: it.time("rest", 0)?,
        vary: it.flag("vary", false)?,
        chance: NO_CHANCE,
        at: Default::default(),
    };
    let known = &["times", "compute", "rest", "vary"];
    Ok((known, Pattern::Switch(pattern, function)))
}

fn reclaim(it: &Fields<'_>) -> Result<Found, Error> {
    let pattern = Reclaimer {
        every: it.time("every", 10_000_000)?,
        above: it.count("above", 0)?,
        lazy: it.count("lazy", ALL)?,
        slept: false,
    };
    Ok((&["every", "above", "lazy"], Pattern::Reclaim(pattern)))
}

fn close(it: &Fields<'_>, functions: Vec<Function>) -> Result<Found, Error> {
    let pattern = Closer {
        every: it.rate("rate")?,
        vary: it.flag("vary", false)?,
        buffers: it.count("buffers", 1)?,
        callbacks: Vec::new(),
        draw: it.time("compute", 0)?,
        close: it.time("close", 2000)?,
        stop: it.time("stop", u64::MAX)?,
        chance: NO_CHANCE,
        at: Default::default(),
    };
    let known = &["rate", "vary", "buffers", "compute", "close", "stop"];
    Ok((known, Pattern::Close(pattern, functions)))
}

fn plug(it: &Fields<'_>) -> Result<Found, Error> {
    let Cpus::These(cpus) = it.cpus("which")? else {
        return Err(it.wrong("work = \"plug\" has `which`: a list of CPUs, or `none`".into()));
    };
    let pattern = Plugger {
        cpus,
        every: it.time("every", 100_000_000)?,
        away: it.time("away", 50_000_000)?,
        offload: it.flag("offload", false)?,
        vary: it.flag("vary", false)?,
        chance: NO_CHANCE,
        changes: 0,
        slept: false,
    };
    let known = &["which", "every", "away", "offload", "vary"];
    Ok((known, Pattern::Plug(pattern)))
}

//! Work that only a kernel's machine has: it waits for a callback of its own, or has memory reclaimed.
//!
//! A program that uses the library has neither, so a machine of threads refuses both.

use super::fields::Fields;
use super::function::Function;
use super::stage::Stage;
use crate::chance::Chance;
use crate::options::{MachineKind, Options};
use crate::work::{Reclaimer, Switcher};
use crate::{Error, Work};

/// What such a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KernelWork {
    Switch {
        times: u64,
        compute: u64,
        rest: u64,
        vary: bool,
        callback: Function,
    },
    Reclaim {
        every: u64,
        above: u64,
        lazy: u64,
    },
}

/// Fields of each.
pub(super) const SWITCH: [&str; 4] = ["times", "compute", "rest", "vary"];
pub(super) const RECLAIM: [&str; 3] = ["every", "above", "lazy"];

/// So many lazy callbacks are asked for if the file does not say: all.
const ALL: u64 = 1_000_000_000;

impl KernelWork {
    /// `work = "switch"`.
    pub fn switch(
        it: &Fields<'_>,
        mut callbacks: Vec<Function>,
        options: &Options,
    ) -> Result<KernelWork, Error> {
        of_kernels(it, "switch", options)?;
        let (Some(callback), true) = (callbacks.pop(), callbacks.is_empty()) else {
            let why = "work = \"switch\" has one callback: callbacks = [{ func = \"…\" }]";
            return Err(it.place.wrong(it.file, why.into()));
        };
        Ok(KernelWork::Switch {
            times: it.count("times", 1)?,
            compute: it.time("compute", 0)?,
            rest: it.time("rest", 0)?,
            vary: it.flag("vary", false)?,
            callback,
        })
    }

    /// `work = "reclaim"`.
    pub fn reclaim(it: &Fields<'_>, options: &Options) -> Result<KernelWork, Error> {
        of_kernels(it, "reclaim", options)?;
        Ok(KernelWork::Reclaim {
            every: it.time("every", 10_000_000)?,
            above: it.count("above", 0)?,
            lazy: it.count("lazy", ALL)?,
        })
    }

    pub fn work(&self, machine: &mut impl Stage, chance: Chance) -> Box<dyn Work> {
        match self {
            KernelWork::Switch {
                times,
                compute,
                rest,
                vary,
                callback,
            } => Box::new(Switcher {
                times: *times,
                callback: callback.queued(machine),
                compute: *compute,
                rest: *rest,
                vary: *vary,
                chance,
                at: Default::default(),
            }),
            KernelWork::Reclaim { every, above, lazy } => Box::new(Reclaimer {
                every: *every,
                above: *above,
                lazy: *lazy,
                slept: false,
            }),
        }
    }

    /// Is it never over?
    pub fn is_endless(&self) -> bool {
        matches!(self, KernelWork::Reclaim { .. })
    }
}

fn of_kernels(it: &Fields<'_>, work: &str, options: &Options) -> Result<(), Error> {
    if options.kind == MachineKind::Kernel {
        return Ok(());
    }
    let why = format!("work = \"{work}\" is a kernel's: set machine=kernel");
    Err(it.place.wrong(it.file, why))
}

//! Work that only a kernel's machine has: it waits for a callback of its own, has memory reclaimed, or closes buffers by system calls.
//!
//! A program that uses the library has none of them, so a machine of threads refuses all.

use super::function::Function;
use super::stage::Stage;
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::op::Work;
use crate::input::options::{MachineKind, Options};
use crate::input::work::{Closer, Reclaimer, Switcher};
use crate::text::fields::Fields;

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
    Close {
        every: u64,
        vary: bool,
        buffers: u64,
        draw: u64,
        close: u64,
        stop: u64,
        callbacks: Vec<Function>,
    },
}

/// Fields of each.
pub(super) const SWITCH: [&str; 4] = ["times", "compute", "rest", "vary"];
pub(super) const RECLAIM: [&str; 3] = ["every", "above", "lazy"];
pub(super) const CLOSE: [&str; 6] = ["rate", "vary", "buffers", "compute", "close", "stop"];

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

    /// `work = "close"`.
    pub fn close(
        it: &Fields<'_>,
        callbacks: Vec<Function>,
        options: &Options,
    ) -> Result<KernelWork, Error> {
        of_kernels(it, "close", options)?;
        if callbacks.is_empty() {
            let why = "work = \"close\" has callbacks, which each call queues: callbacks = [{ func = \"…\" }]";
            return Err(it.place.wrong(it.file, why.into()));
        }
        Ok(KernelWork::Close {
            every: it.rate("rate")?,
            vary: it.flag("vary", false)?,
            buffers: it.count("buffers", 1)?,
            draw: it.time("compute", 0)?,
            close: it.time("close", 2000)?,
            stop: it.time("stop", u64::MAX)?,
            callbacks,
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
            KernelWork::Close {
                every,
                vary,
                buffers,
                draw,
                close,
                stop,
                callbacks,
            } => Box::new(Closer {
                every: *every,
                vary: *vary,
                buffers: *buffers,
                callbacks: callbacks.iter().map(|it| it.queued(machine)).collect(),
                draw: *draw,
                close: *close,
                stop: *stop,
                chance,
                at: Default::default(),
            }),
        }
    }

    /// Is it never over?
    pub fn is_endless(&self) -> bool {
        matches!(self, KernelWork::Reclaim { .. } | KernelWork::Close { .. })
    }
}

fn of_kernels(it: &Fields<'_>, work: &str, options: &Options) -> Result<(), Error> {
    if options.kind == MachineKind::Kernel {
        return Ok(());
    }
    let why = format!("work = \"{work}\" is a kernel's: set machine=kernel");
    Err(it.place.wrong(it.file, why))
}

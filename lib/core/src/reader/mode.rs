//! The fence mode: readers execute fences, or the kernel executes them on behalf of updaters.

use std::fmt;

use crate::prim::{self, AtomicU32, Ordering};

/// How readers and updaters order their accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FenceMode {
    /// Readers execute no fence; the updater interrupts every CPU that runs a thread of the process, once per
    /// grace period (`membarrier(2)`; on Windows `FlushProcessWriteBuffers`).
    Membarrier,
    /// Readers execute a full fence at the beginning of a section. For systems without such a call, and for
    /// isolated CPUs that must not be interrupted.
    Fenced,
}

impl fmt::Display for FenceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FenceMode::Membarrier => "membarrier",
            FenceMode::Fenced => "fenced",
        })
    }
}

/// The fence mode is not decided yet.
const OPEN: u32 = 0;
const MEMBARRIER: u32 = 1;
const FENCED: u32 = 2;

/// The fence mode of a process.
#[derive(Debug)]
pub struct Mode(AtomicU32);

impl Mode {
    const_new! {
        pub fn new() -> Mode {
            Mode(AtomicU32::new(OPEN))
        }
    }

    /// Decides the mode if it is open.
    pub fn resolve(&self) -> FenceMode {
        let mode = self.0.load(Ordering::Acquire);
        let mode = if mode == OPEN { self.decide() } else { mode };
        if mode == MEMBARRIER {
            FenceMode::Membarrier
        } else {
            FenceMode::Fenced
        }
    }

    #[cold]
    fn decide(&self) -> u32 {
        let wanted = if !fence_demanded() && prim::register_heavy_fence().is_ok() {
            MEMBARRIER
        } else {
            FENCED
        };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.0.compare_exchange(OPEN, wanted, order.0, order.1) {
            Ok(_) => wanted,
            Err(decided) => decided,
        }
    }

    /// Changes it.
    pub fn set(&self, mode: FenceMode) {
        let mode = match mode {
            FenceMode::Membarrier => MEMBARRIER,
            FenceMode::Fenced => FENCED,
        };
        self.0.store(mode, Ordering::Release);
    }
}

/// True if the environment demands that readers execute fences.
fn fence_demanded() -> bool {
    cfg!(not(quiescent_model))
        && std::env::var_os("QUIESCENT_FENCE")
            .is_some_and(|value| value.eq_ignore_ascii_case("fenced"))
}

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
/// Beside one of the two: a thread changes the mode, or finds that it cannot. New readers execute fences, and
/// updaters have all threads execute one, so that both are right whatever the mode will be. `[MODE-1]`
/// `[MODE-2]`
const CHANGING: u32 = 4;

/// The fence mode of a process.
#[derive(Debug)]
pub struct Mode(AtomicU32);

impl Mode {
    const_new! {
        pub fn new() -> Mode {
            Mode(AtomicU32::new(OPEN))
        }
    }

    /// The mode; while it changes, the one before. Decides it if it is open.
    #[inline]
    pub fn resolve(&self) -> FenceMode {
        match self.decided() & !CHANGING {
            MEMBARRIER => FenceMode::Membarrier,
            _ => FenceMode::Fenced,
        }
    }

    /// True if a thread must execute its own fences from now on: a reader that registers, an owner that
    /// pushes.
    pub fn threads_fence(&self) -> bool {
        self.decided() != MEMBARRIER
    }

    /// True if an updater must have all threads execute a fence.
    pub fn updaters_fence(&self) -> bool {
        self.decided() != FENCED
    }

    fn decided(&self) -> u32 {
        match self.0.load(Ordering::Acquire) {
            OPEN => self.decide(),
            mode => mode,
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

    /// Begins a change of a mode that is decided; [`set`](Mode::set) ends it. The system has a fence for all
    /// threads.
    pub fn begin_change(&self) {
        self.0.fetch_or(CHANGING, Ordering::AcqRel);
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

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn while_the_mode_changes_readers_and_updaters_have_fences() {
        let mode = Mode::new();
        let mut before = mode.resolve();
        for (changed, fenced) in [(FenceMode::Membarrier, false), (FenceMode::Fenced, true)] {
            mode.begin_change();
            assert_eq!(mode.resolve(), before);
            assert!(mode.threads_fence() && mode.updaters_fence());
            mode.set(changed);
            assert_eq!(mode.resolve(), changed);
            assert_eq!(mode.threads_fence(), fenced);
            assert_eq!(mode.updaters_fence(), !fenced);
            before = changed;
        }
    }
}

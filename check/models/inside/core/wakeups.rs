//! What wakes the worker in models.

use crate::os::Woken;
use crate::prim::{self, AtomicU32};

/// Where there are events, the machine has the timer and the event of its one process. Other models have no
/// descriptors: the worker sleeps on the word, where there is a clock for a second at most.
#[derive(Debug)]
pub(super) struct Wakeups;

#[allow(clippy::unused_self, reason = "the same face as in the product")]
impl Wakeups {
    pub(super) const fn new() -> Wakeups {
        Wakeups
    }

    pub(super) fn open(&self) -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn set_timer(&self, _deadline: u64) {
        #[cfg(quiescent_explorer)]
        prim::set_timer(_deadline);
    }

    pub(super) fn listen(&self) {}

    pub(super) fn ignore(&self) {}

    pub(super) fn sources(&self) -> crate::os::pressure::PressureSources {
        Default::default()
    }

    pub(super) fn wake(&self, _word: &AtomicU32) {
        #[cfg(quiescent_explorer)]
        prim::ring();
        #[cfg(any(quiescent_loom, quiescent_shuttle))]
        prim::futex_wake(_word);
    }

    #[cfg(quiescent_explorer)]
    pub(super) fn sleep(&self, _word: &AtomicU32, _asleep: u32) -> Woken {
        let (timer, kick) = prim::wait_for_events();
        Woken {
            timer,
            kick,
            ..Woken::default()
        }
    }

    #[cfg(any(quiescent_loom, quiescent_shuttle))]
    pub(super) fn sleep(&self, word: &AtomicU32, asleep: u32) -> Woken {
        prim::futex_wait(word, asleep, Some(std::time::Duration::from_secs(1)));
        Woken::default()
    }
}

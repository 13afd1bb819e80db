//! Operations on all domains of a process: fence mode, end of a thread, slow paths of the process's domain.

use std::sync::atomic::Ordering::Relaxed;

use crate::domain::env::Env;
use crate::domain::error::InitError;
use crate::domain::state::{Core, State};
use crate::prim::{self, MutexGuard, full_fence};
use crate::reader::local::Local;
use crate::reader::mode::FenceMode;
use crate::reader::threads::Slot;
use crate::reader::word::{self, Reader};

/// Rounds in which the C library runs the destructors of pthread keys.
pub(super) const EXIT_ROUNDS: usize = 4;

impl Env {
    /// Closes a section of the process's domain whose word is flagged: a driver waits or asks for a fence, or
    /// the word is a sink.
    pub fn unlock_slowly(&'static self, local: &Local, reader: &'static Reader) {
        self.answer_if_asked(local, reader);
        if let Some(reader) = self.threads.close(local, reader) {
            self.state.wake_driver(reader);
        }
    }

    /// A driver waits, or the word is a sink: ends the section and begins another, if it is an outermost one
    /// that a driver waits for.
    #[cfg_attr(feature = "locations", track_caller)]
    pub fn repin_slowly(&'static self, local: &Local, reader: &'static Reader) -> &'static Reader {
        self.answer_if_asked(local, reader);
        if !self.threads.is_in_the_way(local, reader) {
            return reader;
        }
        if word::end(reader) {
            self.unlock_slowly(local, reader);
        }
        self.threads.lock(local)
    }

    /// Sets the mode, provided that no thread has read.
    pub fn force_mode(&'static self, wanted: FenceMode) -> Result<(), InitError> {
        // One change at a time; and no fork in the middle of one: *prepare* takes this lock.
        let _home = self.state.sweeping();
        let before = self.threads.mode.resolve();
        if before == wanted {
            return Ok(());
        }
        if wanted == FenceMode::Membarrier {
            prim::register_heavy_fence().map_err(|errno| InitError::NoMembarrier { errno })?;
        }
        // Before the domains are listed: what uses a domain that is made meanwhile finds this mode.
        self.threads.mode.begin_change();
        full_fence(); // [MODE-1] [MODE-2]
        // Under the locks of all other domains and with no driver there, so that no sweep and no grace period
        // uses the wrong fence.
        let _sweeps: Vec<_> = self.states().skip(1).map(State::sweeping).collect();
        let cores: Vec<_> = self.states().map(State::lock).collect();
        let busy = |core: &MutexGuard<'_, Core>| core.engine.busy() || core.engine.is_driven();
        let changes = !cores.iter().any(busy) && self.threads.slots.is_empty();
        self.threads.mode.set(if changes { wanted } else { before });
        match changes {
            true => Ok(()),
            false => Err(InitError::AlreadyReading),
        }
    }

    /// The calling thread, which has `slot`, ends. False: a section is still open; call again if possible.
    pub fn leave_thread(&'static self, slot: &'static Slot) -> bool {
        let local = self.local();
        if slot.is_inside_somewhere() {
            let rounds = local.exits.fetch_add(1, Relaxed) + 1;
            return rounds >= EXIT_ROUNDS; // then the slot remains a named holdout forever
        }
        for queue in slot.queues.iter() {
            State::of(queue).leave_queue(queue);
        }
        self.threads.leave(&local, slot);
        true
    }
}

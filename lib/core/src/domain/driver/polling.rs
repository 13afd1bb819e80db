//! Cookies: starting a grace period, and asking whether it has ended. A caller that polls drives it as far as
//! that needs no waiting, so polling alone completes a grace period.

use quiescent_engine::{Interest, Look, Seq};

use super::{Drive, Turn};
use crate::domain::error::SyncError;
use crate::domain::state::State;
use crate::prim::{Ordering, full_fence};

impl State {
    /// Requests a grace period.
    pub fn start_poll(&self) -> Seq {
        full_fence(); // [SNAP-1]
        self.lock().engine.start_poll()
    }

    /// True if the grace period of `cookie` has ended. One acquire load.
    pub fn is_done(&self, cookie: Seq) -> bool {
        let root = Seq::from_bits(self.root_seq.load(Ordering::Acquire)); // [POLL-1]
        let done = cookie == Seq::COMPLETED || root.done_exact(cookie);
        if done {
            full_fence();
        }
        done
    }

    /// As [`is_done`](State::is_done); if not, drives the grace period as far as possible without waiting.
    pub fn poll(&'static self, cookie: Seq) -> Result<bool, SyncError> {
        // A cookie taken during a grace period needs that one and the next.
        for _ in 0..2 {
            if self.is_done(cookie) {
                return Ok(true);
            }
            let Some(mut core) = self.try_lock() else {
                break;
            };
            let cpu = self.own_cpu();
            let taken = self.take_role(&mut core, cpu, Interest::Poller);
            if matches!(taken, Look::At(_)) {
                break;
            }
            let mut turn = Turn::begin(self, core, taken);
            let end = turn.drive(Interest::Poller, None);
            if let Drive::Stalled(stalled) = end {
                turn.report(stalled);
                continue;
            }
            turn.leave();
            match end {
                Drive::Home | Drive::Stalled(_) | Drive::Fence => {}
                Drive::GaveUp | Drive::Replaced => break,
                Drive::Failed(error) => return Err(error),
            }
        }
        Ok(self.is_done(cookie))
    }
}

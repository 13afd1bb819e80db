//! The times of the worker's next pass over a domain, when nothing is due now.

use crate::domain::state::State;
use crate::prim::{self, Ordering};
use crate::reader::word::nap_ns;

impl State {
    /// No work remains here before a call, the time `at`, or a deadline; `blocked` excludes deadlines.
    pub(in crate::domain) fn rest_until(&'static self, blocked: bool, at: Option<u64>) {
        self.rearm(blocked);
        let report = self.next_report().filter(|_| !blocked);
        let look_at = at.into_iter().chain(report).chain(self.next_nap()).min();
        self.look_at.store(look_at.unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the domain's timer to the earliest deadline. `blocked`: the remaining deadlines have passed.
    pub fn rearm(&'static self, blocked: bool) {
        // From here on a thread that queues sets the timer; the loop below sees what was queued before.
        self.lock().engine.disarm();
        let deadlines = self
            .queues()
            .filter_map(|queue| queue.lock().cpu.deadline());
        match deadlines.min() {
            _ if blocked => {}
            Some(earliest) => _ = self.lock().engine.arm(earliest),
            None => self.lock().engine.calm(),
        }
    }

    /// The time at which readers that block a grace period may have to be reported.
    fn next_report(&self) -> Option<u64> {
        if self.interested.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let stall_ns = self.lock().engine.config().pace.stall_ns;
        (stall_ns > 0).then(|| prim::now_ns().saturating_add(stall_ns))
    }

    /// The time of the next look at readers, if one may have left unheard. `[RD-4]`
    fn next_nap(&self) -> Option<u64> {
        let waits = self.interested.load(Ordering::Relaxed) != 0;
        if cfg!(quiescent_model) || !waits || !self.may_miss_readers() {
            return None;
        }
        let naps = self.naps.fetch_add(1, Ordering::Relaxed);
        Some(prim::now_ns().saturating_add(nap_ns(naps)))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::reader::mode::FenceMode;
    use crate::testing::program;

    /// A reader that executes fences may leave without a word: the worker looks again, less and less often,
    /// and not at all when nothing waits. `[RD-4]`
    #[test]
    fn a_worker_that_waits_for_fenced_readers_looks_at_them() {
        let program = program();
        let state = &program.env.state;
        assert_eq!(program.env.force_mode(FenceMode::Fenced), Ok(()));
        state.domain().set(|it| it.stall_ns = 0);
        // True if the next look is at the end of a nap of this length.
        let naps = |length: u64| {
            let before = prim::now_ns();
            state.rest_until(false, None);
            let (at, after) = (state.look_at.load(Ordering::Relaxed), prim::now_ns());
            before + length <= at && at <= after + length
        };
        let rests = || {
            state.rest_until(false, None);
            state.look_at.load(Ordering::Relaxed) == 0
        };
        assert!(rests());
        state.interested.store(1, Ordering::Relaxed);
        let counted = program.domain().state();
        counted.domain().set(|it| it.stall_ns = 0);
        counted.interested.store(1, Ordering::Relaxed);
        counted.rest_until(false, None);
        assert_eq!(
            counted.look_at.load(Ordering::Relaxed),
            0,
            "it hears its readers"
        );
        assert!((0..20).all(|n| naps(nap_ns(n))));
        state.lose_interest();
        assert!(rests());
        state.interested.store(1, Ordering::Relaxed);
        assert!(naps(nap_ns(0)), "from the beginning");
    }
}

//! Turns: which worker runs a queue's callbacks.
//!
//! There are at most two workers, the worker and the overflow worker. While one runs a queue's callbacks, the
//! other skips that queue. No skipped queue is lost: the worker skips only the queue that the overflow worker
//! is running, and the overflow worker calls the worker when it goes to rest. Until then the overflow worker
//! cycles through all queues.

use quiescent_engine::Lane;
use quiescent_engine::pool::TurnId;

use crate::defer::sweep::Until;
use crate::parts::env::Env;
use crate::parts::state::State;
use crate::queue::per_thread::Queue;

/// The name of the turns of the worker that was started with this number.
pub fn turn_of_worker(role: u32) -> TurnId {
    TurnId::MIN | (role << 1)
}

/// The same for the overflow worker.
pub fn turn_of_overflow(role: u32) -> TurnId {
    TurnId::new(role << 1).unwrap_or(TurnId::MAX)
}

/// A worker's turn at a queue. It also ends when the thread is unwound.
struct InvokeTurn {
    state: &'static State,
    queue: &'static Queue,
    who: TurnId,
}

impl Drop for InvokeTurn {
    fn drop(&mut self) {
        self.state.end_turn(self.queue, self.who);
    }
}

impl State {
    /// Invokes the callbacks of this queue that are ready now, unless another worker has the turn. Returns
    /// how many.
    pub fn run_turn(&'static self, queue: &'static Queue, who: TurnId, until: Until) -> u64 {
        let mut core = queue.lock();
        if core.cpu.is_empty() || self.in_callback() {
            return 0;
        }
        let mut global = self.lock();
        core.cpu.advance(&global.engine);
        let takes = core.cpu.take_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        let [own, closures, heads] =
            [Lane::Own, Lane::Code, Lane::Head].map(|lane| core.cpu.list(lane).ready());
        drop(core);
        if overflow {
            self.env().shell.call_overflow(self);
        }
        if !takes {
            return 0;
        }
        let _turn = InvokeTurn {
            state: self,
            queue,
            who,
        };
        self.run_code(queue, Lane::Own, own, until)
            + self.run_code(queue, Lane::Code, closures, until)
            + self.run_heads(queue, heads, until)
    }

    fn end_turn(&'static self, queue: &'static Queue, who: TurnId) {
        let mut core = queue.lock();
        let mut global = self.lock();
        core.cpu.end_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        drop(core);
        if overflow {
            self.env().shell.call_overflow(self);
        }
    }

    /// The overflow worker's work in this domain, from the call until it is to rest. The worker processes
    /// what remains.
    pub fn relieve(&'static self, who: TurnId) {
        let until = Until { deadline: None };
        let mut rests = false;
        while !rests {
            let mut ran = 0;
            for queue in self.queues() {
                let now = self.run_turn(queue, who, until);
                if until.is_over(self.env()) {
                    return; // replaced: another thread has rested in its place
                }
                ran += now;
                rests = now > 0 && self.lock().engine.stand_down(false);
                if rests {
                    break;
                }
            }
            rests |= ran == 0 && self.lock().engine.stand_down(true);
        }
        self.call();
    }
}

impl Env {
    /// Ends the turns of this name: their worker was replaced.
    pub fn end_turns(&'static self, who: TurnId) {
        for state in self.states() {
            for queue in state.queues() {
                if queue.lock().cpu.turn() == Some(who) {
                    state.end_turn(queue, who);
                }
            }
        }
    }

    /// The overflow worker's work after a call: processes the domains that have called.
    pub fn relieve(&'static self, who: TurnId) {
        for state in self.states() {
            if state.lock().engine.overflow_is_on_duty() {
                state.relieve(who);
            }
            if self.shell.is_dismissed() {
                return;
            }
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn turns_of_workers_have_names_of_their_own() {
        let roles = 1..100u32;
        let names = roles.flat_map(|role| [turn_of_worker(role), turn_of_overflow(role)]);
        assert_eq!(names.collect::<HashSet<_>>().len(), 2 * 99);
    }
}

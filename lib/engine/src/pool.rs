//! The worker pool of a thread host: the worker, and an overflow worker on backlog.
//!
//! # Turns
//! A worker invokes a CPU's callbacks only in a *turn* of its own: from [`take_turn`](Cpu::take_turn) to
//! [`end_turn`](Cpu::end_turn) no other worker does. So two workers never invoke the same CPU's callbacks at
//! once, and invocation keeps the order of queueing. Memory is freed without a turn, because its order is not
//! observable. A program that drains takes no turn either; its calls promise no order.
//!
//! A turn has a name. If a worker is replaced in the middle of a callback, another thread ends its turn by
//! that name, and the worker's own later end of it has no effect.
//!
//! # Backlog
//! Callbacks that are done and wait for a turn are *untended*. The total has each CPU's part as of the last
//! call that had both locks, like the [budget](crate::budget). Callbacks in a turn do not count: an overflow
//! worker could not take them.
//!
//! | the overflow worker is | when untended |
//! |---|---|
//! | called, once ([`calls_overflow`](Global::calls_overflow)) | exceed [`Pool::above`] |
//! | to go on, after each turn | are [`Pool::below`] or more |
//! | to rest ([`stand_down`](Global::stand_down)) | are fewer, or it has found nothing |
//!
//! The gap between the two limits bounds the wake-ups: before each call ten thousand callbacks have gathered
//! since the last rest. There is never a third worker.
//!
//! # Invariants
//! * Between a call and the next rest there is no other call.
//! * It is on duty only if [`calls_overflow`](Global::calls_overflow) has returned true to the host.
//! * The total is the sum of the parts.
//! * With one processor, or where the program runs its callbacks itself, the overflow worker is never called.
//!
//! Complexity: every call is O(1).

pub use crate::config::Pool;
use crate::cpu::Cpu;
use crate::global::Global;
use crate::host::Lane;
pub use crate::host::TurnId;

impl Global {
    /// True if the overflow worker is to be woken: it is on duty from this call until
    /// [`stand_down`](Global::stand_down) returns true.
    pub fn calls_overflow(&mut self) -> bool {
        let calls = !self.overflow_on_duty
            && self.untended > u64::from(self.config.pool.above)
            && self.has_second();
        if calls {
            self.overflow_on_duty = true;
            self.counts.backlogs += 1;
        }
        calls
    }

    /// The overflow worker has ended a turn, or has visited all CPUs and found nothing (`idle`). True: it
    /// goes to rest. Then the host has to wake the worker, which processes the remaining callbacks.
    pub fn stand_down(&mut self, idle: bool) -> bool {
        let rests = idle || !self.has_second() || self.untended < u64::from(self.config.pool.below);
        if rests {
            self.overflow_on_duty = false;
        }
        rests
    }

    /// Sets the number of workers that may invoke at a time: at most the number of processors that the
    /// program may use, for example.
    pub fn set_workers(&mut self, workers: u32) {
        self.config.pool.workers = workers;
    }

    /// Is the overflow worker on duty: called, and since then not stood down?
    pub fn overflow_is_on_duty(&self) -> bool {
        self.overflow_on_duty
    }

    /// Callbacks that are done and in no turn, as far as reported.
    pub fn untended(&self) -> u64 {
        self.untended
    }

    fn has_second(&self) -> bool {
        self.config.pool.workers > 1 && !self.config.defer.drained
    }
}

impl Cpu {
    /// A worker is about to invoke this CPU's code. False: there is none that is done, or another worker is
    /// at it.
    pub fn take_turn(&mut self, global: &mut Global, who: TurnId) -> bool {
        let takes = self.ready_code() != 0 && self.holder.is_none_or(|holder| holder == who);
        if takes {
            self.holder = Some(who);
        }
        self.report_untended(global);
        takes
    }

    /// This worker's turn is over, if it has it.
    pub fn end_turn(&mut self, global: &mut Global, who: TurnId) {
        if self.holder == Some(who) {
            self.holder = None;
        }
        self.report_untended(global);
    }

    /// The worker that has the turn.
    pub fn turn(&self) -> Option<TurnId> {
        self.holder
    }

    /// Is something done that a worker could invoke or free now?
    pub fn is_untended(&self) -> bool {
        self.list(Lane::Plain).ready() != 0 || (self.holder.is_none() && self.ready_code() != 0)
    }

    /// Updates the total with the untended callbacks here.
    pub(crate) fn report_untended(&mut self, global: &mut Global) {
        let untended = match self.holder {
            Some(_) => 0,
            None => self.ready_code().min(u32::MAX.into()) as u32,
        };
        global.untended = global.untended - u64::from(self.untended) + u64::from(untended);
        self.untended = untended;
    }

    /// Code that is done, and that a worker has to run.
    pub fn ready_code(&self) -> u64 {
        let own = match self.owner_runs() {
            true => 0,
            false => self.list(Lane::Own).ready(),
        };
        own + self.list(Lane::Code).ready() + self.list(Lane::Head).ready()
    }
}

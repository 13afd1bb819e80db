//! The worker pool of a thread host: the worker, and an overflow worker on backlog.
//!
//! # Turns
//! A worker invokes a CPU's code only in a *turn* of its own: from [`take_turn`](Cpu::take_turn) to
//! [`end_turn`](Cpu::end_turn) no other worker does. So two workers never invoke the same CPU's code at once, and
//! what was queued first is invoked first. Memory is freed without a turn, since the order of that is not
//! observable. A program that drains takes no turn either; its calls promise no order.
//!
//! A turn has a name. If a worker is replaced in the middle of a callback, another thread ends its turn by that name,
//! and its own later end of it has no effect.
//!
//! # Backlog
//! What is done and waits for a turn is *untended*. The total has each CPU's part as of the last call that
//! had both locks, as the [budget](crate::budget) has it. What is in a turn does not count: an overflow
//! worker could not take it.
//!
//! | the overflow worker is | when untended |
//! |---|---|
//! | called, once ([`calls_second`](Global::calls_second)) | exceed [`Pool::above`] |
//! | told to go on, after each turn | are [`Pool::below`] or more |
//! | told to rest ([`stand_down`](Global::stand_down)) | are fewer, or it has found nothing |
//!
//! The gap between the two limits bounds the wake-ups: before each call ten thousand callbacks have gathered since
//! the last rest. There is never a third worker.
//!
//! # Invariants
//! * Between a call and the next rest there is no other call.
//! * The total is the sum of the parts.
//! * With one processor, or where the program runs its code itself, the overflow worker is never called.
//!
//! Complexity: every call is O(1).

pub use crate::common::config::Pool;
pub use crate::common::parts::threads::TurnId;

use crate::common::cpu::{Cpu, Lane};
use crate::common::global::Global;

impl Global {
    /// True, once, if the second worker is to be woken.
    pub fn calls_second(&mut self) -> bool {
        core::mem::take(&mut self.pool.call)
    }

    /// The second worker has ended a turn, or has been at all CPUs and found nothing (`idle`). True: it is to rest.
    /// What is left is the worker's, who has to be woken for it.
    pub fn stand_down(&mut self, idle: bool) -> bool {
        let rests = idle || !self.has_second() || self.pool.untended < self.config.pool.below;
        if rests {
            self.pool.on_duty = false;
            self.pool.call = false;
        }
        rests
    }

    /// So many workers may invoke at a time from now on: fewer than the processors that the program may use, say.
    pub fn set_workers(&mut self, workers: u32) {
        self.config.pool.workers = workers;
    }

    /// Was the second worker called, and has not been told to rest?
    pub fn second_is_on_duty(&self) -> bool {
        self.pool.on_duty
    }

    /// Callbacks that are done and in nobody's turn, as far as CPUs have told.
    pub fn untended(&self) -> u64 {
        self.pool.untended
    }

    fn has_second(&self) -> bool {
        self.config.pool.workers > 1 && !self.config.defer.drained
    }
}

impl Cpu {
    /// A worker is about to invoke this CPU's code. False: there is none that is done, or another worker is at it.
    pub fn take_turn(&mut self, global: &mut Global, who: TurnId) -> bool {
        let takes = self.ready_code() != 0 && self.turn.holder.is_none_or(|holder| holder == who);
        if takes {
            self.turn.holder = Some(who);
        }
        self.tell_untended(global);
        takes
    }

    /// This worker's turn is over, if it has it.
    pub fn end_turn(&mut self, global: &mut Global, who: TurnId) {
        if self.turn.holder == Some(who) {
            self.turn.holder = None;
        }
        self.tell_untended(global);
    }

    /// Who has the turn?
    pub fn turn(&self) -> Option<TurnId> {
        self.turn.holder
    }

    /// Is something done that a worker could invoke or free now?
    pub fn is_untended(&self) -> bool {
        self.list(Lane::Plain).ready() != 0
            || (self.turn.holder.is_none() && self.ready_code() != 0)
    }

    /// The total hears what is untended here.
    pub(crate) fn tell_untended(&mut self, global: &mut Global) {
        let untended = match self.turn.holder {
            Some(_) => 0,
            None => self.ready_code(),
        };
        let pool = &mut global.pool;
        pool.untended = pool.untended - self.turn.told + untended;
        self.turn.told = untended;
        if !pool.on_duty && pool.untended > global.config.pool.above && global.has_second() {
            global.pool.on_duty = true;
            global.pool.call = true;
            global.counts.backlogs += 1;
        }
    }

    pub(crate) fn ready_code(&self) -> u64 {
        self.list(Lane::Code).ready() + self.list(Lane::Head).ready()
    }
}

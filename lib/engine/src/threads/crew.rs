//! Who invokes callbacks in a thread host: the worker, and a second one on backlog.
//!
//! # Turns
//! A worker invokes a CPU's code only in a *turn* of its own: from [`take_turn`](Cpu::take_turn) to
//! [`end_turn`](Cpu::end_turn) no other worker does. So two workers are never at the same CPU at once, and
//! what was queued first is invoked first, whoever does it. Memory is given back without a turn: nobody sees in
//! which order. A program that drains takes none either; its calls promise no order.
//!
//! A turn has a name, so that the turn of a worker that was replaced in the middle of a callback can be ended
//! by somebody else, and its own end of it, later, means nothing.
//!
//! # Backlog
//! What is done and waits for a turn is *untended*. The total has each CPU's part as of the last call that
//! had both locks, as the [budget](crate::budget) has it. What is in somebody's turn does not count: a second
//! worker could do nothing about it.
//!
//! | the second worker is | when untended |
//! |---|---|
//! | called, once ([`calls_second`](Global::calls_second)) | exceed [`Crew::above`] |
//! | told to go on, after each turn | are [`Crew::below`] or more |
//! | told to rest ([`stand_down`](Global::stand_down)) | are fewer, or it has found nothing |
//!
//! The gap between the two is why it does not come and go with every callback: each time that it is called,
//! ten thousand callbacks have gathered since it was told to rest. There is a second one, and never a third.
//!
//! # Invariants
//! * From the call to the rest nobody calls it again.
//! * The total is the sum of the parts, always.
//! * Where there is but one processor, or the program runs its code itself, nobody is called.
//!
//! Complexity: every call is O(1).

pub use crate::common::config::Crew;
pub use crate::common::parts::threads::TurnId;

use crate::common::cpu::{Cpu, Lane};
use crate::common::global::Global;

impl Global {
    /// True, once, if the second worker is to be woken.
    pub fn calls_second(&mut self) -> bool {
        core::mem::take(&mut self.crew.call)
    }

    /// The second worker has ended a turn, or has been at all CPUs and found nothing (`idle`). True: it is to rest.
    /// What is left is the worker's, who has to be woken for it.
    pub fn stand_down(&mut self, idle: bool) -> bool {
        let rests = idle || !self.has_second() || self.crew.untended < self.config.crew.below;
        if rests {
            self.crew.on_duty = false;
            self.crew.call = false;
        }
        rests
    }

    /// So many workers may invoke at a time from now on: fewer than the processors that the program may use, say.
    pub fn set_workers(&mut self, workers: u32) {
        self.config.crew.workers = workers;
    }

    /// Was the second worker called, and has not been told to rest?
    pub fn second_is_on_duty(&self) -> bool {
        self.crew.on_duty
    }

    /// Callbacks that are done and in nobody's turn, as far as CPUs have told.
    pub fn untended(&self) -> u64 {
        self.crew.untended
    }

    fn has_second(&self) -> bool {
        self.config.crew.workers > 1 && !self.config.defer.drained
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
        let crew = &mut global.crew;
        crew.untended = crew.untended - self.turn.told + untended;
        self.turn.told = untended;
        if !crew.on_duty && crew.untended > global.config.crew.above && global.has_second() {
            global.crew.on_duty = true;
            global.crew.call = true;
            global.counts.backlogs += 1;
        }
    }

    pub(crate) fn ready_code(&self) -> u64 {
        self.list(Lane::Code).ready() + self.list(Lane::Head).ready()
    }
}

//! Queueing: the fast paths, and what happens when one of them needs help.

use quiescent_engine::credit::{Refill, Urgency};
use quiescent_engine::owner::MOST_TAKEN;
use quiescent_engine::{Interest, Lane as Which, Seq};

use super::core::{Flow, Frame};
use super::drive::Drive;
use super::lane::{Item, Popped};
use super::queue::{CODE, PLAIN, Queue};
use super::{Threads, Verb};

/// How something is queued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    urgency: Urgency,
    hands_off: bool,
}

const LAZY: Terms = Terms {
    urgency: Urgency::Lazy,
    hands_off: false,
};

/// A push needs help: it is on its way to the lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Help {
    queue: usize,
    lane: usize,
    popped: Popped,
    terms: Terms,
}

/// What the engine asked for is being carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carry {
    queue: usize,
    refill: Refill,
    /// It drives in passing; the published number when it began.
    driven: Option<(u32, Seq)>,
}

impl Threads {
    /// The thread hands something over.
    pub(super) fn hand_over(&mut self, me: usize, func: usize) -> Flow {
        let (verb, bytes) = (self.verbs[func], self.stats.funcs[func].bytes);
        let small = self.global.budget().small;
        let of = |urgency, hands_off| Terms { urgency, hands_off };
        let (lane, terms, large) = match verb {
            Verb::Retire => (PLAIN, LAZY, bytes >= small),
            Verb::RetireNoReclaim => (PLAIN, of(Urgency::Lazy, true), true),
            Verb::Call => (CODE, of(Urgency::Prompt, false), true),
            Verb::CallLazy => (CODE, LAZY, true),
            Verb::CallHurry => (CODE, of(Urgency::Hurry, false), true),
        };
        let item = self.queued(func);
        let unprompted = |queue: &Queue| !queue.lanes[CODE].prompt;
        let queue = match self.threads[me].queue {
            Some(queue) if verb == Verb::Call && unprompted(&self.queues[queue]) => None,
            Some(_) if verb == Verb::CallHurry => None,
            queue => queue,
        };
        let Some(queue) = queue else {
            return self.deliver(me, lane, item, bytes, terms);
        };
        let words = &mut self.queues[queue].lanes[lane];
        let (help, popped) = match terms.hands_off {
            true => (words.push_only(item, bytes), Popped::default()),
            false => {
                let pushed = words.push(item, bytes, large);
                (pushed.help, pushed.popped)
            }
        };
        if !help {
            let freed = words.free(popped);
            self.freed(&freed);
            return Flow::Busy(self.options.threads.prices.push);
        }
        self.push(
            me,
            Frame::Deliver(Help {
                queue,
                lane,
                popped,
                terms,
            }),
        );
        match self.options.stepwise {
            true => Flow::Busy(self.options.threads.prices.push),
            false => Flow::Go,
        }
    }

    fn queued(&mut self, func: usize) -> Item {
        let now = self.now;
        self.stats.holds(now, func, true);
        if self.stats.counts(now) {
            let counted = &mut self.stats.funcs[func];
            counted.queued += 1;
            counted.lazily += u64::from(self.verbs[func].is_lazy());
        }
        Item {
            func,
            at: now,
            number: self.oracle.queued(),
            since: self.oracle.since(),
        }
    }

    /// These have been freed, or run.
    pub(super) fn freed(&mut self, items: &[Item]) {
        let now = self.now;
        for item in items {
            self.oracle.invoked(item.number, item.since);
            self.stats.holds(now, item.func, false);
            if self.stats.counts(now) {
                let func = &mut self.stats.funcs[item.func];
                func.invoked += 1;
                func.delays.push(now - item.at);
            }
        }
    }

    /// A push of this thread needs help; what it pushed is there for all to see.
    pub(super) fn helped(&mut self, me: usize, help: Help) -> Flow {
        let Help {
            queue,
            lane,
            popped,
            terms,
        } = help;
        let root = self.root();
        let it = &mut self.queues[queue];
        if it.lanes[lane].cross(root) {
            let freed = it.lanes[lane].free(popped);
            self.freed(&freed);
            return Flow::Go;
        }
        it.prepare(lane);
        let kept = it.keep(lane, popped);
        let refill = self.refill(queue, terms);
        self.freed(&kept);
        self.push_carry(me, queue, refill);
        Flow::Busy(self.options.threads.prices.help)
    }

    /// Queues something under the lock.
    fn deliver(&mut self, me: usize, lane: usize, item: Item, bytes: u64, terms: Terms) -> Flow {
        let queue = self.queue_or_new(me);
        let it = &mut self.queues[queue];
        it.owned = true;
        self.threads[me].queue = Some(queue);
        let words = &mut it.lanes[lane];
        words.left = words.left.wrapping_sub(bytes);
        words.put(item);
        let refill = self.refill(queue, terms);
        // Where nobody pops, each push frees two.
        if !self.queues[queue].hands_off {
            self.free_taken(queue, 2);
        }
        self.push_carry(me, queue, refill);
        Flow::Busy(self.options.threads.prices.help)
    }

    fn queue_or_new(&mut self, me: usize) -> usize {
        let slot = self.own_slot_or_register(me);
        if let Some(queue) = self.slots.slot(slot).queue {
            return queue;
        }
        self.queues.push(Queue::new(slot as u32));
        let queue = self.queues.len() - 1;
        self.slots.slot(slot).queue = Some(queue);
        queue
    }

    /// Frees up to so many done objects that are not their owner's; how many there were.
    pub(super) fn free_taken(&mut self, queue: usize, most: u64) -> u64 {
        let (range, items) = self.queues[queue].extract(PLAIN, most);
        self.freed(&items);
        let count = range.end - range.start;
        self.report_ran(queue, Which::Plain, range);
        count
    }

    /// Tells the engine what the owner has done; new credit.
    fn refill(&mut self, queue: usize, terms: Terms) -> Refill {
        self.counted.refills += 1;
        let now = Threads::at(self.coarse());
        let offload = self.options.threads.offload;
        let it = &mut self.queues[queue];
        let urgency = match std::mem::take(&mut it.revoking) {
            true => Urgency::Hurry, // somebody is about to take all of it: the owner does it itself
            false => terms.urgency,
        };
        let queued = it.report(terms.hands_off || offload);
        let view = super::slots::View {
            slots: &self.slots,
            told: &self.told,
        };
        let refill = it
            .cpu
            .refill(&mut self.global, &queued, urgency, now, &view);
        it.settle(&refill.credit, refill.drive);
        let published = self.global.published().root;
        for words in &mut it.lanes {
            words.published = Some(published);
        }
        it.lanes[CODE].prompt = refill.prompt;
        refill
    }

    fn push_carry(&mut self, me: usize, queue: usize, refill: Refill) {
        let carry = Carry {
            queue,
            refill,
            driven: None,
        };
        self.push(me, Frame::Carry(carry));
    }

    /// Carries out what the engine asked for.
    pub(super) fn carry(&mut self, me: usize, carry: Carry) -> Flow {
        let Carry {
            queue,
            refill,
            driven,
        } = carry;
        let mut ended = false;
        match driven {
            None => {
                self.arm_and_kick(&refill);
                let cpu = self.threads[me].slot.map(|slot| slot as u32);
                if refill.drive && self.global.try_drive(cpu, Interest::Passing) {
                    let driven = Some((self.global.driver_epoch(), self.root()));
                    self.push(me, Frame::Carry(Carry { driven, ..carry }));
                    self.push(me, Frame::Drive(Drive::begin(self, Interest::Passing)));
                    return Flow::Go;
                }
            }
            Some((reign, before)) => {
                self.leave(reign);
                ended = self.root() != before;
            }
        }
        let inside = self.is_inside(me);
        self.counted.gave_way += u64::from(refill.give_way && !inside);
        let prices = self.options.threads.prices;
        let mut cost = 0;
        if ended {
            // What waited for it may be freed from the next push on.
            let refill = self.refill(queue, LAZY);
            self.arm_and_kick(&refill);
            cost += prices.help;
        }
        if refill.help != 0 {
            let helped = self.help_along(queue, refill.help);
            self.counted.helped += helped;
            cost += prices.push * helped;
        }
        match cost {
            0 => Flow::Go,
            cost => Flow::Busy(cost),
        }
    }

    /// The owner frees up to so many of its own that are done.
    fn help_along(&mut self, queue: usize, most: u64) -> u64 {
        let most = most.min(MOST_TAKEN as u64);
        let plain = &mut self.queues[queue].lanes[PLAIN];
        let popped = match plain.taken {
            true => Vec::new(),
            false => plain.pop_many(most),
        };
        if popped.is_empty() {
            return self.free_taken(queue, most);
        }
        self.freed(&popped);
        popped.len() as u64
    }

    /// The owner ends: its queue has none from now on.
    pub(super) fn leave_queue(&mut self, queue: usize) {
        if self.queues[queue].is_idle() {
            return; // inherited, and never used
        }
        self.queues[queue].owned = false;
        let refill = self.refill(queue, LAZY);
        let it = &mut self.queues[queue];
        if it.cpu.is_empty() {
            it.lanes.iter_mut().for_each(|words| words.ahead = 0);
        }
        self.arm_and_kick(&refill);
    }
}

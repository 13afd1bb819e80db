//! What a thread of the program does: reads, queues, waits, sleeps, and ends.

use quiescent_engine::credit::Urgency;
use quiescent_virtual as time;

use super::Verb;
use super::world::{Thread, World};
use crate::input::op::Op;
use crate::record::stats::Synchronized;

impl World {
    /// The life of a thread of the program, on its fiber.
    pub fn run_program(&self, me: usize) {
        let registered = self.with(me, |it| it.work.as_ref().is_some_and(|it| it.1));
        if registered {
            self.process.register();
            time::busy(self.options.threads.prices.push);
        }
        while let Some(op) = self.next(me) {
            self.carry_out(me, op);
            self.with(me, |it| it.slot = self.process.slot());
            time::settle();
        }
        self.exit(me);
    }

    fn with<R>(&self, me: usize, f: impl FnOnce(&mut Thread) -> R) -> R {
        f(&mut self.known.borrow_mut().threads[me])
    }

    /// What the thread does next; none if it is over.
    fn next(&self, me: usize) -> Option<Op> {
        let now = time::now();
        let op = self.with(me, |it| it.work.as_mut().map(|it| it.0.next(now)));
        op.filter(|op| *op != Op::Exit)
    }

    fn carry_out(&self, me: usize, op: Op) {
        let push = self.options.threads.prices.push;
        match op {
            Op::Compute(ns) | Op::Kernel(ns) => time::busy(ns),
            Op::SleepUntil(at) | Op::SleepOn { until: at, .. } => time::sleep_until(at),
            Op::Call { func, .. } => {
                self.hand_over(func);
                time::busy(push);
            }
            Op::Lock => {
                self.lock(me);
                time::busy(push);
            }
            Op::Unlock => {
                self.unlock(me);
                time::busy(push);
            }
            Op::Synchronize => self.synchronize(me, false),
            Op::SynchronizeExpedited => self.synchronize(me, true),
            Op::Barrier => self.barrier(me),
            // What a kernel's machine does, and a program does not.
            Op::Offline(_) | Op::Online(_) | Op::Offload(_) | Op::Deoffload(_) | Op::Shrink(_) => {}
            Op::AwaitCallback { .. } | Op::Reclaim { .. } | Op::Enter { .. } | Op::Leave => {}
            Op::Srcu(_) => {}
            Op::Exit => {} // seen to by the caller
        }
    }

    /// The thread hands over an object.
    fn hand_over(&self, func: usize) {
        let object = self.queued(func);
        let known = self.known.borrow();
        let (verb, bytes) = (known.verbs[func], known.stats.funcs[func].bytes);
        drop(known);
        let process = self.process;
        match verb {
            Verb::Retire => process.retire(object, bytes, bytes >= self.small),
            Verb::RetireOnWorker => process.retire_on_worker(object, bytes),
            Verb::Call => process.defer(object, bytes, Urgency::Prompt),
            Verb::CallLazy => process.defer(object, bytes, Urgency::Lazy),
            Verb::CallHurry => process.defer(object, bytes, Urgency::Hurry),
        }
    }

    fn lock(&self, me: usize) {
        let section = self.process.lock();
        let known = &mut *self.known.borrow_mut();
        let it = &mut known.threads[me];
        it.sections.push(section);
        it.section.get_or_insert_with(|| known.oracle.opened());
    }

    fn unlock(&self, me: usize) {
        let Some(section) = self.with(me, |it| it.sections.pop()) else {
            return;
        };
        if !self.is_inside(me)
            && let Some(number) = self.with(me, |it| it.section.take())
        {
            self.known.borrow_mut().oracle.closed(number);
        }
        self.process.unlock(section);
    }

    fn is_inside(&self, me: usize) -> bool {
        self.with(me, |it| !it.sections.is_empty())
    }

    fn synchronize(&self, me: usize, expedited: bool) {
        if self.is_inside(me) {
            return; // refused: it would wait for itself
        }
        let (start, since) = (time::now(), self.known.borrow().oracle.since());
        self.with(me, |it| it.waits = true);
        self.process.synchronize(expedited);
        self.with(me, |it| it.waits = false);
        self.known.borrow_mut().oracle.waited(since);
        time::settle();
        let (end, stats) = (time::now(), &mut self.known.borrow_mut().stats);
        if stats.counts(end) {
            stats.calls.push(Synchronized {
                start,
                end,
                expedited,
            });
        }
    }

    fn barrier(&self, me: usize) {
        if self.is_inside(me) {
            return;
        }
        let until = self.known.borrow().oracle.until();
        self.process.barrier();
        self.known.borrow_mut().oracle.drained(until);
    }

    /// The thread ends, and so do its sections. Its queue stays with its slot.
    fn exit(&self, me: usize) {
        while self.is_inside(me) {
            self.unlock(me);
        }
        self.process.leave();
        let known = &mut *self.known.borrow_mut();
        let it = &mut known.threads[me];
        (it.slot, it.work) = (None, None);
        known.live -= 1;
    }
}

//! What a thread of the program does: reads, queues, waits, sleeps, and ends.

use super::core::{Flow, Frame, On};
use super::{Threads, drive};
use crate::input::op::Op;

/// Where a thread of the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It begins, and reads once.
    Register,
    /// It asks its work what is next.
    Ask,
    /// It sleeps until this time of the run.
    Sleep(u64),
}

impl Threads {
    pub(super) fn program(&mut self, me: usize, next: Next) -> Flow {
        let push = self.options.threads.prices.push;
        match next {
            Next::Register => {
                self.own_slot_or_register(me);
                self.push(me, Frame::Program(Next::Ask));
                return Flow::Busy(push);
            }
            Next::Sleep(until) if self.now < until => {
                self.push(me, Frame::Program(next));
                let until = self.clock() + (until - self.now);
                return self.sleep(me, On::Time, Some(until));
            }
            Next::Sleep(_) | Next::Ask => {}
        }
        if self.threads[me].debt > 0 {
            self.push(me, Frame::Program(Next::Ask));
            return Flow::Busy(0);
        }
        let now = self.now;
        let work = self.threads[me].work.as_mut();
        let op = work.map_or(Op::Exit, |work| work.next(now));
        if op == Op::Exit {
            return self.exit(me);
        }
        if let Op::SleepUntil(at) | Op::SleepOn { until: at, .. } = op {
            self.push(me, Frame::Program(Next::Sleep(at)));
            return Flow::Go;
        }
        self.push(me, Frame::Program(Next::Ask));
        match op {
            Op::Compute(ns) | Op::Kernel(ns) => Flow::Busy(ns),
            Op::Call { func, .. } => self.hand_over(me, func),
            Op::Lock => {
                self.lock(me);
                Flow::Busy(push)
            }
            Op::Unlock => {
                self.unlock(me);
                Flow::Busy(push)
            }
            Op::Synchronize => self.synchronize(me, false),
            Op::SynchronizeExpedited => self.synchronize(me, true),
            Op::Barrier => self.begin_barrier(me),
            // What a kernel's machine does, and a program does not.
            Op::Offline(_) | Op::Online(_) | Op::Offload(_) | Op::Deoffload(_) | Op::Shrink(_) => {
                Flow::Go
            }
            Op::AwaitCallback { .. } | Op::Reclaim { .. } | Op::Enter { .. } | Op::Leave => {
                Flow::Go
            }
            Op::SleepUntil(_) | Op::SleepOn { .. } | Op::Exit => Flow::Go, // seen to above
        }
    }

    // Readers.

    /// This thread's slot; registers it if it has none.
    pub(super) fn own_slot_or_register(&mut self, me: usize) -> usize {
        if let Some(slot) = self.threads[me].slot {
            return slot;
        }
        let slot = self.slots.claim();
        self.threads[me].slot = Some(slot);
        slot
    }

    fn lock(&mut self, me: usize) {
        let slot = self.own_slot_or_register(me);
        let reader = &mut self.slots.slot(slot).reader;
        if reader.depth() == 0 {
            self.threads[me].section = Some(self.oracle.opened());
        }
        reader.enter();
    }

    fn unlock(&mut self, me: usize) {
        let Some(slot) = self.threads[me].slot else {
            return;
        };
        if self.slots.slot(slot).reader.exit() {
            let section = self.threads[me].section.take();
            self.oracle.closed(section.expect("it was opened"));
            if self.slots.slot(slot).reader.take_flag() {
                self.wake_driver();
            }
        }
    }

    /// A reader that was flagged has ended its section: a driver that sleeps goes on.
    fn wake_driver(&mut self) {
        if std::mem::replace(&mut self.sleeper, drive::NOBODY) != drive::NOBODY {
            self.counted.reader_wakeups += 1;
            self.wake_sleeper();
        }
    }

    /// Is a section of this thread open?
    pub(super) fn is_inside(&self, me: usize) -> bool {
        self.threads[me].section.is_some()
    }

    /// The thread ends, and so do its sections. Its queue stays with its slot.
    fn exit(&mut self, me: usize) -> Flow {
        while self.is_inside(me) {
            self.unlock(me);
        }
        if let Some(slot) = self.threads[me].slot.take() {
            if let Some(queue) = self.slots.slot(slot).queue {
                self.leave_queue(queue);
            }
            self.threads[me].queue = None;
            self.slots.release(slot);
        }
        Flow::Go
    }
}

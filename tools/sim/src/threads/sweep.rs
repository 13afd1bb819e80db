//! Looking at all queues: taking over, running what is done.
//!
//! The twin of the library's `sweep.rs`, and of the worker's turns.

use std::ops::Range;

use quiescent_engine::credit::Cause;
use quiescent_engine::owner::MOST_TAKEN;
use quiescent_engine::pool::TurnId;
use quiescent_engine::{CbList, Cpu, Lane as Which, Pos};

use super::Threads;
use super::core::{Flow, Frame, On};
use super::queue::{CODE, PLAIN, Queue};

/// Which queues a sweep chooses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choose {
    /// Those that are due, or all: the budget is near.
    Due { now: u64, all: bool },
    /// All: a barrier visits them.
    Barrier,
}

/// A sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    pub choose: Choose,
    stage: Stage,
    chosen: u32,
    left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    /// Limits are lowered, and the fence has been issued where somebody owns one.
    Take,
}

/// One round over all queues, running what is done.
#[derive(Clone, Debug)]
pub(super) struct Run {
    queue: usize,
    stage: Ready,
    total: u64,
}

#[derive(Clone, Debug)]
enum Ready {
    /// It comes to the queue.
    Look,
    /// So many objects are left to be freed.
    Plain(u64),
    /// It asks for a turn.
    Turn,
    /// So many callbacks are left of the turn; this one runs.
    Code(u64, Range<Pos>),
}

impl Sweep {
    pub fn new(choose: Choose) -> Sweep {
        Sweep {
            choose,
            stage: Stage::Begin,
            chosen: 0,
            left: 0,
        }
    }
}

impl Choose {
    fn cause(self, queue: &Queue) -> Option<Cause> {
        let busy = !queue.is_idle();
        match self {
            Choose::Due { now, all } => {
                let whole = (all && busy).then_some(Cause::Budget);
                queue.cpu.due(Threads::at(now), false).or(whole)
            }
            Choose::Barrier => busy.then_some(Cause::Barrier),
        }
    }
}

impl Threads {
    /// Takes over the queues that are chosen. How many is the thread's `swept` then.
    pub(super) fn sweep(&mut self, me: usize, mut it: Sweep) -> Flow {
        if it.stage == Stage::Begin && self.sweeping.is_some_and(|other| other != me) {
            self.push(me, Frame::Sweep(it));
            return self.sleep(me, On::Sweep, None);
        }
        let owned = match it.stage {
            Stage::Begin => self.choose(me, &mut it),
            Stage::Take => self.take_chosen(&mut it),
        };
        it.stage = Stage::Take;
        if it.left == 0 {
            self.threads[me].swept = it.chosen;
            self.sweeping = None;
            self.wake_all(On::Sweep);
            return Flow::Go;
        }
        self.push(me, Frame::Sweep(it));
        match owned {
            true => {
                self.counted.fences_take += 1;
                Flow::Busy(self.options.threads.prices.fence)
            }
            false => Flow::Go,
        }
    }

    /// Step 1 of the take-overs. Has one of the queues an owner?
    fn choose(&mut self, me: usize, it: &mut Sweep) -> bool {
        self.sweeping = Some(me);
        let mut owned = false;
        for queue in &mut self.queues {
            queue.chosen = it.choose.cause(queue);
            if queue.chosen.is_some() {
                it.chosen += 1;
                owned |= queue.revoke();
            }
        }
        it.left = it.chosen;
        owned
    }

    /// Step 3. Was an owner faster, and its queue has to be taken once more?
    fn take_chosen(&mut self, it: &mut Sweep) -> bool {
        let now = Threads::at(self.coarse());
        let mut owned = false;
        for queue in &mut self.queues {
            let Some(cause) = queue.chosen else { continue };
            let Some(queued) = queue.take() else {
                owned |= queue.revoke();
                continue;
            };
            queue.chosen = None;
            it.left -= 1;
            let view = super::slots::View {
                slots: &self.slots,
                told: &self.told,
            };
            queue
                .cpu
                .taken(&mut self.global, &queued, cause, now, &view);
            if matches!(it.choose, Choose::Barrier) {
                let _ = queue.cpu.visit_barrier(&mut self.barrier);
            }
        }
        owned
    }

    /// Wakes all that sleep on this.
    pub(super) fn wake_all(&mut self, on: On) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].on == on {
                self.wake(thread);
            }
        }
    }

    // Running.

    /// Begins a round over all queues. How much was freed and run is the thread's `ran` then.
    pub(super) fn begin_run(&mut self, me: usize) {
        self.push(
            me,
            Frame::Run(Run {
                queue: 0,
                stage: Ready::Look,
                total: 0,
            }),
        );
    }

    /// Frees and runs what is done and not its owner's: a piece for each batch of memory, and for each callback.
    pub(super) fn run_ready(&mut self, me: usize, mut it: Run) -> Flow {
        loop {
            let queue = it.queue;
            if queue == self.queues.len() {
                self.threads[me].ran = it.total;
                return Flow::Go;
            }
            match it.stage {
                Ready::Look => {
                    let cpu = &mut self.queues[queue].cpu;
                    if !cpu.is_empty() {
                        cpu.advance(&self.global);
                    }
                    it.stage = Ready::Plain(cpu.list(Which::Plain).ready());
                }
                Ready::Plain(left) => {
                    let freed = match left {
                        0 => 0,
                        left => self.free_taken(queue, left.min(MOST_TAKEN as u64)),
                    };
                    it.total += freed;
                    it.stage = match freed {
                        0 => Ready::Turn,
                        freed => Ready::Plain(left - freed),
                    };
                    if freed > 0 {
                        self.push(me, Frame::Run(it));
                        return Flow::Busy(freed * self.options.threads.prices.push);
                    }
                }
                Ready::Turn => match self.take_turn(me, queue) {
                    0 => it = it.next_queue(),
                    ready => it.stage = Ready::Code(ready, 0..0),
                },
                Ready::Code(left, ran) => {
                    it.total += ran.end - ran.start;
                    self.report_ran(queue, Which::Code, ran);
                    let (range, items) = match left {
                        0 => (0..0, Vec::new()),
                        _ => self.queues[queue].extract(CODE, 1),
                    };
                    if range.is_empty() {
                        self.end_turn(me, queue);
                        it.stage = Ready::Look;
                        it = it.next_queue();
                        continue;
                    }
                    self.freed(&items);
                    it.stage = Ready::Code(left - 1, range);
                    self.push(me, Frame::Run(it));
                    return Flow::Busy(self.options.costs.callback);
                }
            }
        }
    }

    fn turn_of(me: usize) -> TurnId {
        TurnId::MIN.saturating_add(me as u32)
    }

    /// How many callbacks the thread may run here; none if there are none, or somebody else is at it.
    fn take_turn(&mut self, me: usize, queue: usize) -> u64 {
        let cpu = &mut self.queues[queue].cpu;
        if cpu.is_empty() {
            return 0;
        }
        cpu.advance(&self.global);
        match cpu.take_turn(&mut self.global, Threads::turn_of(me)) {
            true => cpu.list(Which::Code).ready(),
            false => 0,
        }
    }

    fn end_turn(&mut self, me: usize, queue: usize) {
        let cpu = &mut self.queues[queue].cpu;
        cpu.end_turn(&mut self.global, Threads::turn_of(me));
    }

    /// These have been run: the engine hears of it, and perhaps a barrier is complete.
    pub(super) fn report_ran(&mut self, queue: usize, lane: Which, range: Range<Pos>) {
        if range.is_empty() {
            return;
        }
        let cpu = &mut self.queues[queue].cpu;
        let share_done = cpu.ran(lane, range);
        if cpu.untold() {
            cpu.tell(&mut self.global);
        }
        if share_done {
            self.barrier_share_done();
        }
    }

    /// Does something that was taken over wait for a grace period?
    pub(super) fn taken_waits(&self) -> bool {
        self.any_hurried(|cpu| cpu.lists().iter().any(CbList::pending))
    }

    /// Has something that was taken over become done meanwhile?
    pub(super) fn taken_is_ready(&self) -> bool {
        self.any_hurried(Cpu::is_untended)
    }

    fn any_hurried(&self, test: impl Fn(&Cpu) -> bool) -> bool {
        let mut cpus = self.queues.iter().map(|queue| &queue.cpu);
        cpus.any(|cpu| cpu.is_hurried() && test(cpu))
    }
}

impl Run {
    fn next_queue(self) -> Run {
        Run {
            queue: self.queue + 1,
            stage: Ready::Look,
            total: self.total,
        }
    }
}

/// The lane that its owner may consume.
const _: () = assert!(PLAIN == 0 && CODE == 1);

//! The engine's calls about callbacks, as the thread host makes them: see [`calls`](crate::gp::calls).
//!
//! Two of them only query (whether a queue is due, and when); their results are decisions, and are therefore
//! recorded too.

use quiescent_engine::Seq;
use quiescent_engine::barrier::{Barrier, Begin, Visit};
use quiescent_engine::cpu::{Cpu, LANES};
use quiescent_engine::credit::{Cause, Queued, Refill, Urgency};
use quiescent_engine::pool::TurnId;
use quiescent_engine::pressure::Low;
use quiescent_engine::record::{BarrierInput, CpuInput, Input, Output};

use crate::gp::calls::through;
use crate::parts::state::{Core, State};
use crate::prim::now_ns;
use crate::prim::part::{Part, straight};
use crate::reader::set::ReaderSet;

fn done(done: &bool) -> Output {
    Output::Done(*done)
}

fn nothing((): &()) -> Output {
    Output::Done(true)
}

/// Calls that need both locks: the queue's and the domain's. Each calls the engine's method of the same name,
/// and records the call.
impl Core {
    pub fn refill(
        &mut self,
        readers: ReaderSet<'_>,
        cpu: &mut Part<Cpu>,
        queued: &[Queued; LANES],
        urgency: Urgency,
        now_ns: u64,
    ) -> Refill {
        let now = State::now(now_ns);
        let input = CpuInput::Refill {
            queued: *queued,
            urgency,
            now,
        };
        through!(
            readers,
            &self.lock,
            Input::Cpu(cpu.id(), input),
            |r: &Refill| Output::Refill(*r),
            |host| cpu
                .inner()
                .refill(self.engine.inner(), queued, urgency, now, host)
        )
    }

    pub fn taken(
        &mut self,
        readers: ReaderSet<'_>,
        cpu: &mut Part<Cpu>,
        queued: &[Queued; LANES],
        cause: Cause,
        now_ns: u64,
    ) -> bool {
        let now = State::now(now_ns);
        let input = CpuInput::Taken {
            queued: *queued,
            cause,
            now,
        };
        through!(
            readers,
            &self.lock,
            Input::Cpu(cpu.id(), input),
            done,
            |host| cpu
                .inner()
                .taken(self.engine.inner(), queued, cause, now, host)
        )
    }

    pub fn admit(
        &mut self,
        cpu: &mut Part<Cpu>,
        queued: &[Queued; LANES],
        bytes: u64,
        now_ns: u64,
    ) -> bool {
        let now = State::now(now_ns);
        let input = CpuInput::Admit {
            queued: *queued,
            bytes,
            now,
        };
        straight!(
            Input::Cpu(cpu.id(), input),
            done,
            cpu.inner().admit(self.engine.inner(), queued, bytes, now)
        )
    }

    pub fn take_turn(&mut self, cpu: &mut Part<Cpu>, who: TurnId) -> bool {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::TakeTurn { who }),
            done,
            cpu.inner().take_turn(self.engine.inner(), who)
        )
    }

    pub fn end_turn(&mut self, cpu: &mut Part<Cpu>, who: TurnId) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::EndTurn { who }),
            nothing,
            cpu.inner().end_turn(self.engine.inner(), who)
        );
    }

    pub fn tell(&mut self, cpu: &mut Part<Cpu>) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Tell),
            nothing,
            cpu.inner().tell(self.engine.inner())
        );
    }

    pub fn retime(&mut self, cpu: &mut Part<Cpu>, now_ns: u64) -> Option<u64> {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Retime { now_ns }),
            |r: &Option<u64>| Output::Deadline(*r),
            cpu.inner().retime(self.engine.inner(), now_ns)
        )
    }

    pub fn advance(&mut self, cpu: &mut Part<Cpu>) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Advance),
            nothing,
            cpu.inner().advance(&self.engine)
        );
    }

    /// In the child of a fork.
    pub fn forked_cpu(
        &mut self,
        cpu: &mut Part<Cpu>,
        queued: &[Queued; LANES],
        run_code: bool,
        now_ns: u64,
    ) -> u64 {
        let now = State::now(now_ns);
        let input = CpuInput::Forked {
            queued: *queued,
            run_code,
            now,
        };
        straight!(
            Input::Cpu(cpu.id(), input),
            |r: &u64| Output::Count(*r),
            cpu.inner()
                .forked(self.engine.inner(), queued, run_code, now)
        )
    }

    pub fn visit_barrier(&mut self, cpu: &mut Part<Cpu>) {
        let _ = straight!(
            Input::Cpu(cpu.id(), CpuInput::VisitBarrier),
            |r: &Visit| Output::Visit(*r),
            cpu.inner().visit_barrier(self.barrier.inner())
        );
    }
}

/// Calls that need the domain's lock. Each calls the engine's method of the same name, and records the call.
impl Core {
    pub fn set_flush_times(&mut self, lazy_ns: u64, prompt_ns: u64) {
        self.due_from = now_ns(); // what the new times would have flushed already
        straight!(
            Input::SetFlushTimes { lazy_ns, prompt_ns },
            nothing,
            self.engine.inner().set_flush_times(lazy_ns, prompt_ns)
        );
    }

    /// In the child of a fork, after the queues.
    pub fn forked(&mut self) {
        let Core {
            engine,
            waiters,
            barrier,
            gate,
            lock: _,
            due_from,
        } = self;
        *due_from = now_ns(); // what was due in the parent
        *waiters = crate::parts::waiters::WaitList::new();
        gate.forked();
        straight!(Input::Forked, nothing, engine.inner().forked());
        straight!(
            Input::Barrier(BarrierInput::Forked),
            nothing,
            barrier.inner().forked()
        );
    }

    /// Clears the armed deadline if it has passed.
    pub fn expire(&mut self, now_ns: u64) {
        if self.engine.armed().is_some_and(|armed| armed <= now_ns) {
            self.disarm();
        }
    }

    pub fn disarm(&mut self) {
        straight!(Input::Disarm, nothing, self.engine.inner().disarm());
    }

    /// True if the worker has to be woken.
    pub fn set_budget(&mut self, bytes: u64, count: u64) -> bool {
        straight!(
            Input::SetBudget { bytes, count },
            done,
            self.engine.inner().set_budget(bytes, count)
        )
    }

    /// True, once, if every queue has to be taken over, because of the budget.
    pub fn sweeps_all(&mut self) -> bool {
        straight!(Input::SweepsAll, done, self.engine.inner().sweeps_all())
    }

    /// True if the overflow worker has to be woken.
    pub fn calls_overflow(&mut self) -> bool {
        straight!(
            Input::CallsOverflow,
            done,
            self.engine.inner().calls_overflow()
        )
    }

    pub fn stand_down(&mut self, idle: bool) -> bool {
        straight!(
            Input::StandDown { idle },
            done,
            self.engine.inner().stand_down(idle)
        )
    }

    pub fn set_workers(&mut self, workers: u32) {
        straight!(
            Input::SetWorkers { workers },
            nothing,
            self.engine.inner().set_workers(workers)
        );
    }

    pub fn arm(&mut self, deadline: u64) {
        let _ = straight!(
            Input::Arm {
                deadline_ns: deadline
            },
            |r: &Option<u64>| Output::Deadline(*r),
            self.engine.inner().arm(deadline)
        );
    }

    pub fn memory_low(&mut self, now_ns: u64) -> Low {
        let now = State::now(now_ns);
        straight!(
            Input::MemoryLow { now },
            |r: &Low| Output::Low(*r),
            self.engine.inner().memory_low(now)
        )
    }

    pub fn take_pressure(&mut self, now_ns: u64) -> bool {
        let now = State::now(now_ns);
        straight!(
            Input::TakePressure { now },
            done,
            self.engine.inner().take_pressure(now)
        )
    }

    pub fn calm(&mut self) {
        straight!(Input::Calm, nothing, self.engine.inner().calm());
    }

    pub fn set_drained(&mut self, drained: bool) {
        self.due_from = now_ns(); // what was left to the program
        straight!(
            Input::SetDrained { drained },
            nothing,
            self.engine.inner().set_drained(drained)
        );
    }

    pub fn start_barrier(&mut self, snap: Seq) -> Begin {
        straight!(
            Input::Barrier(BarrierInput::Start { snap }),
            |r: &Begin| Output::Begin(*r),
            self.barrier.inner().start(snap)
        )
    }
}

impl Part<Barrier> {
    pub fn snap(&self) -> Seq {
        straight!(
            Input::Barrier(BarrierInput::Snap),
            |r: &Seq| Output::Seq(*r),
            Barrier::snap(self)
        )
    }

    pub fn visited_all(&mut self) -> bool {
        straight!(
            Input::Barrier(BarrierInput::VisitedAll),
            done,
            self.inner().visited_all()
        )
    }

    pub fn one_done(&mut self) -> bool {
        straight!(
            Input::Barrier(BarrierInput::OneDone),
            done,
            self.inner().one_done()
        )
    }

    pub fn end(&mut self) {
        straight!(
            Input::Barrier(BarrierInput::End),
            nothing,
            self.inner().end()
        );
    }
}

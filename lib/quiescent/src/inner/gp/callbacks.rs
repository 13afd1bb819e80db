//! The engine's calls about callbacks, as the thread host makes them: see [`engine`](crate::inner::gp::calls).
//!
//! Two of them only look (is a queue due, and when will it be); their answers are decisions, and hence
//! recorded too.

use std::ops::Range;

use quiescent_engine::barrier::{Barrier, Begin, Visit};
use quiescent_engine::cpu::{Cpu, LANES, Lane};
use quiescent_engine::credit::{Cause, Queued, Refill, Urgency};
use quiescent_engine::pool::TurnId;
use quiescent_engine::pressure::Low;
use quiescent_engine::record::{BarrierInput, CpuInput, Input, Output};
use quiescent_engine::{Now, Pos, Seq};

use crate::inner::domain::state::{Core, State};
use crate::inner::gp::calls::{Part, straight, through};
use crate::inner::gp::readers::ReaderSet;

fn done(done: &bool) -> Output {
    Output::Done(*done)
}

fn nothing((): &()) -> Output {
    Output::Done(true)
}

/// Calls that need both locks: the queue's and the domain's.
impl Core {
    pub(crate) fn refill(
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
            Input::Cpu(cpu.id(), input),
            |r: &Refill| Output::Refill(*r),
            |host| cpu
                .inner()
                .refill(self.engine.inner(), queued, urgency, now, host)
        )
    }

    pub(crate) fn taken(
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
        through!(readers, Input::Cpu(cpu.id(), input), done, |host| cpu
            .inner()
            .taken(self.engine.inner(), queued, cause, now, host))
    }

    pub(crate) fn admit(
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

    pub(crate) fn take_turn(&mut self, cpu: &mut Part<Cpu>, who: TurnId) -> bool {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::TakeTurn { who }),
            done,
            cpu.inner().take_turn(self.engine.inner(), who)
        )
    }

    pub(crate) fn end_turn(&mut self, cpu: &mut Part<Cpu>, who: TurnId) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::EndTurn { who }),
            nothing,
            cpu.inner().end_turn(self.engine.inner(), who)
        );
    }

    pub(crate) fn tell(&mut self, cpu: &mut Part<Cpu>) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Tell),
            nothing,
            cpu.inner().tell(self.engine.inner())
        );
    }

    pub(crate) fn retime(&mut self, cpu: &mut Part<Cpu>, now_ns: u64) -> Option<u64> {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Retime { now_ns }),
            |r: &Option<u64>| Output::Deadline(*r),
            cpu.inner().retime(self.engine.inner(), now_ns)
        )
    }

    pub(crate) fn advance(&mut self, cpu: &mut Part<Cpu>) {
        straight!(
            Input::Cpu(cpu.id(), CpuInput::Advance),
            nothing,
            cpu.inner().advance(&self.engine)
        );
    }

    /// In the child of a fork.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked_cpu(
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

    pub(crate) fn visit_barrier(&mut self, cpu: &mut Part<Cpu>) {
        let _ = straight!(
            Input::Cpu(cpu.id(), CpuInput::VisitBarrier),
            |r: &Visit| Output::Visit(*r),
            cpu.inner().visit_barrier(self.barrier.inner())
        );
    }
}

/// Calls that need the domain's lock.
impl Core {
    pub(crate) fn set_flush_times(&mut self, lazy_ns: u64, prompt_ns: u64) {
        straight!(
            Input::SetFlushTimes { lazy_ns, prompt_ns },
            nothing,
            self.engine.inner().set_flush_times(lazy_ns, prompt_ns)
        );
    }

    /// In the child of a fork, after the queues.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&mut self) {
        self.waiters = crate::inner::gp::waiters::WaitList::new();
        self.gate.forked();
        straight!(Input::Forked, nothing, self.engine.inner().forked());
        straight!(
            Input::Barrier(BarrierInput::Forked),
            nothing,
            self.barrier.inner().forked()
        );
    }

    pub(crate) fn expire(&mut self, now_ns: u64) {
        if self.engine.armed().is_some_and(|armed| armed <= now_ns) {
            self.disarm();
        }
    }

    pub(crate) fn disarm(&mut self) {
        straight!(Input::Disarm, nothing, self.engine.inner().disarm());
    }

    /// True if the worker has to be woken.
    pub(crate) fn set_budget(&mut self, bytes: u64, count: u64) -> bool {
        straight!(
            Input::SetBudget { bytes, count },
            done,
            self.engine.inner().set_budget(bytes, count)
        )
    }

    pub(crate) fn sweeps_all(&mut self) -> bool {
        straight!(Input::SweepsAll, done, self.engine.inner().sweeps_all())
    }

    /// True if the second worker has to be woken.
    pub(crate) fn calls_second(&mut self) -> bool {
        straight!(Input::CallsSecond, done, self.engine.inner().calls_second())
    }

    pub(crate) fn stand_down(&mut self, idle: bool) -> bool {
        straight!(
            Input::StandDown { idle },
            done,
            self.engine.inner().stand_down(idle)
        )
    }

    #[cfg(not(quiescent_model))]
    pub(crate) fn set_workers(&mut self, workers: u32) {
        straight!(
            Input::SetWorkers { workers },
            nothing,
            self.engine.inner().set_workers(workers)
        );
    }

    pub(crate) fn arm(&mut self, deadline: u64) {
        let _ = straight!(
            Input::Arm {
                deadline_ns: deadline
            },
            |r: &Option<u64>| Output::Deadline(*r),
            self.engine.inner().arm(deadline)
        );
    }

    pub(crate) fn memory_low(&mut self, now_ns: u64) -> Low {
        let now = State::now(now_ns);
        straight!(
            Input::MemoryLow { now },
            |r: &Low| Output::Low(*r),
            self.engine.inner().memory_low(now)
        )
    }

    pub(crate) fn take_pressure(&mut self, now_ns: u64) -> bool {
        let now = State::now(now_ns);
        straight!(
            Input::TakePressure { now },
            done,
            self.engine.inner().take_pressure(now)
        )
    }

    pub(crate) fn calm(&mut self) {
        straight!(Input::Calm, nothing, self.engine.inner().calm());
    }

    pub(crate) fn set_drained(&mut self, drained: bool) {
        straight!(
            Input::SetDrained { drained },
            nothing,
            self.engine.inner().set_drained(drained)
        );
    }

    pub(crate) fn start_barrier(&mut self, snap: Seq) -> Begin {
        straight!(
            Input::Barrier(BarrierInput::Start { snap }),
            |r: &Begin| Output::Begin(*r),
            self.barrier.inner().start(snap)
        )
    }
}

impl Part<Barrier> {
    pub(crate) fn snap(&self) -> Seq {
        straight!(
            Input::Barrier(BarrierInput::Snap),
            |r: &Seq| Output::Seq(*r),
            Barrier::snap(self)
        )
    }

    pub(crate) fn visited_all(&mut self) -> bool {
        straight!(
            Input::Barrier(BarrierInput::VisitedAll),
            done,
            self.inner().visited_all()
        )
    }

    pub(crate) fn one_done(&mut self) -> bool {
        straight!(
            Input::Barrier(BarrierInput::OneDone),
            done,
            self.inner().one_done()
        )
    }

    pub(crate) fn end(&mut self) {
        straight!(
            Input::Barrier(BarrierInput::End),
            nothing,
            self.inner().end()
        );
    }
}

/// Calls that need the queue's lock.
impl Part<Cpu> {
    pub(crate) fn extract(&mut self, lane: Lane, max: u64) -> Range<Pos> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Extract { lane, max }),
            |r: &Range<Pos>| Output::Range(r.start, r.end),
            self.inner().extract(lane, max)
        )
    }

    pub(crate) fn ran(&mut self, lane: Lane, range: Range<Pos>) -> bool {
        let Range { start, end } = range;
        straight!(
            Input::Cpu(self.id(), CpuInput::Ran { lane, start, end }),
            done,
            self.inner().ran(lane, range)
        )
    }

    pub(crate) fn untold(&self) -> bool {
        straight!(
            Input::Cpu(self.id(), CpuInput::Untold),
            done,
            Cpu::untold(self)
        )
    }

    pub(crate) fn due(&self, now: Now, low: bool) -> Option<Cause> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Due { now, low }),
            |r: &Option<Cause>| Output::Due(*r),
            Cpu::due(self, now, low)
        )
    }

    pub(crate) fn deadline(&self) -> Option<u64> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Deadline),
            |r: &Option<u64>| Output::Deadline(*r),
            Cpu::deadline(self)
        )
    }
}

//! Rare events: CPUs arrive, leave, and change sides; memory runs low; barriers.

use quiescent_kernel::CpuId;
use quiescent_kernel::barrier::{Begin, Visit};
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::Place;

use super::fifo::What;
use super::rig::{CHOSEN, CPUS, Rig};

/// The barrier in flight, if there is one.
#[derive(Default)]
pub struct Barriers {
    flight: Option<Flight>,
}

struct Flight {
    /// Callbacks that were owed when it began.
    owed: Vec<usize>,
    /// CPUs below have been visited.
    visited: usize,
}

impl Barriers {
    pub fn is_over(&self) -> bool {
        self.flight.is_none()
    }
}

impl Rig {
    // CPUs.

    fn is_offloaded(&self, at: usize) -> bool {
        self.host
            .cpu(at as CpuId)
            .is_some_and(|cpu| cpu.is_offloaded())
    }

    pub fn comes(&mut self) {
        let came = self.host.register();
        self.online[came as usize] = true;
        self.host.came_online(came);
    }

    pub fn toggle(&mut self, at: usize) {
        if at >= CHOSEN {
            return;
        }
        let (online, off) = (self.online[at], self.is_offloaded(at));
        let Ok(toggled) = self.host.toggle(at as CpuId, !off, online) else {
            self.seldom.refused += 1;
            assert!(!online && !self.fifos[at].is_empty(), "it is empty");
            return;
        };
        let some = u32::from(!self.fifos[at].is_empty());
        self.seldom.toggled_in_batch += u32::from(self.fifos[at].out.is_some());
        self.seldom.toggled_dead += u32::from(!online);
        let flushed = self.fifos[at].flush(toggled.flushed);
        self.seldom.bypass_by_toggle += u32::from(flushed);
        if off {
            self.seldom.toggled_off += some;
        } else {
            self.seldom.toggled_on += some;
        }
    }

    /// The CPU delivers its deferred wake-up, and leaves. Another CPU takes over callbacks that are not
    /// offloaded.
    pub fn dies(&mut self, at: usize) {
        if at == 0 || self.is_inside(at) {
            return; // the grace-period thread runs on CPU 0
        }
        let cpu = at as CpuId;
        if at < CHOSEN {
            let _ = self.host.deliver(cpu);
        }
        let softirq = |rig: &Rig| {
            let out = rig.fifos[at].out.as_ref();
            out.is_some_and(|out| out.context == Context::Softirq)
        };
        while softirq(self) {
            self.invoke(at);
        }
        self.host.unregister(cpu);
        self.online[at] = false;
        if self.is_offloaded(at) {
            let lazy = self
                .host
                .cpu(cpu)
                .is_some_and(|cpu| cpu.member().lazy() > 0);
            self.seldom.died_lazy += u32::from(lazy);
            return;
        }
        // Callbacks that its last batch has extracted are invoked first, so that the order is kept.
        while self.fifos[at].out.is_some() {
            self.invoke(at);
        }
        self.adopt(at);
        self.life[at] += 1;
    }

    fn adopt(&mut self, from: usize) {
        let cpu = 0;
        let taken = self.host.take_over(cpu, from as CpuId);
        let taken = taken.expect("it was not offloaded");
        let [own, other] = self.fifos.get_disjoint_mut([0, from]).expect("they differ");
        let flushed = own.flush(taken.flushed);
        self.seldom.bypass_by_adopter += u32::from(flushed);
        if taken.adopted.entrained {
            other.push(Place::List, What::Barrier, 0);
            self.seldom.adopted_in_barrier += 1;
        }
        let merged = taken.adopted.merged;
        assert_eq!(other.list.len() as u64, merged.done + merged.pending);
        self.seldom.adopted += u32::from(!other.list.is_empty());
        let list = self.host.cpu(cpu).expect("it was chosen").list();
        let (head, end) = (
            list.head().wrapping_add(merged.done),
            list.end().wrapping_sub(merged.pending),
        );
        own.adopt(other, merged.done, (head, end));
    }

    /// Rare calls.
    pub fn odds(&mut self) {
        if self.random.below(2) == 0 {
            self.hurry = !self.hurry;
            let engine = self.host.engine_mut();
            match self.hurry {
                true => engine.async_hurry(),
                false => engine.async_relax(),
            }
            return;
        }
        let at = self.random.below(CHOSEN as u64);
        let flushed = self.host.shrink(at as CpuId);
        self.fifos[at].flush(flushed.flushed);
        self.seldom.shrunk += u32::from(flushed.lazy > 0);
    }

    // Barriers.

    /// Begins a barrier, or continues the one in flight.
    pub fn barrier(&mut self) {
        if !self.barriers.is_over() {
            return self.step_barrier();
        }
        let barrier = self.host.barrier();
        let snap = barrier.snap();
        assert!(matches!(barrier.start(snap), Begin::Started { .. }));
        self.barriers.flight = Some(Flight {
            owed: self.oracle.owed(),
            visited: 0,
        });
    }

    /// The barrier visits the next CPU.
    pub fn step_barrier(&mut self) {
        let Some(flight) = &mut self.barriers.flight else {
            return;
        };
        let at = flight.visited;
        flight.visited += 1;
        if at < CPUS {
            self.visit(at);
        } else if at == CPUS {
            let complete = self.host.barrier().visited_all();
            self.end_barrier(complete);
        }
    }

    fn visit(&mut self, at: usize) {
        let cpu = at as CpuId;
        let lazy = self.host.cpu(cpu).map_or(0, |cpu| cpu.member().lazy());
        let visit = if at < CHOSEN {
            let entrained = self.host.entrain_nocb(cpu);
            let flushed = self.fifos[at].flush(entrained.flushed);
            self.seldom.bypass_by_barrier += u32::from(flushed);
            entrained.visit
        } else {
            self.host.entrain(cpu)
        };
        let none = self.fifos[at].is_empty();
        if visit == Visit::Noted {
            let end = self.host.cpu(cpu).expect("it has callbacks").list().end();
            let pos = end.wrapping_sub(1);
            self.fifos[at].push(Place::List, What::Barrier, pos);
            self.seldom.barrier_over_lazy += u32::from(lazy > 0);
            self.seldom.barrier_over_dead += u32::from(!self.online[at]);
        }
        assert!(
            visit != Visit::Empty || none,
            "the barrier missed callbacks"
        );
    }

    /// The barrier's callback was invoked on a CPU.
    pub fn share_done(&mut self) {
        let complete = self.host.barrier().one_done();
        self.end_barrier(complete);
    }

    fn end_barrier(&mut self, complete: bool) {
        if !complete {
            return;
        }
        let flight = self.barriers.flight.take().expect("it is in flight");
        for id in flight.owed {
            assert!(self.oracle.callbacks[id].invoked, "the barrier missed {id}");
        }
        self.host.barrier().end();
        self.seldom.barriers += 1;
    }
}

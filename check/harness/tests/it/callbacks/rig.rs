//! A machine with callbacks: the test host, a list for each CPU, and the FIFOs that the lists stand for.
//!
//! The oracle knows for each callback which sections were open when it was queued. It never asks the
//! engine about grace periods.

mod sweep;

use std::collections::VecDeque;
use std::ops::Range;

use quiescent_harness::host::{Silent, TestHost};
use quiescent_kernel::barrier::Barrier;
use quiescent_kernel::cblist::Segment;
use quiescent_kernel::limits::{Around, Batch, Context};
use quiescent_kernel::{Config, Cpu, CpuId, Pos, Seq};
use sweep::{Caller, Flight};

/// What a FIFO holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Callback(usize),
    Barrier,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Queued,
    Ready,
    Invoked,
    /// The batch that it ran in has ended, too.
    Settled,
}

struct Callback {
    state: State,
    /// The sections that were open when it was queued.
    open: Vec<usize>,
}

/// A batch that was begun.
struct Running {
    range: Range<Pos>,
    batch: Batch,
    entries: VecDeque<Entry>,
    invoked: Vec<Entry>,
}

/// How often each rare event happened.
#[derive(Debug, Default)]
pub struct Seldom {
    pub adopted_in_gp: u32,
    pub adopted_in_barrier: u32,
    pub barriers: u32,
    pub covered: u32,
    pub outlived: u32,
    pub no_slot: u32,
    pub put_back: u32,
    pub useless: u32,
    pub flooded: u32,
}

pub struct Rig {
    pub host: TestHost,
    pub cpus: Vec<Cpu>,
    pub seldom: Seldom,
    only_new: bool,
    online: Vec<bool>,
    fifos: Vec<VecDeque<Entry>>,
    running: Vec<Option<Running>>,
    sections: Vec<Option<usize>>,
    ended: Vec<bool>,
    callbacks: Vec<Callback>,
    barrier: Barrier,
    callers: VecDeque<Caller>,
    flight: Option<Flight>,
}

impl Rig {
    pub fn new(n: u32, config: Config) -> Rig {
        let mut host = TestHost::kernel_with(n, config);
        assert!(host.try_drive(0));
        let each = n as usize;
        Rig {
            host,
            cpus: (0..n).map(Cpu::new).collect(),
            seldom: Seldom::default(),
            only_new: config.accelerate_only_new,
            online: vec![true; each],
            fifos: vec![VecDeque::new(); each],
            running: (0..n).map(|_| None).collect(),
            sections: vec![None; each],
            ended: Vec::new(),
            callbacks: Vec::new(),
            barrier: Barrier::new(),
            callers: VecDeque::new(),
            flight: None,
        }
    }

    // Readers and the grace-period thread.

    pub fn enter(&mut self, cpu: usize) {
        if self.online[cpu] && self.sections[cpu].is_none() {
            self.host.enter(cpu as CpuId);
            self.sections[cpu] = Some(self.ended.len());
            self.ended.push(false);
        }
    }

    pub fn exit(&mut self, cpu: usize) {
        if let Some(section) = self.sections[cpu].take() {
            self.host.exit(cpu as CpuId);
            self.ended[section] = true;
        }
    }

    /// The grace-period thread continues. A grace period that starts has a waiter.
    pub fn drive(&mut self) {
        let before = self.gp_seq();
        let _ = self.host.step();
        let now = self.gp_seq();
        if before.state() == 0 && now.state() != 0 {
            let waits = |segment| {
                let stamp = |cpu: &Cpu| cpu.list().segment(segment).1;
                self.cpus.iter().any(|cpu| stamp(cpu) == Some(now.end()))
            };
            if !waits(Segment::Wait) && !waits(Segment::NextReady) {
                self.seldom.useless += 1;
                assert!(!self.only_new, "{now} was started without a waiter");
            }
        }
    }

    fn gp_seq(&self) -> Seq {
        self.host.engine().published().global
    }

    // Callbacks.

    pub fn call(&mut self, cpu: usize) {
        if !self.online[cpu] {
            return;
        }
        let id = self.callbacks.len();
        self.callbacks.push(Callback {
            state: State::Queued,
            open: self.sections.iter().flatten().copied().collect(),
        });
        self.fifos[cpu].push_back(Entry::Callback(id));
        let called = self.cpus[cpu].call(self.host.engine_mut(), 8, 0, &Silent);
        assert_eq!(called.pos.wrapping_add(1), self.cpus[cpu].list().end());
        self.wake(called.wake_gp);
    }

    /// The soft interrupt, without a batch.
    pub fn core(&mut self, cpu: usize) {
        if self.online[cpu] {
            let noticed = self.cpus[cpu].core(self.host.engine_mut(), &Silent);
            self.wake(noticed.wake_gp);
            let list = self.cpus[cpu].list();
            self.seldom.no_slot += u32::from(list.unstamped() > 0 && list.next_gp().is_some());
        }
    }

    /// A tick: notes a quiescent state, and raises the soft interrupt if there is a reason.
    pub fn tick(&mut self, cpu: usize) {
        if !self.online[cpu] {
            return;
        }
        self.host.note(cpu as CpuId);
        if self.cpus[cpu].core_pending(self.host.engine()) {
            self.core(cpu);
        }
    }

    /// The CPU reports what it noted; before that it stamps.
    pub fn report(&mut self, cpu: usize) {
        if self.online[cpu] {
            let wake = self.cpus[cpu].stamp(self.host.engine_mut(), &Silent);
            self.wake(wake);
            self.host.report(cpu as CpuId);
        }
        self.cpus[cpu].credited(self.host.engine());
    }

    fn wake(&mut self, wake: bool) {
        if wake {
            self.host.stray_wake();
        }
    }

    pub fn begin_batch(&mut self, cpu: usize, context: Context) {
        if !self.online[cpu] || self.running[cpu].is_some() {
            return;
        }
        let begun = self.cpus[cpu].begin_batch(self.host.engine(), context);
        self.running[cpu] = begun.map(|(range, batch)| {
            let n = range.end.wrapping_sub(range.start) as usize;
            Running {
                range,
                batch,
                entries: self.fifos[cpu].drain(..n).collect(),
                invoked: Vec::new(),
            }
        });
    }

    pub fn invoke(&mut self, cpu: usize) {
        let Some(running) = &mut self.running[cpu] else {
            return;
        };
        let around = Around::default();
        let stops = running.batch.stops(running.invoked.len() as u64, around);
        if let Some(entry) = (!stops).then(|| running.entries.pop_front()).flatten() {
            running.invoked.push(entry);
            match entry {
                Entry::Callback(id) => {
                    assert_eq!(self.callbacks[id].state, State::Ready, "callback {id}");
                    self.callbacks[id].state = State::Invoked;
                }
                Entry::Barrier => self.share_done(),
            }
        } else {
            self.end_batch(cpu);
        }
    }

    pub fn end_batch(&mut self, cpu: usize) {
        let Some(running) = self.running[cpu].take() else {
            return;
        };
        let (ran, left) = (running.invoked.len(), running.entries.len());
        self.seldom.put_back += u32::from(left > 0 && ran > 0);
        for entry in running.entries.into_iter().rev() {
            self.fifos[cpu].push_front(entry);
        }
        for entry in running.invoked {
            if let Entry::Callback(id) = entry {
                self.callbacks[id].state = State::Settled;
            }
        }
        let more = self.cpus[cpu].end_batch(self.host.engine(), running.range, ran as u64);
        assert!(more || left == 0);
    }

    /// A CPU leaves and another one takes over its callbacks, or it comes back.
    pub fn hotplug(&mut self, cpu: usize, to: usize) {
        if cpu == 0 {
            return; // the grace-period thread runs there
        }
        if !self.online[cpu] {
            let came = self.host.register() as usize;
            self.online[came] = true;
            return;
        }
        if cpu == to || !self.online[to] {
            return;
        }
        self.exit(cpu);
        while self.running[cpu].is_some() {
            self.end_batch(cpu);
        }
        self.host.unregister(cpu as CpuId);
        self.online[cpu] = false;
        let [gone, dst] = self.cpus.get_disjoint_mut([cpu, to]).expect("they differ");
        let engine = self.host.engine_mut();
        let adopted = dst.adopt(gone, &mut self.barrier, engine, &Silent);
        if adopted.entrained {
            let owed = self.owed(cpu);
            let flight = self.flight.as_mut().expect("a barrier is in flight");
            flight.share.extend(owed);
            self.fifos[cpu].push_back(Entry::Barrier);
        }
        let pending = self.fifos[cpu].split_off(adopted.merged.done as usize);
        assert_eq!(pending.len() as u64, adopted.merged.pending);
        for entry in std::mem::take(&mut self.fifos[cpu]).into_iter().rev() {
            self.fifos[to].push_front(entry);
        }
        self.seldom.adopted_in_gp += u32::from(!pending.is_empty() && self.gp_seq().state() != 0);
        self.seldom.adopted_in_barrier += u32::from(adopted.entrained);
        self.fifos[to].extend(pending);
        self.wake(adopted.wake_gp);
    }

    // The oracle.

    /// All conditions that hold after every action.
    pub fn check(&mut self) {
        for (cpu, fifo) in self.cpus.iter().zip(&self.fifos) {
            let list = cpu.list();
            let queued = list.end().wrapping_sub(list.head());
            assert_eq!(queued, fifo.len() as u64, "CPU {}", cpu.id());
            assert_eq!(cpu.needs_cpu(), !fifo.is_empty(), "the tick");
            for entry in fifo.iter().take(list.ready() as usize) {
                let Entry::Callback(id) = *entry else {
                    continue;
                };
                let callback = &mut self.callbacks[id];
                if callback.state == State::Queued {
                    callback.state = State::Ready;
                    for &section in &callback.open {
                        assert!(self.ended[section], "callback {id}, section {section}");
                    }
                }
            }
        }
        if let Some(flight) = &self.flight {
            self.check_barrier(flight);
        }
    }

    fn is_invoked(&self, id: usize) -> bool {
        matches!(self.callbacks[id].state, State::Invoked | State::Settled)
    }

    /// All readers leave, and every CPU makes the passes that it has a reason for: all callbacks are invoked,
    /// after at most so many grace periods.
    pub fn settle(&mut self, most: u64) {
        for cpu in 0..self.cpus.len() {
            self.exit(cpu);
        }
        let grace_periods = |rig: &Rig| rig.host.engine().counts().grace_periods;
        let before = grace_periods(self);
        for _ in 0..400 {
            for cpu in 0..self.cpus.len() {
                self.tick(cpu);
                self.check();
                self.begin_batch(cpu, Context::Rcuop);
                while self.running[cpu].is_some() {
                    self.invoke(cpu);
                }
            }
            self.step_barrier();
            self.drive();
            self.check();
        }
        for (id, callback) in self.callbacks.iter().enumerate() {
            assert_eq!(callback.state, State::Settled, "callback {id} was lost");
        }
        assert!(self.flight.is_none() && self.callers.is_empty());
        let took = grace_periods(self) - before;
        assert!(took <= most, "{took} grace periods for what was left");
        assert!(
            !self.host.engine().busy(),
            "the engine is busy without a request"
        );
    }
}

//! The environment of two offloaded CPUs of one group, small enough for a complete search.

use std::collections::VecDeque;

use quiescent_harness::world::{Asks, World};
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{Offload, Place, Policy, Rest, Timer};
use quiescent_kernel::{Config, Cpu, CpuId, EarlyQs, Global, Host, LeafId, Phase, Pos, Seen, Seq};

pub const CPUS: usize = 2;
const FLUSH: u64 = 2;

/// The actions that are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub lazy: u8,
    pub hurried: u8,
    /// As `hurried`, but interrupts are disabled.
    pub masked: u8,
    pub ticks: u8,
    pub toggles: u8,
    pub visits: u8,
}

/// An entry of a FIFO: a callback's number, or the barrier's callback.
pub const BARRIER: u8 = u8::MAX;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fifos {
    pub list: VecDeque<u8>,
    pub bypass: VecDeque<u8>,
    /// The invoking thread, the range, and the extracted entries.
    pub out: Option<(bool, Pos, Pos, Vec<u8>)>,
    pub rcuop_woken: bool,
    pub rcuop_awake: bool,
    pub raised: bool,
}

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub world: World,
    pub tick: u64,
    pub budget: Budget,
    pub fifos: [Fifos; CPUS],
    pub rcuog_woken: bool,
    pub timer: Option<u64>,
    /// For each callback: its CPU, and the grace-period number at which it may be invoked.
    pub queued: Vec<(u8, Seq, bool)>,
}

/// Idle CPUs, all of them present.
pub struct Idle;

impl Host for Idle {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        CPUS as u32
    }
    fn observe(&self, _: CpuId) -> Seen {
        Seen {
            outside: true,
            stamp: 0,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        (1 << CPUS) - 1
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        true
    }
}

impl State {
    /// Booted, with all threads at rest.
    pub fn new(policy: Policy, budget: Budget) -> State {
        let offload = match policy {
            Policy::Kernel612 => Offload::kernel_6_12(1000),
            Policy::Quiescent => Offload::quiescent(1000),
        };
        let config = Config {
            early_qs: EarlyQs::Init,
            first_fqs: 0,
            next_fqs: 1,
            offload: Offload {
                lazy_flush: FLUSH,
                direct_limit: 1,
                stride: Some(CPUS as u32),
                online_toggle: true,
                ..offload
            },
            ..Config::kernel_6_12(CPUS as u32, 1000)
        };
        let mut global = Global::new(config);
        let tree = Global::new_tree(&config, CPUS as u32).expect("a small tree");
        assert!(global.grow(tree).is_ok() && global.try_drive(Some(0)));
        let mut state = State {
            world: World::new(global),
            tick: 0,
            budget,
            fifos: Default::default(),
            rcuog_woken: false,
            timer: None,
            queued: Vec::new(),
        };
        for cpu in 0..CPUS as CpuId {
            state.world.choose(cpu, CPUS as u32);
        }
        state.world.global.async_relax();
        let snap = state.world.barrier.snap();
        let _ = state.world.barrier.start(snap);
        state.world.global.forget_history();
        state
    }

    pub fn cpu(&self, at: usize) -> &Cpu {
        &self.world.cpus[&(at as CpuId)]
    }

    // Calls.

    /// Does what a call about offloading asks for, except for the moves of callbacks.
    pub fn asked<T: Asks>(&mut self, result: T) -> T {
        let todo = result.todo();
        self.rcuog_woken |= todo.rcuog.is_some();
        if let Some(cpu) = todo.rcuop {
            self.fifos[cpu as usize].rcuop_woken = true;
        }
        if let Some(cpu) = todo.core {
            self.fifos[cpu as usize].raised = true;
        }
        match todo.timer {
            Timer::Keep => {}
            Timer::Set(at) => self.timer = Some(at),
            Timer::Stop => self.timer = None,
        }
        result
    }

    pub fn flush(&mut self, at: usize, flushed: u64) {
        let fifos = &mut self.fifos[at];
        if flushed > 0 {
            assert_eq!(flushed, fifos.bypass.len() as u64, "all of the bypass");
            fifos.list.append(&mut fifos.bypass);
        }
    }

    pub fn push(&mut self, at: usize, place: Place, what: u8) {
        match place {
            Place::List => self.fifos[at].list.push_back(what),
            Place::Bypass => self.fifos[at].bypass.push_back(what),
        }
    }

    /// Runs a callback.
    pub fn invoke(&mut self, what: u8) {
        if what == BARRIER {
            return;
        }
        let (cpu, stamp, _) = self.queued[what as usize];
        let reached = self.world.global.published().root;
        assert!(
            reached.ge(stamp),
            "callback {what} ran before its grace period"
        );
        for (earlier, &(home, _, ran)) in self.queued[..what as usize].iter().enumerate() {
            assert!(home != cpu || ran, "callback {what} ran before {earlier}");
        }
        let ran = &mut self.queued[what as usize].2;
        assert!(!std::mem::replace(ran, true), "callback {what} ran twice");
    }

    // Rules.

    pub fn phase(&self) -> Phase {
        self.world.global.phase()
    }

    /// Does a grace period have to be driven?
    pub fn is_busy(&self) -> bool {
        self.world.global.busy()
    }

    pub fn check(&self) {
        for (at, fifos) in self.fifos.iter().enumerate() {
            let (list, member) = (self.cpu(at).list(), self.cpu(at).member());
            let queued = list.end().wrapping_sub(list.head());
            assert_eq!(queued, fifos.list.len() as u64, "in the list");
            assert_eq!(member.bypass(), fifos.bypass.len() as u64, "in the bypass");
        }
        let group = &self.world.groups[&0];
        assert_eq!(group.timer(), self.timer, "the host's timer is the group's");
        let rests = group.rest() == Some(Rest::Unbounded) && !group.goes_on(&self.world.global);
        if !rests || self.timer.is_some() {
            return;
        }
        for &cpu in group.members() {
            let (list, member) = (
                self.cpu(cpu as usize).list(),
                self.cpu(cpu as usize).member(),
            );
            let pending = list.pending() || member.lazy() > 0 || member.bypass() > 0;
            assert!(
                !pending,
                "rcuog sleeps for ever, and CPU {cpu} has callbacks"
            );
        }
    }

    /// Runs all threads until they rest: no callback may be left.
    pub fn settle(&mut self) {
        for _ in 0..6 * FLUSH + 12 {
            self.run_all();
            self.pass_tick();
        }
        self.run_all();
        let left: Vec<_> = self.queued.iter().filter(|queued| !queued.2).collect();
        assert!(left.is_empty(), "callbacks were lost: {left:?}");
        for (at, fifos) in self.fifos.iter().enumerate() {
            let none = fifos.list.is_empty() && fifos.bypass.is_empty() && fifos.out.is_none();
            assert!(none, "CPU {at} still has the barrier's callback");
        }
        assert!(!self.is_busy(), "the engine is busy without a request");
        assert_eq!(self.cpu(0).member().lazy() + self.cpu(1).member().lazy(), 0);
    }

    pub fn context(rcuop: bool) -> Context {
        if rcuop {
            Context::Rcuop
        } else {
            Context::Softirq
        }
    }
}

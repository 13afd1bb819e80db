//! A process around the engine: threads with a reader word and a wake flag each, one driver, a clock.

use std::cell::{Cell, RefCell};

use quiescent_engine::stall::Stalled;
use quiescent_engine::{
    Config, CpuId, FenceCause, Global, Host, Interest, LeafId, Next, Now, Phase, Pos, Seen, Seq,
};

/// What the host has done for the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Fences at a start.
    pub fences_gp: u32,
    /// Fences after flags were set.
    pub fences_flag: u32,
    /// Spins.
    pub spins: u32,
    /// Sleeps.
    pub sleeps: u32,
    /// Readers that woke the driver.
    pub wakes: u32,
}

/// A registered thread, as in the library: the outermost lock advances the generation, so that one that left
/// its section and came back shows another stamp.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Reader {
    here: bool,
    generation: u64,
    nesting: u32,
    flag: bool,
}

/// All threads.
#[derive(Clone, Debug, Default)]
pub struct Readers {
    all: Vec<Reader>,
    /// Threads of a leaf.
    leaf: usize,
    /// Leaves that may be occupied.
    occupied: RefCell<Vec<bool>>,
    /// Queries of the presence at a leaf, and of a reader's word.
    looks: Cell<(u64, u64)>,
}

impl Readers {
    fn arrive(&mut self, cpu: usize) {
        self.all[cpu].here = true;
        self.occupied.borrow_mut()[cpu / self.leaf] = true;
    }
}

impl Host for Readers {
    fn cpus(&self) -> u32 {
        self.all.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (present, words) = self.looks.get();
        self.looks.set((present, words + 1));
        let reader = &self.all[cpu as usize];
        Seen {
            outside: reader.nesting == 0,
            stamp: reader.generation,
        }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let (present, words) = self.looks.get();
        self.looks.set((present + 1, words));
        let here = self.all.iter().skip(leaf * self.leaf).take(self.leaf);
        here.enumerate().fold(0, |mask, (bit, reader)| {
            mask | u64::from(reader.here) << bit
        })
    }

    fn occupied(&self, group: usize) -> u64 {
        let occupied = self.occupied.borrow();
        let leaves = occupied.iter().skip(group * 64).take(64);
        leaves
            .enumerate()
            .fold(0, |mask, (bit, &here)| mask | u64::from(here) << bit)
    }

    fn vacated(&self, leaf: LeafId) {
        self.occupied.borrow_mut()[leaf] = false;
    }
}

#[derive(Clone, Copy, Debug)]
struct Role {
    next: Next,
    epoch: u32,
}

/// The process.
#[derive(Clone, Debug)]
pub struct TestHost {
    engine: Global,
    readers: Readers,
    role: Option<Role>,
    now: Now,
    /// The driver was woken since it declared itself asleep.
    woken: bool,
    done: Done,
    stalled: Vec<Stalled>,
}

impl TestHost {
    /// So many registered threads.
    pub fn threads(n: u32) -> TestHost {
        TestHost::threads_with(n, Config::threads())
    }

    /// The same with a policy of its own.
    pub fn threads_with(n: u32, config: Config) -> TestHost {
        let mut host = TestHost {
            engine: Global::new(config),
            readers: Readers {
                leaf: config.leaf as usize,
                ..Readers::default()
            },
            role: None,
            now: Now::default(),
            woken: false,
            done: Done::default(),
            stalled: Vec::new(),
        };
        (0..n).for_each(|_| _ = host.register());
        host
    }

    // Threads.

    /// A thread registers: its number, the first free one.
    pub fn register(&mut self) -> CpuId {
        let all = &mut self.readers.all;
        let free = all.iter().position(|reader| !reader.here);
        let cpu = free.unwrap_or(all.len());
        if cpu == all.len() {
            all.push(Reader::default());
            let leaves = all.len().div_ceil(self.readers.leaf);
            self.readers.occupied.borrow_mut().resize(leaves, false);
        }
        self.readers.arrive(cpu);
        cpu as CpuId
    }

    /// A thread that is outside leaves.
    pub fn unregister(&mut self, cpu: CpuId) {
        let reader = &mut self.readers.all[cpu as usize];
        assert!(reader.here && reader.nesting == 0);
        reader.here = false;
        reader.flag = false;
    }

    /// Opens a section, or nests one.
    pub fn enter(&mut self, cpu: CpuId) {
        let reader = &mut self.readers.all[cpu as usize];
        assert!(reader.here);
        reader.generation += u64::from(reader.nesting == 0);
        reader.nesting += 1;
    }

    /// Closes the innermost section.
    pub fn exit(&mut self, cpu: CpuId) {
        let reader = &mut self.readers.all[cpu as usize];
        reader.nesting -= 1;
        if reader.nesting == 0 && std::mem::take(&mut reader.flag) {
            self.woken = true;
            self.done.wakes += 1;
        }
    }

    /// A handler clears the wake flag under an open section.
    pub fn clear_flag(&mut self, cpu: CpuId) {
        self.readers.all[cpu as usize].flag = false;
    }

    /// The child of a fork that this thread has made: the only one that it has.
    pub fn fork(&mut self, cpu: CpuId) {
        self.engine.forked();
        self.role = None;
        for (other, reader) in self.readers.all.iter_mut().enumerate() {
            if other != cpu as usize {
                reader.here = false;
                reader.nesting = 0;
            }
        }
    }

    // Requests.

    /// A thread waits: its position.
    pub fn wait_for_gp(&mut self, _cpu: CpuId) -> Pos {
        self.engine.wait_for_gp(false)
    }

    /// The same in a hurry.
    pub fn wait_for_gp_expedited(&mut self, _cpu: CpuId) -> Pos {
        self.engine.wait_for_gp(true)
    }

    /// The grace period of a thread that is alone.
    pub fn sole_gp(&mut self, cpu: CpuId) -> bool {
        self.engine.sole_gp(Some(cpu), &self.readers)
    }

    /// A cookie.
    pub fn start_poll(&mut self, _cpu: CpuId) -> Seq {
        self.engine.start_poll()
    }

    /// Has its grace period ended?
    pub fn poll(&self, cookie: Seq) -> bool {
        self.engine.published().done_exact(cookie)
    }

    /// Has the waiter's?
    pub fn satisfied(&self, ticket: Pos) -> bool {
        ticket < self.engine.waiters().done()
    }

    // Driving.

    /// Takes the role.
    pub fn try_drive(&mut self, cpu: CpuId, interest: Interest) -> bool {
        let here = self.readers.all[cpu as usize].here;
        let takes = self.engine.try_drive(here.then_some(cpu), interest);
        if takes {
            self.role = Some(Role {
                next: Next::Again,
                epoch: self.engine.driver_epoch(),
            });
        }
        takes
    }

    /// What the driver was asked for last.
    pub fn asked(&self) -> Option<Next> {
        self.role.map(|role| role.next)
    }

    /// The driver performs its next action, up to the engine's next answer, which is returned: one piece of a
    /// grace period at most. A driver that sleeps and was not woken stays asleep.
    pub fn step(&mut self) -> Next {
        let role = self
            .role
            .expect("step: the role is free, call try_drive first");
        assert!(self.engine.resume(role.epoch));
        let next = match role.next {
            Next::Done if !self.woken => return Next::Done,
            Next::Sleep(until) => {
                self.done.sleeps += 1;
                if !self.woken && self.now.ns < until {
                    return role.next;
                }
                self.piece()
            }
            Next::Fence(cause) => {
                match cause {
                    FenceCause::GpStart => self.done.fences_gp += 1,
                    FenceCause::Flag => self.done.fences_flag += 1,
                }
                self.engine.fenced()
            }
            Next::Grow(cpus) => {
                let leaves = Global::new_leaves(self.engine.config(), cpus).expect("memory");
                assert!(self.engine.grow(leaves).is_ok(), "{cpus} were asked for");
                Next::Again
            }
            Next::FlagHoldouts { arm } => {
                self.woken &= !arm;
                let mut newly = 0;
                for cpu in self.engine.holdouts() {
                    let flag = &mut self.readers.all[cpu as usize].flag;
                    newly += u32::from(!std::mem::replace(flag, true));
                }
                self.engine.flagged(newly)
            }
            Next::Spin(_) => {
                self.done.spins += 1;
                self.piece()
            }
            Next::Report => {
                self.stalled.push(self.engine.stalled());
                self.piece()
            }
            Next::Again | Next::Done | Next::HandOver => self.piece(),
        };
        self.role = Some(Role { next, ..role });
        next
    }

    fn piece(&mut self) -> Next {
        self.woken = false;
        self.engine.step(self.now, &self.readers, 1)
    }

    /// The driver leaves.
    pub fn leave(&mut self) -> Next {
        self.role = None;
        self.engine.leave()
    }

    /// Drives for `ticket` until it is satisfied, nothing can be done, or `max_steps` are over, and leaves.
    pub fn drive(&mut self, cpu: CpuId, ticket: Pos, max_steps: u32) {
        self.run(cpu, Interest::Waiter(ticket), max_steps, Some(ticket));
    }

    /// Drives as a poller until the engine asks it to leave.
    pub fn help(&mut self, cpu: CpuId, max_steps: u32) {
        self.run(cpu, Interest::Poller, max_steps, None);
    }

    fn run(&mut self, cpu: CpuId, interest: Interest, max_steps: u32, until: Option<Pos>) {
        if self.role.is_none() && !self.try_drive(cpu, interest) {
            return;
        }
        for _ in 0..max_steps {
            if until.is_some_and(|ticket| self.satisfied(ticket)) {
                break;
            }
            let before = self.asked();
            let next = self.step();
            let is_stuck = matches!(next, Next::Sleep(_)) && before == Some(next);
            if is_stuck || matches!(next, Next::Done | Next::HandOver) {
                break;
            }
        }
        let _ = self.leave();
    }

    /// Steps until the engine is in `phase`, at most `max_steps`. False if it did not get there.
    pub fn run_until(&mut self, phase: Phase, max_steps: u32) -> bool {
        for _ in 0..max_steps {
            if self.engine.phase() == phase {
                return true;
            }
            let _ = self.step();
        }
        self.engine.phase() == phase
    }

    /// Wakes the driver without a reason.
    pub fn stray_wake(&mut self) {
        self.woken = true;
    }

    // Time, and what there is to see.

    /// Nanoseconds pass.
    pub fn pass_ns(&mut self, ns: u64) {
        self.now.ns += ns;
    }

    /// The time.
    pub fn now(&self) -> Now {
        self.now
    }

    /// The engine.
    pub fn engine(&self) -> &Global {
        &self.engine
    }

    /// The same, for calls that have no method here.
    pub fn engine_mut(&mut self) -> &mut Global {
        &mut self.engine
    }

    /// What was done for the engine.
    pub fn done(&self) -> Done {
        self.done
    }

    /// Queries of the presence at a leaf, and of a reader's word.
    pub fn looks(&self) -> (u64, u64) {
        self.readers.looks.get()
    }

    /// The stalls that were to be reported since the last call.
    pub fn take_stalled(&mut self) -> Vec<Stalled> {
        std::mem::take(&mut self.stalled)
    }
}

//! Counted readers and a driver: every possible next action, one at a time.

use std::cell::Cell;

use quiescent_engine::indexed::{BOTH, COUNTS};
use quiescent_engine::{
    Config, CpuId, Global, Host, Interest, LeafId, Next, Now, Pace, Phase, Pos, Seen,
};

/// A planted defect of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    Nothing,
    /// Adds up the locks before the unlocks.
    LocksFirst,
    /// A reader does not check the flag.
    FlagUnseen,
    /// A reader that sees the flag wakes the driver, whether or not other readers exist.
    WakesBeforeEmpty,
    /// Readers never get the number of the count that they have to join.
    NeverJoins,
}

/// The number of each kind of action.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub readers: usize,
    /// Sections of each reader.
    pub sections: u8,
    pub requests: u8,
    /// Spins of the driver before and after it sets flags.
    pub spins: u16,
    /// The only reader is the driving thread (and it was the only one ever).
    pub alone: bool,
    pub broken: Broken,
}

/// What a reader does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Outside,
    /// It has fetched the number of the count that it is about to join.
    Fetched(usize),
    /// It is in its section.
    Inside(usize),
    /// It has counted itself out, and has not checked the flag.
    Looking(usize),
    /// It has found the flag set.
    Flagged(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reader {
    at: At,
    sections: u8,
    locks: [u8; 2],
    unlocks: [u8; 2],
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Fetch(usize),
    Enter(usize),
    /// The second thread counts the section of the first one out.
    Leave(usize, usize),
    Look(usize),
    Wake(usize),
    Request,
    /// A thread takes the driver role.
    TakeRole,
    /// The driver reads the first half of both sums.
    ReadHalf,
    Drive,
}

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    engine: Global,
    readers: Vec<Reader>,
    /// The count that readers join.
    join: usize,
    flags: [bool; 2],
    next: Option<Next>,
    /// The driver has declared that it is about to sleep, and has not been woken.
    sleeper: bool,
    /// The first half of the sums.
    half: Option<[u8; 2]>,
    /// For each request: its ticket, and the readers that were inside then (with the number of the section).
    requests: Vec<(u64, Vec<Option<u8>>)>,
    alone: bool,
}

/// The counts as the engine reads them.
struct Sums {
    first: [u8; 2],
    second: [u8; 2],
    alone: bool,
    /// What the engine has newcomers join.
    join: Cell<Option<usize>>,
}

impl Host for Sums {
    fn cpus(&self) -> u32 {
        COUNTS
    }
    fn observe(&self, cpu: CpuId) -> Seen {
        let count = cpu as usize;
        Seen {
            outside: self.first[count] == self.second[count],
            stamp: 0,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        BOTH
    }
    fn occupied(&self, _: usize) -> u64 {
        u64::from(!self.alone)
    }
    fn join(&self, count: CpuId) {
        self.join.set(Some(count as usize));
    }
}

impl State {
    pub fn new(bounds: &Bounds) -> State {
        let mut config = Config::sleepable();
        config.pace = Pace {
            spin: 1,
            spins_before_flag: bounds.spins,
            spins_after_flag: bounds.spins,
            expedited_factor: 1,
            stall_ns: 0,
        };
        let reader = Reader {
            at: At::Outside,
            sections: 0,
            locks: [0; 2],
            unlocks: [0; 2],
        };
        State {
            engine: Global::new(config),
            readers: vec![reader; bounds.readers],
            join: 0,
            flags: [false; 2],
            next: None,
            sleeper: false,
            half: None,
            requests: Vec::new(),
            alone: bounds.alone,
        }
    }

    pub fn turns(&self) -> u64 {
        self.engine.counts().turns
    }

    pub fn is_asleep(&self) -> bool {
        matches!(self.next, Some(Next::Sleep(_))) && self.sleeper
    }

    fn sum(&self, of: impl Fn(&Reader) -> [u8; 2]) -> [u8; 2] {
        let add = |all: [u8; 2], one: [u8; 2]| [all[0] + one[0], all[1] + one[1]];
        self.readers.iter().map(of).fold([0; 2], add)
    }

    fn half(&self, second: bool, broken: Broken) -> [u8; 2] {
        match second == (broken == Broken::LocksFirst) {
            true => self.sum(|reader| reader.unlocks),
            false => self.sum(|reader| reader.locks),
        }
    }

    fn scans(&self) -> bool {
        self.engine.phase() == Phase::Scan(0)
    }

    /// All possible next actions.
    pub fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions = Vec::new();
        for (r, reader) in self.readers.iter().enumerate() {
            match reader.at {
                At::Outside if reader.sections < bounds.sections => actions.push(Action::Fetch(r)),
                At::Outside => {}
                At::Fetched(_) => actions.push(Action::Enter(r)),
                At::Inside(_) => {
                    actions.push(Action::Leave(r, r));
                    // Another thread may drop the guard, if it performs no other action meanwhile.
                    let other = (r + 1) % self.readers.len();
                    if other != r && self.readers[other].at == At::Outside {
                        actions.push(Action::Leave(r, other));
                    }
                }
                At::Looking(_) => actions.push(Action::Look(r)),
                At::Flagged(_) => actions.push(Action::Wake(r)),
            }
        }
        if self.requests.len() < usize::from(bounds.requests) {
            actions.push(Action::Request);
        }
        match self.next {
            None if !self.engine.is_driven() && self.engine.busy() => {
                actions.push(Action::TakeRole);
            }
            None => {}
            Some(Next::Again | Next::Spin(_)) if self.scans() && self.half.is_none() => {
                actions.push(Action::ReadHalf);
            }
            Some(Next::Sleep(_)) if self.sleeper => {}
            Some(_) => actions.push(Action::Drive),
        }
        actions
    }

    pub fn apply(&mut self, action: Action, bounds: &Bounds) -> Result<(), String> {
        match action {
            Action::Fetch(r) => self.readers[r].at = At::Fetched(self.join),
            Action::Enter(r) => {
                let At::Fetched(count) = self.readers[r].at else {
                    unreachable!()
                };
                let reader = &mut self.readers[r];
                reader.locks[count] += 1;
                reader.sections += 1;
                reader.at = At::Inside(count);
            }
            Action::Leave(r, on) => {
                let At::Inside(count) = self.readers[r].at else {
                    unreachable!()
                };
                self.readers[r].at = At::Outside;
                self.readers[on].unlocks[count] += 1;
                self.readers[on].at = At::Looking(count);
            }
            Action::Look(r) => {
                let At::Looking(count) = self.readers[r].at else {
                    unreachable!()
                };
                let seen = self.flags[count] && bounds.broken != Broken::FlagUnseen;
                self.readers[r].at = if seen {
                    At::Flagged(count)
                } else {
                    At::Outside
                };
            }
            Action::Wake(r) => self.wake(r, bounds.broken),
            Action::Request => self.request(),
            Action::TakeRole => {
                assert!(self.engine.try_drive(None, Interest::Waiter(Pos::MAX)));
                self.next = Some(Next::Again);
            }
            Action::ReadHalf => self.half = Some(self.half(false, bounds.broken)),
            Action::Drive => self.drive(bounds),
        }
        self.check()
    }

    /// A reader that has found the flag set: the last one of the count wakes the driver.
    fn wake(&mut self, r: usize, broken: Broken) {
        let At::Flagged(count) = self.readers[r].at else {
            unreachable!()
        };
        self.readers[r].at = At::Outside;
        let unlocks = self.sum(|reader| reader.unlocks)[count];
        let locks = self.sum(|reader| reader.locks)[count];
        if unlocks == locks || broken == Broken::WakesBeforeEmpty {
            self.flags[count] = false;
            self.sleeper = false;
        }
    }

    fn request(&mut self) {
        let ticket = self.engine.wait_for_gp(false);
        let inside =
            |reader: &Reader| matches!(reader.at, At::Inside(_)).then_some(reader.sections);
        let inside = self.readers.iter().map(inside).collect();
        self.requests.push((ticket, inside));
    }

    fn host(&self, first: [u8; 2], second: [u8; 2]) -> Sums {
        Sums {
            first,
            second,
            alone: self.alone,
            join: Cell::new(None),
        }
    }

    fn drive(&mut self, bounds: &Bounds) {
        let next = self.next.take().expect("the role is taken");
        self.next = Some(match next {
            Next::Again | Next::Spin(_) | Next::Sleep(_) => {
                let first = self.half.take().unwrap_or([0; 2]);
                let second = self.half(true, bounds.broken);
                let host = self.host(first, second);
                let next = self.engine.step(Now::default(), &host, 1);
                if bounds.broken != Broken::NeverJoins {
                    self.join = host.join.get().unwrap_or(self.join);
                }
                next
            }
            Next::Fence(_) => self.engine.fenced(),
            Next::Grow(cpus) => {
                let leaves = Global::new_leaves(self.engine.config(), cpus).expect("memory");
                self.engine.grow(leaves).expect("between grace periods");
                Next::Again
            }
            Next::FlagHoldouts { arm } => {
                self.sleeper |= arm;
                let mut newly = 0;
                for count in self.engine.holdouts() {
                    newly += u32::from(!std::mem::replace(&mut self.flags[count as usize], true));
                }
                self.engine.flagged(newly)
            }
            Next::Done | Next::HandOver => {
                let _ = self.engine.leave();
                self.next = None;
                return;
            }
            Next::Report => unreachable!("no report is made"),
        });
        // An empty count needs no report.
        let idle = self.engine.phase() == Phase::Idle;
        self.flags = self.flags.map(|flag| flag && !idle);
    }

    /// Readers that were inside at the request, and still are, must block the grace period.
    fn check(&self) -> Result<(), String> {
        for (ticket, inside) in &self.requests {
            if *ticket >= self.engine.waiters().done() {
                continue;
            }
            for (r, section) in inside.iter().enumerate() {
                let now = &self.readers[r];
                if section.is_some_and(|s| s == now.sections) && matches!(now.at, At::Inside(_)) {
                    return Err(format!("too short: request {ticket}, reader {r}"));
                }
            }
        }
        Ok(())
    }

    /// No action is possible any more: all requests have been satisfied.
    pub fn is_over(&self) -> Result<(), String> {
        if self.is_asleep() {
            return Err("asleep for ever".into());
        }
        let done = self.engine.waiters().done();
        match self.requests.iter().find(|(ticket, _)| *ticket >= done) {
            Some((ticket, _)) => Err(format!("request {ticket} was forgotten")),
            None => Ok(()),
        }
    }
}

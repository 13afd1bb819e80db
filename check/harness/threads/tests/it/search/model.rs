//! Threads, callers and the engine: every possible next action, one at a time.

use std::cell::Cell;

use quiescent_engine::{
    Config, Counts, CpuId, Global, Host, Interest, LeafId, Look, Next, Now, Pace, Phase, Pos, Seen,
};

/// A planted defect of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    Nothing,
    /// A reader does not check its flag.
    FlagUnseen,
    /// A thread that registers does not mark its leaf as occupied.
    ArrivesUnseen,
    /// A scan is never answered that a reader is outside.
    GenerationOnly,
    /// A driver that has lost the role goes on.
    ForgetsToResume,
}

/// The number of each kind of action.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub readers: usize,
    /// Threads of a leaf.
    pub leaf: u32,
    /// Threads that are registered at first.
    pub registered: usize,
    /// Sections of each thread.
    pub sections: u32,
    /// How often each thread registers, or leaves.
    pub arrivals: u32,
    /// Callers: the first one waits, the second one polls, the third one passes by, the fourth one waits in a
    /// hurry. The first one runs on the first thread.
    pub callers: usize,
    pub takeovers: u64,
    /// How often each driver leaves without being asked to.
    pub leaves: u32,
    pub spins: u16,
    pub broken: Broken,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Away,
    Outside,
    Inside,
    /// It has closed its section, and has not checked the flag.
    Closed,
    /// It has found the flag set, has cleared it, and has not woken the driver.
    Flagged,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reader {
    at: At,
    /// Sections so far.
    sections: u32,
    moves: u32,
    flag: bool,
    /// Its section is older than the grace period in flight.
    older: bool,
}

/// A caller's use of the driver role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Turn {
    epoch: u32,
    next: Next,
    /// The fence that it was asked for is issued.
    fenced: bool,
    /// The holdouts whose flags it has still to set, under the lock, and those that were clear.
    flags: Option<(Vec<CpuId>, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Caller {
    ticket: Option<Pos>,
    /// The sections that were open when it came: thread, and number of the section.
    open: Vec<(usize, u32)>,
    turn: Option<Turn>,
    left: u32,
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Register(usize),
    Unregister(usize),
    Enter(usize),
    Close(usize),
    Check(usize),
    Wake(usize),
    /// A caller comes: it waits, unless it is alone.
    Call(usize),
    /// It takes the role, or takes it over.
    Drive(usize),
    /// It issues the fence, or takes the lock for the next piece, or sets the next flag.
    Step(usize),
    Leave(usize),
}

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    engine: Global,
    readers: Vec<Reader>,
    /// Leaves that may be occupied.
    occupied: u64,
    callers: Vec<Caller>,
    /// The epoch of the driver that has declared itself asleep, and was not woken.
    sleeper: Option<u32>,
    /// The grace period in flight owes a fence.
    fence_due: bool,
    /// A flag was newly set since the last fence.
    unfenced: bool,
}

/// What the engine may ask.
struct Asked<'a> {
    readers: &'a [Reader],
    leaf: usize,
    occupied: Cell<u64>,
    looked: Cell<bool>,
    broken: Broken,
}

impl Host for Asked<'_> {
    fn cpus(&self) -> u32 {
        self.readers.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        self.looked.set(true);
        let reader = &self.readers[cpu as usize];
        Seen {
            outside: reader.at != At::Inside && self.broken != Broken::GenerationOnly,
            stamp: u64::from(reader.sections),
        }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let here = self.readers.iter().skip(leaf * self.leaf).take(self.leaf);
        here.enumerate().fold(0, |mask, (bit, reader)| {
            mask | u64::from(reader.at != At::Away) << bit
        })
    }

    fn occupied(&self, group: usize) -> u64 {
        if group == 0 { self.occupied.get() } else { 0 }
    }

    fn vacated(&self, leaf: LeafId) {
        assert_eq!(self.present(leaf), 0);
        self.occupied.set(self.occupied.get() & !(1 << leaf));
    }
}

impl State {
    pub fn new(bounds: &Bounds) -> State {
        let mut config = Config::threads();
        config.leaf = bounds.leaf;
        config.takeover_after_ns = 0;
        config.pace = Pace {
            spin: 1,
            spins_before_flag: bounds.spins,
            spins_after_flag: bounds.spins,
            expedited_factor: 2,
            stall_ns: 0,
        };
        let reader = |n: usize| Reader {
            at: if n < bounds.registered {
                At::Outside
            } else {
                At::Away
            },
            sections: 0,
            moves: 0,
            flag: false,
            older: false,
        };
        let caller = Caller {
            ticket: None,
            open: Vec::new(),
            turn: None,
            left: 0,
        };
        let here = |n: usize| 1u64 << (n / bounds.leaf as usize);
        State {
            engine: Global::new(config),
            readers: (0..bounds.readers).map(reader).collect(),
            occupied: (0..bounds.registered)
                .map(here)
                .fold(0, |all, leaf| all | leaf),
            callers: vec![caller; bounds.callers],
            sleeper: None,
            fence_due: false,
            unfenced: false,
        }
    }

    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    pub fn is_asleep(&self) -> bool {
        self.sleeper.is_some() && self.engine.phase() == Phase::Wait(quiescent_engine::Wait::Asleep)
    }

    /// A driver stops, or leaves without being asked to.
    pub fn is_rare(&self, action: Action) -> bool {
        match action {
            Action::Drive(_) => self.engine.is_driven(),
            action => matches!(action, Action::Leave(_)),
        }
    }

    /// A caller that was served comes again.
    pub fn serve_again(&mut self) {
        for n in 0..self.callers.len() {
            if self.is_served(n) && self.callers[n].turn.is_none() {
                self.callers[n].ticket = None;
            }
        }
    }

    fn is_served(&self, n: usize) -> bool {
        let done = self.engine.waiters().done();
        self.callers[n].ticket.is_some_and(|ticket| ticket < done)
    }

    /// A driver holds the lock.
    fn is_locked(&self) -> bool {
        let flags = |caller: &Caller| {
            caller
                .turn
                .as_ref()
                .is_some_and(|turn| turn.flags.is_some())
        };
        self.callers.iter().any(flags)
    }

    /// All possible next actions.
    pub fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions = Vec::new();
        for (n, reader) in self.readers.iter().enumerate() {
            let moves = reader.moves < bounds.arrivals;
            match reader.at {
                At::Away if moves => actions.push(Action::Register(n)),
                At::Away => {}
                At::Outside => {
                    // The first caller is this thread: it waits outside.
                    let waits = n == 0 && self.callers[0].ticket.is_some() && !self.is_served(0);
                    if reader.sections < bounds.sections && !waits {
                        actions.push(Action::Enter(n));
                    }
                    if moves && !waits {
                        actions.push(Action::Unregister(n));
                    }
                }
                At::Inside => actions.push(Action::Close(n)),
                At::Closed => actions.push(Action::Check(n)),
                At::Flagged => actions.push(Action::Wake(n)),
            }
        }
        let locked = self.is_locked();
        for (n, caller) in self.callers.iter().enumerate() {
            match &caller.turn {
                None if locked => {}
                None if caller.ticket.is_none() => {
                    let inside = n == 0 && !matches!(self.readers[0].at, At::Away | At::Outside);
                    actions.extend((!inside).then_some(Action::Call(n)));
                }
                None if self.is_served(n) => {}
                None => {
                    let looks = self.engine.is_driven();
                    if !looks || (self.counts().takeovers < bounds.takeovers && !self.is_asleep()) {
                        actions.push(Action::Drive(n));
                    }
                }
                Some(turn) => {
                    let sleeps =
                        matches!(turn.next, Next::Sleep(_)) && self.sleeper == Some(turn.epoch);
                    if !sleeps && (!locked || turn.flags.is_some()) {
                        actions.push(Action::Step(n));
                    }
                    if !locked && caller.left < bounds.leaves {
                        actions.push(Action::Leave(n));
                    }
                }
            }
        }
        actions
    }

    pub fn apply(&mut self, action: Action, bounds: &Bounds) -> Result<(), String> {
        match action {
            Action::Register(n) => {
                self.readers[n].moves += 1;
                self.readers[n].at = At::Outside;
                if bounds.broken != Broken::ArrivesUnseen {
                    self.occupied |= 1 << (n / bounds.leaf as usize);
                }
            }
            Action::Unregister(n) => {
                self.readers[n].moves += 1;
                self.readers[n].at = At::Away;
            }
            Action::Enter(n) => {
                self.readers[n].sections += 1;
                self.readers[n].at = At::Inside;
            }
            Action::Close(n) => {
                self.readers[n].older = false;
                self.readers[n].at = At::Closed;
            }
            Action::Check(n) => {
                let flag = self.readers[n].flag && bounds.broken != Broken::FlagUnseen;
                self.readers[n].flag &= !flag;
                self.readers[n].at = if flag { At::Flagged } else { At::Outside };
            }
            Action::Wake(n) => {
                self.sleeper = None;
                self.readers[n].at = At::Outside;
            }
            Action::Call(n) => self.call(n, bounds)?,
            Action::Drive(n) => self.take_role(n),
            Action::Step(n) => self.step(n, bounds)?,
            Action::Leave(n) => {
                self.callers[n].left += 1;
                self.leave(n);
            }
        }
        self.check()
    }

    fn open(&self) -> Vec<(usize, u32)> {
        let all = self.readers.iter().enumerate();
        let open = all.filter(|(_, reader)| reader.at == At::Inside);
        open.map(|(n, reader)| (n, reader.sections)).collect()
    }

    /// Calls the engine; what it did to the number decides what the rules expect.
    fn ask<T>(
        &mut self,
        own: Option<usize>,
        bounds: &Bounds,
        call: impl FnOnce(&mut Global, &Asked<'_>) -> T,
    ) -> Result<T, String> {
        let (before, ended) = (self.engine.published(), self.counts().grace_periods);
        let asked = Asked {
            readers: &self.readers,
            leaf: bounds.leaf as usize,
            occupied: Cell::new(self.occupied),
            looked: Cell::new(false),
            broken: bounds.broken,
        };
        let result = call(&mut self.engine, &asked);
        let looked = asked.looked.get();
        self.occupied = asked.occupied.get();
        let ends = self.counts().grace_periods - ended;
        let in_flight = self.engine.published().state() != 0;
        if before.state() == 0 && (in_flight || ends > 0) {
            // It has started.
            for reader in &mut self.readers {
                reader.older = reader.at == At::Inside;
            }
            let other = |(n, reader): (usize, &Reader)| Some(n) != own && reader.at != At::Away;
            self.fence_due = self.readers.iter().enumerate().any(other);
        } else if looked && self.fence_due {
            return Err("fence: a reader is looked at without a fence since the start".into());
        }
        if ends > 0 {
            if let Some(n) = self.readers.iter().position(|reader| reader.older) {
                return Err(format!("early: thread {n} is in a section that is older"));
            }
            if self.fence_due {
                return Err("fence: a grace period ends without one".into());
            }
        }
        Ok(result)
    }

    /// The thread that a caller runs on, if it is registered.
    fn own(&self, n: usize) -> Option<usize> {
        (n == 0 && self.readers[0].at != At::Away).then_some(0)
    }

    fn call(&mut self, n: usize, bounds: &Bounds) -> Result<(), String> {
        let own = self.own(n);
        let cpu = own.map(|own| own as CpuId);
        if n == 0 && self.ask(own, bounds, |engine, host| engine.sole_gp(cpu, host))? {
            self.callers[n].ticket = Some(self.engine.waiters().done() - 1);
            self.callers[n].open = Vec::new();
            return Ok(());
        }
        self.callers[n].open = self.open();
        self.callers[n].ticket = Some(self.engine.wait_for_gp(n == 3));
        Ok(())
    }

    fn take_role(&mut self, n: usize) {
        let ticket = self.callers[n].ticket.expect("it waits");
        let interest = match n {
            1 => Interest::Poller,
            2 => Interest::Passing,
            _ => Interest::Waiter(ticket),
        };
        let (cpu, asleep) = (self.own(n).map(|own| own as CpuId), self.sleeper.is_some());
        match self.engine.take_over(cpu, interest, 0, asleep) {
            Look::Yours => {}
            Look::TakenOver => self.sleeper = None,
            Look::At(_) => return,
        }
        self.callers[n].turn = Some(Turn {
            epoch: self.engine.driver_epoch(),
            next: Next::Again,
            fenced: false,
            flags: None,
        });
    }

    fn leave(&mut self, n: usize) {
        let turn = self.callers[n].turn.take().expect("it drives");
        if self.engine.resume(turn.epoch) {
            let _ = self.engine.leave();
            self.sleeper = None;
        }
    }

    fn step(&mut self, n: usize, bounds: &Bounds) -> Result<(), String> {
        let mut turn = self.callers[n].turn.take().expect("it drives");
        if matches!(turn.next, Next::Fence(_)) && !turn.fenced {
            turn.fenced = true; // with no lock held
            self.fence_due = false;
            self.unfenced = false;
            self.callers[n].turn = Some(turn);
            return Ok(());
        }
        let goes_on = self.engine.resume(turn.epoch) || bounds.broken == Broken::ForgetsToResume;
        if !goes_on {
            return Ok(()); // it waits again
        }
        let own = self.own(n);
        turn.next = match turn.next {
            Next::Again | Next::Spin(_) | Next::Sleep(_) | Next::Report => {
                self.sleeper = None;
                self.ask(own, bounds, |engine, host| {
                    engine.step(Now::default(), host, 1)
                })?
            }
            Next::Fence(_) => {
                turn.fenced = false;
                self.engine.fenced()
            }
            Next::Grow(cpus) => {
                let leaves = Global::new_leaves(self.engine.config(), cpus).expect("memory");
                let _ = self.engine.grow(leaves);
                Next::Again
            }
            Next::FlagHoldouts { arm } => match self.flag(&mut turn, arm) {
                Some(newly) => self.engine.flagged(newly),
                None => turn.next,
            },
            Next::Done | Next::HandOver => {
                self.callers[n].turn = Some(turn);
                self.leave(n);
                return Ok(());
            }
        };
        if matches!(turn.next, Next::Sleep(_)) && self.unfenced {
            return Err("asleep: a flag was set after the last fence".into());
        }
        self.callers[n].turn = Some(turn);
        Ok(())
    }

    /// Declares the sleeper, then sets one flag at a time; the number that were clear, when all are set.
    fn flag(&mut self, turn: &mut Turn, arm: bool) -> Option<u32> {
        let Some((left, newly)) = &mut turn.flags else {
            if arm {
                self.sleeper = Some(turn.epoch);
            }
            turn.flags = Some((self.engine.holdouts().collect(), 0));
            return None;
        };
        let Some(cpu) = left.pop() else {
            let newly = *newly;
            turn.flags = None;
            return Some(newly);
        };
        let was_clear = !std::mem::replace(&mut self.readers[cpu as usize].flag, true);
        *newly += u32::from(was_clear);
        self.unfenced |= was_clear;
        None
    }

    /// No caller is served while a section is open that was open when it came.
    fn check(&self) -> Result<(), String> {
        for (n, caller) in self.callers.iter().enumerate() {
            let still = |&(r, section): &(usize, u32)| {
                self.readers[r].at == At::Inside && self.readers[r].sections == section
            };
            if self.is_served(n) && caller.open.iter().any(still) {
                return Err(format!(
                    "early: caller {n} is served beside an older section"
                ));
            }
        }
        Ok(())
    }

    /// No action is possible any more: every caller has been served.
    pub fn settled(&self) -> Result<(), String> {
        match (0..self.callers.len()).find(|&n| !self.is_served(n)) {
            Some(n) => Err(format!("stuck: caller {n}, in {:?}", self.engine.phase())),
            None => Ok(()),
        }
    }
}

//! Carrying an action out.

use quiescent_engine::testhost::canonical;
use quiescent_engine::{Effects, Global, Interest, Next, Now, Phase, Until, Wait};

use crate::actions::Action;
use crate::marks::{Mark, Pad};
use crate::model::{Bounds, Broken, Caller, Eyes, Flavour, Role, State, Task, Word};
use crate::notice;

impl State {
    /// Does it and asks the oracle.
    ///
    /// # Errors
    /// The rule that is broken, in words.
    pub fn apply(&mut self, action: Action, bounds: &Bounds, pad: &Pad) -> Result<(), String> {
        match action {
            Action::Enter(i) => self.enter(i.into()),
            Action::Exit(i) => self.exit(i.into()),
            Action::Look(i) => {
                let cpu = &mut self.machine.cpus[usize::from(i)];
                cpu.looking = false;
                if let Word::Thread(reader) = &mut cpu.word {
                    cpu.waking = reader.take_flag();
                }
            }
            Action::Wake(i) => {
                self.machine.cpus[usize::from(i)].waking = false;
                if bounds.broken != Broken::NoWake {
                    pad.set_if(Mark::Woken, std::mem::take(&mut self.armed));
                }
            }
            Action::Idle(i) => {
                if let Word::Kernel(kernel) = &mut self.machine.cpus[usize::from(i)].word {
                    kernel.sleep();
                }
            }
            Action::Note(i) => {
                let cpu = &mut self.machine.cpus[usize::from(i)];
                cpu.notes -= 1;
                if let Word::Kernel(kernel) = &mut cpu.word {
                    kernel.note(self.engine.published());
                }
            }
            Action::Report(i) => self.report(i.into(), bounds, pad),
            Action::Arrive(i) => self.arrive(i.into(), pad),
            Action::Depart(i) => self.depart(i.into(), bounds, pad),
            Action::Gone(i) => {
                let cpu = &mut self.machine.cpus[usize::from(i)];
                (cpu.leaving, cpu.present) = (false, false);
            }
            Action::Wait(i) => self.wait(i.into(), bounds, pad),
            Action::Take(i) => self.take(i.into(), pad),
            Action::StartPoll(i) => self.start_poll(i.into(), pad),
            Action::Help(i) => {
                self.budget.helps = self.budget.helps.saturating_sub(1);
                self.take_role(i.into(), Interest::Poller, pad);
            }
            Action::Drive => self.drive(pad)?,
            Action::Timer => {
                self.budget.timers -= 1;
                if let Some(Task::Do(Next::Sleep(Until::Jiffies(ticks)))) = self.task() {
                    self.step(ticks, pad)?;
                }
            }
            Action::Stray => {
                self.budget.strays -= 1;
                self.woken = true;
                pad.set(Mark::StrayWake);
            }
            Action::Leave => {
                self.budget.leaves -= 1;
                self.leave(pad)?;
            }
            Action::Resume(i) => self.take_role(i.into(), Interest::GpThread, pad),
            Action::Work => {
                let pos = self.work.take().expect("the work item was queued");
                self.engine.waiters_woken(pos);
                self.wake_callers(pos);
            }
        }
        notice::phase(self.scans, &self.engine, pad);
        canonical_but_complaints(&mut self.engine)?;
        let cookie_done = self.oracle.look(&self.engine)?;
        pad.set_if(Mark::CookieDone, cookie_done);
        Ok(())
    }

    fn enter(&mut self, i: usize) {
        let cpu = &mut self.machine.cpus[i];
        if cpu.depth() == 0 {
            cpu.sections -= 1;
        } else {
            self.budget.nests -= 1;
        }
        match &mut cpu.word {
            Word::Thread(reader) => reader.enter(),
            Word::Kernel(kernel) => kernel.enter(),
        }
    }

    fn exit(&mut self, i: usize) {
        let cpu = &mut self.machine.cpus[i];
        let closed = match &mut cpu.word {
            Word::Thread(reader) => {
                cpu.looking = reader.exit();
                cpu.looking
            }
            Word::Kernel(kernel) => kernel.exit(),
        };
        if closed {
            self.oracle.section_closed(i);
        }
    }

    fn report(&mut self, i: usize, bounds: &Bounds, pad: &Pad) {
        let Word::Kernel(kernel) = &mut self.machine.cpus[i].word else {
            return;
        };
        let Some(mut noted) = kernel.take_noted() else {
            return;
        };
        if bounds.broken == Broken::StaleNote {
            noted = self.engine.published().global;
        }
        let owed = self.engine.holdouts().any(|cpu| cpu as usize == i);
        pad.set_if(
            Mark::LateReport,
            owed && noted != self.engine.published().root,
        );
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let effects = self.engine.report_qs(i as u32, noted, &eyes);
        let owes = self.engine.holdouts().any(|cpu| cpu as usize == i);
        pad.set_if(Mark::OwnReport, owed && !owes);
        self.woken |= effects.wake_gp;
    }

    fn arrive(&mut self, i: usize, pad: &Pad) {
        self.budget.arrivals -= 1;
        pad.set_if(Mark::ArrivedInGp, self.engine.phase() != Phase::Idle);
        let cpu = &mut self.machine.cpus[i];
        if let Word::Kernel(kernel) = &mut cpu.word {
            kernel.online();
        }
        cpu.present = true;
        self.machine.known = self.machine.known.max(i as u32 + 1);
        self.oracle.arrived(i);
    }

    fn depart(&mut self, i: usize, bounds: &Bounds, pad: &Pad) {
        self.budget.departures -= 1;
        let cpu = &mut self.machine.cpus[i];
        if let Word::Thread(_) = cpu.word {
            cpu.present = false;
            return;
        }
        cpu.leaving = true;
        if bounds.broken == Broken::SilentDeparture {
            return;
        }
        let owed = self.engine.holdouts().any(|cpu| cpu as usize == i);
        let phase = self.engine.phase();
        let early = matches!(phase, Phase::Fence | Phase::Hotplug(_) | Phase::Init(_));
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let effects = self.engine.departed(i as u32, &eyes);
        pad.set_if(Mark::DepartedCounted, owed);
        pad.set_if(Mark::DepartedEarly, early);
        self.woken |= effects.wake_gp;
    }

    /// Where a request enters the tree. Leaves that the tree has not yet are the engine's business.
    fn leaf_of(&self, agent: usize) -> usize {
        let outsider = agent == self.machine.cpus.len();
        if outsider {
            0
        } else {
            self.machine.leaf_of(agent)
        }
    }

    fn wait(&mut self, agent: usize, bounds: &Bounds, pad: &Pad) {
        self.budget.waits -= 1;
        let leaf = self.leaf_of(agent);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let (ticket, effects) = self.engine.wait_for_gp(leaf, false, &eyes);
        self.oracle.ticket(ticket);
        match bounds.flavour {
            Flavour::Threads => self.callers[agent] = Caller::Awake(ticket),
            Flavour::Kernel => {
                self.woken |= effects.wake_gp && bounds.broken != Broken::DeafThread;
            }
        }
    }

    fn start_poll(&mut self, agent: usize, pad: &Pad) {
        self.budget.polls -= 1;
        pad.set_if(Mark::CookieInFlight, self.engine.phase() != Phase::Idle);
        let leaf = self.leaf_of(agent);
        let merged = self.engine.polled().state();
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let (cookie, effects) = self.engine.start_poll(leaf, &eyes);
        self.oracle.cookie(cookie, merged);
        self.woken |=
            effects.wake_gp && self.role.is_some_and(|r| r.interest == Interest::GpThread);
    }

    fn take(&mut self, agent: usize, pad: &Pad) {
        let Caller::Awake(ticket) = self.callers[agent] else {
            return;
        };
        self.callers[agent] = if ticket < self.engine.waiters().done() {
            Caller::No
        } else if self.engine.is_driven() {
            Caller::Asleep(ticket)
        } else {
            self.take_role(agent, Interest::Waiter(ticket), pad);
            Caller::Driving(ticket)
        };
    }

    fn take_role(&mut self, agent: usize, interest: Interest, pad: &Pad) {
        let outsider = agent == self.machine.cpus.len();
        let cpu = (!outsider).then_some(agent as u32);
        assert!(self.engine.try_drive(cpu, interest), "the role was free");
        self.role = Some(Role {
            agent,
            interest,
            task: Task::Do(Next::Again),
        });
        match self.engine.phase() {
            Phase::Idle => {}
            Phase::Fence => pad.set(Mark::ResumeFence),
            Phase::Hotplug(_) => pad.set(Mark::ResumeHotplug),
            Phase::Init(_) => pad.set(Mark::ResumeInit),
            Phase::Wait(_) => pad.set(Mark::ResumeWait),
            Phase::Scan(_) => pad.set(Mark::ResumeScan),
            Phase::Cleanup(_) => pad.set(Mark::ResumeCleanup),
            Phase::End => pad.set(Mark::ResumeEnd),
        }
    }

    fn task(&self) -> Option<Task> {
        self.role.map(|role| role.task)
    }

    fn set_task(&mut self, next: Next) -> Result<(), String> {
        if let Next::Sleep(Until::Ns(_)) = next {
            self.oracle.sleeps(self.machine.mask(|cpu| cpu.present))?;
        }
        if let Some(role) = &mut self.role {
            role.task = Task::Do(next);
        }
        Ok(())
    }

    /// The driver does what it was asked for.
    fn drive(&mut self, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("somebody drives");
        match role.task {
            Task::Flag { todo: 0, newly } => {
                let arming = self.engine.phase() == Phase::Wait(Wait::Arming);
                pad.set_if(Mark::Reflag, arming && newly > 0);
                let next = self.engine.flagged(newly);
                self.set_task(next)
            }
            Task::Flag { todo, newly } => {
                let i = todo.trailing_zeros() as usize;
                let Word::Thread(reader) = &mut self.machine.cpus[i].word else {
                    return Err("a kernel's CPU has no flag".into());
                };
                let new = reader.set_flag();
                if new {
                    self.oracle.flag_set(i);
                }
                let task = Task::Flag {
                    todo: todo & (todo - 1),
                    newly: newly + u32::from(new),
                };
                self.role = Some(Role { task, ..role });
                Ok(())
            }
            Task::Do(Next::FlagHoldouts { arm }) => {
                self.armed |= arm;
                let todo = self.engine.holdouts().fold(0, |mask, cpu| mask | 1 << cpu);
                self.role = Some(Role {
                    task: Task::Flag { todo, newly: 0 },
                    ..role
                });
                Ok(())
            }
            Task::Do(Next::Fence(_)) => {
                self.oracle.fence();
                let next = self.engine.fenced();
                self.set_task(next)
            }
            Task::Do(Next::Grow(cpus)) => {
                let tree = Global::new_tree(self.engine.config(), cpus).expect("a small tree");
                self.engine
                    .grow(tree)
                    .map_err(|_| "a larger tree was refused")?;
                pad.set(Mark::Grow);
                self.set_task(Next::Again)
            }
            Task::Do(Next::Done | Next::HandOver) if role.interest != Interest::GpThread => {
                let poller = role.interest == Interest::Poller;
                let left_holdouts = matches!(self.engine.phase(), Phase::Wait(_));
                pad.set_if(Mark::PollerLeft, poller && left_holdouts);
                self.leave(pad)
            }
            Task::Do(Next::Sleep(Until::Ns(_))) => {
                pad.set(Mark::Slept);
                self.step(0, pad)
            }
            Task::Do(_) => self.step(0, pad),
        }
    }

    /// One step of the engine, `ticks` after the last one.
    fn step(&mut self, ticks: u64, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("somebody drives");
        if let Some(Word::Kernel(kernel)) = self
            .machine
            .cpus
            .get_mut(role.agent)
            .map(|cpu| &mut cpu.word)
        {
            kernel.wake();
        }
        self.woken = false;
        let before = self.engine.phase();
        let inside = self.machine.mask(|cpu| cpu.depth() > 0);
        let own = 1u32.checked_shl(role.agent as u32).unwrap_or(0);
        let present = self.machine.mask(|cpu| cpu.present);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let effects = self.engine.step(
            Now {
                ns: 0,
                jiffies: ticks,
            },
            &eyes,
        );
        let after = self.engine.phase();
        if before == Phase::Idle {
            self.scans = 0;
        }
        if !matches!(before, Phase::Scan(_)) && after == Phase::Scan(0) {
            self.scans = (self.scans + 1).min(2);
        }
        notice::step(
            before,
            effects.next,
            &self.engine,
            present,
            self.work.is_some(),
            pad,
        );
        self.oracle.stepped(before, after, inside, present & !own)?;
        self.carry_out(effects, pad)?;
        self.set_task(effects.next)
    }

    fn carry_out(&mut self, effects: Effects, pad: &Pad) -> Result<(), String> {
        if let Some(until) = effects.waiters_until {
            self.wake_callers(until);
        }
        if let Some(until) = effects.deferred_until {
            pad.set(Mark::Deferred);
            self.work = Some(until);
        }
        let Some(Role {
            interest: Interest::Waiter(ticket),
            ..
        }) = self.role
        else {
            return Ok(());
        };
        let home = matches!(effects.next, Next::Done | Next::HandOver);
        if home && ticket >= self.engine.waiters().done() {
            return Err(format!(
                "b: the driver is sent home, but {ticket} is not satisfied"
            ));
        }
        Ok(())
    }

    /// Satisfied callers that sleep return.
    fn wake_callers(&mut self, until: u64) {
        for caller in &mut self.callers {
            if matches!(caller, Caller::Asleep(ticket) if *ticket < until) {
                *caller = Caller::No;
            }
        }
    }

    fn leave(&mut self, pad: &Pad) -> Result<(), String> {
        let role = self.role.take().expect("somebody drives");
        if role.interest != Interest::GpThread {
            self.callers[role.agent] = Caller::No;
        }
        if self.engine.leave() != Next::HandOver || role.interest == Interest::GpThread {
            return Ok(());
        }
        pad.set(Mark::HandOver);
        let first = self.callers.iter_mut().filter_map(|caller| match *caller {
            Caller::Asleep(ticket) => Some((ticket, caller)),
            _ => None,
        });
        if let Some((ticket, caller)) = first.min_by_key(|(ticket, _)| *ticket) {
            *caller = Caller::Awake(ticket);
        }
        Ok(())
    }
}

/// Forgets statistics, but not before the oracle's rule e was asked.
fn canonical_but_complaints(engine: &mut Global) -> Result<(), String> {
    match engine.counts().offline_holdouts {
        0 => {
            canonical(engine);
            Ok(())
        }
        _ => Err("e: an absent CPU was a holdout".into()),
    }
}

//! Performs an action.

use quiescent_engine::{Global, Interest, Next, Phase, Until};

use crate::search::actions::Action;
use crate::search::bounds::{Bounds, Broken, Flavour};
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Caller, Eyes, State, Task, Word};
use crate::search::notice;

impl State {
    /// Performs the action, and lets the oracle check its rules.
    ///
    /// # Errors
    /// The broken rule, as a text.
    pub fn apply(&mut self, action: Action, bounds: &Bounds, pad: &Pad) -> Result<(), String> {
        match action {
            Action::Enter(i) => self.enter(i.into()),
            Action::Exit(i) => self.exit(i.into(), pad),
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
            Action::Preempt(i) => self.preempt(i.into(), pad),
            Action::Resume(task, i) => self.resume(task.into(), i.into()),
            Action::Expedite(i) => self.expedite(i.into(), pad),
            Action::ExpStep(caller) => self.exp_step(caller.into(), false, pad)?,
            Action::ExpRefused(caller) => {
                self.budget.refusals -= 1;
                self.exp_step(caller.into(), true, pad)?;
            }
            Action::Interrupt(i) => self.interrupt(i.into(), pad),
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
            Action::TakeOver(i) => self.take_over(i.into(), pad),
            Action::ComeBack => self.come_back(pad)?,
            Action::Move(i) => self.take_role(i.into(), Interest::GpThread, pad),
            Action::Work => {
                let pos = self.work.take().expect("the work item was queued");
                self.engine.waiters_woken(pos);
                self.wake_callers(pos);
            }
        }
        notice::phase(self.scans, &self.engine, pad);
        forget_history(&mut self.engine)?;
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

    fn exit(&mut self, i: usize, pad: &Pad) {
        let cpu = &mut self.machine.cpus[i];
        let closed = match &mut cpu.word {
            Word::Thread(reader) => {
                cpu.looking = reader.exit();
                cpu.looking
            }
            Word::Kernel(kernel) => kernel.exit(),
        };
        if closed {
            self.section_ended(i, pad);
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
        self.machine.occupy(i);
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
        self.exp.pending &= !(1 << i); // from here on the CPU receives none
        if bounds.broken == Broken::SilentDeparture {
            return;
        }
        let owed = self.engine.holdouts().any(|cpu| cpu as usize == i);
        let phase = self.engine.phase();
        let early = matches!(phase, Phase::Fence | Phase::Hotplug(_) | Phase::Init(_));
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let effects = self.engine.departed(i as u32, &eyes);
        pad.set_if(Mark::DepartedCounted, owed);
        pad.set_if(Mark::ExpDeparted, effects.wake_exp);
        self.exp.woken |= effects.wake_exp;
        pad.set_if(Mark::DepartedEarly, early);
        self.woken |= effects.wake_gp;
    }

    /// The leaf where a request enters the tree. The engine handles leaves that the tree does not have yet.
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
}

/// Resets statistics, after a check of the oracle's rule e.
fn forget_history(engine: &mut Global) -> Result<(), String> {
    match engine.counts().offline_holdouts {
        0 => {
            engine.forget_history();
            Ok(())
        }
        _ => Err("e: an absent CPU was a holdout".into()),
    }
}

//! Performs an action.

use quiescent_kernel::{Global, Next, Phase};

use crate::search::actions::Action;
use crate::search::bounds::{Bounds, Broken};
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Eyes, State};
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
            Action::Idle(i) => {
                self.machine.cpus[usize::from(i)].word.sleep();
            }
            Action::Note(i) => {
                let cpu = &mut self.machine.cpus[usize::from(i)];
                cpu.notes -= 1;
                cpu.word.note(self.engine.published());
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
            Action::StartPoll(i) => self.start_poll(i.into(), pad),
            Action::Drive => self.drive(pad)?,
            Action::Timer => {
                self.budget.timers -= 1;
                if let Some(Next::Sleep(ticks)) = self.role.map(|role| role.next) {
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
                self.leave();
            }
            Action::Move(i) => self.take_role(i.into(), pad),
            Action::Work => {
                let pos = self.work.take().expect("the work item was queued");
                self.engine.waiters_woken(pos);
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
        cpu.word.enter();
    }

    fn exit(&mut self, i: usize, pad: &Pad) {
        if self.machine.cpus[i].word.exit() {
            self.section_ended(i, pad);
        }
    }

    fn report(&mut self, i: usize, bounds: &Bounds, pad: &Pad) {
        let Some(mut noted) = self.machine.cpus[i].word.take_noted() else {
            return;
        };
        if bounds.broken == Broken::StaleNote {
            noted = self.engine.published().global;
        }
        let owed = self.engine.holdouts().any(|cpu| cpu as usize == i);
        let late = owed && noted != self.engine.published().root;
        pad.set_if(Mark::LateReport, late);
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
        cpu.word.online();
        cpu.present = true;
    }

    fn depart(&mut self, i: usize, bounds: &Bounds, pad: &Pad) {
        self.budget.departures -= 1;
        self.machine.cpus[i].leaving = true;
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

    fn wait(&mut self, i: usize, bounds: &Bounds, pad: &Pad) {
        self.budget.waits -= 1;
        let leaf = self.machine.leaf_of(i);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let (ticket, effects) = self.engine.wait_for_gp(leaf, &eyes);
        self.oracle.ticket(ticket);
        self.woken |= effects.wake_gp && bounds.broken != Broken::DeafThread;
    }

    fn start_poll(&mut self, i: usize, pad: &Pad) {
        self.budget.polls -= 1;
        pad.set_if(Mark::CookieInFlight, self.engine.phase() != Phase::Idle);
        let leaf = self.machine.leaf_of(i);
        let merged = self.engine.polled().state();
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let (cookie, effects) = self.engine.start_poll(leaf, &eyes);
        self.oracle.cookie(cookie, merged);
        self.woken |= effects.wake_gp && self.role.is_some();
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

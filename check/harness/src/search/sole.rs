//! Rule i: a grace period in one call ([`Global::sole_gp`]) leaves what its steps leave.
//!
//! In each state of the thread flavour every thread that is present, and the outsider, makes the call on a
//! copy of the engine. A call that is refused has changed nothing. For one that is not, another copy takes
//! the steps: they end with the caller satisfied, no other waiter, no fence, wait or other effect for the
//! host; and both copies are equal, but for the count of steps. So the search needs no action for the call.

use quiescent_engine::{Counts, CpuId, Effects, Global, Interest, Next, Now, Phase};

use crate::search::bounds::{Bounds, Flavour};
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Eyes, State};

impl State {
    /// Asks the rule.
    ///
    /// # Errors
    /// How it is broken.
    pub fn check_sole(&self, bounds: &Bounds, pad: &Pad) -> Result<(), String> {
        if bounds.flavour != Flavour::Threads {
            return Ok(());
        }
        let present = (0..).zip(&self.machine.cpus).filter(|(_, cpu)| cpu.present);
        for cpu in present.map(|(i, _)| Some(i)).chain([None]) {
            let unseen = Pad::default();
            let eyes = Eyes::new(&self.machine, Phase::Idle, &unseen);
            let mut engine = self.engine.clone();
            match engine.sole_gp(cpu, false, &eyes) {
                None if engine == self.engine => {}
                None => return Err(format!("i: refused to {cpu:?}, but changed: {self:?}")),
                Some(published) => {
                    let leaf = cpu.map_or(0, |cpu| self.machine.leaf_of(cpu as usize));
                    let mut steps = self.engine.clone();
                    by_steps(&mut steps, cpu, leaf, &eyes)?;
                    if (forgotten(&mut engine), published)
                        != (forgotten(&mut steps), steps.published())
                        || engine != steps
                    {
                        return Err(format!("i: one call leaves {engine:?}, steps {steps:?}"));
                    }
                    pad.set(Mark::InOneCall);
                }
            }
        }
        Ok(())
    }
}

/// The grace period by steps.
fn by_steps(
    engine: &mut Global,
    cpu: Option<CpuId>,
    leaf: usize,
    eyes: &Eyes<'_>,
) -> Result<(), String> {
    let (ticket, _) = engine.wait_for_gp(leaf, false, eyes);
    if ticket != engine.waiters().done() || !engine.try_drive(cpu, Interest::Waiter(ticket)) {
        return Err("i: one call, but there is another waiter, or a driver".into());
    }
    loop {
        let effects = engine.step(Now::default(), eyes);
        let expected = Effects {
            publish: effects.publish,
            gp_end: effects.gp_end, // for kernels
            waiters_until: effects.waiters_until.map(|_| ticket + 1),
            ..Effects::only(effects.next)
        };
        if effects != expected {
            return Err(format!("i: one call, but a step has effects: {effects:?}"));
        }
        match effects.next {
            Next::Again => {}
            Next::Done => break,
            next => return Err(format!("i: one call, but a step asks for {next:?}")),
        }
    }
    match engine.leave() {
        Next::Done => Ok(()),
        next => Err(format!("i: one call, but leave() returns {next:?}")),
    }
}

/// The counts, without that of steps; then forgets history.
fn forgotten(engine: &mut Global) -> Counts {
    let counts = Counts {
        steps: 0,
        ..engine.counts()
    };
    engine.forget_history();
    counts
}

//! Yards that domains have for a while: see [`grounds`](crate::inner::domain::grounds).

use quiescent_engine::Tree;
use quiescent_engine::credit::Cause;

use super::Yard;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::grounds::{Grounds, Held};
use crate::inner::domain::policy::Policy;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::Drives as _;
use crate::inner::prim::{self, Ordering};
use crate::inner::queue::per_thread::CODE;
use crate::refused::Fullness;
use crate::report::{Report, report};

#[cfg(not(quiescent_model))]
mod spare {
    use std::sync::PoisonError;

    use super::Yard;
    use crate::inner::prim::{Mutex, MutexGuard};

    /// The first of those that nobody has.
    static SPARES: Mutex<Option<&'static Yard>> = Mutex::new(None);

    /// Nobody takes one meanwhile.
    pub(crate) fn spares() -> MutexGuard<'static, Option<&'static Yard>> {
        SPARES.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
#[cfg(not(quiescent_model))]
pub(crate) use spare::spares;

/// What goes on in a yard that nobody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Something: queued, being run, waited for, or to be told.
    No,
    /// A grace period is wanted, and nothing else.
    Wants,
    /// Nothing.
    Yes,
}

impl Yard {
    /// The policy of one for domains, until it is told another.
    #[cfg(not(quiescent_model))]
    fn for_domains() -> quiescent_engine::Config {
        let mut config = quiescent_engine::Config::threads();
        config.geometry.leaf_fanout = prim::LEAF_SLOTS as u32;
        config
    }

    /// One that nobody has.
    pub(crate) fn spare() -> &'static Yard {
        #[cfg(quiescent_model)]
        unreachable!("a model's domain keeps its yard");
        #[cfg(not(quiescent_model))]
        {
            let mut first = spares();
            if let Some(yard) = *first {
                // SAFETY: null, or a yard, and those live for ever.
                *first = unsafe { yard.next_spare.load(Ordering::Relaxed).as_ref() };
                return yard;
            }
            drop(first); // no memory is allocated under it
            Yard::made(Yard::for_domains())
        }
    }

    /// Nobody has it any more.
    pub(crate) fn spare_again(&'static self) {
        #[cfg(not(quiescent_model))]
        {
            let mut first = spares();
            let next = first.map_or(std::ptr::null(), std::ptr::from_ref);
            self.next_spare.store(next.cast_mut(), Ordering::Relaxed);
            *first = Some(self);
        }
    }

    /// A domain has it from now on. Under the lock of the grounds.
    pub(crate) fn adopt(&self, grounds: &'static Grounds, policy: &Policy) {
        self.drained
            .store(u32::from(policy.drained), Ordering::Relaxed);
        self.queue.lock().told.set_place(policy.place);
        let mut core = self.lock();
        policy.tell(&mut core);
        let grounds = std::ptr::from_ref(grounds).cast_mut();
        self.grounds.store(grounds, Ordering::Release);
    }

    /// May the domain do without it? Asked when nobody holds the grounds, under their lock.
    pub(crate) fn rest(&self) -> Rest {
        if !self.is_at_rest() {
            Rest::No
        } else if self.lock().engine.busy() {
            Rest::Wants
        } else if self.untold.load(Ordering::Relaxed) != 0 {
            Rest::No // the caretaker has something to tell
        } else {
            Rest::Yes
        }
    }

    /// Is a grace period wanted, and nothing else going on?
    pub(super) fn only_wants(&self) -> bool {
        self.has_spots && self.rest() == Rest::Wants
    }

    /// A grace period is wanted, and nothing else going on: the caretaker sees to it. (If it has tried, it is told when it may go on.)
    pub(crate) fn see_to_what_is_wanted(&self) {
        if self.interested.load(Ordering::Acquire) == 0 && super::care::is_there() {
            self.call();
        }
    }

    /// The domain does without it. Under the lock of the grounds. The tree, which knows its readers, comes back to be freed without.
    pub(crate) fn release(&self) -> Option<Tree> {
        let mut core = self.lock();
        core.disarm();
        let tree = core.detach();
        drop(core);
        self.grounds.store(std::ptr::null_mut(), Ordering::Release);
        for word in [&self.interested, &self.called] {
            word.store(0, Ordering::Relaxed);
        }
        self.look_at.store(0, Ordering::Relaxed);
        tree
    }

    /// The engine hears of a changed policy, also for what is queued. Under the lock of the grounds. What is to be done about it without:
    /// a timer to be set.
    pub(crate) fn tell(&self, policy: &Policy) -> Option<u64> {
        self.drained
            .store(u32::from(policy.drained), Ordering::Relaxed);
        let mut queue = self.queue.lock();
        queue.told.set_place(policy.place);
        let mut core = self.lock();
        policy.tell(&mut core);
        core.retime(&mut queue.cpu, prim::now_ns())
    }

    /// Changes the policy of one that no domain has, an `Srcu`'s.
    pub(crate) fn change_policy(&'static self, change: impl FnOnce(&mut Policy)) {
        let mut queue = self.queue.lock();
        let mut core = self.lock();
        let mut policy = Policy::of(&core, self.drained.load(Ordering::Relaxed) != 0);
        change(&mut policy);
        self.drained
            .store(u32::from(policy.drained), Ordering::Relaxed);
        policy.tell(&mut core);
        let arm = core.retime(&mut queue.cpu, prim::now_ns());
        drop(core);
        drop(queue);
        self.carry_out_policy(arm);
    }

    /// Sets it, and has those look who may have something else to do now.
    pub(crate) fn carry_out_policy(&'static self, arm: Option<u64>) {
        self.rouse_driver(false); // it may have to report at another time
        // The budget may be passed now, or code be the caretaker's, or a stall be reported earlier.
        let waits = self.held().0 > 0 || self.interested.load(Ordering::Acquire) != 0;
        self.arm_and_kick(arm, waits);
    }

    /// For the caretaker's look: keeps the domain that has it from doing without it. `None`: there is none. (An `Srcu`'s needs no hold.)
    pub(super) fn hold_if_lent(&'static self) -> Option<Option<Held>> {
        if !self.has_spots {
            return Some(None);
        }
        self.grounds()?.hold_with(self).map(Some)
    }

    /// Does code wait for the program to run it?
    pub(super) fn code_is_ready(&self) -> bool {
        let core = self.queue.lock();
        let lists = core.cpu.lists().iter().skip(CODE);
        lists.map(quiescent_engine::CbList::ready).sum::<u64>() > 0
    }

    /// Frees plain memory that is done.
    pub(crate) fn free_ready(&'static self, until: Until) {
        self.run_ready(until, false);
    }

    /// Runs and frees at most `most` of what is done.
    pub(crate) fn run_at_most(&'static self, most: u64, until: Until) -> u64 {
        let code = !crate::inner::defer::run::in_callback();
        let mut ran = 0;
        while ran < most && !until.is_over() {
            match self.run_some(most - ran, code) {
                0 => break,
                some => ran += some,
            }
        }
        ran
    }

    /// Everything that is queued here has nobody to wait for: its domain was dropped. Frees and runs it, also inside a callback. If some
    /// section never ends (its guard was forgotten), the caretaker keeps the rest.
    pub(crate) fn empty(&'static self) {
        let until = Until { deadline: None };
        loop {
            self.take(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
            let ran = self.run_ready(until, true);
            let before = self.root_seq().load(Ordering::Acquire);
            let wanted = self.pending() || self.lock().engine.busy();
            let helped = wanted && self.help_along().is_ok();
            if ran == 0 && !(helped && self.root_seq().load(Ordering::Acquire) != before) {
                break;
            }
        }
        self.tell_caretaker(); // it may have left the driving to us
        self.arm_and_kick(None, self.held().0 > 0);
    }

    /// Somebody says that memory is low: what waits for company here goes at once, as in the process's domain.
    #[cfg(not(quiescent_model))]
    pub(crate) fn memory_low(&'static self) {
        let queue = self.queue.lock(); // as long as something is queued it is not given back
        if queue.cpu.is_empty() {
            return;
        }
        let low = self.lock().memory_low(prim::now_ns());
        drop(queue);
        self.arm_and_kick(low.arm, low.kick);
    }

    /// Tells the program that the budget is passed, if it was. On the caretaker, with no lock held.
    pub(super) fn tell_news_of_budget(&self) {
        if self.untold.swap(0, Ordering::Acquire) == 0 {
            return;
        }
        let core = self.lock();
        let full = Fullness::of(&core);
        let holdouts = core.engine.holdouts().count() as u32;
        drop(core);
        report(Report::OverBudget {
            full,
            holdouts,
            domain: self.domain_name(),
        });
    }

    /// What the domain that has it is called.
    pub(super) fn domain_name(&self) -> Option<&'static str> {
        let name = self.grounds()?.policy().name;
        (!name.is_empty()).then_some(name)
    }

    /// How much is held, and the budget.
    pub(crate) fn fullness(&self) -> Fullness {
        Fullness::of(&self.lock())
    }
}

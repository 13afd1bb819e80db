//! Grounds: what a domain of the program's own is while nothing goes on in it.
//!
//! A domain with grace periods, queues and a budget is some kilobytes. A program may have a thousand of them (one a table, one a
//! connection), and most of them rest. So what a domain *has* is small and lives for ever: its readers' spots, its policy, its numbers. What
//! it needs while something goes on, an engine and a queue, is a [`Yard`], lent to it then, and given back when it rests again.
//!
//! # Lending
//! Whoever does anything but read *holds* the grounds meanwhile ([`Grounds::hold`]): the first one attaches a yard, the last one to let go
//! looks whether all is at rest, and detaches it. Not at rest is a domain in which something is queued or being run, a grace period
//! is wanted, or a task waits; its yard stays, and the caretaker, who holds the grounds in turn, is the last one to let go. What
//! counts holders is a lock that readers never take.
//!
//! A grace period may be wanted that nobody needs any more: another one has served those who asked. Where nothing else is left, the caretaker
//! drives it, if there is one, so that the domain comes to rest.
//!
//! # Epochs
//! A yard's numbers mean nothing to the next domain that has it. So a cookie says in which *epoch* of its domain it was taken: how often a
//! yard had been detached before. One of an older epoch is done: a domain in which a grace period is wanted is not at rest.
//!
//! # Lives
//! Grounds live for ever, so that guards, cells and cookies never lead to memory that is gone, and have one owner after the other, when
//! they rest.
//!
//! # Edges
//! `[GR-1]` a yard is attached (release, under the gate), then a driver sets a reader's flag (release); a reader that sees the
//! flag (acquire) finds the yard, and its driver. (A flag that an earlier driver has left is not set again; then it is the driver's fence
//! `[GP-2]` that comes between the yard and the reader's look at the flag.)

use std::ops::Deref;

use quiescent_engine::FullCookie;
use quiescent_engine::credit::Urgency;

use crate::error::SyncError;
use crate::inner::defer::enqueue::{Parcel, Terms};
use crate::inner::domain::numbers::{Number, Numbers};
use crate::inner::domain::policy::Policy;
use crate::inner::domain::yard::Yard;
use crate::inner::domain::yard::lent::Rest;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, MutexGuard, Ordering, Turn, const_new, full_fence,
};
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::reader::spots::Spots;

mod sections;

/// One handle leads to it. So many more, so many handles.
const OWNED: u32 = 1;
/// None does any more.
const LEFT: u32 = 0;

/// What a domain keeps.
#[derive(Debug)]
pub(crate) struct Grounds {
    pub(crate) spots: Spots,
    /// Its number, for tables of spots.
    number: u32,
    owner: AtomicU32,
    gate: Turn<Gate>,
    /// The yard that was attached last.
    yard: AtomicPtr<Yard>,
    /// How often one was detached.
    epoch: AtomicU64,
    /// Those made before these.
    #[cfg_attr(
        quiescent_model,
        allow(dead_code, reason = "a model's are not looked for")
    )]
    made_before: AtomicPtr<Grounds>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<Gate>,
}

impl std::panic::RefUnwindSafe for Grounds {}

/// What the lock protects. No memory is allocated or freed under it.
#[derive(Debug)]
pub(crate) struct Gate {
    holders: u32,
    /// How often the process has forked; its holders are not those of its child.
    era: u32,
    yard: Option<&'static Yard>,
    policy: Policy,
    /// What was done here: this, and the yard's numbers, if one is attached.
    beside: Numbers,
}

#[cfg(not(quiescent_model))]
pub(crate) mod all;

impl Gate {
    const fn new() -> Gate {
        Gate {
            holders: 0,
            era: 0,
            yard: None,
            policy: Policy::DEFAULT,
            beside: Numbers::ZERO,
        }
    }
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Grounds {
    const_new! {
        fn new(number: u32) -> Grounds {
            Grounds {
                spots: Spots::new(),
                number,
                owner: AtomicU32::new(OWNED),
                gate: Turn::new(Gate::new()),
                yard: AtomicPtr::new(std::ptr::null_mut()),
                epoch: AtomicU64::new(0),
                made_before: AtomicPtr::new(std::ptr::null_mut()),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
            }
        }
    }

    /// A model's, with a yard that stays.
    #[cfg(quiescent_model)]
    pub(crate) fn with_yard(number: u32, yard: &'static Yard) -> &'static Grounds {
        let grounds: &Grounds = prim::keep(Box::new(Grounds::new(number)));
        grounds.attach(&mut grounds.lock(), yard);
        grounds.lock().holders = 1;
        grounds
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Gate> {
        self.gate.take()
    }

    /// How often it has come to rest.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// A yard's count of grace periods, as this domain's.
    pub(crate) fn ended_before(&self, count: u64) -> u64 {
        let gate = self.lock();
        gate.beside.get(Number::GracePeriods).wrapping_add(count)
    }

    // Lending.

    /// Holds the grounds: there is a yard until this is dropped.
    pub(crate) fn hold(&'static self) -> Held {
        let mut spare = None;
        loop {
            let mut gate = self.lock();
            if gate.yard.is_none()
                && let Some(yard) = spare.take()
            {
                self.attach(&mut gate, yard);
            }
            let held = self.lend(&mut gate);
            drop(gate); // no memory is allocated under it
            let Some(held) = held else {
                spare = Some(Yard::spare());
                continue;
            };
            if let Some(spare) = spare {
                spare.spare_again(); // somebody was faster
            }
            return held;
        }
    }

    /// The same, if there is one.
    fn hold_attached(&'static self) -> Option<Held> {
        self.lend(&mut self.lock())
    }

    /// The same, for one who comes from the yard: if it still is here.
    pub(crate) fn hold_with(&'static self, yard: &'static Yard) -> Option<Held> {
        let mut gate = self.lock();
        let is_here = gate.yard.is_some_and(|here| std::ptr::eq(here, yard));
        is_here.then(|| self.lend(&mut gate)).flatten()
    }

    /// One holder more of the yard that is attached.
    fn lend(&'static self, gate: &mut Gate) -> Option<Held> {
        let yard = gate.yard?;
        gate.holders += 1;
        Some(Held {
            grounds: self,
            yard,
            era: gate.era,
        })
    }

    fn attach(&'static self, gate: &mut Gate, yard: &'static Yard) {
        yard.adopt(self, &gate.policy);
        gate.beside = gate.beside.less(Numbers::of(yard));
        gate.yard = Some(yard);
        let yard = std::ptr::from_ref(yard).cast_mut();
        self.yard.store(yard, Ordering::Release); // [GR-1]
    }

    fn let_go(&'static self, yard: &'static Yard, era: u32) {
        let mut gate = self.lock();
        if gate.era != era {
            return; // another process's
        }
        gate.holders -= 1;
        if gate.holders > 0 {
            return;
        }
        match yard.rest() {
            Rest::No => return,
            Rest::Wants => {
                drop(gate);
                return yard.see_to_what_is_wanted();
            }
            Rest::Yes => {}
        }
        gate.beside = gate.beside.and(Numbers::of(yard));
        gate.yard = None;
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let tree = yard.release();
        drop(gate);
        drop(tree); // no memory is freed under it
        yard.spare_again();
    }

    /// Is no yard attached, and nobody about to attach one?
    pub(crate) fn rests(&self) -> bool {
        let gate = self.lock();
        gate.yard.is_none() && gate.holders == 0
    }

    /// One handle more.
    pub(crate) fn retain(&self) {
        self.owner.fetch_add(1, Ordering::Relaxed);
    }

    /// One handle less; after the last one the next owner may have it.
    pub(crate) fn drop_handle(&'static self) {
        if super::is_last(&self.owner) {
            self.hand_over();
        }
    }

    /// The owner has gone. What is left is somebody else's business.
    pub(crate) fn abandon(&self) {
        self.owner.store(LEFT, Ordering::Release);
    }

    /// The owner goes: what is queued here becomes one callback of the process's domain, which frees and runs it, and so does a grace period
    /// that is wanted and that nobody waits for. Never waits.
    pub(crate) fn hand_over(&'static self) {
        self.set_policy(|policy| policy.drained = false); // nobody is left who could drain
        let (epoch, (count, bytes)) = (self.epoch(), self.held()); // in this order: what is held is of that epoch, or nobody's
        if count > 0 || self.is_busy() {
            let empty = move || {
                // Not what the next owner has queued, if others have seen to this one's meanwhile.
                let held = self.hold_attached();
                if let Some(held) = held.filter(|_| self.epoch() == epoch) {
                    held.yard().empty();
                }
            };
            let (object, what) = kind::called(empty, Urgency::Lazy);
            let parcel = Parcel::Entry(CODE, Entry { object, what }, bytes);
            prim::domain().deliver(parcel, Terms::of(Urgency::Lazy));
        }
        self.abandon();
    }

    /// Callbacks and objects that are queued or being run, and their bytes.
    pub(crate) fn held(&self) -> (u64, u64) {
        let gate = self.lock();
        gate.yard.map_or((0, 0), Yard::held)
    }

    /// Is a grace period in flight or wanted?
    pub(crate) fn is_busy(&self) -> bool {
        let gate = self.lock();
        gate.yard.is_some_and(|yard| yard.lock().engine.busy())
    }

    /// Queues a parcel; an entry, if `asks`, only where it fits into the budget. Was it queued?
    pub(crate) fn deliver(&'static self, parcel: Parcel, urgency: Urgency, asks: bool) -> bool {
        self.hold().yard().deliver_if(parcel, urgency, asks)
    }

    /// Waits for a full grace period.
    pub(crate) fn wait_for_gp(&'static self, how: How) -> Result<(), SyncError> {
        self.hold().yard().wait_for_gp(how)
    }

    /// Asks for a grace period: the epoch, and its cookie there.
    pub(crate) fn start_poll(&'static self) -> (u64, FullCookie) {
        let held = self.hold();
        (self.epoch(), held.start_poll())
    }

    /// Has a full grace period passed since then? Helps it along as far as that needs no waiting.
    pub(crate) fn poll(
        &'static self,
        (epoch, cookie): (u64, FullCookie),
    ) -> Result<bool, SyncError> {
        if self.epoch() == epoch {
            let held = self.hold();
            if self.epoch() == epoch {
                return held.yard().poll_gp(cookie);
            }
        }
        full_fence();
        Ok(true)
    }

    /// Changes the policy, now and for all epochs to come.
    pub(crate) fn set_policy(&'static self, change: impl FnOnce(&mut Policy)) {
        let mut gate = self.lock();
        let attached = self.lend(&mut gate);
        change(&mut gate.policy);
        // Under the gate: of two changes the engine hears of the later one last.
        let told = attached.as_ref().map(|held| held.yard().tell(&gate.policy));
        drop(gate);
        if let (Some(held), Some(told)) = (attached, told) {
            held.yard().carry_out_policy(told);
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.lock().policy
    }

    /// What was done here.
    pub(crate) fn numbers(&self) -> Numbers {
        let gate = self.lock();
        let now = gate.yard.map_or(Numbers::ZERO, Numbers::of);
        gate.beside.and(now)
    }
}

/// The grounds with their yard, as long as this lives.
#[derive(Debug)]
pub(crate) struct Held {
    grounds: &'static Grounds,
    yard: &'static Yard,
    /// In which process.
    era: u32,
}

impl Held {
    /// The yard, for calls that need it for ever. It is this domain's only as long as it is held.
    pub(crate) fn yard(&self) -> &'static Yard {
        self.yard
    }
}

impl Deref for Held {
    type Target = Yard;

    fn deref(&self) -> &Yard {
        self.yard
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.grounds.let_go(self.yard, self.era);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_domain_at_rest_is_less_than_a_kilobyte() {
        assert!(size_of::<Grounds>() <= 896, "{}", size_of::<Grounds>());
    }
}

//! The life of a domain: creation of its state, change of settings, drop of the last handle, take-over by
//! another owner.

use quiescent_engine::credit::Urgency;

use crate::defer::enqueue::Terms;
#[cfg(not(quiescent_model))]
use crate::parts::domain::LEFT;
use crate::parts::domain::{Domain, OWNED};
#[cfg(not(quiescent_model))]
use crate::parts::numbers::Numbers;
use crate::parts::settings::Settings;
use crate::parts::state::State;
use crate::prim::{Ordering, full_fence};
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::parcel::Parcel;
use crate::queue::per_thread::CODE;

impl Domain {
    /// The state; creates it if there is none.
    pub fn state(&'static self) -> &'static State {
        match self.state_if_any() {
            Some(state) => state,
            None => self.make_state(),
        }
    }

    #[cold]
    fn make_state(&'static self) -> &'static State {
        let new = State::leak(self);
        // A state is complete when others see it; also in the child of a fork, which waits for this lock.
        let settings = self.settings();
        if let Some(first) = self.state_if_any() {
            drop(settings);
            // SAFETY: created above, and not published.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(new).cast_mut()) });
            return first;
        }
        settings.apply(new);
        let place = std::ptr::from_ref(new).cast_mut();
        self.state.store(place, Ordering::Release); // [GR-1]
        full_fence(); // [MODE-2]
        new
    }

    /// Changes the settings, and passes them to the engine, if there is one.
    pub fn set(&'static self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings();
        change(&mut settings);
        // Under the lock, so that the engine gets two changes in their order.
        let state = self.state_if_any();
        let kick = state.map(|state| (state, settings.apply(state)));
        drop(settings);
        if let Some((state, kick)) = kick {
            state.settings_changed(kick);
        }
    }

    /// Drops a handle. After the last one the worker runs what is queued when its grace period ends, and then
    /// the next owner may take the domain. The count reaches zero only after the queued items were handed
    /// over.
    #[inline(never)] // so that the drop of a guard that owns a handle stays small
    pub fn drop_handle(&'static self) {
        let mut now = self.owner.load(Ordering::Acquire);
        while now != OWNED {
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match (self.owner).compare_exchange(now, now - 1, order.0, order.1) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
        self.set(|settings| {
            *settings = Settings {
                before: settings.before,
                ..Settings::default_at(self.place)
            };
        });
        self.hand_over();
        self.abandon();
    }

    /// Covers what is queued here with one callback in the process's domain, so that a thread that waits for
    /// that domain, or drains it, waits for this too.
    fn hand_over(&'static self) {
        let (count, bytes) = self.held();
        let (Some(state), true) = (self.state_if_any(), count > 0) else {
            return;
        };
        let id = self.id();
        let empty = move || {
            // Spares what the next owner has queued, if this domain was taken over meanwhile.
            if self.id() == id {
                state.empty();
            }
        };
        let (object, what) = kind::called(empty, Urgency::Lazy);
        let parcel = Parcel::Entry(CODE, Entry { object, what }, bytes);
        self.env().state.deliver(parcel, Terms::of(Urgency::Lazy));
    }

    /// Takes the domain over for the caller, if it was abandoned and is at rest. Waits for no lock: the
    /// caller may be a signal handler.
    #[cfg(not(quiescent_model))]
    pub(super) fn take_over(&self) -> bool {
        if self.owner.load(Ordering::Acquire) != LEFT {
            return false;
        }
        let Some(mut settings) = self.settings.try_take() else {
            return false;
        };
        let state = self.state_if_any();
        // A section that never ends (its guard was forgotten) would block the new owner.
        if self.is_inside() || !state.is_none_or(State::is_at_rest) {
            return false;
        }
        let Some(before) = state.map_or(Some(Numbers::ZERO), Numbers::try_of) else {
            return false;
        };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let owner = &self.owner;
        let taken = owner
            .compare_exchange(LEFT, OWNED, order.0, order.1)
            .is_ok();
        if taken {
            settings.before = before;
            self.id
                .store(self.env().registry.next_id(), Ordering::Release);
        }
        taken
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::testing::program;

    /// A thread that makes a state waits for the settings before others see it: they may be in the child of a
    /// fork, where that thread does not come back.
    #[test]
    fn a_state_is_not_seen_before_it_has_its_settings() {
        crate::needs!(linux);
        let domain = Domain::found(&program().env);
        domain.set(|settings| settings.budget_count = 7);
        let settings = domain.settings();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let makes = scope.spawn(move || {
                sender
                    .send(crate::prim::thread_id())
                    .expect("the test waits");
                domain.state().lock().engine.budget().count
            });
            let thread = receiver.recv().expect("it starts");
            crate::testing::until_asleep(thread);
            assert!(domain.state_if_any().is_none() && !makes.is_finished());
            drop(settings);
            assert_eq!(makes.join().expect("no panic"), 7);
        });
        assert!(domain.state_if_any().is_some());
    }
}

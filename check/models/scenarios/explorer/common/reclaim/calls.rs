//! Callbacks that a scenario queues.

use super::*;

impl World {
    /// Queues the end of a thing as a closure.
    pub fn call(&self, thing: usize) {
        let handle = self.leaked(thing);
        rcu::defer(move || handle.reclaim());
    }

    /// As [`call`](World::call), hurried.
    pub fn call_hurry(&self, thing: usize) {
        let handle = self.leaked(thing);
        rcu::defer_hurry(move || handle.reclaim());
    }

    /// Queues the ends of these things as closures of several steps.
    pub fn call_long(&self, things: impl IntoIterator<Item = usize>) {
        for thing in things {
            let handle = self.leaked(thing);
            rcu::defer(move || handle.reclaim_long());
        }
    }

    /// As [`call_long`](World::call_long); those of thing 0, 1, … run one after the other, in this order.
    pub fn call_in_turn(&self, thing: usize) {
        let handle = self.leaked(thing);
        rcu::defer(move || handle.reclaim_in_turn());
    }

    /// As [`call_long`](World::call_long), hurried.
    pub fn call_in_turn_hurry(&self, thing: usize) {
        let handle = self.leaked(thing);
        rcu::defer_hurry(move || handle.reclaim_in_turn());
    }

    /// The long callbacks of these things have returned.
    pub fn expect_returned(&self, things: impl IntoIterator<Item = usize>) {
        for thing in things {
            let progress = self.things.things[thing].progress.load(Relaxed);
            assert_eq!(progress, RETURNED, "the callback of thing {thing}");
        }
    }

    /// Queues the end of a thing as a closure that drains the domain, as far as a callback may.
    pub fn call_that_drains(&self, thing: usize) {
        let handle = self.leaked(thing);
        rcu::defer(move || {
            handle.reclaim();
            handle.world().domain.drain();
        });
    }

    /// Queues a closure that queues itself again until the gate is open.
    pub fn call_again_and_again(self: &Rc<World>) {
        let gate = Gate(Rc::into_raw(self.clone()));
        rcu::defer_hurry(move || gate.again());
    }

    /// Queues the end of a thing as a closure that retires another thing.
    pub fn call_that_retires(&self, thing: usize, other: usize) {
        let handle = self.leaked(thing);
        rcu::defer(move || {
            handle.reclaim();
            handle.world().retire([other]);
        });
    }

    /// Queues the end of a thing through a head of its own.
    pub fn call_head(&self, thing: usize) {
        // SAFETY: no other thread uses the box until the callback runs.
        unsafe { rcu::intrusive::defer(NonNull::from(self.leaked(thing)).cast(), run_head) };
    }

    /// Notes the end of a thing.
    pub(super) fn reclaim(&self, thing: usize) {
        let it = &self.things.things[thing];
        let wrong = if !it.retired.get() {
            "was never retired"
        } else if it.freed.replace(true) {
            "is reclaimed twice"
        } else if it.watched.get() && it.user.load(Relaxed) != 0 {
            "is reclaimed while a reader uses it"
        } else {
            if self.things.awaited.get() == Some(thing) {
                self.reopen();
            }
            return;
        };
        let wrong = format!("thing {thing} {wrong}");
        self.things.wrong.replace(Some(wrong.clone()));
        panic!("{wrong}");
    }
}

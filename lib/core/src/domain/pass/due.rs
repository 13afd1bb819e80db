//! Whether a domain is due, and since when.

use std::cell::Cell;

use crate::domain::counters::is_late;
use crate::domain::state::State;
use crate::prim::counters::count;
use crate::prim::{self, Ordering};

impl State {
    /// True if this domain was called or has a deadline that has passed. Other domains are skipped:
    /// processing one that waits for readers costs a fence. `late`: one was late in this round.
    pub(super) fn is_due(&self, late: &Cell<bool>) -> bool {
        let called = self.called.swap(0, Ordering::AcqRel) != 0;
        let called_at = match called {
            true => self.called_at.swap(0, Ordering::Relaxed),
            false => 0,
        };
        let look_at = self.look_at.load(Ordering::Relaxed);
        let armed = self.lock().due().unwrap_or(0);
        let now = prim::now_ns();
        let times = [called_at, look_at, armed].into_iter();
        let since = times.filter(|at| (1..=now).contains(at)).min();
        let due = called || since.is_some();
        if due {
            count(&self.counters.worker_passes);
        }
        // Once: what is due may stay so for many rounds, while another thread drives.
        let is_new = |since| self.late_to.fetch_max(since, Ordering::Relaxed) < since;
        if since.is_some_and(|since| is_late(since, now) && is_new(since)) && !late.replace(true) {
            count(&self.env().state.counters.late_wakeups);
        }
        due
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use quiescent_engine::credit::Urgency;

    use super::*;
    use crate::domain::counters::LATE_NS;
    use crate::prim::counters::value;
    use crate::queue::per_thread::CODE;
    use crate::testing::{Program, counter, counting, program};

    /// A program, and two domains whose deadlines in the past count.
    fn two() -> (&'static Program, [&'static State; 2]) {
        let program = program();
        let states = [program.domain(), program.domain()].map(|it| it.state());
        for state in states {
            state.lock().due_from = 0;
        }
        (program, states)
    }

    /// A round of the worker over two domains, of which `change` concerns one: whether it was late.
    fn is_late(change: impl Fn(&Program, &'static State)) -> bool {
        let (program, states) = two();
        change(program, states[0]);
        program.env.look_after(states.into_iter());
        let counted = value(&program.env.state.counters.late_wakeups);
        assert!(counted <= 1, "{counted}");
        counted != 0
    }

    /// The same, where a processor may have been missing for so long: once it was not.
    fn is_always_late(change: impl Fn(&Program, &'static State)) -> bool {
        (0..20).all(|_| is_late(&change))
    }

    fn ago(nanos: u64) -> u64 {
        prim::now_ns() - nanos
    }

    #[test]
    fn what_runs_later_than_its_time_by_more_than_the_bound_is_late() {
        assert!(!is_always_late(|_, _| ()), "nothing is due");
        for (nanos, late) in [(LATE_NS + 1, true), (1, false)] {
            let armed = |_: &Program, state: &State| {
                let _ = state.lock().engine.arm(ago(nanos));
            };
            assert_eq!(is_always_late(armed), late, "a deadline");
            let look =
                |_: &Program, state: &State| state.look_at.store(ago(nanos), Ordering::Relaxed);
            assert_eq!(is_always_late(look), late, "a look");
            let called = |_: &Program, state: &State| {
                state.called_at.store(ago(nanos), Ordering::Relaxed);
                state.call();
            };
            assert_eq!(is_always_late(called), late, "a call: the first one counts");
        }
        let to_come = |_: &Program, state: &State| {
            let _ = state.lock().engine.arm(prim::now_ns() + 9 * LATE_NS);
        };
        assert!(!is_always_late(to_come));
    }

    /// A thread was held between the two steps of a call, and the timer came in between.
    #[test]
    fn a_call_that_is_served_at_once_is_not_late() {
        assert!(!is_always_late(|_, state| state.call()));
        let unkicked = |_: &Program, state: &State| state.called.store(1, Ordering::Release);
        assert!(!is_always_late(unkicked));
    }

    #[test]
    fn several_late_domains_count_once() {
        let (program, states) = two();
        for state in states {
            state.lock().engine.arm(ago(2 * LATE_NS));
        }
        for _ in 0..2 {
            program.env.look_after(states.into_iter());
            assert_eq!(value(&program.env.state.counters.late_wakeups), 1);
        }
    }

    #[test]
    fn a_deadline_that_is_late_counts_once() {
        let (program, [state, _]) = two();
        let (first, later) = (ago(4 * LATE_NS), ago(2 * LATE_NS));
        for (at, counted) in [(first, 1), (first, 1), (later, 2), (first, 2)] {
            state.lock().engine.arm(at);
            program.env.look_after([state].into_iter());
            assert_eq!(value(&program.env.state.counters.late_wakeups), counted);
        }
    }

    /// Deadlines that are in the past when they are set are due from then on.
    #[test]
    fn what_a_new_setting_makes_due_is_not_late() {
        let late = is_always_late(|_, state| {
            state.domain().set(|it| it.drained = true);
            state.put(CODE, counting(counter()), Urgency::Lazy);
            std::thread::sleep(std::time::Duration::from_nanos(2 * LATE_NS));
            state.domain().set(|it| (it.lazy_ns, it.prompt_ns) = (1, 1));
            state.domain().set(|it| it.drained = false);
            let armed = state.lock().engine.armed().expect("it has a deadline");
            assert!(armed < ago(LATE_NS));
        });
        assert!(!late);
    }
}

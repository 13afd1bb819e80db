//! When a domain is due, when the worker looks again, and what wakes it.

use super::*;
use crate::domain::settings::Runner;

mod due {
    use quiescent_engine::credit::Urgency;

    use super::*;
    use crate::domain::counters::LATE_NS;
    use crate::prim::counters::value;
    use crate::queue::kind::CODE;
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
            state.domain().set(|it| it.set_closures(Runner::Drained));
            state.put(CODE, counting(counter()), Urgency::Lazy);
            std::thread::sleep(std::time::Duration::from_nanos(2 * LATE_NS));
            state.domain().set(|it| (it.lazy_ns, it.prompt_ns) = (1, 1));
            state.domain().set(|it| it.set_closures(Runner::Worker));
            let armed = state.lock().engine.armed().expect("it has a deadline");
            assert!(armed < ago(LATE_NS));
        });
        assert!(!late);
    }
}

mod rest {
    use super::*;
    use crate::reader::mode::FenceMode;
    use crate::testing::program;

    /// A reader that executes fences may leave without a word: the worker looks again, less and less often,
    /// and not at all when nothing waits. `[RD-4]`
    #[test]
    fn a_worker_that_waits_for_fenced_readers_looks_at_them() {
        let program = program();
        let state = &program.env.state;
        assert_eq!(program.env.force_mode(FenceMode::Fenced), Ok(()));
        state.domain().set(|it| it.stall_ns = 0);
        // True if the next look is at the end of a nap of this length.
        let naps = |length: u64| {
            let before = prim::now_ns();
            state.rest_until(false, None);
            let (at, after) = (state.look_at.load(Ordering::Relaxed), prim::now_ns());
            before + length <= at && at <= after + length
        };
        let rests = || {
            state.rest_until(false, None);
            state.look_at.load(Ordering::Relaxed) == 0
        };
        assert!(rests());
        state.interested.store(1, Ordering::Relaxed);
        let counted = program.domain().state();
        counted.domain().set(|it| it.stall_ns = 0);
        counted.interested.store(1, Ordering::Relaxed);
        counted.rest_until(false, None);
        assert_eq!(
            counted.look_at.load(Ordering::Relaxed),
            0,
            "it hears its readers"
        );
        assert!((0..20).all(|n| naps(nap_ns(n))));
        state.lose_interest();
        assert!(rests());
        state.interested.store(1, Ordering::Relaxed);
        assert!(naps(nap_ns(0)), "from the beginning");
    }
}

mod pressure {
    use super::*;
    use crate::prim::counters::value;
    use crate::testing::program;

    const TIMER: Woken = Woken {
        timer: true,
        kick: false,
        pressure: false,
        low: false,
    };

    #[test]
    fn each_wake_up_has_one_cause() {
        let env = &program().env;
        let c = &env.state.counters;
        let counted = || [&c.woken_pressure, &c.woken_kick, &c.woken_timer].map(value);
        env.woken(TIMER);
        assert_eq!(counted(), [0, 0, 1]);
        env.woken(Woken {
            kick: true,
            ..TIMER
        });
        assert_eq!(counted(), [0, 1, 1]);
        env.woken(Woken {
            kick: true,
            pressure: true,
            ..TIMER
        });
        assert_eq!(counted(), [1, 1, 1]);
        env.woken(Woken {
            timer: false,
            ..TIMER
        });
        assert_eq!(counted(), [1, 1, 1]);
        assert_eq!(value(&c.pressure_events), 0);
        env.woken(Woken {
            pressure: true,
            low: true,
            timer: false,
            ..TIMER
        });
        assert_eq!(value(&c.pressure_events), 1);
    }
}

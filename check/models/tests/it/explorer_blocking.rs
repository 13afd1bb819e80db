//! Locks, futexes, spinning, and the ways in which an execution can end badly.

use std::rc::Rc;

use quiescent_models::explorer::Ordering::{Acquire, Relaxed, Release, SeqCst};
use quiescent_models::explorer::*;

const WEAK: [Model; 2] = [Model::Tso, Model::Pso];

/// The failure's message, after a check that its schedule fails again in the same way.
fn message(report: Report, scenario: impl Fn() + 'static) -> String {
    let found = report.failure.expect("a failure");
    let again = replay(&found.schedule, scenario);
    assert!(
        again.failure.as_ref() == Some(&found),
        "a schedule replays: {}",
        found.schedule
    );
    assert!(!found.trace.is_empty());
    found.message
}

/// Two threads add to an unprotected counter under `lock`.
fn counter(lock: fn(&Mutex<()>, &mut dyn FnMut())) {
    let shared = Rc::new((Mutex::new(()), AtomicU32::new(0)));
    let adder = |shared: Rc<(Mutex<()>, AtomicU32)>| {
        move || {
            lock(&shared.0, &mut || {
                let old = shared.1.load(Relaxed);
                shared.1.store(old + 1, Relaxed);
            });
        }
    };
    let threads = [spawn(adder(shared.clone())), spawn(adder(shared.clone()))];
    threads.into_iter().for_each(JoinHandle::join);
    assert_eq!(shared.1.load(Relaxed), 2, "an addition was lost");
}

fn locked() {
    counter(|lock, body| {
        let _guard = lock.lock().expect("not poisoned");
        body();
    });
}

fn unlocked() {
    counter(|_, body| body());
}

#[test]
fn a_mutex_excludes() {
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let report = explore(model, Bounds::default(), locked);
        assert!(report.complete && report.executions > 5, "{report}");
        report.clean("mutex");
        let report = explore(model, Bounds::default(), unlocked);
        assert!(message(report, unlocked).contains("an addition was lost"));
    }
}

#[test]
fn a_mutex_that_is_tried_excludes_too() {
    let scenario = || {
        let shared = Rc::new((Mutex::new(0_u32), AtomicU32::new(0)));
        let body = |s: Rc<(Mutex<u32>, AtomicU32)>| {
            move || {
                if let Ok(mut guard) = s.0.try_lock() {
                    assert_eq!(s.1.fetch_add(1, Relaxed), 0, "two owners");
                    *guard += 1;
                    s.1.fetch_sub(1, Relaxed);
                }
            }
        };
        let threads = [spawn(body(shared.clone())), spawn(body(shared.clone()))];
        threads.into_iter().for_each(JoinHandle::join);
        let entered = *shared.0.lock().expect("not poisoned");
        assert!(entered >= 1, "the first attempt succeeds");
    };
    explore(Model::Tso, Bounds::default(), scenario).clean("try_lock");
}

/// Dekker's entry protocol with this fence; both threads inside is the failure.
fn dekker(between: fn()) {
    let words = Rc::new([AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)]);
    let enter = |words: Rc<[AtomicU32; 3]>, me: usize| {
        move || {
            words[me].store(1, Relaxed);
            between();
            if words[1 - me].load(Relaxed) == 0 {
                assert_eq!(words[2].fetch_add(1, SeqCst), 0, "both are inside");
                words[2].fetch_sub(1, SeqCst);
            }
        }
    };
    let threads = [
        spawn(enter(words.clone(), 0)),
        spawn(enter(words.clone(), 1)),
    ];
    threads.into_iter().for_each(JoinHandle::join);
}

#[test]
fn dekker_needs_its_fences() {
    for model in WEAK {
        let found = explore(model, Bounds::default(), || dekker(light_fence));
        assert!(message(found, || dekker(light_fence)).contains("both are inside"));
        explore(model, Bounds::default(), || dekker(|| fence(SeqCst))).clean("dekker");
    }
    explore(Model::Sc, Bounds::default(), || dekker(light_fence)).clean("dekker without buffers");
}

/// The driver's handshake in small: flag, `fence`, check, sleep; against store, check the flag, wake. `early`
/// checks the word before it sets the flag.
fn flag_and_sleep(flagger: fn(), early: bool) {
    let words = Rc::new([AtomicU32::new(1), AtomicU32::new(0), AtomicU32::new(0)]);
    let reader = words.clone();
    let thread = spawn(move || {
        let [inside, flag, sleeper] = &*reader;
        inside.store(0, Release);
        light_fence();
        if flag.load(Relaxed) != 0 && sleeper.swap(0, SeqCst) == 1 {
            futex_wake(sleeper);
        }
    });
    let [inside, flag, sleeper] = &*words;
    let look = || inside.load(Acquire) != 0;
    let seen = early && look();
    sleeper.store(1, Relaxed);
    flag.store(1, Relaxed);
    flagger();
    if if early { seen } else { look() } {
        futex_wait(sleeper, 1, None);
    }
    thread.join();
}

#[test]
fn lost_wake_ups_are_deadlocks() {
    let heavy = || heavy_fence().expect("it never fails here");
    for model in WEAK {
        explore(model, Bounds::default(), move || {
            flag_and_sleep(heavy, false)
        })
        .clean("handshake");
        let fenceless = || flag_and_sleep(light_fence, false);
        let found = message(explore(model, Bounds::default(), fenceless), fenceless);
        assert!(
            found.contains("deadlock") && found.contains("futex"),
            "{found}"
        );
        let early = move || flag_and_sleep(heavy, true);
        assert!(message(explore(model, Bounds::default(), early), early).contains("deadlock"));
        let walk = random_walk(model, 1, 10_000, 1_000, fenceless);
        assert!(message(walk, fenceless).contains("deadlock"));
    }
}

#[test]
fn time_outs_fire_only_where_allowed_and_last_of_all() {
    let sleep = || {
        futex_wait(
            &AtomicU32::new(0),
            0,
            Some(std::time::Duration::from_secs(1)),
        );
    };
    let allowed = move || {
        allow_timeouts();
        sleep();
    };
    explore(Model::Tso, Bounds::default(), allowed).clean("time-outs");
    assert!(message(explore(Model::Tso, Bounds::default(), sleep), sleep).contains("deadlock"));
}

/// A thread sleeps until the timer fires; another one sets it to `again` meanwhile, and time passes.
fn wait_for_the_timer(again: Option<u64>) {
    allow_timer();
    set_timer(1_000_000);
    let clock = spawn(|| pass_time(2_000_000));
    let setter = spawn(move || again.into_iter().for_each(set_timer));
    assert_eq!(wait_for_events(), (true, false));
    assert!(now_ns() > 2_000_000);
    clock.join();
    setter.join();
}

#[test]
fn setting_the_timer_clears_an_expiry_that_was_not_seen() {
    for model in WEAK {
        let explored = |again| explore(model, Bounds::default(), move || wait_for_the_timer(again));
        explored(None).clean("alone");
        explored(Some(1_500_000)).clean("to a time that comes, or has come");
        for lost in [0, 9_000_000] {
            let found = message(explored(Some(lost)), move || wait_for_the_timer(Some(lost)));
            assert!(
                found.contains("deadlock") && found.contains("timer"),
                "{found}"
            );
        }
    }
}

#[test]
fn the_event_ends_one_sleep() {
    let scenario = || {
        let ringer = spawn(ring);
        assert_eq!(wait_for_events(), (false, true));
        ringer.join();
        allow_timeouts();
        assert_eq!(wait_for_events(), (false, false), "a time-out");
    };
    explore(Model::Tso, Bounds::default(), scenario).clean("the event");
    assert_eq!(wait_for_events(), (false, false), "outside");
}

#[test]
fn spinning_ends_when_the_other_acts_and_is_a_livelock_otherwise() {
    let wait_for = |store: bool| {
        move || {
            let word = Rc::new(AtomicU32::new(0));
            let other = word.clone();
            let thread = spawn(move || {
                while other.load(Acquire) == 0 {
                    yield_now();
                }
            });
            if store {
                word.store(1, Relaxed); // stays in the buffer until the spinner needs it
            }
            thread.join();
        }
    };
    let bounds = Bounds {
        max_steps: 300,
        ..Bounds::default()
    };
    for model in WEAK {
        explore(model, bounds, wait_for(true)).clean("spin");
        random_walk(model, 7, 2_000, 300, wait_for(true)).clean("spin by chance");
        let found = message(explore(model, bounds, wait_for(false)), wait_for(false));
        assert!(found.contains("livelock"), "{found}");
    }
}

#[test]
fn the_search_is_deterministic_and_counts_what_it_did() {
    let run = || explore(Model::Pso, Bounds::default(), locked);
    let first = run();
    assert_eq!(first, run());
    assert!(
        first.pruned > 0 && first.steps > first.executions && first.max_depth > 0,
        "{first}"
    );
    let short = explore(
        Model::Pso,
        Bounds {
            max_executions: 3,
            ..Bounds::default()
        },
        locked,
    );
    assert!(!short.complete && short.executions == 3, "{short}");
    let walk = |seed| random_walk(Model::Pso, seed, 200, 1_000, locked).steps;
    assert_eq!(walk(5), walk(5));
}

#[test]
fn pruning_loses_no_failure_that_needs_every_preemption() {
    // Three preemptions are needed: with two the search is clean, with three it fails.
    let scenario = || {
        let words = Rc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = words.clone();
        let thread = spawn(move || {
            let mut hits = 0;
            for step in 1..=2 {
                hits += u32::from(other[0].load(Relaxed) == step);
                other[1].store(step, Relaxed);
            }
            hits
        });
        for step in 1..=2 {
            words[0].store(step, Relaxed);
            let _ = words[1].load(Relaxed);
        }
        let hits = thread.join();
        assert!(hits < 2, "both looks met their step");
    };
    let with = |preemptions| {
        explore(
            Model::Sc,
            Bounds {
                preemptions,
                ..Bounds::default()
            },
            scenario,
        )
    };
    with(1).clean("one preemption");
    assert!(message(with(3), scenario).contains("both looks"));
}

#[test]
fn statics_begin_anew_in_every_execution() {
    static COUNT: AtomicU64 = AtomicU64::new(5);
    let scenario = || {
        let thread = spawn(|| COUNT.fetch_add(1, Relaxed));
        COUNT.fetch_add(1, Relaxed);
        thread.join();
        assert_eq!(COUNT.load(Relaxed), 7);
    };
    explore(Model::Tso, Bounds::default(), scenario).clean("statics");
    assert_eq!(COUNT.load(Relaxed), 5, "outside, its value is unchanged");
    COUNT.store(6, Relaxed);
    assert_eq!(COUNT.swap(5, SeqCst), 6, "and an ordinary atomic");
}

#[test]
fn the_other_operations_are_std_s() {
    let scenario = || {
        let word = AtomicU32::new(u32::MAX);
        assert_eq!(
            word.fetch_add(2, Relaxed),
            u32::MAX,
            "returns the old value"
        );
        assert_eq!(word.fetch_sub(2, Relaxed), 1, "wrapped around");
        assert_eq!(word.fetch_and(0xF0, Relaxed), u32::MAX);
        assert_eq!(word.fetch_or(1, Relaxed), 0xF0);
        assert_eq!(word.compare_exchange(0, 9, SeqCst, Relaxed), Err(0xF1));
        assert_eq!(word.compare_exchange(0xF1, 9, SeqCst, Relaxed), Ok(0xF1));
        assert_eq!(format!("{word:?} {:?}", AtomicU64::default()), "9 0");
        let (mut a, mut b) = (1_u8, 2_u8);
        let pointer = AtomicPtr::new(&raw mut a);
        assert_eq!(pointer.swap(&raw mut b, SeqCst), &raw mut a);
        pointer.store(&raw mut a, Release);
        assert_eq!(pointer.load(Acquire), &raw mut a);
        assert!(AtomicPtr::<u8>::default().load(Relaxed).is_null());
        tls_set(0, 8);
        assert_eq!((tls_get(0), tls_get(1)), (8, 0));
        assert!(now_ns() < now_ns());
        let cells = spawn(|| (tls_get(0), thread_index())).join();
        assert_eq!(cells, (0, 1), "cells belong to a thread");
    };
    scenario_outside_and_inside(scenario);
}

fn scenario_outside_and_inside(scenario: impl Fn() + 'static) {
    explore(Model::Tso, Bounds::default(), scenario).clean("operations");
    let word = AtomicU32::new(u32::MAX);
    assert_eq!(
        (word.fetch_add(2, Relaxed), word.fetch_or(4, Relaxed)),
        (u32::MAX, 1)
    );
    assert_eq!(word.compare_exchange(0, 1, SeqCst, SeqCst), Err(5));
    tls_set(1, 4);
    assert_eq!((tls_get(1), thread_index()), (4, 0));
    fence(SeqCst);
    heavy_fence()
        .and(register_heavy_fence())
        .expect("they never fail here");
}

#[test]
#[should_panic(expected = "`3` is not `choice:alternative`")]
fn a_schedule_that_is_none_is_refused() {
    let _ = replay("tso limit:9 1:2 3", || {});
}

#[test]
#[should_panic(expected = "`arm` is not `sc`, `tso` or `pso`")]
fn an_unknown_machine_is_refused() {
    let _ = replay("arm 1:2", || {});
}

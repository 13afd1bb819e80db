//! Wake-ups of the offload threads, and the rest of rcuog.

use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{Offload, Policy, WakeLevel};
use quiescent_kernel::tick::{At, Pending};

use super::bench::{BOTH, Bench, FLUSH, LIMIT, QHIMARK};

fn level(it: &Bench) -> (WakeLevel, Option<u64>) {
    let group = it.host.group(0);
    assert_eq!(
        group.timer(),
        it.host.group_timer(0),
        "the host has woken what the engine requested"
    );
    (group.level(), group.timer().map(|at| at - it.now()))
}

// Levels.

#[test]
fn the_first_lazy_list_sets_the_long_timer() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.call_lazy(1);
    assert_eq!(level(&it), (WakeLevel::Lazy, Some(FLUSH)));
    it.host.pass_jiffies(5);
    let _ = it.call_lazy(1);
    assert_eq!(level(&it), (WakeLevel::Lazy, Some(FLUSH - 5)), "no news");
}

#[test]
fn a_second_lazy_list_sets_the_timer_to_a_tick() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.call_lazy(0);
    it.host.pass_jiffies(5);
    let _ = it.call_lazy(1);
    assert_eq!(level(&it), (WakeLevel::Lazy, Some(1)));
}

#[test]
fn our_group_keeps_the_earliest_deadline() {
    let mut it = Bench::new(4, Policy::Quiescent);
    let _ = it.call_lazy(0);
    it.host.pass_jiffies(5);
    let _ = it.call_lazy(1);
    assert_eq!(level(&it), (WakeLevel::Not, Some(FLUSH - 5)));
    assert_eq!(it.host.wakeups().timers_set, 1);
}

#[test]
fn without_interrupts_the_wake_up_is_put_off_by_a_tick() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let queued = it.host.call_nocb(1, false, false);
        assert_eq!(queued.todo.rcuog, None);
        assert_eq!(level(&it), (WakeLevel::Wake, Some(1)));
        assert!(it.host.group(0).is_wake_due());
        it.host.pass_jiffies(1);
        assert_eq!(
            (it.host.fire_timers(), level(&it)),
            (1, (WakeLevel::Not, None))
        );
        assert_eq!(it.rcuog(0).0, 1, "{policy:?}");
    }
}

#[test]
fn a_wake_up_overrides_the_long_timer() {
    for policy in BOTH {
        let mut it = Bench::new(8, policy);
        let _ = it.call_lazy(0);
        let _ = it.host.call_nocb(1, false, false);
        assert_eq!(level(&it), (WakeLevel::Wake, Some(1)), "{policy:?}");
        let _ = it.call_lazy(2);
        assert_eq!(level(&it), (WakeLevel::Wake, Some(1)), "it is not lowered");
    }
}

#[test]
fn a_bypass_that_rcuog_leaves_behind_overrides_an_earlier_wake_up() {
    let mut it = Bench::new(8, Policy::Kernel612);
    it.host.pass_jiffies(1);
    for _ in 0..=LIMIT {
        let _ = it.call(1);
    }
    assert_eq!(it.bypass(1), 1);
    assert_eq!(
        it.host.step_rcuog(0),
        quiescent_harness::host::OgStep::Begins
    );
    for _ in 0..2 {
        let _ = it.host.step_rcuog(0); // CPU 1 was visited
    }
    let _ = it.host.call_nocb(3, false, false);
    assert_eq!(level(&it), (WakeLevel::Wake, Some(1)));
    it.rcuog(0);
    assert_eq!(level(&it), (WakeLevel::Bypass, Some(2)));
    assert!(!it.host.group(0).is_wake_due(), "only the timer acts on it");
    // Two ticks later the bypass is old enough.
    it.host.pass_jiffies(2);
    it.host.fire_timers();
    assert_eq!(it.rcuog(0).1, [(1, 1)]);
}

#[test]
fn a_flood_forces_a_wake_up_as_6_12_does() {
    for policy in BOTH {
        let offload = Offload {
            direct_limit: u64::MAX,
            ..Bench::tunables(policy)
        };
        let mut it = Bench::with(4, offload);
        for _ in 0..=QHIMARK + 1 {
            let _ = it.call(1); // rcuog was woken, and does not run
        }
        let forced = (WakeLevel::Force, Some(1));
        let expected = if policy == Policy::Kernel612 {
            forced
        } else {
            (WakeLevel::Not, None)
        };
        assert_eq!(level(&it), expected);
        it.host.pass_jiffies(1);
        let before = it.host.wakeups().rcuog;
        it.host.fire_timers();
        let again = it.host.wakeups().rcuog - before;
        assert_eq!(again, u64::from(expected == forced), "although it is awake");
    }
}

#[test]
fn a_flood_forces_no_wake_up_while_rcuop_has_something_to_do() {
    // Whether rcuop was woken, and whether the batch has already begun.
    for (woken, out) in [(false, false), (true, false), (true, true)] {
        let offload = Offload {
            direct_limit: u64::MAX,
            ..Bench::tunables(Policy::Kernel612)
        };
        let mut it = Bench::with(4, offload);
        let _ = it.call(1);
        it.rcuog(0);
        it.grace_period();
        if woken {
            it.rcuog(0);
            assert!(it.host.take_rcuop(1));
        }
        assert_eq!(it.cpu(1).member().rcuop_sleeps(), !woken);
        let batch = out.then(|| it.host.begin_batch(1, Context::Rcuop));
        for _ in 0..QHIMARK + 2 {
            let _ = it.call(1);
        }
        assert_eq!(
            it.list(1).0,
            u64::from(!out),
            "ready, and not extracted: {batch:?}"
        );
        let busy = woken && !out;
        let expected = if busy {
            WakeLevel::Not
        } else {
            WakeLevel::Force
        };
        assert_eq!(level(&it).0, expected, "woken: {woken}, out: {out}");
    }
}

#[test]
fn a_second_wake_up_that_is_put_off_does_not_put_the_first_one_off() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.host.call_nocb(1, false, false);
    it.host.pass_jiffies(1); // the timer is due, and has not fired
    let _ = it.host.call_nocb(0, false, false);
    assert_eq!(level(&it), (WakeLevel::Wake, Some(0)));
}

#[test]
fn what_a_grace_period_has_released_is_moved_on_the_way_once_a_tick() {
    let mut it = Bench::new(1, Policy::Kernel612); // its grace periods take no tick
    let _ = it.call(0);
    it.rcuog(0);
    // The CPU that fills the bypass flushes it, and makes a pass.
    let fill = |it: &mut Bench| while it.call_lazy(0).flushed == 0 {};
    let (waiting, now) = (QHIMARK + 1, it.now());
    it.grace_period();
    fill(&mut it);
    assert_eq!(it.list(0), (1, waiting));
    it.rcuog(0);
    it.grace_period();
    fill(&mut it);
    assert_eq!(
        (it.list(0), it.now()),
        ((1, 2 * waiting), now),
        "it has checked"
    );
    it.host.pass_jiffies(1);
    fill(&mut it);
    assert_eq!(it.list(0), (1 + waiting, 2 * waiting));
}

#[test]
fn a_real_wake_up_clears_what_was_put_off() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.call_lazy(0);
    let _ = it.call(1);
    assert_eq!(level(&it), (WakeLevel::Not, None));
    it.rcuog(0);
    assert_eq!(
        level(&it),
        (WakeLevel::Lazy, Some(FLUSH)),
        "rcuog sees the list"
    );
    let mut ours = Bench::new(4, Policy::Quiescent);
    let _ = ours.call_lazy(0);
    let _ = ours.call(1);
    assert_eq!(
        level(&ours),
        (WakeLevel::Not, Some(FLUSH)),
        "the deadline stays"
    );
}

#[test]
fn ticks_and_idle_entries_deliver_and_leave_lazy_lists_alone() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call_lazy(0);
        let _ = it.host.deliver(0);
        assert_eq!(it.rcuog(0).0, 0);
        let _ = it.host.call_nocb(1, false, false);
        let at = At {
            deferred_wake: it.host.group(0).is_wake_due(),
            ..it.host.at(1)
        };
        assert_eq!(
            it.cpu(1).pending(it.host.engine(), at),
            Some(Pending::DeferredWake)
        );
        let _ = it.host.deliver(1);
        assert_eq!(it.rcuog(0).0, 1, "{policy:?}");
    }
}

#[test]
fn a_timer_that_was_set_anew_does_nothing() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.call_lazy(0);
    let tick = it.now() + FLUSH - 1;
    assert_eq!(it.host.timer_fired(0, tick), Default::default());
}

// The choice of when to sleep.

#[test]
fn only_the_first_callback_wakes() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        assert_eq!(it.call(1).todo.rcuog, Some(0));
        for _ in 0..5 {
            assert_eq!(it.call(1).todo, Default::default(), "{policy:?}");
        }
        it.rcuog(0);
        assert_eq!(
            it.call(1).todo,
            Default::default(),
            "rcuog waits for its stamp"
        );
    }
}

#[test]
fn a_second_cpu_finds_rcuog_woken_already() {
    for policy in BOTH {
        let mut it = Bench::new(8, policy);
        assert_eq!(it.call(1).todo.rcuog, Some(0));
        it.trace();
        assert_eq!(it.call(2).todo.rcuog, None);
        assert_eq!(it.trace(), ["2 FirstQ", "2 AlreadyAwake", "2 WakeEmpty"]);
        it.rcuog(0);
        assert_eq!(
            it.call(3).todo.rcuog,
            Some(0),
            "it waits, and knows nothing of CPU 3"
        );
    }
}

#[test]
fn a_bypass_that_turns_mixed_wakes_only_if_nothing_is_pending() {
    for pending in [false, true] {
        let mut it = Bench::new(4, Policy::Kernel612);
        it.host.pass_jiffies(1);
        for _ in 0..LIMIT {
            let _ = it.call_lazy(1); // lazy callbacks count
        }
        if pending {
            let _ = it.host.shrink(1);
            it.rcuog(0);
            let _ = it.call_lazy(1);
        }
        let queued = it.call(1);
        assert_eq!((queued.flushed, it.lazy(1) < it.bypass(1)), (0, true));
        assert_eq!(queued.todo.rcuog, (!pending).then_some(0));
        // A thread that was not woken makes its pass at the end of the grace period.
        it.rcuog(0);
        it.grace_period();
        it.host.pass_jiffies(2);
        it.host.fire_timers();
        assert_eq!(it.rcuog(0).1.len(), 1, "{pending}");
    }
}

//! Which callbacks are lazy, and what ends laziness: each line of the table, for both policies.

use quiescent_harness::host::OgStep;
use quiescent_harness::host::Silent;
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{Offload, Policy, Shrink, Shrinkable, shrinkable};
use quiescent_kernel::{Cpu, CpuId};

use super::bench::{BOTH, Bench, FLUSH, LIMIT, QHIMARK};

/// CPU 1 has so many lazy callbacks, and all threads rest.
fn lazies(policy: Policy, count: u64) -> Bench {
    let mut it = Bench::new(4, policy);
    for _ in 0..count {
        assert!(it.call_lazy(1).lazy);
    }
    assert_eq!(
        (it.lazy(1), it.rcuog(0).0),
        (count, 0),
        "no thread is woken"
    );
    assert!(!it.host.engine().busy(), "and no grace period is asked for");
    it
}

fn shrink(it: &mut Bench, cpu: CpuId) -> u64 {
    it.host.shrink(cpu).lazy
}

// Which callbacks are lazy.

#[test]
fn nothing_is_lazy_while_the_machine_boots_or_is_hurried() {
    for policy in BOTH {
        let mut it = lazies(policy, 1);
        it.host.engine_mut().async_hurry();
        it.host.engine_mut().async_hurry();
        assert_eq!(it.lazy(1), 1, "queued callbacks keep waiting");
        assert!(!it.call_lazy(2).lazy);
        it.host.engine_mut().async_relax();
        assert!(!it.call_lazy(2).lazy, "they nest");
        it.host.engine_mut().async_relax();
        assert!(it.call_lazy(2).lazy);
    }
    let fresh =
        quiescent_kernel::Global::new(*Bench::new(1, Policy::Kernel612).host.engine().config());
    assert!(!fresh.may_be_lazy(), "it boots");
}

#[test]
fn laziness_can_be_switched_off() {
    for policy in BOTH {
        let offload = Offload {
            lazy: false,
            ..Bench::tunables(policy)
        };
        let mut it = Bench::with(4, offload);
        let queued = it.call_lazy(1);
        assert_eq!((queued.lazy, queued.todo.rcuog), (false, Some(0)));
    }
}

// What ends laziness.

#[test]
fn one_that_is_not_lazy_takes_all_with_it() {
    for policy in BOTH {
        let mut it = lazies(policy, 5);
        let queued = it.call(1);
        assert_eq!(queued.todo.rcuog, Some(0), "{policy:?}");
        assert_eq!(it.lazy(1), 0);
        assert_eq!(it.ticks(20), [0, 6, 0, 0]);
    }
}

#[test]
fn above_the_limit_it_joins_them_instead() {
    let mut it = lazies(Policy::Kernel612, LIMIT + 1);
    let queued = it.call(1);
    assert_eq!((queued.flushed, it.bypass(1)), (0, LIMIT + 2));
    assert_eq!(queued.todo.rcuog, Some(0), "mixed, and nothing is pending");
    let mut ours = lazies(Policy::Quiescent, LIMIT + 1);
    let _ = ours.call(1);
    assert_eq!(ours.lazy(1), 0, "there is no limit");
    for mut it in [it, ours] {
        assert_eq!(it.ticks(20), [0, LIMIT + 2, 0, 0]);
    }
}

#[test]
fn a_lazy_one_that_comes_late_flushes() {
    for policy in BOTH {
        let mut it = lazies(policy, 3);
        it.host.pass_jiffies(FLUSH + 1); // and the timer is late
        let queued = it.call_lazy(1);
        assert_eq!((queued.lazy, queued.todo.rcuog), (false, Some(0)));
        assert_eq!(it.ticks(20), [0, 4, 0, 0], "{policy:?}");
    }
}

#[test]
fn too_many_flush() {
    for policy in BOTH {
        let mut it = lazies(policy, QHIMARK);
        let queued = it.call_lazy(1);
        assert_eq!((queued.lazy, queued.todo.rcuog), (false, Some(0)));
        assert_eq!(it.ticks(20), [0, QHIMARK + 1, 0, 0], "{policy:?}");
    }
}

#[test]
fn the_timer_flushes_what_is_old() {
    for policy in BOTH {
        let mut it = lazies(policy, 3);
        assert_eq!(it.ticks(FLUSH - 1), [0; 4]);
        let invoked = it.ticks(20);
        if policy == Policy::Quiescent {
            assert_eq!(invoked, [0, 3, 0, 0], "when its time comes");
            continue;
        }
        // A callback at its flush time is not overdue: rcuog is woken in vain and starts the whole time
        // again.
        assert_eq!(invoked, [0; 4]);
        assert_eq!(it.ticks(FLUSH), [0, 3, 0, 0], "nearly twice as long");
    }
}

#[test]
fn a_list_whose_time_comes_in_the_middle_of_a_pass_goes_with_it() {
    let mut it = lazies(Policy::Quiescent, 3);
    it.host.pass_jiffies(FLUSH - 1);
    let _ = it.call(0);
    assert_eq!(it.host.step_rcuog(0), OgStep::Begins, "nothing is due yet");
    it.host.pass_jiffies(1);
    it.rcuog(0);
    assert_eq!(it.lazy(1), 0);
    assert_eq!(it.host.group_timer(0), None, "it needs no timer any more");
    assert_eq!(it.ticks(20), [1, 3, 0, 0]);
}

#[test]
fn the_first_list_whose_time_comes_takes_the_group_along() {
    for poll in [false, true] {
        let offload = Offload {
            poll,
            ..Bench::tunables(Policy::Quiescent)
        };
        let mut it = Bench::with(4, offload);
        if poll {
            let _ = it.host.begin_pass(0, 0);
        }
        let _ = it.call_lazy(0);
        it.ticks(FLUSH / 2);
        let _ = it.call_lazy(1);
        assert_eq!(it.ticks(FLUSH / 2 - 2), [0; 4], "poll: {poll}");
        assert_eq!(it.ticks(20), [1, 1, 0, 0], "poll: {poll}");
        assert_eq!((it.lazy(1), it.host.group_timer(0)), (0, None));
    }
}

#[test]
fn a_pass_for_others_at_that_time_takes_them_all_along() {
    let offload = Offload {
        stride: Some(4),
        ..Bench::tunables(Policy::Quiescent)
    };
    let mut it = Bench::with(4, offload);
    let _ = it.call_lazy(0);
    it.host.pass_jiffies(FLUSH / 2);
    let _ = it.call_lazy(1);
    it.host.pass_jiffies(FLUSH / 2); // the timer is due and has not fired
    let _ = it.call(2);
    // One pass, the one for CPU 2, and the timer has still not fired.
    assert_eq!(it.rcuog(0).0, 1);
    assert_eq!((it.lazy(0), it.lazy(1)), (0, 0));
    assert_eq!(it.host.group_timer(0), None, "nothing is left for it");
    // They share the grace period of that pass.
    let before = it.host.engine().counts().grace_periods;
    assert_eq!(it.ticks(20), [1, 1, 1, 0]);
    assert_eq!(it.host.engine().counts().grace_periods, before + 1);
}

#[test]
fn one_that_is_not_lazy_ends_laziness_where_rcuog_polls() {
    let offload = Offload {
        poll: true,
        ..Bench::tunables(Policy::Quiescent)
    };
    let mut it = Bench::with(4, offload);
    assert!(it.call_lazy(1).lazy);
    assert!(!it.call(1).lazy);
    assert_eq!(it.lazy(1), 0);
}

#[test]
fn the_trace_says_that_a_lazy_list_has_set_the_timer() {
    let mut it = Bench::new(4, Policy::Quiescent);
    let _ = it.call_lazy(1);
    assert_eq!(it.trace(), ["1 WakeLazy"]);
    let _ = it.call_lazy(1);
    assert!(it.trace().is_empty(), "the timer is already set");
}

#[test]
fn the_shrinker_leaves_what_is_hidden_and_not_lazy() {
    let mut it = Bench::new(4, Policy::Kernel612);
    it.host.pass_jiffies(1);
    for _ in 0..LIMIT + 2 {
        let _ = it.call(1);
    }
    assert_eq!((it.bypass(1), it.lazy(1)), (2, 0));
    assert_eq!(shrink(&mut it, 1), 0);
    assert_eq!(it.bypass(1), 2);
}

#[test]
fn a_pass_for_others_leaves_young_and_short_lists_alone() {
    for policy in BOTH {
        let mut it = lazies(policy, 3);
        let _ = it.call(0);
        assert_eq!(it.rcuog(0), (1, vec![]));
        assert_eq!(it.lazy(1), 3, "{policy:?}");
    }
}

#[test]
fn the_shrinker_flushes_and_frees_nothing_itself() {
    for policy in BOTH {
        let mut it = lazies(policy, 7);
        assert_eq!(shrink(&mut it, 0), 0, "none there");
        assert_eq!(it.rcuog(0).0, 0);
        assert_eq!(shrink(&mut it, 1), 7);
        assert_eq!((it.lazy(1), it.list(1)), (0, (0, 7)));
        assert_eq!(it.ticks(20), [0, 7, 0, 0], "{policy:?}");
    }
}

#[test]
fn a_scan_stops_when_it_has_enough() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        for (cpu, count) in [(0, 2), (1, 5), (3, 1)] {
            (0..count).for_each(|_| assert!(it.call_lazy(cpu).lazy));
        }
        let world = it.host.world();
        assert_eq!(shrinkable(Some(world.cpus.values())), Shrinkable::Lazy(8));
        assert_eq!(shrinkable(None::<[&Cpu; 0]>), Shrinkable::Lazy(0), "busy");
        let mut world = world.clone();
        let mut scan = Shrink::new(4);
        for cpu in world.cpus.values_mut() {
            let group = world.groups.get_mut(&cpu.member().group().unwrap_or(0));
            let group = group.expect("it was chosen");
            let _ = scan.visit(cpu, 0, group, &world.global, &Silent);
        }
        assert_eq!((scan.result(), scan.goes_on()), (Some(7), false));
        assert_eq!(shrinkable(Some(world.cpus.values())), Shrinkable::Lazy(1));
        assert_eq!(Shrink::new(4).result(), None, "nothing was found");
        let none = Bench::new(2, policy);
        let cpus = none.host.world().cpus.values();
        assert_eq!(shrinkable(Some(cpus)), Shrinkable::Empty);
    }
}

// Grace periods that run anyway.

#[test]
fn only_our_policy_lets_a_grace_period_in_passing_serve_lazy_ones() {
    for policy in BOTH {
        let mut it = lazies(policy, 3);
        let _ = it.call(0);
        let invoked = it.ticks(20);
        assert_eq!(invoked, [1, 0, 0, 0], "no thread is woken for them");
        let (ours, before) = (policy == Policy::Quiescent, it.host.engine().counts());
        // Later callbacks need another grace period, which is not requested.
        let _ = it.call_lazy(1);
        assert_eq!(it.list(1).0, if ours { 3 } else { 0 });
        let _ = it.host.shrink(1);
        it.rcuog(0);
        let ready = it.rcuops()[1];
        assert_eq!(ready, if ours { 3 } else { 0 }, "without any grace period");
        assert_eq!(
            it.host.engine().counts().grace_periods,
            before.grace_periods
        );
        assert_eq!(ready + it.ticks(20)[1], 4);
    }
}

#[test]
fn those_it_served_run_when_their_time_comes_and_need_no_other() {
    let mut it = lazies(Policy::Quiescent, 3);
    let _ = it.call(0);
    it.ticks(20);
    let before = it.host.engine().counts().grace_periods;
    assert_eq!(it.ticks(FLUSH), [0, 3, 0, 0]);
    assert_eq!(it.host.engine().counts().grace_periods, before);
    assert_eq!(it.ticks(2 * FLUSH), [0; 4]);
    assert_eq!(
        it.host.group_timer(0),
        None,
        "and nothing is left to wake up for"
    );
}

#[test]
fn one_queued_while_a_grace_period_is_in_flight_needs_the_next() {
    let mut it = Bench::new(4, Policy::Quiescent);
    let _ = it.call(0);
    it.rcuog(0);
    it.host.run_thread(); // in flight
    assert!(it.host.engine().published().global.state() != 0);
    let _ = it.call_lazy(1);
    it.grace_period();
    it.rcuog(0);
    assert_eq!(it.list(1), (0, 1), "the last one is still lazy");
    assert!(!it.host.engine().busy(), "and the next is not requested");
    it.rcuops();
    let _ = it.call(0);
    it.ticks(20);
    let _ = it.call_lazy(1); // makes a check
    assert_eq!(it.list(1), (1, 1), "but that");
}

#[test]
fn a_run_for_others_of_the_same_cpu_takes_them_along() {
    let mut it = Bench::new(4, Policy::Quiescent);
    let _ = it.call(1);
    let _ = it.call_lazy(1);
    let _ = it.call_lazy(1);
    let before = it.host.wakeups().rcuop;
    assert_eq!(it.ticks(20), [0, 3, 0, 0]);
    assert_eq!(it.host.wakeups().rcuop - before, 1);
    assert_eq!(it.lazy(1), 0);
    // The flush time of callbacks that have been invoked wakes rcuog at most once.
    let before = it.host.wakeups();
    assert_eq!(it.ticks(2 * FLUSH), [0; 4]);
    assert!(it.host.wakeups().rcuog - before.rcuog <= 1);
    assert_eq!(it.batch(1, Context::Rcuop), 0);
}

#[test]
fn one_that_comes_when_the_time_is_over_is_not_lazy() {
    for (waited, lazy) in [(FLUSH - 1, true), (FLUSH, false)] {
        let mut it = lazies(Policy::Quiescent, 3);
        it.host.pass_jiffies(waited); // and the timer is late
        assert_eq!(it.call_lazy(1).lazy, lazy, "after {waited}");
    }
}

//! Where a callback goes.

use quiescent_harness::host::Silent;
use quiescent_kernel::Now;
use quiescent_kernel::offload::{Call, Offload, Place, Policy};

use super::bench::{Bench, FLUSH, LIMIT, QHIMARK};

const LIST: Place = Place::List;
const BYPASS: Place = Place::Bypass;

fn bench() -> Bench {
    Bench::new(4, Policy::Kernel612)
}

#[test]
fn before_the_scheduler_is_up_all_goes_to_the_list() {
    let mut it = bench();
    for pos in 0..2 * LIMIT {
        let call = Call {
            bytes: 8,
            lazy: true,
            now: Now::default(),
            can_wake: false,
            early: true,
        };
        let queued = it.host.call_nocb_as(1, call);
        assert_eq!((queued.place, queued.lazy, queued.pos), (LIST, false, pos));
    }
    assert_eq!((it.bypass(1), it.list(1)), (0, (0, 2 * LIMIT)));
}

#[test]
fn below_the_limit_it_goes_to_the_list_and_above_to_the_bypass() {
    let mut it = bench();
    it.host.pass_jiffies(1);
    // The tick is new, and does not count its first callback.
    for n in 0..LIMIT {
        assert_eq!(it.call(1).place, LIST, "{n}");
    }
    let queued = it.call(1);
    assert_eq!(
        (queued.place, queued.lazy, queued.pos),
        (BYPASS, false, LIMIT)
    );
    assert_eq!((it.bypass(1), it.list(1)), (1, (0, LIMIT)));
    assert_eq!(it.cpu(1).owed(), LIMIT + 1, "hidden callbacks count");
}

#[test]
fn a_burst_decays_one_limit_a_change_of_tick() {
    let mut it = bench();
    it.host.pass_jiffies(1);
    for _ in 0..3 * LIMIT {
        let _ = it.call(1);
    }
    // 47 are counted. The next tick leaves 31 of them, but never more than the limit: still too many.
    it.host.pass_jiffies(1);
    assert_eq!(it.call(1).flushed, 2 * LIMIT, "mixed, and another tick");
    assert_eq!(it.call(1).place, BYPASS);
    it.host.pass_jiffies(1);
    // 17 were counted: 1 is left.
    for _ in 1..LIMIT {
        assert_eq!(it.call(1).place, LIST);
    }
    assert_eq!(it.call(1).place, BYPASS);
}

#[test]
fn however_long_nothing_came_only_one_limit_is_taken_off() {
    let mut it = bench();
    it.host.pass_jiffies(1);
    for _ in 0..3 * LIMIT {
        let _ = it.call(1);
    }
    it.host.pass_jiffies(1000);
    let queued = it.call(1);
    assert_eq!((queued.place, queued.flushed), (LIST, 2 * LIMIT), "late");
    assert_eq!(it.call(1).place, BYPASS, "the limit is still reached");
}

#[test]
fn one_that_is_not_lazy_flushes_the_bypass_in_front_of_it() {
    let mut it = bench();
    for pos in 0..5 {
        let queued = it.call_lazy(1);
        assert_eq!((queued.place, queued.lazy, queued.pos), (BYPASS, true, pos));
    }
    let queued = it.call(1);
    assert_eq!((queued.flushed, queued.place, queued.pos), (5, LIST, 5));
    assert_eq!((it.bypass(1), it.lazy(1), it.list(1)), (0, 0, (0, 6)));
}

#[test]
fn lazy_ones_ignore_the_limit() {
    let mut it = bench();
    assert_eq!(it.call_lazy(1).place, BYPASS, "the rate is 1");
    for n in 1..2 * LIMIT {
        assert_eq!(it.call_lazy(1).place, BYPASS, "{n}");
    }
    assert_eq!((it.bypass(1), it.lazy(1)), (2 * LIMIT, 2 * LIMIT));
}

#[test]
fn a_mixed_bypass_is_flushed_by_the_next_caller_in_a_later_tick() {
    let mut it = bench();
    it.host.pass_jiffies(1);
    for _ in 0..LIMIT + 2 {
        let _ = it.call(1);
    }
    assert_eq!(it.call(1).flushed, 0, "the same tick");
    it.host.pass_jiffies(1);
    let queued = it.call_lazy(1);
    assert_eq!((queued.flushed, queued.place), (3, LIST));
    assert!(
        !queued.lazy,
        "it uses the grace period that is requested anyway"
    );
}

#[test]
fn an_overdue_lazy_list_is_flushed_by_the_next_caller() {
    for lazy in [true, false] {
        let mut it = bench();
        let _ = it.call_lazy(1);
        it.host.pass_jiffies(FLUSH);
        let _ = it.call_lazy(1);
        assert_eq!(
            it.bypass(1),
            2,
            "a callback at its flush time is not overdue"
        );
        it.host.pass_jiffies(1);
        let queued = it.host.call_nocb(1, lazy, true);
        assert_eq!((queued.flushed, queued.place), (2, LIST));
        assert_eq!(queued.todo.rcuog, Some(0), "nothing was pending");
    }
}

#[test]
fn a_full_bypass_is_flushed_by_the_next_caller() {
    let mut it = bench();
    for _ in 0..QHIMARK {
        assert_eq!(it.call_lazy(1).flushed, 0);
    }
    let queued = it.call_lazy(1);
    assert_eq!((queued.flushed, queued.place), (QHIMARK, LIST));
    assert_eq!(it.call_lazy(1).place, BYPASS, "and a new list begins");
}

#[test]
fn a_flush_also_moves_ready_callbacks() {
    let mut it = bench();
    let _ = it.call(1);
    it.rcuog(0);
    for _ in 0..QHIMARK {
        let _ = it.call_lazy(1);
    }
    it.grace_period(); // over, and rcuog has not run
    assert_eq!(it.list(1), (0, 1));
    let _ = it.call_lazy(1);
    assert_eq!(it.list(1), (1, QHIMARK + 1));
    assert!(!it.host.take_rcuop(1), "rcuog wakes it");
}

#[test]
fn this_projects_policy_has_no_bypass() {
    let mut it = Bench::new(4, Policy::Quiescent);
    for pos in 0..3 * LIMIT {
        let queued = it.host.call_nocb(1, pos % 3 > 0, true);
        assert_eq!((queued.place, queued.flushed, queued.pos), (LIST, 0, pos));
    }
    assert_eq!(
        (it.bypass(1), it.lazy(1)),
        (0, 2),
        "since the last hurried one"
    );
}

#[test]
fn a_cpu_that_is_not_offloaded_queues_as_ever() {
    let offload = Offload {
        online_toggle: true,
        ..Bench::tunables(Policy::Kernel612)
    };
    let mut it = Bench::with(4, offload);
    assert!(it.host.toggle(1, false, true).is_ok());
    let queued = it.call_lazy(1);
    assert_eq!((queued.place, queued.lazy), (LIST, false));
    assert_eq!(queued.todo, Default::default());
    assert!(
        it.cpu(1).core_pending(it.host.engine()),
        "its tick makes the check"
    );
}

#[test]
fn a_cpu_that_owes_too_many_is_marked_as_overloaded() {
    for policy in [Policy::Kernel612, Policy::Quiescent] {
        let mut it = Bench::new(4, policy);
        // Twice the high mark.
        for n in 0..2 * QHIMARK {
            assert!(!it.call(1).overloaded, "{n}");
        }
        assert!(it.call(1).overloaded, "{policy:?}");
    }
}

#[test]
#[should_panic(expected = "which is not its own")]
fn another_groups_record_is_refused() {
    let it = bench();
    assert_eq!([0, 1].map(|group| it.host.group(group).id()), [0, 1]);
    let mut world = it.host.world().clone();
    let call = Call {
        bytes: 8,
        lazy: false,
        now: Now::default(),
        can_wake: true,
        early: false,
    };
    let cpu = world.cpus.get_mut(&1).expect("it was chosen");
    let group = world.groups.get_mut(&1).expect("there are two");
    let _ = cpu.call_nocb(call, group, &mut world.global, &Silent);
}

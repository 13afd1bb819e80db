//! The barrier over lazy, offloaded and departed CPUs; toggling.

use quiescent_harness::host::Silent;
use quiescent_kernel::CpuId;
use quiescent_kernel::barrier::Visit;
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{Entrained, Offload, Policy, Refused, Toggled};

use super::bench::{BOTH, Bench, LIMIT};

pub fn entrain(it: &mut Bench, cpu: CpuId) -> Entrained {
    it.host.entrain_nocb(cpu)
}

pub fn start_barrier(it: &mut Bench) {
    let barrier = it.host.barrier();
    let snap = barrier.snap();
    let _ = barrier.start(snap);
}

pub fn toggle(it: &mut Bench, cpu: CpuId, to: bool, online: bool) -> Result<Toggled, Refused> {
    it.host.toggle(cpu, to, online)
}

pub fn online_bench(policy: Policy) -> Bench {
    let offload = Offload {
        online_toggle: true,
        ..Bench::tunables(policy)
    };
    Bench::with(4, offload)
}

// The barrier.

#[test]
fn a_barrier_hurries_lazy_callbacks_and_waits_for_them() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        for _ in 0..3 {
            let _ = it.call_lazy(1);
        }
        start_barrier(&mut it);
        let visited = entrain(&mut it, 1);
        let hidden = if policy == Policy::Kernel612 { 3 } else { 0 };
        assert_eq!((visited.flushed, visited.visit), (hidden, Visit::Noted));
        assert_eq!(visited.todo.rcuog, Some(0), "nothing was pending");
        assert_eq!((it.lazy(1), it.list(1)), (0, (0, 4)));
        assert_eq!(entrain(&mut it, 0).visit, Visit::Empty);
        let again = entrain(&mut it, 1);
        assert_eq!(
            (again.visit, again.todo),
            (Visit::Already, Default::default())
        );
        assert_eq!(it.ticks(20), [0, 4, 0, 0], "its callback is the last");
    }
}

#[test]
fn a_barrier_behind_callbacks_that_wait_wakes_no_thread() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call(1);
        it.rcuog(0);
        let _ = it.call_lazy(1);
        start_barrier(&mut it);
        let visited = entrain(&mut it, 1);
        assert_eq!((visited.visit, visited.todo.rcuog), (Visit::Noted, None));
        assert_eq!(it.lazy(1), 0, "but hurries");
        assert_eq!(it.ticks(30), [0, 3, 0, 0], "{policy:?}");
    }
}

#[test]
fn a_visit_without_a_barrier_leaves_lazy_callbacks_alone() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call_lazy(1);
        let visited = entrain(&mut it, 1);
        assert_eq!((visited.visit, visited.flushed), (Visit::Already, 0));
        assert_eq!(it.lazy(1), 1);
    }
}

#[test]
fn a_barrier_over_an_offloaded_cpu_that_has_gone() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call_lazy(2);
        it.host.unregister(2);
        start_barrier(&mut it);
        assert_eq!(entrain(&mut it, 2).visit, Visit::Noted, "from another CPU");
        assert_eq!(it.ticks(20), [0, 0, 2, 0], "{policy:?}");
    }
}

#[test]
fn ready_ones_without_a_wake_up_run_for_the_barrier() {
    let mut it = Bench::new(4, Policy::Quiescent);
    let _ = it.call_lazy(1);
    let _ = it.call(0);
    it.ticks(20);
    it.rcuog(0);
    start_barrier(&mut it);
    assert_eq!(entrain(&mut it, 1).visit, Visit::Noted);
    assert_eq!(it.ticks(2), [0, 2, 0, 0]);
}

#[test]
fn a_barrier_wakes_no_thread_for_a_cpu_that_has_nothing() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        start_barrier(&mut it);
        let visited = entrain(&mut it, 1);
        assert_eq!(
            (visited.visit, visited.todo),
            (Visit::Empty, Default::default())
        );
        assert_eq!(it.rcuog(0).0, 0, "{policy:?}");
    }
}

#[test]
fn a_barrier_wakes_rcuog_for_what_is_hidden_and_not_lazy() {
    let mut it = Bench::new(1, Policy::Kernel612); // its grace periods take no tick
    it.host.pass_jiffies(1);
    for _ in 0..=LIMIT {
        let _ = it.call(0);
    }
    it.rcuog(0);
    it.grace_period();
    it.rcuog(0);
    assert_eq!(it.rcuops(), [LIMIT]);
    assert_eq!((it.bypass(0), it.lazy(0), it.list(0)), (1, 0, (0, 0)));
    start_barrier(&mut it);
    let visited = entrain(&mut it, 0);
    assert_eq!((visited.flushed, visited.todo.rcuog), (1, Some(0)));
}

// Offloading and de-offloading.

#[test]
fn a_cpu_that_has_nothing_changes_sides_and_asks_for_nothing() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let toggled = toggle(&mut it, 1, false, true).expect("it may");
        assert_eq!(
            (toggled.flushed, toggled.todo),
            (0, Default::default()),
            "{policy:?}"
        );
        assert!(!it.host.engine().busy(), "no grace period is asked for");
    }
}

#[test]
fn a_pass_goes_on_behind_the_member_that_was_next_and_has_gone() {
    let offload = Offload {
        online_toggle: true,
        stride: Some(4),
        ..Bench::tunables(Policy::Kernel612)
    };
    let mut it = Bench::with(4, offload);
    let _ = it.call(3);
    for _ in 0..3 {
        let _ = it.host.step_rcuog(0); // members 0 and 1 were visited
    }
    assert_eq!(it.host.group(0).next_member(), Some(2));
    let _ = toggle(&mut it, 2, false, true);
    assert_eq!(it.host.group(0).next_member(), Some(3));
}

#[test]
fn deoffloading_keeps_callbacks_and_their_order() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let _ = it.call(1);
        it.rcuog(0);
        let _ = it.call_lazy(1);
        let _ = it.call_lazy(1);
        let toggled = toggle(&mut it, 1, false, true).expect("it may");
        assert_eq!(toggled.todo.core, Some(1), "it may be idle");
        assert_eq!((it.bypass(1), it.lazy(1)), (0, 0));
        assert_eq!(it.host.group(0).members(), [0]);
        assert!(it.host.take_core(1) && it.cpu(1).needs_cpu());
        let mut invoked = 0;
        for _ in 0..20 {
            it.ticks(1);
            let _ = it.host.tick(1);
            let _ = it.host.core(1);
            invoked += it.batch(1, Context::Softirq);
        }
        assert_eq!(invoked, 3, "{policy:?}");
        assert_eq!(it.rcuops(), [0; 4], "rcuop is not woken for it");
    }
}

#[test]
fn deoffloading_asks_for_what_rcuog_has_not_asked_for_yet() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let _ = it.call(1); // rcuog was woken, and has not run
        let _ = toggle(&mut it, 1, false, true);
        let mut invoked = 0;
        for _ in 0..20 {
            it.ticks(1);
            if it.cpu(1).core_pending(it.host.engine()) {
                let _ = it.host.core(1);
            }
            invoked += it.batch(1, Context::Softirq);
        }
        assert_eq!(invoked, 1, "{policy:?}");
    }
}

#[test]
fn offloading_hands_callbacks_to_the_group() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let _ = toggle(&mut it, 0, false, true);
        let queued = it.call(0);
        assert_eq!(queued.todo, Default::default());
        let toggled = toggle(&mut it, 0, true, true).expect("it may");
        assert_eq!(toggled.todo.rcuog, Some(0));
        assert_eq!(it.host.group(0).members(), [1, 0], "at the tail");
        assert!(!it.cpu(0).needs_cpu());
        assert_eq!(it.ticks(20), [1, 0, 0, 0], "{policy:?}");
        let _ = toggle(&mut it, 0, false, true);
        let toggled = toggle(&mut it, 0, true, true).expect("it may");
        assert_eq!(toggled.todo, Default::default(), "no callback to check");
    }
}

#[test]
fn no_batch_begins_while_the_other_side_has_one_out() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let _ = it.call(1);
        it.rcuog(0);
        it.grace_period();
        it.rcuog(0);
        assert!(it.host.take_rcuop(1));
        let out = it
            .host
            .begin_batch(1, Context::Rcuop)
            .expect("one is ready");
        // The CPU changes sides, and has another callback ready.
        let _ = toggle(&mut it, 1, false, true);
        let _ = it.call(1);
        for _ in 0..20 {
            it.ticks(1);
            let _ = it.host.core(1);
        }
        assert_eq!(it.list(1), (1, 0));
        it.host.take_core(1);
        assert_eq!(it.batch(1, Context::Softirq), 0, "rcuop invokes them");
        it.host.end_batch(1, out);
        let context = Context::Rcuop;
        let _ = it.host.batch_over(1, context);
        assert!(it.host.take_core(1), "the soft interrupt continues");
        // The CPU changes sides again in the middle of a batch.
        let _ = it.call(1);
        let out = it
            .host
            .begin_batch(1, Context::Softirq)
            .expect("one is ready");
        let _ = toggle(&mut it, 1, true, true);
        assert_eq!(it.ticks(20), [0; 4]);
        assert_eq!(it.list(1), (1, 0), "{policy:?}");
        it.host.end_batch(1, out);
        let context = Context::Softirq;
        let _ = it.host.batch_over(1, context);
        assert_eq!(it.ticks(1), [0, 1, 0, 0], "rcuop continues");
    }
}

#[test]
fn a_member_that_comes_or_goes_in_the_middle_of_a_pass_hides_no_other() {
    for policy in BOTH {
        let offload = Offload {
            online_toggle: true,
            stride: Some(4),
            ..Bench::tunables(policy)
        };
        let mut it = Bench::with(4, offload);
        let _ = (it.call(2), it.call(3));
        for _ in 0..3 {
            let _ = it.host.step_rcuog(0); // members 0 and 1 were visited
        }
        let _ = toggle(&mut it, 0, false, true);
        assert_eq!(it.host.group(0).next_member(), Some(2));
        let _ = toggle(&mut it, 0, true, true);
        assert_eq!(it.ticks(20), [0, 0, 1, 1], "{policy:?}");
    }
}

#[test]
fn what_cannot_be_toggled_is_refused() {
    let mut it = Bench::new(4, Policy::Kernel612);
    assert_eq!(toggle(&mut it, 1, true, true), Err(Refused::Already));
    assert_eq!(
        toggle(&mut it, 1, false, true),
        Err(Refused::Online),
        "6.12"
    );
    let _ = it.call_lazy(1);
    assert_eq!(
        toggle(&mut it, 1, false, false),
        Err(Refused::NotEmpty),
        "hidden callbacks count"
    );
    assert_eq!((it.bypass(1), it.host.group(0).members()), (1, &[0, 1][..]));
    assert_eq!(it.ticks(30_000)[1], 1);
    assert!(
        toggle(&mut it, 1, false, false).is_ok(),
        "offline and empty"
    );
    assert_eq!(toggle(&mut it, 1, false, false), Err(Refused::Already));
    assert!(toggle(&mut it, 1, true, false).is_ok());
    it.host.set_nohz_full(0);
    let refused = toggle(&mut it, 0, false, false);
    assert_eq!(refused, Err(Refused::NoTick), "it would not check");
    let mut world = it.host.world().clone();
    let mut never = quiescent_kernel::Cpu::new(9);
    let group = world.groups.get_mut(&0).expect("there is one");
    let refused = never.offload(true, group, &world.global, &Silent);
    assert_eq!(refused, Err(Refused::NeverChosen));
}

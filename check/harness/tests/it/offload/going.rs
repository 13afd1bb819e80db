//! CPUs that leave: their callbacks, and the CPU that takes them over.

use quiescent_kernel::barrier::Visit;
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::Policy;

use super::bench::{BOTH, Bench};
use super::moving::{entrain, online_bench, start_barrier, toggle};

#[test]
fn an_offloaded_cpu_that_dies_keeps_its_callbacks_and_their_time() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call_lazy(2);
        it.host.unregister(2);
        assert_eq!(it.host.take_over(0, 2), None);
        assert_eq!(it.lazy(2), 1);
        assert_eq!(
            it.ticks(2 * super::bench::FLUSH + 20),
            [0, 0, 1, 0],
            "{policy:?}"
        );
    }
}

#[test]
fn a_cpu_that_dies_delivers_what_it_put_off() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.host.call_nocb(2, false, false);
    let _ = it.host.deliver(2);
    it.host.unregister(2);
    assert_eq!(it.rcuog(1).0, 1);
}

#[test]
fn an_adopting_cpu_flushes_first_and_keeps_the_order() {
    for policy in BOTH {
        let mut it = online_bench(policy);
        let _ = toggle(&mut it, 3, false, true);
        let _ = (it.call(3), it.call(3));
        for _ in 0..3 {
            let _ = it.call_lazy(1);
        }
        it.host.unregister(3);
        let taken = it.host.take_over(1, 3).expect("it was not offloaded");
        let hidden = if policy == Policy::Kernel612 { 3 } else { 0 };
        assert_eq!(taken.flushed, hidden);
        assert_eq!(
            (taken.adopted.merged.done, taken.adopted.merged.pending),
            (0, 2)
        );
        assert_eq!(taken.todo.rcuog, Some(0));
        assert_eq!((it.bypass(1), it.lazy(1), it.list(1)), (0, 0, (0, 5)));
        assert_eq!(it.ticks(30), [0, 5, 0, 0], "{policy:?}");
    }
}

#[test]
fn rcuog_is_woken_for_what_its_member_adopts_whatever_it_waits_for() {
    for policy in BOTH {
        // CPU 3 leaves no callback, one that waits, one that is ready.
        for (calls, ready, moved) in [(0, false, (0, 0)), (2, false, (0, 2)), (2, true, (2, 0))] {
            let mut it = online_bench(policy);
            let _ = toggle(&mut it, 3, false, true);
            for _ in 0..calls {
                let _ = it.call(3);
            }
            if ready {
                let _ = it.host.core(3);
                it.grace_period();
            }
            it.host.unregister(3);
            let taken = it.host.take_over(1, 3).expect("it was not offloaded");
            let merged = taken.adopted.merged;
            assert_eq!((merged.done, merged.pending), moved, "{policy:?}");
            let woken = (calls > 0).then_some(0);
            assert_eq!(taken.todo.rcuog, woken, "{policy:?}: {moved:?}");
        }
    }
}

#[test]
fn a_barrier_goes_along_with_callbacks_that_move() {
    let mut it = online_bench(Policy::Kernel612);
    let _ = toggle(&mut it, 3, false, true);
    let _ = it.call(3);
    start_barrier(&mut it);
    for cpu in 0..3 {
        assert_eq!(entrain(&mut it, cpu).visit, Visit::Empty);
    }
    it.host.unregister(3);
    let taken = it.host.take_over(1, 3).expect("it was not offloaded");
    assert!(taken.adopted.entrained);
    assert_eq!(it.ticks(30), [0, 2, 0, 0]);
}

#[test]
fn a_cpu_that_is_not_offloaded_may_adopt_too() {
    let mut it = online_bench(Policy::Quiescent);
    let _ = (
        toggle(&mut it, 0, false, true),
        toggle(&mut it, 3, false, true),
    );
    let _ = it.call(3);
    it.host.unregister(3);
    let taken = it.host.take_over(0, 3).expect("it was not offloaded");
    assert_eq!(
        (taken.todo, taken.adopted.wake_gp),
        (Default::default(), true)
    );
    for _ in 0..20 {
        it.ticks(1);
        let _ = it.host.core(0);
    }
    assert_eq!(it.batch(0, Context::Softirq), 1);
}

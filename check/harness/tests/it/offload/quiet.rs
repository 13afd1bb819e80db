//! How often threads are woken, because laziness is only useful if it saves wake-ups. And the deadline: no
//! lazy callback waits longer than promised.

use quiescent_kernel::offload::Policy;

use super::bench::{BOTH, Bench, FLUSH};

/// Some lazy callbacks on all CPUs for so many flush times; returns the wake-ups and the grace periods.
fn trickle(it: &mut Bench, times: u64, every: u64) -> (u64, u64, u64) {
    let before = (it.host.wakeups(), it.host.engine().counts().grace_periods);
    for tick in 0..times * FLUSH {
        it.ticks(1);
        for cpu in 0..it.cpus {
            if (tick + 7 * u64::from(cpu)).is_multiple_of(every) {
                let _ = it.call_lazy(cpu);
            }
        }
    }
    let after = it.host.wakeups();
    (
        after.rcuog - before.0.rcuog + after.gp_end - before.0.gp_end,
        after.rcuop - before.0.rcuop,
        it.host.engine().counts().grace_periods - before.1,
    )
}

#[test]
fn a_trickle_of_lazy_callbacks_wakes_each_thread_once_or_twice_a_flush_time() {
    const TIMES: u64 = 4;
    for every in [2500, 900, 301] {
        let mut it = Bench::new(4, Policy::Quiescent);
        let groups = u64::from(it.groups());
        let (rcuog, rcuop, grace_periods) = trickle(&mut it, TIMES, every);
        assert!(rcuog <= 2 * TIMES * groups, "{rcuog} for {groups}");
        assert!(rcuop <= TIMES * u64::from(it.cpus), "{rcuop}");
        assert!(grace_periods <= TIMES * groups, "{grace_periods}");
        assert!(rcuop > 0 && grace_periods > 0);
    }
}

#[test]
fn our_policy_needs_no_more_wake_ups_than_the_kernels() {
    let sums = BOTH.map(|policy| {
        let mut it = Bench::new(8, policy);
        let (rcuog, rcuop, _) = trickle(&mut it, 4, 1700);
        rcuog + rcuop
    });
    assert!(sums[1] <= sums[0], "{sums:?}");
}

#[test]
fn grace_periods_for_others_wake_no_thread_for_lazy_ones() {
    let mut it = Bench::new(4, Policy::Quiescent);
    for round in 0..40 {
        let _ = it.call_lazy(3);
        let _ = it.call(0);
        let invoked = it.ticks(50);
        assert_eq!((invoked[0], invoked[3]), (1, 0), "{round}");
    }
    let (ready, pending) = it.list(3);
    assert!(
        ready + pending == 40 && ready >= 38,
        "{ready} and {pending}"
    );
}

#[test]
fn an_early_list_is_not_starved_by_later_ones() {
    for policy in BOTH {
        let mut it = Bench::new(8, policy);
        let _ = it.call_lazy(0);
        let (mut waited, mut invoked) = (0, 0);
        while invoked == 0 {
            // Another member begins a list now and then.
            let _ = it.call_lazy(1 + (waited / 500 % 3) as u32);
            invoked += it.ticks(500)[0];
            waited += 500;
            assert!(waited <= 3 * FLUSH, "{policy:?} starves it");
        }
        let most = match policy {
            Policy::Quiescent => FLUSH + 500,
            Policy::Kernel612 => 2 * FLUSH + 500,
        };
        assert!(waited <= most, "{policy:?}: {waited}");
    }
}

#[test]
fn an_offloaded_machine_with_nothing_queued_is_silent() {
    for policy in BOTH {
        let mut it = Bench::new(8, policy);
        let (before, grace_periods) = (it.host.wakeups(), it.host.engine().counts().grace_periods);
        it.ticks(3 * FLUSH);
        assert_eq!(it.host.wakeups(), before);
        assert_eq!(it.host.engine().counts().grace_periods, grace_periods);
    }
}

//! Sequences that were recorded on a real kernel (Linux 6.12, 8 CPUs, all offloaded), word by word.

use quiescent_kernel::offload::{Policy, stride};

use super::bench::{Bench, FLUSH};

#[test]
fn groups_are_as_wide_as_the_kernels() {
    for (cpus, wide) in [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 2),
        (8, 4),
        (9, 3),
        (64, 8),
        (100, 10),
    ] {
        assert_eq!(stride(cpus, None), wide, "{cpus}");
    }
    assert_eq!((stride(8, Some(3)), stride(8, Some(0))), (3, 4));
    let it = Bench::new(8, Policy::Kernel612);
    let groups: Vec<_> = it.host.world().groups.values().collect();
    let leaders: Vec<_> = groups.iter().map(|group| group.leader()).collect();
    assert_eq!(leaders, [0, 4]);
    assert_eq!(groups[1].members(), [4, 5, 6, 7]);
}

#[test]
fn the_first_callback_and_the_grace_period_after_it() {
    let mut it = Bench::new(8, Policy::Kernel612);
    let _ = it.call(5);
    assert_eq!(it.trace(), ["5 FirstQ", "5 DoWake", "5 WakeEmpty"]);
    it.rcuog(1);
    let pass = [
        "4 EndSleep",
        "4 Check",
        "5 Check",
        "Startleaf",
        "Startedroot",
        "newreq",
        "AccWaitCB",
        "5 NeedWaitGP",
        "6 Check",
        "7 Check",
        "StartWait",
    ];
    assert_eq!(it.trace(), pass);
    let _ = it.call(5);
    assert_eq!(it.trace(), ["5 WakeNot"]);
    it.grace_period();
    it.trace();
    it.rcuog(1);
    let pass = [
        "EndWait",
        "4 Check",
        "5 Check",
        "Startleaf",
        "Startedroot",
        "newreq",
        "AccWaitCB",
        "5 NeedWaitGP",
        "6 Check",
        "7 Check",
        "StartWait",
    ];
    assert_eq!(it.trace(), pass);
    assert_eq!(it.rcuops(), [0, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(it.trace(), ["5 CBSleep"]);
}

#[test]
fn two_lazy_lists_and_a_callback_in_a_hurry() {
    let mut it = Bench::new(8, Policy::Kernel612);
    let _ = it.host.call_nocb(0, true, false);
    assert_eq!(it.trace(), ["0 FirstBQ", "0 FirstBQwake", "0 WakeLazy"]);
    it.host.pass_jiffies(709);
    let _ = it.host.call_nocb(1, true, false);
    assert_eq!(it.trace(), ["1 FirstBQ", "1 FirstBQwake", "1 WakeLazy"]);
    it.host.pass_jiffies(1);
    assert_eq!(it.host.fire_timers(), 1, "one tick later, in vain");
    assert_eq!(it.trace(), ["0 Timer", "0 DoWake", "0 DeferredWake"]);
    it.rcuog(0);
    let pass = [
        "0 EndSleep",
        "0 Check",
        "0 Lazy",
        "1 Check",
        "1 Lazy",
        "2 Check",
        "3 Check",
        "0 WakeLazyIsDeferred",
        "0 Sleep",
    ];
    assert_eq!(it.trace(), pass);
    let restarted = it.now() + FLUSH;
    assert_eq!(
        it.host.group_timer(0),
        Some(restarted),
        "the whole time again"
    );
    // Four seconds later, from the workqueue: interrupts are disabled.
    it.host.pass_jiffies(4022);
    let _ = it.host.call_nocb(3, false, false);
    assert_eq!(it.trace(), ["3 FirstQ", "3 WakeEmptyIsDeferred"]);
    let _ = it.host.deliver(3); // when it idles
    assert_eq!(it.trace(), ["3 DoWake", "3 DeferredWake"]);
    it.rcuog(0);
    let pass = [
        "0 EndSleep",
        "0 Check",
        "0 Lazy",
        "1 Check",
        "1 Lazy",
        "2 Check",
        "3 Check",
        "Startleaf",
        "Startedroot",
        "newreq",
        "AccWaitCB",
        "3 NeedWaitGP",
        "0 WakeLazyIsDeferred",
        "StartWait",
    ];
    assert_eq!(it.trace(), pass);
    it.grace_period();
    it.trace();
    it.rcuog(0);
    let pass = [
        "EndWait",
        "0 Check",
        "0 Lazy",
        "1 Check",
        "1 Lazy",
        "2 Check",
        "3 Check",
        "0 WakeLazyIsDeferred",
        "0 Sleep",
    ];
    assert_eq!(
        it.trace(),
        pass,
        "a grace period for other CPUs does not use them"
    );
    it.rcuops();
    it.trace();
    // The second list is overdue when its CPU calls: it flushes, and opens a new one.
    it.host.pass_jiffies(5980);
    let _ = it.call_lazy(1);
    assert_eq!(it.trace(), ["1 DoWake", "1 WakeEmpty"]);
    let _ = it.call_lazy(1);
    assert_eq!(it.trace(), ["1 FirstBQ", "1 FirstBQnoWake"]);
    it.rcuog(0);
    let pass = [
        "0 EndSleep",
        "0 Check",
        "Startleaf",
        "Startedroot",
        "newreq",
        "AccWaitCB",
        "0 NeedWaitGP",
        "1 Check",
        "1 Lazy",
        "Startleaf",
        "Prestarted",
        "AccWaitCB",
        "1 NeedWaitGP",
        "2 Check",
        "3 Check",
        "0 WakeLazyIsDeferred",
        "StartWait",
    ];
    assert_eq!(it.trace(), pass, "and so is the first");
}

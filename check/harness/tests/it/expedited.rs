//! Expedited grace periods: which CPUs are asked, which report and when, and the trace.

mod cookies;
mod funnel;
mod readers;

use quiescent_harness::host::{Doing, TestHost};
use quiescent_kernel::Config;
use quiescent_kernel::EarlyQs;
use quiescent_kernel::exp::{ExpNext, ExpPhase, Handled};
use quiescent_kernel::geometry::GeometryParams;

/// A tree with so many CPUs a leaf and children a node.
fn machine(cpus: u32, fanout: u32) -> TestHost {
    let config = Config {
        geometry: GeometryParams {
            leaf_fanout: fanout,
            inner_fanout: fanout,
            exact: true,
        },
        early_qs: EarlyQs::Init,
        ..Config::kernel_6_12(cpus, 1000)
    };
    let mut host = TestHost::kernel_with(cpus, config);
    // A kernel has its tree from boot on.
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 500);
    assert!(host.satisfied(ticket));
    host.help(5);
    host.take_trace();
    host
}

/// The caller drives until all CPUs were sent interrupts, none of which has arrived.
fn asked(host: &mut TestHost, caller: usize) {
    host.exp_until(caller, |doing| {
        matches!(doing, Doing::Drives(ExpNext::Sleep(_)))
    });
    assert_eq!(host.engine().exp_phase(), ExpPhase::Wait);
}

/// The caller drives until the engine is in the given phase.
fn in_phase(host: &mut TestHost, caller: usize, at: impl Fn(ExpPhase) -> bool) {
    for _ in 0..100 {
        if at(host.engine().exp_phase()) {
            return;
        }
        host.exp_step(caller);
    }
    panic!("it got to {:?}", host.engine().exp_phase());
}

fn holdouts(host: &TestHost) -> Vec<u32> {
    host.engine().exp_holdouts().collect()
}

#[test]
fn an_idle_machine_is_not_interrupted_at_all() {
    for (cpus, fanout) in [(1, 16), (8, 16), (8, 2), (13, 3)] {
        let mut host = machine(cpus, fanout);
        let (start, caller) = (host.now(), host.expedite(0));
        assert!(host.exp_drive(caller, 200), "{cpus} CPUs, fan-out {fanout}");
        assert_eq!(
            (host.done().interrupts, host.engine().counts().expedited),
            (0, 1)
        );
        assert_eq!(host.now(), start, "no tick has passed");
    }
}

#[test]
fn the_callers_own_cpu_is_not_interrupted() {
    let mut host = machine(2, 16);
    host.set_ticking(0, true);
    host.set_ticking(1, true);
    let caller = host.expedite(0);
    assert!(host.exp_drive(caller, 100));
    assert_eq!(
        host.done().interrupts,
        1,
        "CPU 1 is awake, and is not the caller's"
    );
}

#[test]
fn a_cpu_that_is_awake_and_outside_reports_from_the_interrupt() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    assert_eq!(holdouts(&host), [3]);
    let handled = host.interrupt(3);
    let want = Handled {
        wake_exp: true,
        ..Handled::default()
    };
    assert_eq!(handled, want);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_cpu_with_preemption_disabled_reports_at_its_context_switch() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    host.disable(3, quiescent_kernel::blocked::Disabled::Preemption);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 50));
    assert_eq!((holdouts(&host), host.rescheds()), (vec![3], &[3][..]));
    host.switch(3);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_cpu_that_passed_through_idle_between_the_two_looks_is_not_interrupted() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    let caller = host.expedite(0);
    host.exp_until(caller, |doing| doing == Doing::Drives(ExpNext::Again));
    in_phase(&mut host, caller, |phase| {
        matches!(phase, ExpPhase::Ask { leaf: 1, .. })
    });
    host.set_ticking(3, false);
    host.set_ticking(3, true);
    assert!(host.exp_drive(caller, 50));
    assert_eq!(host.done().interrupts, 0);
}

#[test]
fn an_interrupt_refused_by_a_cpu_that_is_gone_counts_as_its_quiescent_state() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    let caller = host.expedite(0);
    host.exp_until(caller, |doing| {
        matches!(doing, Doing::Drives(ExpNext::Ask { .. }))
    });
    host.vanish(3);
    assert!(host.exp_drive(caller, 50));
    assert_eq!((host.done().interrupts, host.now().jiffies), (0, 3));
}

#[test]
fn an_interrupt_refused_by_a_cpu_that_is_there_is_sent_again_a_tick_later() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    host.set_deaf(3, true);
    let caller = host.expedite(0);
    let start = host.now().jiffies;
    assert!(!host.exp_drive(caller, 60));
    let waited = host.now().jiffies - start;
    assert!(waited > 3, "the driver checks every tick");
    assert_eq!(host.done().interrupts, 0);
    let retries = host.take_trace().into_iter();
    let retries = retries.filter(|line| line.ends_with("selectofl")).count() as u64;
    assert!(
        retries == waited || retries == waited + 1,
        "{retries} in {waited} ticks"
    );
    host.set_deaf(3, false);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_cpu_that_leaves_in_any_phase_is_not_waited_for() {
    type At = fn(ExpPhase) -> bool;
    let phases: [At; 7] = [
        |phase| phase == ExpPhase::Fence,
        |phase| phase == ExpPhase::Reset(2),
        |phase| phase == ExpPhase::Reset(0),
        |phase| phase == ExpPhase::Select(1),
        |phase| matches!(phase, ExpPhase::Ask { leaf: 1, .. }),
        |phase| matches!(phase, ExpPhase::Asked { leaf: 1, .. }),
        |phase| phase == ExpPhase::Wait,
    ];
    for (i, at) in phases.into_iter().enumerate() {
        let mut host = machine(4, 2);
        host.set_ticking(3, true);
        let caller = host.expedite(0);
        in_phase(&mut host, caller, at);
        host.unregister(3);
        assert!(
            host.exp_drive(caller, 50),
            "phase {i}: {:?}",
            host.exp_doing(caller)
        );
    }
}

#[test]
fn a_cpu_that_comes_after_its_leaf_was_set_up_is_not_waited_for() {
    let mut host = machine(4, 2);
    host.unregister(3);
    let caller = host.expedite(0);
    host.exp_until(caller, |doing| doing == Doing::Drives(ExpNext::Again));
    in_phase(&mut host, caller, |phase| phase == ExpPhase::Select(0));
    assert_eq!(host.register(), 3);
    host.enter(3);
    assert!(host.exp_drive(caller, 50));
    assert_eq!(host.done().interrupts, 0);
}

#[test]
fn a_holdout_anywhere_in_one_to_four_levels_is_waited_for() {
    for (cpus, levels) in [(2, 1), (4, 2), (8, 3), (13, 4), (16, 4)] {
        for holdout in 0..cpus {
            let mut host = machine(cpus, 2);
            let tree = host.engine().tree().expect("a kernel has a tree");
            assert_eq!(tree.geometry().levels(), levels);
            host.enter(holdout);
            let caller = host.expedite((holdout + 1) % cpus);
            assert!(!host.exp_drive(caller, 200), "{cpus} CPUs, {holdout}");
            assert_eq!(holdouts(&host), [holdout]);
            assert_eq!(host.done().interrupts, 1);
            host.exit(holdout);
            assert!(host.exp_drive(caller, 200), "{cpus} CPUs, {holdout}");
        }
    }
}

#[test]
fn ticks_are_turned_on_once_after_a_tick_of_waiting() {
    let mut host = machine(2, 16);
    host.enter(1);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    assert_eq!(host.held_ticks(), 0);
    host.deliver_interrupts();
    assert!(!host.exp_drive(caller, 50));
    assert_eq!((host.held_ticks(), host.now().jiffies), (1, 4));
    host.exit(1);
    assert!(host.exp_drive(caller, 50));
    assert_eq!(host.held_ticks(), 1);
}

#[test]
fn a_late_interrupt_does_nothing() {
    let mut host = machine(2, 16);
    host.set_ticking(1, true);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    host.deliver_interrupts();
    assert!(host.exp_drive(caller, 50));
    host.enter(1);
    assert_eq!(host.interrupt(1), Handled::default());
    host.engine().check_expedited();
}

#[test]
fn the_trace_of_one_expedited_grace_period_reads_like_the_kernels() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    let caller = host.expedite(0);
    assert!(host.exp_drive(caller, 100));
    let events = [
        "snap",
        "start",
        "reset",
        "select",
        "startwait",
        "end",
        "endwake",
    ];
    let want: Vec<String> = events
        .iter()
        .map(|event| format!("rcu_exp_grace_period: rcu_preempt 4 {event}"))
        .collect();
    assert_eq!(host.take_trace(), want);
}

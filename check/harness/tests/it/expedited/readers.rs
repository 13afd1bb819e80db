//! Readers that block expedited grace periods: in a section, preempted, with something disabled.

use super::{asked, holdouts, in_phase, machine};
use quiescent_harness::host::{Doing, TestHost};
use quiescent_kernel::blocked::{Disabled, Later};
use quiescent_kernel::exp::{ExpPhase, Handled};

const HINT: Handled = Handled {
    resched: false,
    hint: true,
    wake_exp: false,
};

#[test]
fn a_reader_in_a_section_gets_a_hint_and_reports_at_its_outermost_unlock() {
    let mut host = machine(4, 2);
    host.enter(3);
    host.enter(3);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    assert_eq!(host.interrupt(3), HINT);
    host.exit(3);
    assert!(!host.exp_drive(caller, 50), "the outer section is open");
    host.exit(3);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_reader_that_left_before_the_interrupt_is_reported_by_it() {
    let mut host = machine(4, 2);
    host.set_ticking(3, true);
    host.enter(3);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    host.exit(3);
    assert_eq!(holdouts(&host), [3], "no interrupt had asked it to report");
    assert!(host.interrupt(3).wake_exp);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_newer_reader_is_not_waited_for() {
    let mut host = machine(4, 2);
    host.set_ticking(2, true);
    host.enter(3);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    host.deliver_interrupts();
    host.enter(2);
    assert_eq!(
        holdouts(&host),
        [3],
        "CPU 2 has reported, and its section is newer"
    );
    host.exit(3);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn a_preempted_reader_is_waited_for_and_no_cpu_is_interrupted() {
    for cpus in [1, 2, 4, 8, 13] {
        for cpu in 0..cpus {
            let mut host = machine(cpus, 2);
            host.enter(cpu);
            let task = host.preempt(cpu);
            let caller = host.expedite(0);
            assert!(
                !host.exp_drive(caller, 200),
                "{cpus} CPUs, preempted on {cpu}"
            );
            assert_eq!((holdouts(&host), host.done().interrupts), (vec![], 0));
            let other = (cpu + 1) % cpus;
            host.resume(task, other);
            host.exit(other);
            assert!(
                host.exp_drive(caller, 200),
                "{cpus} CPUs, preempted on {cpu}: {:?}",
                host.exp_doing(caller)
            );
        }
    }
}

#[test]
fn a_reader_preempted_in_any_phase_is_waited_for() {
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
        host.enter(3);
        let caller = host.expedite(0);
        in_phase(&mut host, caller, at);
        let task = host.preempt(3);
        assert!(!host.exp_drive(caller, 50), "phase {i}");
        host.resume(task, 2);
        host.exit(2);
        assert!(host.exp_drive(caller, 50), "phase {i}");
    }
}

#[test]
fn a_flagged_cpu_reports_when_its_reader_is_preempted_and_the_reader_holds_the_leaf() {
    let mut host = machine(4, 2);
    host.enter(3);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    assert_eq!(host.interrupt(3), HINT);
    let task = host.preempt(3);
    assert_eq!(holdouts(&host), [], "the CPU is free");
    assert!(!host.exp_drive(caller, 50));
    host.resume(task, 1);
    host.exit(1);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn an_older_reader_that_is_preempted_again_frees_its_cpu_again() {
    let mut host = machine(4, 2);
    host.enter(0);
    let task = host.preempt(0);
    host.resume(task, 3);
    let caller = host.expedite(1);
    asked(&mut host, caller);
    assert_eq!(host.interrupt(3), HINT);
    assert_eq!(host.preempt(3), task);
    assert_eq!(holdouts(&host), []);
    assert!(!host.exp_drive(caller, 50));
    host.resume(task, 2);
    host.exit(2);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn readers_that_a_cpu_left_behind_are_waited_for() {
    let mut host = machine(4, 2);
    host.enter(3);
    let task = host.preempt(3);
    host.unregister(2);
    host.unregister(3);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 50));
    host.resume(task, 0);
    host.exit(0);
    assert!(host.exp_drive(caller, 50));
}

#[test]
fn one_reader_holds_both_kinds_of_grace_period_and_releases_both() {
    let mut host = machine(4, 2);
    host.enter(3);
    let task = host.preempt(3);
    let ticket = host.wait_for_gp(0);
    let caller = host.expedite(1);
    host.drive(ticket, 100);
    assert!(!host.exp_drive(caller, 50) && !host.satisfied(ticket));
    host.resume(task, 3);
    host.exit(3);
    host.drive(ticket, 100);
    assert!(host.exp_drive(caller, 50) && host.satisfied(ticket));
}

#[test]
fn the_two_kinds_do_not_wait_for_each_others_readers() {
    let mut host = machine(4, 2);
    host.set_ticking(2, true);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 12);
    host.report(2);
    host.note(2);
    host.report(2);
    host.enter(2); // newer than the normal one, older than the expedited one
    let caller = host.expedite(1);
    assert!(!host.exp_drive(caller, 50));
    host.drive(ticket, 100);
    assert!(host.satisfied(ticket));
    assert!(!host.exp_drive(caller, 50));
    let task = host.preempt(2);
    assert!(!host.exp_drive(caller, 50));
    host.resume(task, 2);
    host.exit(2);
    assert!(host.exp_drive(caller, 50));
}

/// A reader on CPU 3. With `urgent`, an expedited grace period waits for it.
fn reading(urgent: bool) -> (TestHost, usize) {
    let mut host = machine(4, 2);
    host.enter(3);
    let caller = host.expedite(0);
    if urgent {
        asked(&mut host, caller);
        assert_eq!(host.interrupt(3), HINT);
    } else {
        let task = host.preempt(3);
        host.resume(task, 3);
    }
    (host, caller)
}

#[test]
fn an_unlock_with_something_disabled_is_left_for_later_and_seen_to() {
    let table = [
        (false, Disabled::Preemption, Later::Resched),
        (false, Disabled::Irqs, Later::Resched),
        (true, Disabled::Preemption, Later::Softirq),
        (true, Disabled::Irqs, Later::IrqWork),
    ];
    for (urgent, disabled, want) in table {
        let (mut host, caller) = reading(urgent);
        host.disable(3, disabled);
        host.exit(3);
        assert_eq!(host.left_for_later(), [(3, want)], "{urgent} {disabled:?}");
        assert!(!host.exp_drive(caller, 50), "{urgent} {disabled:?}");
        host.disable(3, Disabled::Nothing);
        assert!(host.exp_drive(caller, 50), "{urgent} {disabled:?}");
        assert_eq!(host.engine().queued_readers().count(), 0);
    }
}

#[test]
fn the_interrupt_to_oneself_is_posted_once() {
    let (mut host, caller) = reading(true);
    host.disable(3, Disabled::Irqs);
    for _ in 0..3 {
        host.exit(3);
        host.enter(3);
    }
    host.exit(3);
    let how: Vec<Later> = host.left_for_later().iter().map(|(_, how)| *how).collect();
    assert_eq!(how[0], Later::IrqWork);
    assert!(how.len() == 4 && how[1..].iter().all(|how| *how == Later::Pending));
    host.disable(3, Disabled::Nothing);
    assert!(host.exp_drive(caller, 50));
    // The next one is posted again.
    host.enter(3);
    let caller = host.expedite(0);
    asked(&mut host, caller);
    assert_eq!(host.interrupt(3), HINT);
    host.disable(3, Disabled::Irqs);
    host.exit(3);
    assert_eq!(host.left_for_later(), [(3, Later::IrqWork)]);
    host.disable(3, Disabled::Nothing);
    assert!(host.exp_drive(caller, 50));
    assert_eq!(host.exp_doing(caller), Doing::Returned);
}

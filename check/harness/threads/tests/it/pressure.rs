use quiescent_engine::Now;
use quiescent_engine::cpu::Cpu;
use quiescent_engine::cpu::LANES;
use quiescent_engine::credit::{Cause, Queued, Urgency};
use quiescent_harness_threads::TestHost;

const MS: u64 = 1_000_000;
/// The default settings.
const RATE: u64 = 100 * MS;

fn at(ns: u64) -> Now {
    Now { ns }
}

/// A machine, and a queue with `count` plain objects, queued lazily at one second.
fn holding(count: u64) -> (TestHost, Cpu) {
    let mut machine = TestHost::threads(2);
    let mut cpu = Cpu::new(1);
    let queued = [Queued {
        end: count,
        credit: true,
        ..Queued::default()
    }; LANES];
    let urgency = Urgency::Lazy;
    let refill = cpu.refill(machine.engine_mut(), &queued, urgency, at(1000 * MS));
    assert_eq!(refill.arm.is_some(), count > 0);
    (machine, cpu)
}

#[test]
fn pressure_takes_what_is_lazy_and_names_its_cause() {
    let (mut machine, mut cpu) = holding(3);
    let global = machine.engine_mut();
    let now = at(1001 * MS);
    assert_eq!(cpu.due(now, false), None, "lazy entries are not due");
    assert!(!global.take_pressure(now), "low memory was not reported");
    let low = global.memory_low(now);
    assert_eq!((low.kick, low.arm), (true, None));
    assert!(global.memory_is_said_low());
    assert!(global.take_pressure(now));
    assert_eq!(cpu.due(now, true), Some(Cause::Pressure));
    assert!(!global.busy());
    let queued = [Queued {
        end: 3,
        ..Queued::default()
    }; LANES];
    assert!(cpu.taken(global, &queued, Cause::Pressure, now));
    assert!(global.busy(), "a grace period is requested");
    assert_eq!(global.counts().flushes.of(Cause::Pressure), 1);
    assert_eq!((global.counts().pressure, cpu.due(now, true)), (1, None));
    assert!(!global.take_pressure(now), "once");
}

#[test]
fn under_pressure_an_empty_queue_without_credit_is_left_alone() {
    let (_, cpu) = holding(0);
    assert_eq!(cpu.due(at(u64::MAX), true), None);
}

#[test]
fn a_time_that_is_over_is_the_cause_also_under_pressure() {
    let (_, cpu) = holding(1);
    let deadline = cpu.deadline().expect("something is queued");
    assert_eq!(cpu.due(at(deadline), true), Some(Cause::Lazy));
    assert_eq!(cpu.due(at(deadline - 1), true), Some(Cause::Pressure));
}

#[test]
fn a_storm_of_pressure_is_acted_upon_once_in_its_time() {
    let (mut machine, _) = holding(1);
    let global = machine.engine_mut();
    let (start, mut kicks, mut taken) = (2000 * MS, 0, 0);
    // Reported every millisecond for a second; the worker runs when it is woken, and when the timer fires.
    for ms in 0..1000 {
        let now = at(start + ms * MS);
        let low = global.memory_low(now);
        kicks += u32::from(low.kick);
        let fires = global.armed().is_some_and(|armed| armed <= now.ns);
        if low.kick || fires {
            global.disarm();
            taken += u32::from(global.take_pressure(now));
            let _ = global.arm(u64::MAX);
        }
    }
    assert_eq!(taken, 10, "once in {RATE} ns");
    assert_eq!(kicks, 1, "after the first, the timer wakes the worker");
    assert_eq!(global.counts().pressure, 10);
}

#[test]
fn pressure_that_comes_too_soon_is_kept_for_its_time() {
    let (mut machine, _) = holding(1);
    let global = machine.engine_mut();
    let first = at(2000 * MS);
    assert!(global.memory_low(first).kick && global.take_pressure(first));
    let soon = at(2001 * MS);
    let low = global.memory_low(soon);
    assert_eq!((low.kick, low.arm), (false, Some(2000 * MS + RATE)));
    assert!(!global.take_pressure(soon));
    // A pass for another reason stops the timer, and sets it to the rest of the time: not later than before.
    global.disarm();
    assert_eq!(global.arm(9000 * MS), Some(2000 * MS + RATE));
    assert!(!global.take_pressure(at(2000 * MS + RATE - 1)));
    assert!(global.take_pressure(at(2000 * MS + RATE)));
    // After a pause a report is acted upon at once.
    assert!(global.memory_low(at(9000 * MS)).kick);
}

#[test]
fn pressure_is_forgotten_where_nothing_is_left() {
    let (mut machine, _) = holding(1);
    let global = machine.engine_mut();
    let now = at(2000 * MS);
    assert!(global.memory_low(now).kick && global.take_pressure(now));
    let _ = global.memory_low(now);
    global.calm();
    assert!(
        global.memory_is_said_low(),
        "a timer is set, so the state is known"
    );
    global.disarm();
    global.calm();
    assert!(!global.memory_is_said_low());
    assert_eq!(
        global.arm(9000 * MS),
        Some(9000 * MS),
        "and the entry is lazy"
    );
}

#[test]
fn pressure_does_not_cross_a_fork() {
    let (mut machine, _) = holding(1);
    let global = machine.engine_mut();
    let _ = global.memory_low(at(2000 * MS));
    global.forked();
    assert!(!global.memory_is_said_low() && !global.take_pressure(at(3000 * MS)));
    assert_eq!(global.armed(), None);
}

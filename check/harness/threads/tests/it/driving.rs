//! The thread host's policy in the test host: the driver's spins, flags, fences and sleeps.

use quiescent_engine::{Config, FenceCause, Global, Interest, Look, Next, Now, Pace, Phase, Wait};
use quiescent_harness_threads::{Done, TestHost};

const STALL: u64 = 1_000_000;

/// Few spins, so that a test can list each step.
fn config() -> Config {
    Config {
        pace: Pace {
            spin: 1,
            spins_before_flag: 2,
            spins_after_flag: 2,
            expedited_factor: 3,
            stall_ns: STALL,
        },
        ..Config::threads()
    }
}

/// The driver's requests, without the plain steps.
fn asked(host: &mut TestHost, max: u32) -> Vec<Next> {
    let mut list = Vec::new();
    for _ in 0..max {
        match host.step() {
            Next::Again => {}
            next => {
                list.push(next);
                if matches!(next, Next::Done | Next::HandOver | Next::Sleep(_)) {
                    break;
                }
            }
        }
    }
    list
}

const START: Next = Next::Fence(FenceCause::GpStart);
const FLAG: Next = Next::FlagHoldouts { arm: false };
const ARM: Next = Next::FlagHoldouts { arm: true };
const FENCE: Next = Next::Fence(FenceCause::Flag);
const SPIN: Next = Next::Spin(1);

fn waiter(host: &mut TestHost, cpu: u32) -> u64 {
    let ticket = host.wait_for_gp(cpu);
    assert!(host.try_drive(cpu, Interest::Waiter(ticket)));
    ticket
}

#[test]
fn a_sole_thread_needs_no_fence_and_no_scan_of_others() {
    let mut host = TestHost::threads(1);
    let ticket = host.wait_for_gp(0);
    host.drive(0, ticket, 50);
    assert!(host.satisfied(ticket));
    let counts = host.engine().counts();
    assert_eq!(
        (counts.grace_periods, counts.sole, host.done()),
        (1, 1, Done::default())
    );
}

#[test]
fn a_sole_thread_makes_one_call_and_only_a_sole_thread() {
    let mut host = TestHost::threads(1);
    assert!(host.sole_gp(0), "it needs no leaves");
    let steps = host.engine().counts().steps;
    let cookie = host.start_poll(0);
    assert!(host.sole_gp(0) && host.poll(cookie) && !host.engine().busy());
    let counts = host.engine().counts();
    assert_eq!((counts.grace_periods, counts.steps), (2, steps + 1));
    host.enter(0);
    assert!(!host.sole_gp(0), "its own section");
    host.exit(0);
    let second = host.register();
    assert!(!host.sole_gp(0) && !host.sole_gp(second));
    host.unregister(second);
    assert!(host.sole_gp(0));
    let ticket = host.wait_for_gp(0);
    assert!(!host.sole_gp(0), "another waiter");
    host.drive(0, ticket, 50);
    assert!(host.sole_gp(0));
    assert_eq!(host.done(), Done::default());
}

#[test]
fn one_thread_that_is_not_the_driver_needs_the_fence() {
    let mut host = TestHost::threads(2);
    host.unregister(0);
    // An unregistered thread waits; CPU 0 is free and does not represent it.
    let ticket = host.wait_for_gp(0);
    host.drive(0, ticket, 50);
    assert!(host.satisfied(ticket));
    assert_eq!((host.done().fences_gp, host.engine().counts().sole), (1, 0));
}

#[test]
fn without_a_waiter_nothing_happens() {
    let mut host = TestHost::threads(4);
    host.enter(1);
    host.exit(1);
    assert!(host.try_drive(0, Interest::Poller));
    assert_eq!(host.step(), Next::Done);
    assert_eq!(
        (host.engine().counts().scans, host.done()),
        (0, Done::default())
    );
}

#[test]
fn readers_outside_cost_one_fence_and_one_scan() {
    let mut host = TestHost::threads(3);
    for round in 1..4 {
        let ticket = host.wait_for_gp(0);
        host.drive(0, ticket, 50);
        assert!(host.satisfied(ticket));
        let fences = (host.done().fences_gp, host.done().fences_flag);
        assert_eq!(
            (fences, host.engine().counts().scans),
            ((round, 0), u64::from(round))
        );
    }
}

#[test]
fn the_driver_spins_flags_spins_fences_scans_and_sleeps() {
    let mut host = TestHost::threads_with(2, config());
    host.enter(1);
    let ticket = waiter(&mut host, 0);
    let until = Next::Sleep(STALL);
    let want = [
        Next::Grow(2),
        START,
        SPIN,
        SPIN,
        FLAG,
        SPIN,
        SPIN,
        ARM,
        FENCE,
        ARM,
        until,
    ];
    assert_eq!(asked(&mut host, 100), want);
    assert_eq!(
        host.engine().counts().scans,
        6,
        "one at first, one after each spin, one after the fence"
    );
    host.exit(1);
    assert_eq!(host.done().wakes, 1);
    assert_eq!(asked(&mut host, 100), [Next::Done]);
    assert!(host.satisfied(ticket));
}

#[test]
fn flags_still_set_from_before_need_no_further_fence() {
    let mut host = TestHost::threads_with(2, config());
    host.enter(1);
    let _ = waiter(&mut host, 0);
    let _ = asked(&mut host, 100);
    host.stray_wake();
    let until = Next::Sleep(STALL);
    assert_eq!(asked(&mut host, 100), [ARM, until], "nothing was newly set");
}

#[test]
fn a_flag_that_a_handler_cleared_is_set_again_and_fenced() {
    let mut host = TestHost::threads_with(2, config());
    host.enter(1);
    let _ = waiter(&mut host, 0);
    let _ = asked(&mut host, 100);
    // The section of a signal handler ends inside the other one and clears the flag. The test host's unlock
    // checks the flag at the outermost level only, so the flag is cleared by hand.
    host.clear_flag(1);
    host.stray_wake();
    let until = Next::Sleep(STALL);
    assert_eq!(asked(&mut host, 100), [ARM, FENCE, ARM, until]);
}

#[test]
fn an_unlock_between_flagging_and_sleeping_is_not_missed() {
    let mut host = TestHost::threads_with(2, config());
    host.enter(1);
    let ticket = waiter(&mut host, 0);
    assert!(host.run_until(Phase::Wait(Wait::Asleep), 100));
    host.exit(1);
    let _ = host.step();
    assert!(
        matches!(host.engine().phase(), Phase::Scan(_)),
        "woken before it slept"
    );
    let _ = asked(&mut host, 100);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_waiter_in_a_hurry_spins_longer() {
    let mut host = TestHost::threads_with(2, config());
    host.enter(1);
    let ticket = host.wait_for_gp_expedited(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    let list = asked(&mut host, 200);
    let spins = |until| {
        list.iter()
            .take_while(|&&n| n != until)
            .filter(|&&n| n == SPIN)
            .count()
    };
    assert_eq!((spins(FLAG), spins(ARM)), (6, 12));
}

#[test]
fn a_satisfied_driver_hands_over_to_one_who_waits() {
    let mut host = TestHost::threads(2);
    let first = waiter(&mut host, 0);
    assert!(host.run_until(Phase::Fence, 20));
    let second = host.wait_for_gp(1); // too late for this grace period
    assert_eq!(asked(&mut host, 50).last(), Some(&Next::HandOver));
    assert!(host.satisfied(first) && !host.satisfied(second));
    assert_eq!(host.leave(), Next::HandOver);
    host.drive(1, second, 50);
    assert!(host.satisfied(second));
    assert_eq!(host.engine().counts().grace_periods, 2);
}

#[test]
fn a_poller_satisfied_by_any_end_hands_over_too() {
    let mut host = TestHost::threads(2);
    let cookie = host.start_poll(0);
    assert!(host.try_drive(0, Interest::Poller));
    assert!(host.run_until(Phase::Fence, 20));
    let ticket = host.wait_for_gp(1);
    assert_eq!(asked(&mut host, 50).last(), Some(&Next::HandOver));
    assert!(host.poll(cookie) && !host.satisfied(ticket));
}

#[test]
fn a_poller_flags_the_holdouts_and_leaves() {
    {
        let mut host = TestHost::threads_with(2, config());
        host.enter(0);
        let cookie = host.start_poll(0);
        host.help(0, 100);
        assert_eq!(host.asked(), None, "it left by itself");
        assert!(!host.poll(cookie), "it is in a section itself");
        assert_eq!(host.done().sleeps, 0);
        // The next waiter continues there, and issues the fence that the poller left to it.
        let ticket = waiter(&mut host, 1);
        let list = asked(&mut host, 100);
        assert!(
            list.contains(&FENCE) && matches!(list.last(), Some(Next::Sleep(_))),
            "{list:?}"
        );
        let _ = host.leave();
        // A poller that continues a sleeper's grace period neither sleeps nor fences.
        let fences = host.done().fences_flag;
        host.help(0, 100);
        assert_eq!((host.asked(), host.done().fences_flag), (None, fences));
        host.exit(0);
        host.drive(1, ticket, 100);
        assert!(host.satisfied(ticket) && host.poll(cookie));
    }
}

#[test]
fn a_driver_may_leave_in_any_phase_and_another_resumes() {
    // As many steps as it takes until the sleep, and then until the end.
    for steps in 0..60 {
        let mut host = TestHost::threads_with(3, config());
        host.enter(2);
        let first = waiter(&mut host, 0);
        for _ in 0..steps {
            let _ = host.step();
        }
        let left_in = host.engine().phase();
        let _ = host.leave();
        let second = host.wait_for_gp(1);
        assert!(
            host.try_drive(1, Interest::Waiter(second)),
            "left in {left_in:?}"
        );
        let _ = asked(&mut host, 200);
        assert!(!host.satisfied(first), "left in {left_in:?}");
        host.exit(2);
        let list = asked(&mut host, 200);
        assert_eq!(list.last(), Some(&Next::Done), "left in {left_in:?}");
        assert!(host.satisfied(first) && host.satisfied(second));
    }
}

#[test]
fn leaves_grow_between_grace_periods_only_and_keeps_requests() {
    let mut host = TestHost::threads(2);
    let first = waiter(&mut host, 0);
    assert!(host.run_until(Phase::Fence, 20));
    let newcomer = (0..63).map(|_| host.register()).last().expect("63 of them");
    assert_eq!(newcomer, 64, "the first CPU of the second leaf");
    host.enter(newcomer);
    let small = host.engine().cpus();
    let leaves = Global::new_leaves(&Config::threads(), 100).expect("small");
    assert!(
        host.engine_mut().grow(leaves).is_err(),
        "a grace period is in flight"
    );
    let second = host.wait_for_gp(newcomer);
    let cookie = host.start_poll(newcomer);
    assert_eq!(
        asked(&mut host, 100).last(),
        Some(&Next::HandOver),
        "the newcomer is no holdout"
    );
    assert!(host.satisfied(first) && host.engine().cpus() == small);
    let _ = host.leave();
    host.drive(0, second, 3000);
    assert_eq!(
        (host.engine().cpus(), host.engine().holdouts().next()),
        (128, Some(newcomer))
    );
    host.exit(newcomer);
    host.drive(0, second, 3000);
    assert!(host.satisfied(second) && host.poll(cookie));
}

#[test]
fn a_slot_without_any_cpu_is_no_obstacle() {
    let mut host = TestHost::threads(1);
    host.unregister(0);
    let mut unregistered = Global::new(Config::threads());
    let ticket = unregistered.wait_for_gp(false);
    assert!(unregistered.try_drive(None, Interest::Waiter(ticket)));
    for _ in 0..20 {
        match unregistered.step(Now::default(), &Empty, 1) {
            Next::Grow(cpus) => {
                let leaves = Global::new_leaves(&Config::threads(), cpus);
                assert!(unregistered.grow(leaves.expect("small")).is_ok());
            }
            Next::Done => break,
            next => assert_eq!(next, Next::Again, "no thread takes part: no fence"),
        }
    }
    assert!(ticket < unregistered.waiters().done());
}

/// A host without a CPU.
struct Empty;

impl quiescent_engine::Host for Empty {
    fn cpus(&self) -> u32 {
        0
    }
    fn observe(&self, cpu: u32) -> quiescent_engine::Seen {
        panic!("CPU {cpu} never was")
    }
    fn present(&self, _leaf: usize) -> u64 {
        0
    }
}

#[test]
fn every_step_is_counted() {
    let mut host = TestHost::threads(2);
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    let (mut asked, mut steps) = (Next::Again, 0);
    for _ in 0..12 {
        // Every other answer is refused.
        steps += u64::from(matches!(asked, Next::Again | Next::Spin(_)));
        asked = host.step();
        assert_eq!(host.engine().counts().steps, steps, "{asked:?}");
    }
    assert!(steps > 2);
}

#[test]
fn cpus_are_never_turned_over() {
    let mut host = TestHost::threads(2);
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    while host.engine().phase() != Phase::Wait(Wait::Asleep) {
        let _ = host.step();
    }
    assert_eq!(host.engine().counts().turns, 0);
    assert_eq!(host.engine().holdouts().collect::<Vec<_>>(), [1]);
}

/// A driver that took the role from one that was in its fence has twice the time for its own, up to 64 times;
/// once one has returned in time, the next has as much as the first.
#[test]
fn who_takes_the_role_from_one_that_took_it_has_twice_the_time() {
    let mut host = TestHost::threads(3);
    let patience = host.engine().config().takeover_after_ns;
    waiter(&mut host, 0);
    while host.step() != START {}
    let ticket = host.wait_for_gp(1);
    let mut now = 1 << 40;
    let mut look = |host: &mut TestHost, times: u64| {
        let mut at = |now| {
            host.engine_mut()
                .take_over(Some(1), Interest::Waiter(ticket), now, false)
        };
        let due = now + times * patience;
        assert_eq!(at(now), Look::At(due));
        assert_eq!(at(due - 1), Look::At(due));
        assert_eq!(at(due), Look::TakenOver, "after {times} times the patience");
        now = due;
    };
    for times in [1, 2, 4, 8, 16, 32, 64, 64] {
        look(&mut host, times);
    }
    let _ = host.engine_mut().fenced();
    look(&mut host, 1);
}

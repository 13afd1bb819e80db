//! Calls of the engine, and a waiter's look at the role, without other threads.

use std::time::Duration;

use quiescent_engine::Interest;

use crate::domain::counters::LATE_NS;
use crate::domain::env::FenceTime;
use crate::domain::state::{Core, State};
use crate::domain::waiters::{Waiter, Wakes};
use crate::prim::MutexGuard;
use crate::prim::counters::value;
use crate::testing::program;

fn state() -> &'static State {
    program().domain().state()
}

/// A waiter looks at the role after `before` has happened. True if it found the role free, unasked.
fn finds_free(
    before: impl FnOnce(&'static State, &mut MutexGuard<'static, Core>, &Waiter),
) -> bool {
    let state = state();
    let mut core = state.lock();
    let waiter = Waiter::new(core.engine.wait_for_gp(false));
    before(state, &mut core, &waiter);
    let looked = state.wait_turn(core, &waiter, 0, None);
    let mut core = looked.ok().flatten().expect("the time to look has come");
    core.waiters.unlink(&waiter);
    assert!(!waiter.take_drive());
    value(&state.counters.found_free) != 0
}

#[test]
fn a_waiter_counts_a_role_that_it_finds_free() {
    assert!(finds_free(|_, _, _| ()));
    assert!(!finds_free(|_, core, _| assert!(
        core.engine.try_drive(None, Interest::Poller)
    )));
    let asked_to_drive = |_, core: &mut MutexGuard<'static, Core>, waiter: &Waiter| {
        // SAFETY: it does not move before it is unlinked.
        unsafe { core.waiters.link(waiter) };
        let mut wakes = Wakes::new();
        assert!(wakes.is_empty() && core.waiters.hand_over(&mut wakes) && !wakes.is_empty());
        assert_eq!(wakes.wake(), 1);
    };
    assert!(!finds_free(asked_to_drive));
    let satisfied =
        |state: &'static State, core: &mut MutexGuard<'static, Core>, waiter: &Waiter| {
            let unlocked = std::mem::replace(core, self::state().lock());
            state.drive_once(unlocked, None, Interest::Poller);
            *core = state.lock();
            assert!(waiter.ticket < core.engine.waiters().done() && !core.engine.is_driven());
        };
    assert!(!finds_free(satisfied));
}

#[test]
fn a_deadline_that_has_passed_is_cleared() {
    let mut core = state().lock();
    core.engine.arm(7);
    core.expire(6);
    assert_eq!(core.engine.armed(), Some(7));
    core.expire(7);
    assert_eq!(core.engine.armed(), None);
}

#[test]
fn the_engine_learns_how_long_deferred_fences_take() {
    let mut core = state().lock();
    let (took_ns, ended_ns) = (80, 1000);
    core.fence_ended(Some(FenceTime { took_ns, ended_ns }));
    core.fence_ended(None);
    assert_eq!(core.engine.fence_average_ns(), 80);
}

#[test]
fn a_report_of_low_memory_for_later_is_withdrawn_where_nothing_waits() {
    let mut core = state().lock();
    assert!(core.engine.memory_low(State::now(0)).kick && core.engine.take_pressure(State::now(1)));
    let low = core.engine.memory_low(State::now(2));
    assert!(!low.kick && core.engine.memory_is_said_low());
    core.engine.arm(9);
    core.engine.calm();
    assert!(core.engine.memory_is_said_low(), "a deadline is left");
    core.engine.disarm();
    core.engine.calm();
    assert!(!core.engine.memory_is_said_low());
}

/// What becomes of a waiter whose deadline is over: true if the next one is asked to drive in its place.
fn leaves(before: impl FnOnce(&'static State, &mut MutexGuard<'static, Core>)) -> (bool, bool) {
    let state = state();
    let mut core = state.lock();
    let [first, second] = [(); 2].map(|()| {
        let ticket = core.engine.wait_for_gp(false);
        Waiter::new(ticket)
    });
    for waiter in [&first, &second] {
        // SAFETY: they do not move before they are unlinked.
        unsafe { core.waiters.link(waiter) };
    }
    before(state, &mut core);
    let end = state.wait_turn(core, &first, u64::MAX, Some(0));
    let mut core = state.lock();
    let asked = second.take_drive();
    core.waiters.unlink(&first);
    core.waiters.unlink(&second);
    (end.is_ok_and(|core| core.is_none()), asked)
}

#[test]
fn a_waiter_that_gives_up_passes_a_request_to_drive_on() {
    let ask = |core: &mut MutexGuard<'static, Core>| {
        let mut wakes = Wakes::new();
        assert!(core.waiters.hand_over(&mut wakes) && wakes.wake() == 1);
    };
    assert_eq!(leaves(|_, _| ()), (false, false));
    assert_eq!(leaves(|_, core| ask(core)), (false, true));
    let driven = |_, core: &mut MutexGuard<'static, Core>| {
        ask(core);
        assert!(core.engine.try_drive(None, Interest::Poller));
    };
    assert_eq!(leaves(driven), (false, false));
    let satisfied = |state: &'static State, core: &mut MutexGuard<'static, Core>| {
        let unlocked = std::mem::replace(core, self::state().lock());
        state.drive_once(unlocked, None, Interest::Poller);
        *core = state.lock();
    };
    assert_eq!(leaves(satisfied), (true, false));
}

#[test]
fn a_waiter_that_is_done_returns() {
    let state = state();
    let mut core = state.lock();
    let waiter = Waiter::new(core.engine.wait_for_gp(false));
    // SAFETY: it does not move before it is out.
    unsafe { core.waiters.link(&waiter) };
    let mut wakes = Wakes::new();
    assert!(!core.waiters.finish(waiter.ticket + 1, &mut wakes));
    let end = state.wait_turn(core, &waiter, u64::MAX, None);
    assert!(end.is_ok_and(|core| core.is_none()));
}

/// A waiter of a domain that is asked to drive, and woken `later`: how often the process counts it as late.
fn late_when_woken(later: Duration) -> u64 {
    let program = program();
    let state = program.domain().state();
    let waits = std::thread::spawn(move || {
        let mut core = state.lock();
        let waiter = Waiter::new(core.engine.wait_for_gp(false));
        let asked = state.wait_turn(core, &waiter, u64::MAX, None);
        let mut core = asked.ok().flatten().expect("asked to drive");
        core.waiters.unlink(&waiter);
    });
    let mut wakes = Wakes::new();
    while !state.lock().waiters.hand_over(&mut wakes) {
        std::thread::yield_now();
    }
    std::thread::sleep(later);
    assert_eq!(wakes.wake(), 1);
    waits.join().expect("no panic");
    value(&program.env.state.counters.late_wakeups)
}

/// (It may find itself asked before it sleeps, and it may get no processor: hence the tries.)
#[test]
fn a_waiter_that_is_woken_late_counts_for_the_process() {
    let late = Duration::from_nanos(2 * LATE_NS);
    assert!((0..20).any(|_| late_when_woken(late) == 1));
    assert!((0..20).any(|_| late_when_woken(Duration::ZERO) == 0));
}

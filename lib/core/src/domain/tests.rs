//! A domain as a whole, without other threads: the test is the worker.

use crate::domain::settings::{INLINE, Runner};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use quiescent_engine::credit::{Cause, Urgency};
use quiescent_engine::{Interest, Lane};

use crate::domain::driver::How;
use crate::domain::error::SyncError;
use crate::domain::pass::PASSES;
use crate::domain::run::turn_of_overflow;
use crate::domain::sections::EXIT_ROUNDS;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::sweep::Until;
use crate::os::{NO_MEMORY, NO_SUCH_CALL};
use crate::prim::counters::value;
use crate::prim::{self, Ordering};
use crate::queue::kind::{CODE, PLAIN};
use crate::queue::meter::SRCUS;
use crate::reader::set::DomainReaders;
use crate::testing::{Program, closure, counter, counting, memory, program};

/// A domain of a new program, which has a state.
fn domain() -> (&'static Program, &'static State) {
    let program = program();
    (program, program.domain().state())
}

fn calls(program: &Program) -> u32 {
    program.asked.worker.swap(0, Relaxed)
}

/// A callback of which another one is queued: each counts its run.
fn twice(state: &'static State, runs: &'static AtomicU32) {
    let run = closure(move || {
        runs.fetch_add(1, Relaxed);
        state.put(CODE, counting(runs), Urgency::Hurry);
    });
    state.put(CODE, run, Urgency::Lazy);
}

#[test]
fn emptying_runs_what_was_there_and_leaves_the_rest_to_the_worker() {
    let (program, state) = domain();
    let runs = counter();
    (0..3).for_each(|_| twice(state, runs));
    state.put(PLAIN, memory(), Urgency::Lazy);
    calls(program);
    state.empty();
    assert_eq!((runs.load(Relaxed), state.held().0), (3, 3));
    assert!(calls(program) > 0);
    let program = self::program();
    let state = program.domain().state();
    state.put(CODE, counting(runs), Urgency::Lazy);
    calls(program);
    state.empty();
    assert_eq!((runs.load(Relaxed), state.held().0), (4, 0));
    assert_eq!(
        (calls(program), state.called.load(Ordering::Relaxed)),
        (0, 0)
    );
}

#[test]
fn a_domain_that_holds_nothing_is_not_handed_over() {
    let program = program();
    for held in [0, 2] {
        let domain = program.domain();
        let state = domain.state();
        let runs = counter();
        (0..held).for_each(|_| state.put(CODE, counting(runs), Urgency::Lazy));
        domain.drop_handle();
        let home = &program.env.state;
        assert_eq!(home.held().0, u64::from(held > 0));
        home.drain(Until { deadline: None });
        assert_eq!((runs.load(Relaxed), state.held().0), (held, 0));
    }
}

/// A call of the program, in a callback that has cost its worker the role: it is obeyed all the same.
#[test]
fn freeing_now_works_in_a_worker_that_was_replaced_and_past_readers() {
    let (program, state) = domain();
    let DomainReaders::Counted(counted) = &state.domain().readers else {
        unreachable!("made so")
    };
    let section = program.enter(counted); // whose references are gone
    let runs = counter();
    program.asked.dismissed_at.store(1, Relaxed);
    let free = |code: &[Lane]| {
        state.put(CODE, counting(runs), Urgency::Lazy);
        state.put(PLAIN, memory(), Urgency::Lazy);
        let before = runs.load(Relaxed);
        state.called.store(0, Ordering::Relaxed);
        // SAFETY: these objects have no readers.
        let freed = unsafe { state.free_now(code, false) };
        let called = state.called.load(Ordering::Relaxed);
        (freed, runs.load(Relaxed) - before, state.held().0, called)
    };
    assert_eq!(free(&Lane::CODE), (2, 1, 0, 0));
    assert_eq!(free(&[Lane::Own]), (1, 0, 1, 1), "the rest is the worker's");
    let _ = program.leave(counted, section);
}

#[test]
fn changed_settings_call_the_worker_only_where_it_has_work() {
    let (_, state) = domain();
    let called = || state.called.swap(0, Ordering::Relaxed) != 0;
    for (interested, holds, look) in [(0, 0, true), (1, 0, false), (0, 1, false), (0, 1, true)] {
        state.interested.store(interested, Ordering::Relaxed);
        (0..holds).for_each(|_| state.put(PLAIN, memory(), Urgency::Lazy));
        called();
        state.settings_changed(look);
        let has_work = interested != 0 || (look && state.held().0 > 0);
        assert_eq!(called(), has_work, "{interested} {holds} {look}");
    }
}

#[test]
fn a_thread_that_ends_in_a_section_is_waited_for_some_rounds() {
    let program = program();
    let section = program.lock();
    let slot = program.env.own_slot().expect("registered");
    let rounds = (1..).find(|_| program.env.leave_thread(slot));
    assert_eq!(rounds, Some(EXIT_ROUNDS));
    program.unlock(section);
}

/// The test's worker is not called by pushes, so that its own calls show.
fn alone() -> (&'static Program, &'static State) {
    let (program, state) = domain();
    program.asked.has_no_worker.store(1, Relaxed);
    (program, state)
}

#[test]
fn the_worker_processes_what_its_callbacks_queue_in_the_same_call() {
    let (program, state) = alone();
    let runs = counter();
    twice(state, runs);
    state.call();
    program.env.look_after([state].into_iter());
    assert_eq!(runs.load(Relaxed), 0, "lazy: not due");
    state.put(CODE, counting(runs), Urgency::Hurry);
    state.call();
    program.env.look_after([state].into_iter());
    assert_eq!((runs.load(Relaxed), state.held().0), (3, 0));
    assert_eq!(state.called.load(Ordering::Relaxed), 0);
}

/// A callback that queues itself forever.
fn forever(state: &'static State, runs: &'static AtomicU32) {
    let run = closure(move || {
        runs.fetch_add(1, Relaxed);
        forever(state, runs);
    });
    state.put(CODE, run, Urgency::Hurry);
}

#[test]
fn a_domain_with_endless_work_gets_so_many_passes_and_another_call() {
    let (program, state) = alone();
    let other = program.domain().state();
    let (runs, others) = (counter(), counter());
    forever(state, runs);
    other.put(CODE, counting(others), Urgency::Hurry);
    [state, other].iter().for_each(|state| state.call());
    program.env.look_after([state, other].into_iter());
    assert_eq!((runs.load(Relaxed), others.load(Relaxed)), (PASSES, 1));
    let called = [state, other].map(|state| state.called.load(Ordering::Relaxed));
    assert_eq!(called, [1, 0]);
    assert_eq!(state.held().0, 1);
}

#[test]
fn a_worker_that_was_replaced_touches_nothing_more() {
    let (program, state) = alone();
    let other = program.domain().state();
    let runs = counter();
    for state in [state, other] {
        (0..2).for_each(|_| state.put(CODE, counting(runs), Urgency::Hurry));
        state.call();
    }
    program.asked.dismissed_at.store(1, Relaxed);
    program.env.look_after([state, other].into_iter());
    assert_eq!(runs.load(Relaxed), 1);
    program.asked.dismissed_at.store(0, Relaxed);
    [state, other].iter().for_each(|state| state.call());
    program.env.look_after([state, other].into_iter());
    assert_eq!(runs.load(Relaxed), 4);
}

#[test]
fn a_failure_that_may_pass_is_tried_again_later() {
    let (_, state) = domain();
    let before = prim::now_ns();
    let retry = state.give_up(&SyncError::FenceRefused { errno: NO_MEMORY });
    assert!(retry.is_some_and(|at| at > before));
    assert_eq!(state.refusal(), None);
    let error = SyncError::FenceRefused {
        errno: NO_SUCH_CALL,
    };
    assert_eq!(state.give_up(&error), None);
    assert_eq!(state.refusal(), Some(error));
}

#[test]
fn deadlines_are_armed_unless_they_have_passed() {
    let (_, state) = domain();
    state.put(CODE, counting(counter()), Urgency::Lazy);
    let armed = || state.lock().engine.armed();
    state.rearm(true);
    assert_eq!(armed(), None);
    state.rearm(false);
    assert!(armed().is_some());
    state.empty();
    assert_eq!(armed(), None);
}

/// A program that drains is informed once a pass has found something for it.
#[test]
fn a_program_that_drains_learns_that_code_is_ready() {
    let (program, state) = alone();
    let runs = counter();
    let pass = || {
        state.put(CODE, counting(runs), Urgency::Hurry);
        state.call();
        program.env.look_after([state].into_iter());
        program.asked.ready.swap(0, Relaxed)
    };
    assert_eq!((pass(), runs.load(Relaxed)), (0, 1));
    state.domain().set(|it| it.set_closures(Runner::Drained));
    assert!(pass() > 0 && runs.load(Relaxed) == 1);
    state.drain(Until { deadline: None });
    assert_eq!(runs.load(Relaxed), 2);
}

/// What a reader blocks is left to the worker.
#[test]
fn emptying_waits_for_no_reader() {
    let (program, state) = domain();
    let DomainReaders::Counted(counted) = &state.domain().readers else {
        unreachable!("made so")
    };
    let runs = counter();
    state.put(CODE, counting(runs), Urgency::Lazy);
    let section = program.enter(counted);
    calls(program);
    state.empty();
    assert_eq!((runs.load(Relaxed), state.held().0), (0, 1));
    assert_eq!(
        (calls(program), state.called.load(Ordering::Relaxed)),
        (1, 1)
    );
    let _ = program.leave(counted, section);
    state.empty();
    assert_eq!((runs.load(Relaxed), calls(program)), (1, 0));
}

/// What the overflow worker is at is not the program's.
#[test]
fn code_in_a_turn_of_another_worker_is_not_reported() {
    let (program, state) = alone();
    let runs = counter();
    state.put(CODE, counting(runs), Urgency::Hurry);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    let queue = state.own_queue_or_new().expect("memory");
    let other = turn_of_overflow(1);
    {
        let mut core = queue.lock();
        core.cpu.advance(&state.lock().engine);
        assert!(core.cpu.take_turn(&mut state.lock().engine, other));
    }
    state.call();
    program.env.look_after([state].into_iter());
    assert_eq!((runs.load(Relaxed), program.reports().len()), (0, 0));
    assert!(state.code_is_ready());
    program.env.end_turns(other);
    state.call();
    program.env.look_after([state].into_iter());
    assert_eq!(runs.load(Relaxed), 1);
}

/// Where the caller cannot wait, the worker goes on; where there is none, the next thread that queues tries
/// to start one.
#[test]
fn what_a_drain_leaves_is_the_workers() {
    for (has_no_worker, called) in [(0, 1), (1, 1)] {
        let (program, state) = domain();
        program.asked.has_no_worker.store(has_no_worker, Relaxed);
        let runs = counter();
        state.put(CODE, counting(runs), Urgency::Lazy);
        calls(program);
        let section = program.lock();
        assert_eq!(state.drain(Until { deadline: None }), 0);
        program.unlock(section);
        assert_eq!(
            (calls(program), state.called.load(Ordering::Relaxed)),
            (1, called)
        );
        assert_eq!(state.drain(Until { deadline: None }), 1);
        assert_eq!((calls(program), runs.load(Relaxed)), (0, 1));
    }
}

/// The blocks of the process's domain stay: it is used often.
#[test]
fn a_pass_frees_blocks_of_domains_of_the_program() {
    let (program, state) = alone();
    for (state, stay) in [(state, false), (&program.env.state, true)] {
        state.put(CODE, counting(counter()), Urgency::Hurry);
        state.call();
        program.env.look_after([state].into_iter());
        let queue = state.own_queue_or_new().expect("memory");
        let block = queue.lanes[CODE].block.load(Ordering::Relaxed);
        assert_eq!((block != queue.nothing(), state.held().0), (stay, 0));
    }
}

#[test]
fn settings_reach_the_state() {
    let (program, state) = domain();
    state.domain().set(|it| it.set_closures(Runner::Owner));
    assert!(state.has(INLINE));
    state.domain().set(|it| it.set_closures(Runner::Worker));
    assert!(!state.has(INLINE));
    (0..5).for_each(|_| state.put(CODE, counting(counter()), Urgency::Lazy));
    let mut settings = Settings::new(&State::config(), 0);
    assert!(!state.apply(&settings));
    settings.budget_count = 2;
    assert!(state.apply(&settings), "the budget is used up");
    let places = [(); 3].map(|()| program.domain().place);
    assert_eq!(places, [1, 2, 3].map(|n| SRCUS + n));
}

#[test]
fn a_domain_is_due_when_it_was_called_or_its_time_has_come() {
    let (program, state) = domain();
    let passes = || {
        program.env.look_after([state].into_iter());
        value(&state.counters.worker_passes)
    };
    assert_eq!(passes(), 0);
    state.call();
    assert_eq!([passes(), passes()], [1, 1]);
    state.look_at.store(1, Ordering::Relaxed);
    assert_eq!(passes(), 2);
    state.lock().engine.arm(1);
    assert_eq!([passes(), passes()], [3, 3]);
}

#[test]
fn the_worker_drives_what_was_taken_over() {
    let (program, state) = alone();
    let runs = counter();
    state.put(CODE, counting(runs), Urgency::Lazy);
    let swept = state.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
    assert_eq!((swept, state.taken_waits()), (Ok(()), true));
    state.call();
    program.env.look_after([state].into_iter());
    assert_eq!(runs.load(Relaxed), 1);
}

#[test]
fn any_number_of_domains_is_processed_in_one_call() {
    let program = program();
    let runs = counter();
    let number = 2 * prim::TOGETHER + 1;
    let states: Vec<_> = (0..number).map(|_| program.domain().state()).collect();
    for state in &states {
        state.put(CODE, counting(runs), Urgency::Hurry);
        state.call();
    }
    program.env.look_after(states.into_iter());
    assert_eq!(runs.load(Relaxed) as usize, number);
}

/// The worker looks again when a driver that another thread seems to be may have stopped, or when a report is
/// due.
#[test]
fn a_worker_that_cannot_go_on_looks_again() {
    let (program, state) = alone();
    let look_at = || state.look_at.load(Ordering::Relaxed);
    state.domain().set(|it| it.stall_ns = 0);
    state.put(CODE, counting(counter()), Urgency::Lazy);
    let swept = state.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
    assert_eq!(swept, Ok(()));
    state.rest_until(false, None);
    assert_eq!(look_at(), 0);
    let _ = state.start_poll();
    assert!(state.lock().engine.try_drive(None, Interest::Poller));
    state.call();
    program.env.look_after([state].into_iter());
    assert!(look_at() > 0);
    let before = prim::now_ns();
    state.domain().set(|it| it.stall_ns = 3_600_000_000_000);
    state.rest_until(false, None);
    assert!(look_at() >= before + 3_600_000_000_000);
    state.rest_until(true, None);
    assert_eq!(look_at(), 0, "it is blocked");
}

#[test]
fn readers_that_block_are_flagged_until_the_last_has_left() {
    let (program, state) = domain();
    let DomainReaders::Counted(counted) = &state.domain().readers else {
        unreachable!("made so")
    };
    let section = program.enter(counted);
    assert_eq!(state.flagged(), 0);
    let _ = state.start_poll();
    state.drive_once(state.lock(), None, Interest::Poller);
    assert!(state.flagged() > 1 && counted.is_flagged(section));
    state.may_be_empty(counted, section);
    assert!(counted.is_flagged(section), "one is left");
    assert!(program.leave(counted, section));
    state.may_be_empty(counted, section);
    assert!(!counted.is_flagged(section));
}

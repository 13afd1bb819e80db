//! Running what was queued, without other threads: what runs, where, how much of it, and what is asked for.

mod own;

use crate::domain::settings::Runner;
use std::collections::HashSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use quiescent_engine::credit::{Cause, Urgency};
use quiescent_engine::pool::TurnId;
use quiescent_engine::{Interest, Lane};

use crate::domain::driver::How;
use crate::domain::enqueue;
use crate::domain::error::Refusal;
use crate::domain::report::Report;
use crate::domain::run::{turn_of_overflow, turn_of_worker};
use crate::domain::state::{OVER_BUDGET, State, TASKS_WAIT};
use crate::domain::sweep::{Sweep, Until};
use crate::prim::Ordering;
use crate::prim::counters::value;
use crate::queue::kind::{CODE, OWN, PLAIN};
use crate::queue::per_thread::Queue;
use crate::testing::{Program, closure, counter, counting, memory, program};

const ALWAYS: Until = Until { deadline: None };

fn home() -> (&'static Program, &'static State) {
    let program = program();
    (program, &program.env.state)
}

/// A queue with done items not yet taken: so many values that workers run, so many of their owner's,
/// and so many intrusive ones. Each counts its run.
fn done(state: &'static State, numbers: [usize; 3]) -> (&'static Queue, &'static AtomicU32) {
    let runs = counter();
    let [code, own, heads] = numbers;
    state.domain().set(|it| it.set_destructors(Runner::Worker));
    (0..code).for_each(|_| state.put(CODE, counting(runs), Urgency::Hurry));
    (0..own).for_each(|_| state.put(OWN, counting(runs), Urgency::Hurry));
    (0..heads).for_each(|_| state.put_head(runs, Urgency::Hurry));
    take_all(state);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    assert_eq!(runs.load(Relaxed), 0);
    (state.own_queue_or_new().expect("memory"), runs)
}

fn take_all(state: &'static State) {
    let swept = state.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
    assert_eq!(swept, Ok(()));
}

#[test]
fn a_turn_runs_each_kind_of_code_and_says_how_many() {
    let (_, state) = home();
    let (queue, runs) = done(state, [2, 3, 4]);
    let turn = TurnId::MIN;
    assert_eq!(state.run_turn(queue, turn, ALWAYS), 9);
    assert_eq!(runs.load(Relaxed), 9);
    assert_eq!(queue.lock().cpu.turn(), None);
    assert_eq!(state.run_turn(queue, turn, ALWAYS), 0);
    let (queue, _) = done(state, [1, 0, 0]);
    let inside = || assert_eq!(state.run_turn(queue, turn, ALWAYS), 0);
    state.env().marked(inside);
    let mut core = queue.lock();
    assert!(core.cpu.take_turn(&mut state.lock().engine, turn));
    drop(core);
    let other = turn.saturating_add(1);
    assert_eq!(
        state.run_turn(queue, other, ALWAYS),
        0,
        "another worker has it"
    );
    state.env().end_turns(other);
    assert_eq!(queue.lock().cpu.turn(), Some(turn));
    state.env().end_turns(turn);
    assert_eq!(state.run_turn(queue, other, ALWAYS), 1);
}

#[test]
fn no_more_runs_than_asked_for() {
    let (_, state) = home();
    let (queue, runs) = done(state, [3, 0, 3]);
    assert_eq!(state.run_code(queue, Lane::Head, 2, ALWAYS), 2);
    assert_eq!(state.run_code(queue, Lane::Code, 1, ALWAYS), 1);
    assert_eq!(runs.load(Relaxed), 3);
    assert_eq!(state.run_left(2, ALWAYS), 2);
    assert_eq!(runs.load(Relaxed), 5);
    assert_eq!(state.run_some(9, ALWAYS), 1);
    assert_eq!(state.held(), (0, 0));
}

#[test]
fn code_is_ready_only_where_some_is() {
    let (program, state) = home();
    assert!(!state.code_is_ready());
    state.put(PLAIN, memory(), Urgency::Lazy);
    assert!(!state.code_is_ready(), "memory");
    done(state, [1, 0, 0]);
    take_all(state);
    state.run_some(0, ALWAYS);
    assert!(state.code_is_ready());
    program.env.marked(|| {
        state.run_some(9, ALWAYS);
        assert!(state.code_is_ready(), "inside a callback none runs");
    });
    state.run_some(9, ALWAYS);
    assert!(!state.code_is_ready());
}

/// A domain whose overflow worker is called with four that are done, and rests with one.
fn with_few_untended(program: &'static Program) -> &'static State {
    let domain = program.domain();
    let mut config = State::config();
    (config.pool.above, config.pool.below) = (3, 2);
    let state = State::leak_with(domain, config);
    let place = std::ptr::from_ref(state).cast_mut();
    domain.state.store(place, Ordering::Release);
    state
}

#[test]
fn the_overflow_worker_is_called_once_and_runs_what_is_there() {
    let program = program();
    let state = with_few_untended(program);
    let (_, runs) = done(state, [3, 0, 0]);
    assert_eq!(state.run_some(0, ALWAYS), 0);
    state.put(CODE, counting(runs), Urgency::Lazy);
    assert_eq!(program.asked.overflow.load(Relaxed), 0);
    let (_, others) = done(state, [1, 0, 0]);
    state.put(CODE, counting(runs), Urgency::Lazy);
    assert_eq!(program.asked.overflow.load(Relaxed), 1);
    state.called.store(0, Ordering::Relaxed);
    program.env.relieve(TurnId::MIN);
    assert_eq!((runs.load(Relaxed), others.load(Relaxed)), (4, 1));
    assert_eq!(
        state.called.load(Ordering::Relaxed),
        1,
        "the worker goes on"
    );
    assert!(!state.lock().engine.overflow_is_on_duty());
    program.env.relieve(TurnId::MIN); // nothing has called
    assert_eq!(runs.load(Relaxed), 4);
}

/// It visits all queues before it rests, although it finds nothing in the first one.
#[test]
fn an_overflow_worker_with_little_to_do_visits_all_queues() {
    let state = with_few_untended(program());
    let (_, runs) = done(state, [4, 0, 0]);
    state.run_some(0, ALWAYS);
    state.put(CODE, counting(runs), Urgency::Lazy);
    assert!(state.lock().engine.overflow_is_on_duty());
    assert_eq!(state.run_some(4, ALWAYS), 4);
    assert_eq!(state.shared.lock().cpu.ready_code(), 0);
    take_all(state);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    state.relieve(TurnId::MIN);
    assert_eq!(runs.load(Relaxed), 5);
}

/// What becomes ready while it runs, it runs as well, if it is enough.
#[test]
fn an_overflow_worker_goes_on_while_there_is_much() {
    let state = with_few_untended(program());
    let runs = counter();
    let more = closure(move || {
        (0..3).for_each(|_| state.put(CODE, counting(runs), Urgency::Hurry));
        take_all(state);
        state.drive_once(
            state.lock(),
            state.own_cpu(&state.env().local()),
            Interest::Poller,
        );
        state.run_some(0, ALWAYS); // notices that they are done
    });
    state.put(CODE, more, Urgency::Hurry);
    take_all(state);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    state.relieve(TurnId::MIN);
    assert_eq!(runs.load(Relaxed), 3);
}

#[test]
fn an_owner_frees_what_is_done_and_says_how_many() {
    let (_, state) = home();
    (0..7).for_each(|_| state.put(PLAIN, memory(), Urgency::Lazy));
    assert_eq!(state.synchronize(How::default()), Ok(()));
    let now = Until { deadline: Some(0) };
    assert_eq!(state.free_own(u64::MAX, now), 0);
    assert_eq!(state.held().0, 7);
    assert_eq!(state.free_own(u64::MAX, ALWAYS), 7);
    take_all(state);
    assert_eq!(state.held(), (0, 0));
}

#[test]
fn a_thread_yields_only_where_it_may_be_waited_for() {
    let (program, state) = home();
    let yields = || value(&state.counters.gave_way);
    state.give_way();
    state.put(CODE, counting(counter()), Urgency::Lazy);
    assert_eq!(yields(), 1);
    let section = program.lock();
    state.give_way();
    assert_eq!(yields(), 1, "not inside");
    program.unlock(section);
    assert_eq!(yields(), 2, "but at its end");
    program.env.marked(|| state.give_way());
    assert_eq!(yields(), 2);
    state
        .domain()
        .set(|it| (it.budget_bytes, it.budget_count) = (u64::MAX, 2));
    let runs = counter();
    (0..5).for_each(|_| state.put(CODE, counting(runs), Urgency::Lazy));
    let before = yields();
    assert!(before > 1, "past the budget");
    assert!(state.try_deliver(CODE, counting(runs), 64).is_err());
    assert_eq!(yields(), before, "a call that may be refused does not");
}

#[test]
fn each_report_is_delivered_once() {
    let (program, state) = home();
    let delivered = || {
        let begun = program.asked.begun.swap(0, Relaxed);
        state.deliver_reports();
        let wakers = program.asked.begun.swap(0, Relaxed);
        assert_eq!(begun, 0);
        (wakers, program.reports().len())
    };
    assert_eq!(delivered(), (0, 0));
    state.request_report(TASKS_WAIT);
    assert_eq!(delivered(), (1, 0));
    state.request_report(OVER_BUDGET);
    assert_eq!(
        delivered(),
        (0, 0),
        "the parent's, in the child of a fork: nothing is known of it"
    );
    state
        .domain()
        .set(|it| (it.budget_bytes, it.budget_count) = (u64::MAX, 0));
    (0..2).for_each(|_| state.put(PLAIN, memory(), Urgency::Lazy));
    assert_eq!(delivered(), (0, 1));
    assert_eq!(delivered(), (0, 0));
    assert!(program.asked.worker.load(Relaxed) > 2);
}

/// What reports and refusals say was true when the budget was exceeded, or the entry refused.
#[test]
fn a_report_has_the_amount_that_exceeded_the_budget() {
    let (program, state) = home();
    state
        .domain()
        .set(|it| (it.budget_bytes, it.budget_count) = (u64::MAX, 3));
    (0..4).for_each(|_| state.put(CODE, counting(counter()), Urgency::Lazy));
    let full = state.lock().fullness();
    assert_eq!((full.held_callbacks, full.budget_callbacks), (4, 3));
    state.put(CODE, counting(counter()), Urgency::Lazy);
    let refused = state.try_deliver(CODE, counting(counter()), 64);
    assert!(matches!(refused, Err(Refusal::Full(said)) if said.held_callbacks == 5));
    // The worker comes late.
    state.drain(ALWAYS);
    state
        .domain()
        .set(|it| (it.budget_bytes, it.budget_count) = (u64::MAX, u64::MAX));
    assert_eq!(state.held(), (0, 0));
    state.deliver_reports();
    let reports = program.reports();
    assert!(
        matches!(reports[..], [Report::OverBudget { full: said, .. }] if said == full),
        "{reports:?}"
    );
}

#[test]
#[cfg(debug_assertions)]
fn a_destructor_is_slow_beyond_the_limit() {
    let (program, state) = home();
    state.put(OWN, counting(counter()), Urgency::Lazy);
    let queue = state.own_queue_or_new().expect("memory");
    for (ns, number) in [(super::SLOW_NS, 0), (super::SLOW_NS + 1, 1)] {
        super::report_if_slow(queue, counting(counter()), ns);
        let reports = program.reports();
        assert_eq!(reports.len(), number, "{reports:?}");
        assert!(reports.iter().all(
            |news| matches!(news, Report::Slow { took, .. } if took.as_nanos() == u128::from(ns))
        ));
    }
}

#[test]
fn with_one_worker_there_is_no_overflow_worker() {
    let program = program();
    let state = with_few_untended(program);
    state.lock().engine.set_workers(1);
    let (_, runs) = done(state, [9, 0, 0]);
    state.run_some(0, ALWAYS);
    state.put(CODE, counting(runs), Urgency::Lazy);
    assert_eq!(program.asked.overflow.load(Relaxed), 0);
}

/// Two queues with done code: that of a thread that has ended, and the test's own.
fn two_queues(numbers: [usize; 2]) -> (&'static State, &'static AtomicU32) {
    let (_, state) = home();
    let runs = counter();
    let put =
        move |number| (0..number).for_each(|_| state.put(CODE, counting(runs), Urgency::Lazy));
    let thread = thread::spawn(move || {
        put(numbers[0]);
        state.leave_queue(state.own_queue_or_new().expect("memory"));
    });
    assert!(thread.join().is_ok());
    put(numbers[1]);
    take_all(state);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    (state, runs)
}

#[test]
fn a_limit_holds_for_all_queues_and_the_next_call_goes_on_where_it_ended() {
    let (state, runs) = two_queues([2, 2]);
    assert_eq!(state.run_left(3, ALWAYS), 3);
    assert_eq!(state.run_left(3, ALWAYS), 1);
    assert_eq!(runs.load(Relaxed), 4);
    let (state, _) = two_queues([2, 2]);
    let turn = || state.drain_turn.load(Ordering::Relaxed);
    assert_eq!((state.run_some(2, ALWAYS), turn()), (2, 2));
    assert_eq!((state.run_some(9, ALWAYS), turn()), (2, 1));
    let (state, runs) = two_queues([2, 2]);
    let over = Until { deadline: Some(0) };
    assert_eq!((state.run_some(9, over), turn_of(state)), (0, 0));
    assert_eq!(state.run_as_worker(over, true), 0);
    assert_eq!(runs.load(Relaxed), 0);
    assert_eq!(state.run_as_worker(ALWAYS, true), 4);
}

fn turn_of(state: &State) -> u32 {
    state.drain_turn.load(Ordering::Relaxed)
}

#[test]
fn a_worker_says_how_much_it_freed_and_ran() {
    let (_, state) = home();
    (0..9).for_each(|_| state.put(PLAIN, memory(), Urgency::Lazy));
    let (_, runs) = done(state, [2, 0, 0]); // calls that free two each
    let objects = state.held().0 - 2;
    assert!(state.taken_is_ready() && !state.taken_waits());
    assert!(objects > 1 && state.run_as_worker(ALWAYS, false) == objects);
    assert_eq!((state.held().0, runs.load(Relaxed)), (2, 0));
    assert!(state.taken_is_ready());
    assert_eq!(state.run_as_worker(ALWAYS, true), 2);
    assert!(!state.taken_is_ready());
    (0..3).for_each(|_| state.put(PLAIN, memory(), Urgency::Lazy));
    take_all(state);
    assert!(state.taken_waits());
    assert_eq!(state.free_taken(ALWAYS), 0);
    assert_eq!(state.synchronize(How::default()), Ok(()));
    assert_eq!(state.free_taken(Until { deadline: Some(0) }), 0);
    assert_eq!(state.free_taken(ALWAYS), 3);
    assert_eq!(state.held(), (0, 0));
}

/// The blocks of a queue without an owner go when it is empty, and not before.
#[test]
fn an_empty_queue_without_an_owner_has_no_blocks() {
    let state = program().domain().state();
    let has_blocks =
        |queue: &Queue| queue.lanes[CODE].block.load(Ordering::Relaxed) != queue.nothing();
    let (queue, _) = done(state, [1, 0, 0]);
    state.shrink();
    assert!(has_blocks(queue), "something is queued");
    state.run_some(1, ALWAYS);
    assert!(has_blocks(queue));
    state.shrink();
    assert!(!has_blocks(queue));
}

#[test]
fn what_a_turn_leaves_calls_the_overflow_worker() {
    let program = program();
    let (queue, runs) = done(with_few_untended(program), [4, 0, 0]);
    let over = Until { deadline: Some(0) };
    assert_eq!(State::of(queue).run_turn(queue, TurnId::MIN, over), 0);
    assert_eq!(
        (program.asked.overflow.load(Relaxed), runs.load(Relaxed)),
        (1, 0)
    );
}

#[test]
fn turns_of_workers_have_names_of_their_own() {
    let roles = 1..100u32;
    let names = roles.flat_map(|role| [turn_of_worker(role), turn_of_overflow(role)]);
    assert_eq!(names.collect::<HashSet<_>>().len(), 2 * 99);
}

//! Running what was queued, without other threads: what runs, where, how much of it, and what is asked for.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use quiescent_engine::credit::{Cause, Urgency};
use quiescent_engine::pool::TurnId;
use quiescent_engine::{Interest, Lane};

use crate::defer::budget::TASKS_WAIT;
use crate::defer::sweep::{Sweep, Until};
use crate::defer::{enqueue, in_place};
use crate::gp::driver::How;
use crate::parts::shell::News;
use crate::parts::state::State;
use crate::prim::Ordering;
use crate::prim::counters::value;
use crate::queue::per_thread::{CODE, OWN, PLAIN, Queue};
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
    state.set_workers_run(true);
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
    let mut core = queue.lock();
    assert!(state.lock().take_turn(&mut core.cpu, turn));
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
    assert_eq!(state.run_heads(queue, 2, ALWAYS), 2);
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
        state.run_ready(ALWAYS);
        assert!(state.code_is_ready(), "inside a callback none runs");
    });
    state.run_ready(ALWAYS);
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
        state.drive_once(state.lock(), state.own_cpu(), Interest::Poller);
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
    assert_eq!(state.free_own(now), 0);
    assert_eq!(state.held().0, 7);
    assert_eq!(state.free_own(ALWAYS), 7);
    take_all(state);
    assert_eq!(state.held(), (0, 0));
}

#[test]
fn a_thread_yields_only_where_it_may_be_waited_for() {
    let (program, state) = home();
    let yields = || value(&state.counters.gave_way);
    state.give_way();
    assert_eq!(yields(), 1);
    let section = program.lock();
    state.give_way();
    program.unlock(section);
    program.env.marked(|| state.give_way());
    assert_eq!(yields(), 1);
    state.set_budget(u64::MAX, 2);
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
    state.over_budget();
    assert_eq!(delivered(), (0, 1));
    assert_eq!(delivered(), (0, 0));
    assert_eq!(program.asked.worker.load(Relaxed), 2);
}

#[test]
#[cfg(debug_assertions)]
fn a_destructor_is_slow_beyond_the_limit() {
    let (program, state) = home();
    state.put(OWN, counting(counter()), Urgency::Lazy);
    let queue = state.own_queue_or_new().expect("memory");
    for (ns, number) in [(in_place::SLOW_NS, 0), (in_place::SLOW_NS + 1, 1)] {
        in_place::report_if_slow(queue, counting(counter()), ns);
        let reports = program.reports();
        assert_eq!(reports.len(), number, "{reports:?}");
        assert!(
            reports
                .iter()
                .all(|news| matches!(news, News::Slow { ns: said, .. } if *said == ns))
        );
    }
}

/// The owner's queue, with so many values of its own that are done.
fn own_done(state: &'static State, values: usize) -> (&'static Queue, &'static AtomicU32) {
    let runs = counter();
    let local = state.env().local();
    local.enter_callback(); // so that no push runs any
    (0..values).for_each(|_| state.put(OWN, counting(runs), Urgency::Lazy));
    local.leave_callback();
    assert_eq!(state.synchronize(How::default()), Ok(()));
    assert_eq!(runs.load(Relaxed), 0);
    (state.own_queue_or_new().expect("memory"), runs)
}

#[test]
#[cfg_attr(
    any(quiescent_portable, not(target_os = "linux")),
    ignore = "SKIPPED: needs a fence of the process"
)]
fn an_owner_runs_two_of_its_own_in_calls_that_retire_outside_sections() {
    let (program, state) = home();
    let (_, runs) = own_done(state, 6);
    let others = counter();
    let section = program.lock();
    state.put(OWN, counting(others), Urgency::Lazy);
    assert_eq!(runs.load(Relaxed), 0, "inside a section");
    program.unlock(section);
    state.put(CODE, counting(others), Urgency::Lazy);
    assert_eq!(runs.load(Relaxed), 0, "a closure");
    state.put(OWN, counting(others), Urgency::Lazy);
    assert_eq!(runs.load(Relaxed), 2);
    state.put(PLAIN, memory(), Urgency::Lazy);
    assert_eq!(runs.load(Relaxed), 4);
    assert_eq!(value(&state.counters.callbacks), 2, "as of the last report");
    state.put(PLAIN, memory(), Urgency::Lazy);
    assert_eq!(value(&state.counters.callbacks), 4);
    assert_eq!(others.load(Relaxed), 0);
}

/// A prompt one is reported at once, unless a prompt deadline is known already; a lazy one never.
#[test]
#[cfg_attr(
    any(quiescent_portable, not(target_os = "linux")),
    ignore = "SKIPPED: needs a fence of the process"
)]
fn a_prompt_closure_is_reported_unless_one_is_pending() {
    let (_, state) = home();
    let (queue, runs) = own_done(state, 9);
    state.put(PLAIN, memory(), Urgency::Lazy); // tells the owner what is done
    let local = state.env().local();
    let is_prompt = || queue.lanes[CODE].prompt.load(Ordering::Relaxed) != 0;
    let call = |urgency| {
        let before = runs.load(Relaxed);
        in_place::own_call(&local, queue, counting(counter()), 64, urgency);
        (runs.load(Relaxed) > before, is_prompt())
    };
    assert_eq!(call(Urgency::Lazy), (true, false));
    assert!(matches!(call(Urgency::Prompt), (_, true)));
    assert_eq!(
        call(Urgency::Prompt),
        (true, true),
        "covered: it runs some, as a lazy one does"
    );
}

#[test]
#[cfg_attr(
    any(quiescent_portable, not(target_os = "linux")),
    ignore = "SKIPPED: needs a fence of the process"
)]
fn a_closure_takes_the_lock_only_where_a_prompt_one_has_to() {
    let (_, state) = home();
    let (queue, _) = own_done(state, 1);
    state.put(CODE, counting(counter()), Urgency::Lazy);
    let call = |urgency| {
        let before = state.probe.locks.load(Ordering::Relaxed);
        enqueue::code(queue, counting(counter()), 64, urgency);
        state.probe.locks.load(Ordering::Relaxed) != before
    };
    assert!(!call(Urgency::Lazy));
    assert!(call(Urgency::Prompt), "no deadline is known");
    assert!(!call(Urgency::Lazy));
    assert!(!call(Urgency::Prompt));
}

#[test]
fn a_thread_that_leaves_inside_a_callback_stays_in_it() {
    let (program, state) = home();
    let (queue, _) = own_done(state, 1);
    program.env.marked(|| {
        state.leave_queue(queue);
        assert!(state.in_callback());
    });
}

/// An owner that attaches its queue again during a take-over: that is repeated behind another fence.
#[test]
#[cfg_attr(
    any(quiescent_portable, not(target_os = "linux")),
    ignore = "SKIPPED: needs a fence of the process"
)]
fn an_owner_that_returns_during_a_take_over_is_asked_again() {
    let (_, state) = home();
    let (_, runs) = own_done(state, 1);
    let mut sweep = Sweep::begin(state, |core| (!core.is_idle()).then_some(Cause::Drain));
    assert!(sweep.needs_fence());
    state.put(OWN, counting(runs), Urgency::Lazy); // hands everything over
    assert_eq!(state.synchronize(How::default()), Ok(()));
    state.run_some(9, ALWAYS);
    state.put(OWN, counting(runs), Urgency::Lazy);
    sweep.take(|_| panic!("the owner has it"));
    assert!(sweep.needs_fence() && !sweep.is_over());
    sweep.take(|_| ());
    assert!(!sweep.needs_fence() && sweep.is_over());
}

#[test]
fn a_thread_that_ends_runs_nothing() {
    let (program, state) = home();
    let runs = counter();
    let thread = thread::spawn(move || {
        let (queue, runs) = own_done(state, 2);
        program.unlock(program.lock());
        state.leave_queue(queue);
        runs.load(Relaxed)
    });
    assert_eq!(thread.join().ok(), Some(0));
    assert_eq!(state.held().0, 2);
    assert_eq!((runs.load(Relaxed), program.reports().len()), (0, 0));
}

#[test]
fn with_one_worker_there_is_no_overflow_worker() {
    let program = program();
    let state = with_few_untended(program);
    state.lock().set_workers(1);
    let (_, runs) = done(state, [9, 0, 0]);
    state.run_some(0, ALWAYS);
    state.put(CODE, counting(runs), Urgency::Lazy);
    assert_eq!(program.asked.overflow.load(Relaxed), 0);
}

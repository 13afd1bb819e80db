//! What an owner runs itself, and what it has to take the lock for.

use super::*;

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
        crate::domain::run::own_call(&local, queue, counting(counter()), 64, urgency);
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
        enqueue::push_code(queue, CODE, counting(counter()), 64, urgency);
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
    assert!(sweep.owned);
    state.put(OWN, counting(runs), Urgency::Lazy); // hands everything over
    assert_eq!(state.synchronize(How::default()), Ok(()));
    state.run_some(9, ALWAYS);
    state.put(OWN, counting(runs), Urgency::Lazy);
    sweep.take(|_| panic!("the owner has it"));
    assert!(sweep.owned && sweep.left > 0);
    sweep.take(|_| ());
    assert!(!sweep.owned && sweep.left == 0);
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

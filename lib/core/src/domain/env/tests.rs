//! Fences that threads are asked for.

use crate::reader::mode::FenceMode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;

use crate::prim::counters::value;
use crate::prim::{self, MOST_ASKED};
use crate::testing::{Program, program};

/// The numbers of fences asked for, answered and issued.
fn counts(program: &Program) -> (u64, u64, u64) {
    let counters = &program.env.state.counters;
    let (asked, answered) = (&counters.fences_asked, &counters.fences_answered);
    (value(asked), value(answered), program.env.fences.issued())
}

fn fence(program: &Program) {
    let time = program.env.deferred_fence_for(1, Some(&program.env.home));
    let time = time.expect("not refused").expect("not in fenced mode");
    assert!(time.ended_ns >= time.took_ns);
}

/// Calls `body` while this many threads are registered and do nothing.
fn beside(program: &'static Program, threads: usize, body: impl FnOnce()) {
    let (ready, all_ready) = mpsc::channel();
    let ends: Vec<_> = (0..threads)
        .map(|_| {
            let (end, ended) = mpsc::channel::<()>();
            let ready = ready.clone();
            let thread = thread::spawn(move || {
                program.unlock(program.lock());
                ready.send(()).expect("the test waits");
                let _ = ended.recv();
            });
            (end, thread)
        })
        .collect();
    (0..threads).for_each(|_| all_ready.recv().expect("it registers"));
    body();
    for (end, thread) in ends {
        drop(end);
        thread.join().expect("it does not panic");
    }
}

#[test]
fn without_other_threads_an_answer_is_not_needed() {
    crate::needs!(fence);
    let program = program();
    fence(program);
    program.unlock(program.lock());
    fence(program);
    assert_eq!(counts(program), (2, 2, 0));
}

#[test]
fn a_thread_that_does_nothing_does_not_answer() {
    crate::needs!(fence);
    let program = program();
    beside(program, 1, || {
        // One question, one fence without; one question, two without.
        (0..5).for_each(|_| fence(program));
        assert_eq!(counts(program), (2, 0, 5));
    });
}

#[test]
fn a_thread_that_reads_answers() {
    crate::needs!(fence);
    let program = program();
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Relaxed) {
                program.unlock(program.lock());
            }
        });
        while program.env.threads.slots.registered() == 0 {
            thread::yield_now();
        }
        while counts(program).1 == 0 {
            fence(program); // at some time it has a processor for 2 µs
        }
        end.store(true, Relaxed);
    });
}

#[test]
fn as_many_as_there_are_places_are_asked() {
    crate::needs!(fence);
    let program = program();
    beside(program, MOST_ASKED, || {
        fence(program);
        assert_eq!(counts(program), (1, 0, 1));
        program.unlock(program.lock()); // its own question needs no answer
        fence(program); // not asked for, after a time-out
        fence(program);
        assert_eq!(counts(program), (2, 0, 3));
    });
}

#[test]
fn with_more_threads_none_is_asked() {
    crate::needs!(fence);
    let program = program();
    beside(program, MOST_ASKED + 1, || fence(program));
    assert_eq!(counts(program), (0, 0, 1));
}

#[test]
fn a_question_lowers_limits_and_is_answered_once() {
    crate::needs!(fence);
    let program = program();
    let env = &program.env;
    let reader = program.lock();
    assert!(!reader.is_asked());
    thread::scope(|scope| scope.spawn(|| fence(program)).join().expect("no panic"));
    assert!(reader.is_asked(), "and it did not answer");
    assert_eq!(counts(program).1, 0);
    program.unlock(reader);
    assert!(!reader.is_asked());
    let slot = env.own_slot().expect("registered");
    assert!(slot.answer.covers(1) && !slot.answer.covers(2));
    let queue = env.state.own_queue_or_new().expect("memory");
    queue.lanes[0]
        .limit
        .store(99, crate::prim::Ordering::Relaxed);
    (0..2).for_each(|_| fence(program)); // the second one with a question, but not to this thread
    assert!(counts(program).0 == 2 && !reader.is_asked());
    assert_eq!(
        queue.lanes[0].limit.load(crate::prim::Ordering::Relaxed),
        99
    );
    thread::scope(|scope| scope.spawn(|| fence(program)).join().expect("no panic"));
    assert!(reader.is_asked());
    assert_eq!(queue.lanes[0].limit.load(crate::prim::Ordering::Relaxed), 0);
    env.answer_at_push();
    assert!(!reader.is_asked() && slot.answer.covers(3));
}

#[test]
#[cfg_attr(
    any(quiescent_portable, not(target_os = "linux")),
    ignore = "SKIPPED: needs a fence of the process"
)]
fn no_more_are_asked_than_is_set() {
    for (most, asked) in [(0, 0), (1, 0), (2, 1)] {
        let program = program();
        program.env.threads.slots.set_most_asked(most);
        beside(program, 2, || fence(program));
        assert_eq!(counts(program), (asked, 0, 1));
    }
}

/// The time that a fence took is divided among those that needed it.
#[test]
fn a_fence_for_many_costs_each_a_part_of_its_time() {
    crate::needs!(fence);
    let program = program();
    let begun = prim::now_ns();
    let time = program.env.deferred_fence_for(1 << 20, None);
    let time = time.expect("not refused").expect("not in fenced mode");
    let passed = prim::now_ns() - begun;
    assert!(time.took_ns <= passed >> 20, "{time:?} of {passed}");
    assert!((begun..=begun + passed).contains(&time.ended_ns));
}

/// In fenced mode it is a fence of this thread.
#[test]
fn a_fence_of_the_process_is_issued_where_readers_have_none() {
    let program = program();
    let mode = program.env.threads.mode.resolve();
    assert_eq!(program.env.heavy_fence(1), Ok(()));
    let issued = u64::from(mode == FenceMode::Membarrier);
    assert_eq!(program.env.fences.issued(), issued);
    assert_eq!(program.env.force_mode(FenceMode::Fenced), Ok(()));
    assert_eq!(program.env.heavy_fence(1), Ok(()));
    assert_eq!(program.env.fences.issued(), issued);
    let [home, counted] = [&program.env.state, program.domain().state()];
    assert!(home.may_miss_readers() && !counted.may_miss_readers());
}

/// The mode that is not this one.
fn other(mode: FenceMode) -> FenceMode {
    match mode {
        FenceMode::Membarrier => FenceMode::Fenced,
        FenceMode::Fenced => FenceMode::Membarrier,
    }
}

#[test]
fn a_change_of_the_mode_that_a_reader_refuses_leaves_it_as_it_was() {
    crate::needs!(fence);
    let program = program();
    let mode = program.env.threads.mode.resolve();
    program.unlock(program.lock());
    assert!(program.env.force_mode(other(mode)).is_err());
    let threads = &program.env.threads;
    assert_eq!(threads.mode.resolve(), mode);
    assert_eq!(threads.mode.threads_fence(), mode == FenceMode::Fenced);
}

/// A thread changes the mode, and sleeps since it waits for what is `held`. `meanwhile` looks. Then the
/// change ends.
fn change_that_waits<L>(
    program: &'static Program,
    wanted: FenceMode,
    held: L,
    meanwhile: impl FnOnce(),
) {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let changes = scope.spawn(move || {
            let own = crate::prim::thread_id();
            sender.send(own).expect("the test waits");
            program.env.force_mode(wanted)
        });
        crate::testing::until_asleep(receiver.recv().expect("it starts"));
        meanwhile();
        drop(held);
        assert_eq!(changes.join().expect("no panic"), Ok(()));
    });
}

/// Otherwise the end of the one is the end of the other, which relies on the time in between.
#[test]
fn one_change_of_the_mode_waits_for_another() {
    crate::needs!(linux);
    let program = program();
    let mode = &program.env.threads.mode;
    let before = (mode.threads_fence(), mode.updaters_fence());
    let other = program.env.state.sweeping();
    change_that_waits(program, FenceMode::Fenced, other, || {
        assert_eq!((mode.threads_fence(), mode.updaters_fence()), before);
    });
    assert_eq!(mode.resolve(), FenceMode::Fenced);
}

/// A domain that is made after the list must find that the mode changes.
#[test]
fn the_mode_changes_before_the_domains_are_listed() {
    crate::needs!(linux);
    crate::needs!(fence);
    let program = program();
    let mode = &program.env.threads.mode;
    let wanted = other(mode.resolve());
    let listed = program.domain().state().lock();
    change_that_waits(program, wanted, listed, || {
        assert!(mode.threads_fence() && mode.updaters_fence());
    });
}

/// Two of a leaf's slots are the unregistered readers'.
#[test]
fn slots_for_so_many_threads_come_in_leaves() {
    for (threads, slots) in [(1, 62), (62, 62), (63, 126)] {
        let program = program();
        assert_eq!(program.env.limit_threads(threads), Ok(()));
        let claims = std::iter::from_fn(|| program.env.threads.slots.claim());
        assert_eq!(claims.count(), slots);
    }
    assert!(program().env.limit_threads(0).is_err());
}

#[test]
fn by_default_a_worker_is_hired_as_it_is_started_and_no_report_is_wanted() {
    let program = program();
    let host = program.env.host;
    assert!(host.hire() && host.stalls().is_none());
    program.asked.has_no_worker.store(1, Relaxed);
    assert!(!host.hire());
}

/// A question reaches a thread where it queues and reads: also in a domain of the program.
#[test]
fn a_thread_is_asked_in_a_domain_of_the_program() {
    let program = program();
    program.unlock(program.lock());
    let slot = program.env.own_slot().expect("registered");
    let limits = |queue: &crate::queue::per_thread::Queue| {
        let lanes = queue.lanes.each_ref();
        lanes.map(|lane| lane.limit.swap(9, prim::Ordering::Relaxed))
    };
    let attach = |queue: &'static crate::queue::per_thread::Queue| {
        let place = queue.found_at().expect("not of the process's domain");
        place.store(
            std::ptr::from_ref(queue).cast_mut(),
            prim::Ordering::Relaxed,
        );
    };
    let counted = program.domain();
    counted.ask(slot); // it has no queue there
    let queue = counted.state().own_queue_or_new().expect("memory");
    let crate::reader::set::DomainReaders::Counted(counts) = &counted.readers else {
        unreachable!("made so")
    };
    let tally = counts.of_slot_if_any(slot.cpu()).expect("it has one");
    assert!(tally.queue.attached().is_null());
    counted.ask(slot);
    attach(queue);
    limits(queue);
    counted.ask(slot);
    assert_eq!(limits(queue), [0; 3]);
    let records = crate::domain::life::Domain::found(&program.env);
    records.ask(slot); // it has not read there
    let local = program.env.local();
    let reader = records.lock_anew(&local);
    assert!(!reader.is_asked());
    records.ask(slot);
    assert!(reader.is_asked());
    let queue = records.state().own_queue_or_new().expect("memory");
    attach(queue);
    limits(queue);
    records.ask(slot);
    assert_eq!(limits(queue), [0; 3]);
    let _ = crate::reader::word::end(reader);
}

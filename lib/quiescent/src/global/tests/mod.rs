//! Recorded runs of real threads.

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiescent_engine::Next;
use quiescent_harness::replay::{BarrierInput, CpuInput, Entry, Input, Output};

#[cfg(target_os = "linux")]
mod forks;
mod recorder;
mod stalls;

use crate::Retired;
use crate::intrusive::Head;
use recorder::{Recorder, Run};

fn busy_readers(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        crate::read(|_| std::hint::spin_loop());
        std::thread::yield_now();
    }
}

fn find(entries: &[Entry], what: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().position(what).expect("such a call was made")
}

impl Run {
    /// Same inputs, same outputs, same state.
    fn check(&self) {
        let mut world = self.before.clone();
        if let Err(error) = world.replay(&self.entries) {
            panic!(
                "same inputs, same outputs: {error:?}: {:?}",
                self.entries[error.at]
            );
        }
        assert_eq!(world, self.after, "and the same state");
    }

    /// If a recording is `spoilt` at this entry, its replay fails, and names the entry.
    fn must_diverge(&self, at: usize, spoil: impl FnOnce(&mut Entry)) {
        let mut entries = self.entries.clone();
        spoil(&mut entries[at]);
        assert_ne!(entries[at], self.entries[at]);
        let diverged = self.before.clone().replay(&entries);
        assert_eq!(diverged.expect_err("it was spoilt").at, at);
    }
}

/// Rule R1: four updaters, readers, churn of short-lived threads, pollers and callers that give
/// up; every decision of the engine comes out again from its inputs alone, bit for bit.
#[test]
fn a_threaded_run_replays_bit_for_bit() {
    let recorder = Recorder::start();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| busy_readers(&done));
        }
        let updaters: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn(move || {
                    for i in 0..150 {
                        match (n + i) % 4 {
                            0 => crate::synchronize(),
                            1 => crate::synchronize_expedited(),
                            2 => drop(crate::synchronize_timeout(Duration::from_micros(5))),
                            _ => {
                                let cookie = crate::start_grace_period();
                                while !cookie.is_done() {
                                    std::thread::yield_now();
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        for _ in 0..80 {
            let unregistered: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| crate::read(|_| ())))
                .collect();
            unregistered
                .into_iter()
                .for_each(|t| t.join().expect("a reader that only reads"));
        }
        // More at once than a leaf holds, so that the tree grows.
        let together = Barrier::new(70);
        std::thread::scope(|scope| {
            for _ in 0..70 {
                scope.spawn(|| {
                    crate::read(|_| ());
                    together.wait();
                    crate::synchronize();
                });
            }
        });
        updaters
            .into_iter()
            .for_each(|t| t.join().expect("an updater that only waits"));
        done.store(true, Ordering::Relaxed);
    });
    let run = recorder.stop();

    let steps = run
        .entries
        .iter()
        .filter(|e| matches!(e.input, Input::Step { .. }))
        .count();
    assert!(
        steps > 1000 && run.entries.len() > steps,
        "a real run was recorded: {steps} steps"
    );
    run.check();
    let grown = |e: &Entry| matches!(e.input, Input::Grow { .. });
    let large = run.before.global.cpus() > 64;
    assert!(large || run.entries.iter().any(grown), "the tree grew");

    // The comparison can fail: one answer less, another output.
    let at = find(&run.entries, |e| !e.answers.is_empty());
    run.must_diverge(at, |e| e.answers.truncate(0));
    run.must_diverge(at, |e| e.output = Output::Next(Next::HandOver));
}

#[repr(C)]
struct Node {
    head: Head,
    value: u64,
}

/// A value that has just been replaced; dropping it retires it.
fn retired<T: Send + Sync>(value: T) -> Retired<T> {
    // SAFETY: a box that no other code has.
    unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new(value)))) }
}

/// Queues a node by the head inside it.
fn call_head(value: u64) {
    let node = Box::into_raw(Box::new(Node {
        head: Head::new(),
        value,
    }));
    unsafe fn free(head: NonNull<Head>) {
        // SAFETY: the first field of a box that `intrusive::defer` leaked.
        let node = unsafe { Box::from_raw(head.as_ptr().cast::<Node>()) };
        std::hint::black_box(node.value);
    }
    // SAFETY: no other code knows the node.
    unsafe { crate::intrusive::defer(NonNull::new_unchecked(node.cast()), free) };
}

/// One deed of an updater, in turn all there are.
fn deed(turn: u64) {
    match turn % 8 {
        0..=2 => (0..200).for_each(|n| drop(retired(n))),
        3 => (0..10).for_each(|n| drop(retired(vec![n]))), // has code to run
        4 => crate::defer(move || assert!(turn < u64::MAX)),
        5 => call_head(turn),
        6 if turn.is_multiple_of(3) => crate::defer_hurry(|| ()),
        6 => retired(turn).retire_hurry(),
        _ if turn.is_multiple_of(3) => crate::barrier(),
        _ if turn % 3 == 1 => drop(crate::drain(Duration::from_millis(20))),
        _ => crate::synchronize(),
    }
}

/// Threads that end with queued items of all three kinds, without a hurry.
fn short_lived() {
    crate::read(|_| ());
    drop(retired(1).try_retire()); // if refused: retired by the drop
    drop(retired(vec![2]));
    crate::defer(|| ());
    call_head(3);
}

/// Runs this with a callback to queue, and waits until the worker has run the callback; no other thread does.
fn left_to_the_worker(queue: impl FnOnce(fn())) {
    static RUN: AtomicBool = AtomicBool::new(false);
    RUN.store(false, Ordering::Relaxed);
    queue(|| RUN.store(true, Ordering::Release));
    while !RUN.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

const ROUNDS: u64 = 30;
const UNREGISTERED: usize = 6;

/// Four updaters that queue, hurry, wait for everything, and drain; a thread that queues and then does
/// nothing, so that what it has is taken from it; readers; and churn.
fn run_with_callbacks() -> Run {
    let recorder = Recorder::start();
    crate::tuning::set_budget(20_000, 400); // it is passed now and then
    let done = AtomicBool::new(false);
    let quiet = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| busy_readers(&done));
        }
        scope.spawn(|| {
            short_lived();
            quiet.wait(); // queued
            quiet.wait(); // and not looked after
            short_lived();
        });
        quiet.wait();
        left_to_the_worker(crate::defer_hurry); // woken
        left_to_the_worker(crate::defer); // by its timer
        let updaters: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || (0..80).for_each(|turn| deed(n + turn))))
            .collect();
        for _ in 0..ROUNDS {
            let unregistered: Vec<_> = (0..UNREGISTERED)
                .map(|_| scope.spawn(short_lived))
                .collect();
            unregistered
                .into_iter()
                .for_each(|t| t.join().expect("it only queues"));
        }
        updaters
            .into_iter()
            .for_each(|t| t.join().expect("an updater"));
        crate::barrier();
        quiet.wait();
        done.store(true, Ordering::Relaxed);
    });
    crate::tuning::set_budget(64 << 20, 1 << 20);
    recorder.stop()
}

/// Rule R1 for callbacks: stamping, credit, take-over, deadlines, barriers.
#[test]
fn a_threaded_run_with_callbacks_replays_bit_for_bit() {
    let run = run_with_callbacks();
    run.check();

    // It went everywhere.
    let count = |what: fn(&CpuInput, &Output) -> bool| {
        let is = |e: &&Entry| matches!(&e.input, Input::Cpu(_, input) if what(input, &e.output));
        run.entries.iter().filter(is).count()
    };
    let counts = [
        count(|i, _| matches!(i, CpuInput::Refill { .. })),
        count(|i, o| matches!((i, o), (CpuInput::Refill { .. }, Output::Refill(r)) if r.kick)),
        count(
            |i, o| matches!((i, o), (CpuInput::Refill { .. }, Output::Refill(r)) if r.arm.is_some()),
        ),
        count(|i, _| matches!(i, CpuInput::Taken { .. })),
        count(|i, o| matches!(i, CpuInput::Due { .. }) && matches!(o, Output::Due(Some(_)))),
        count(|i, _| matches!(i, CpuInput::Advance)),
        count(|i, o| matches!((i, o), (CpuInput::Extract { .. }, Output::Range(a, b)) if a != b)),
        count(|i, o| matches!(i, CpuInput::Ran { .. }) && *o == Output::Done(true)),
        count(|i, _| matches!(i, CpuInput::VisitBarrier)),
        count(|i, o| matches!(i, CpuInput::Admit { .. }) && *o == Output::Done(true)),
        count(|i, _| matches!(i, CpuInput::Tell)),
        count(|i, o| matches!((i, o), (CpuInput::Refill { .. }, Output::Refill(r)) if r.help > 0)),
    ];
    println!("{} entries; {counts:?}", run.entries.len());
    assert!(counts.iter().all(|&n| n > 0), "{counts:?}");
    let ended = Input::Barrier(BarrierInput::End);
    assert!(run.entries.iter().any(|e| e.input == ended));
    assert!(run.entries.iter().any(|e| e.input == Input::Disarm));
    let set = |e: &Entry| matches!(e.input, Input::SetBudget { .. });
    assert!(run.entries.iter().any(set));
    let all = |e: &Entry| e.input == Input::SweepsAll && e.output == Output::Done(true);
    assert!(run.entries.iter().any(all));
    // More threads than queues: slots were inherited, queues and all.
    let refilled = run.entries.iter().filter_map(|e| match e.input {
        Input::Cpu(cpu, CpuInput::Refill { .. }) => Some(cpu),
        _ => None,
    });
    let queues = refilled.collect::<BTreeSet<_>>().len();
    assert!(
        (4..UNREGISTERED * ROUNDS as usize).contains(&queues),
        "{queues}"
    );
}

/// The comparison can fail: in what comes out of a call, in what goes into one, in the state at the end.
#[test]
fn a_spoilt_recording_with_callbacks_is_detected() {
    let run = run_with_callbacks();
    let at = find(&run.entries, |e| matches!(e.output, Output::Refill(_)));
    run.must_diverge(at, |e| {
        if let Output::Refill(refill) = &mut e.output {
            refill.credit[1].done ^= 1;
        }
    });
    let at = find(&run.entries, |e| {
        matches!(e.input, Input::Cpu(_, CpuInput::Extract { .. }))
            && matches!(e.output, Output::Range(from, to) if from != to)
    });
    run.must_diverge(at, |e| {
        if let Input::Cpu(_, CpuInput::Extract { max, .. }) = &mut e.input {
            *max = 0;
        }
    });
    let at = find(&run.entries, |e| {
        matches!(e.input, Input::Cpu(_, CpuInput::Due { .. }))
            && matches!(e.output, Output::Due(Some(_)))
    });
    run.must_diverge(at, |e| e.output = Output::Due(None));

    let mut world = run.before.clone();
    let half = &run.entries[..run.entries.len() / 2];
    world.replay(half).expect("as far as it goes");
    assert_ne!(world.cpus, run.after.cpus);
    assert_ne!(world.barrier, run.after.barrier);
}

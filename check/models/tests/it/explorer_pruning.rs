//! Pruning must not lose outcomes: small random programs have the same outcomes with and without it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use quiescent_models::chance::Rng;
use quiescent_models::explorer::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use quiescent_models::explorer::*;

/// The number of programs.
const PROGRAMS: u64 = 60;

#[derive(Clone, Copy, Debug)]
enum Act {
    Load(usize),
    Store(usize, u32),
    Release(usize, u32),
    Swap(usize, u32),
    Add(usize),
    Fence,
    Heavy,
    Locked(usize),
    Spin,
}

fn program(seed: u64) -> Vec<Vec<Act>> {
    let mut random = Rng::new(seed);
    let threads = 2 + random.below(2);
    let mut value = 0;
    let mut act = |random: &mut Rng| {
        let word = random.below(2);
        value += 1;
        match random.next_u64() % 20 {
            0..6 => Act::Load(word),
            6..11 => Act::Store(word, value),
            11..13 => Act::Release(word, value),
            13 => Act::Swap(word, value),
            14 => Act::Add(word),
            15 => Act::Fence,
            16 => Act::Heavy,
            17 | 18 => Act::Locked(word),
            _ => Act::Spin,
        }
    };
    let length = if threads == 2 { 5 } else { 3 };
    (0..threads)
        .map(|_| (0..length).map(|_| act(&mut random)).collect())
        .collect()
}

struct Shared {
    words: [AtomicU32; 2],
    lock: Mutex<()>,
}

/// Performs an action, and appends the value that it saw.
fn perform(act: Act, shared: &Shared, seen: &mut Vec<u32>) {
    let words = &shared.words;
    match act {
        Act::Load(word) => seen.push(words[word].load(Relaxed)),
        Act::Store(word, value) => words[word].store(value, Relaxed),
        Act::Release(word, value) => words[word].store(value, Release),
        Act::Swap(word, value) => seen.push(words[word].swap(value, AcqRel)),
        Act::Add(word) => seen.push(words[word].fetch_add(100, AcqRel)),
        Act::Fence => fence(SeqCst),
        Act::Heavy => heavy_fence().expect("it never fails here"),
        Act::Locked(word) => {
            let _guard = shared.lock.lock().expect("not poisoned");
            let old = words[word].load(Relaxed);
            words[word].store(old + 1000, Relaxed);
        }
        Act::Spin => yield_now(),
    }
}

type Search = fn(Model, Bounds, Box<dyn Fn()>) -> Report;

fn outcomes(
    model: Model,
    bounds: Bounds,
    seed: u64,
    search: Search,
) -> (BTreeSet<Vec<u32>>, Report) {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let out = all.clone();
    let report = search(
        model,
        bounds,
        Box::new(move || {
            let words = [AtomicU32::new(0), AtomicU32::new(0)];
            let shared = Rc::new(Shared {
                words,
                lock: Mutex::new(()),
            });
            let start = |acts: Vec<Act>| {
                let shared = shared.clone();
                spawn(move || {
                    let mut seen = Vec::new();
                    acts.into_iter()
                        .for_each(|act| perform(act, &shared, &mut seen));
                    seen
                })
            };
            let threads: Vec<_> = program(seed).into_iter().map(start).collect();
            let mut seen: Vec<u32> = threads.into_iter().flat_map(JoinHandle::join).collect();
            seen.extend(shared.words.each_ref().map(|word| word.load(Relaxed)));
            out.borrow_mut().insert(seen);
        }),
    );
    assert!(
        report.failure.is_none() && report.complete,
        "{seed}: {report}"
    );
    (all.take(), report)
}

#[test]
fn same_outcomes_with_and_without() {
    let (mut with, mut without, mut most) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let preemptions = (seed % 3) as u32;
            let bounds = Bounds {
                preemptions,
                flush_delays: 2,
                ..Bounds::default()
            };
            let (pruned, few) = outcomes(model, bounds, seed, explore);
            let (full, many) = outcomes(model, bounds, seed, explore_unpruned);
            let lost: Vec<_> = full.difference(&pruned).collect();
            assert!(
                lost.is_empty(),
                "{seed} {bounds:?} {model:?} {:?}: {lost:?}",
                program(seed)
            );
            assert!(pruned.is_subset(&full), "{seed}: pruning adds no outcome");
            with += few.executions;
            without += many.executions;
            most = most.max(full.len());
        }
    }
    println!("{with} executions with pruning, {without} without; at most {most} outcomes");
    assert!(with < without && most > 10, "{with} {without} {most}");
}

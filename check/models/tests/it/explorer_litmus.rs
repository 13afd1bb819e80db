//! The explorer must show what its models allow and nothing else: each classic litmus test once where its
//! weak outcome must occur, and once where it must not.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use quiescent_models::explorer::Ordering::{Relaxed, Release, SeqCst};
use quiescent_models::explorer::*;

const ALL: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// Values that the loads of a test returned.
type Outcome = Vec<u32>;
type Body = fn(&Words) -> Outcome;

/// Shared locations.
#[derive(Default)]
struct Words {
    x: AtomicU32,
    y: AtomicU32,
    z: AtomicU32,
}

fn set(word: &AtomicU32, value: u32) {
    word.store(value, Relaxed);
}

fn get(word: &AtomicU32) -> u32 {
    word.load(Relaxed)
}

/// Every outcome of these threads: the values that each returned, in order, and then the requested final
/// values.
fn outcomes(model: Model, threads: &[Body], last: Body) -> BTreeSet<Outcome> {
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let (out, threads) = (seen.clone(), threads.to_vec());
    let bounds = Bounds {
        preemptions: 4,
        flush_delays: 4,
        ..Bounds::default()
    };
    let report = explore(model, bounds, move || {
        let words = Rc::new(Words::default());
        let run = |body: Body| {
            let words = words.clone();
            spawn(move || body(&words))
        };
        let running: Vec<_> = threads.iter().map(|&body| run(body)).collect();
        let mut outcome: Outcome = running.into_iter().flat_map(JoinHandle::join).collect();
        outcome.extend(last(&words));
        out.borrow_mut().insert(outcome);
    });
    assert!(
        report.complete && report.failure.is_none(),
        "{report} {:?}",
        report.failure
    );
    seen.take()
}

const NOTHING: Body = |_| vec![];

/// Asserts on which models an outcome occurs.
fn seen_on(threads: &[Body], outcome: &[u32], on: &[Model]) {
    for model in ALL {
        let all = outcomes(model, threads, NOTHING);
        assert_eq!(
            all.contains(outcome),
            on.contains(&model),
            "{model:?}: {all:?}"
        );
        assert!(all.len() > 1, "{model:?} has schedules: {all:?}");
    }
}

/// Store buffering with these fences between the store and the load.
fn store_buffering(left: fn(), right: fn()) -> [Outcome; 2] {
    [Model::Tso, Model::Pso].map(|model| {
        let seen = Rc::new(RefCell::new(BTreeSet::new()));
        let out = seen.clone();
        let report = explore(model, Bounds::default(), move || {
            let words = Rc::new(Words::default());
            let other = words.clone();
            let thread = spawn(move || {
                set(&other.x, 1);
                left();
                get(&other.y)
            });
            set(&words.y, 1);
            right();
            let mine = get(&words.x);
            out.borrow_mut().insert(thread.join() + mine);
        });
        assert!(report.complete);
        seen.take().into_iter().collect()
    })
}

fn heavy() {
    heavy_fence().expect("it never fails here");
}

#[test]
fn store_buffering_is_seen_without_fences_and_with_light_ones() {
    let sb: [Body; 2] = [
        |w| (set(&w.x, 1), vec![get(&w.y)]).1,
        |w| (set(&w.y, 1), vec![get(&w.x)]).1,
    ];
    seen_on(&sb, &[0, 0], &[Model::Tso, Model::Pso]);
    assert_eq!(
        store_buffering(light_fence, light_fence),
        [[0, 1, 2], [0, 1, 2]]
    );
    assert_eq!(
        store_buffering(|| fence(SeqCst), light_fence),
        [[0, 1, 2], [0, 1, 2]]
    );
    assert_eq!(
        store_buffering(|| fence(Release), || fence(Release)),
        [[0, 1, 2], [0, 1, 2]]
    );
}

#[test]
fn store_buffering_is_forbidden_by_light_and_heavy_and_by_two_full_fences() {
    assert_eq!(store_buffering(light_fence, heavy), [[1, 2], [1, 2]]);
    assert_eq!(store_buffering(heavy, light_fence), [[1, 2], [1, 2]]);
    assert_eq!(
        store_buffering(|| fence(SeqCst), || fence(SeqCst)),
        [[1, 2], [1, 2]]
    );
}

#[test]
fn store_buffering_is_forbidden_by_locked_instructions() {
    let swaps: [Body; 2] = [
        |w| (w.x.swap(1, Relaxed), vec![get(&w.y)]).1,
        |w| (w.y.swap(1, Relaxed), vec![get(&w.x)]).1,
    ];
    seen_on(&swaps, &[0, 0], &[]);
    let seqcst: [Body; 2] = [
        |w| (w.x.store(1, SeqCst), vec![get(&w.y)]).1,
        |w| (w.y.store(1, SeqCst), vec![get(&w.x)]).1,
    ];
    seen_on(&seqcst, &[0, 0], &[]);
    let elsewhere: [Body; 2] = [
        |w| (set(&w.x, 1), w.z.fetch_add(1, Relaxed), vec![get(&w.y)]).2,
        |w| (set(&w.y, 1), w.z.fetch_add(1, Relaxed), vec![get(&w.x)]).2,
    ];
    seen_on(&elsewhere, &[0, 0], &[]);
}

#[test]
fn a_heavy_fence_reaches_threads_at_different_moments() {
    // The right thread's store to y is older than the fence (it did not see z), and still the left thread
    // misses it; the left thread's store to x is younger than its own drain, and the fencing thread misses
    // it. A fence that drained both threads at one moment would forbid that.
    let fence: Body = |w| (set(&w.z, 1), heavy(), vec![get(&w.x)]).2;
    let left: Body = |w| (set(&w.x, 1), vec![get(&w.y)]).1;
    let right: Body = |w| (set(&w.y, 1), vec![get(&w.z)]).1;
    seen_on(&[left, right, fence], &[0, 0, 0], &[Model::Tso, Model::Pso]);
}

const MP_READER: Body = |w| vec![get(&w.y), get(&w.x)];

#[test]
fn message_passing_fails_only_for_relaxed_stores_under_pso() {
    seen_on(
        &[|w| (set(&w.x, 1), set(&w.y, 1), vec![]).2, MP_READER],
        &[1, 0],
        &[Model::Pso],
    );
    let release: Body = |w| (set(&w.x, 1), w.y.store(1, Release), vec![]).2;
    seen_on(&[release, MP_READER], &[1, 0], &[]);
    let fenced: Body = |w| (set(&w.x, 1), fence(Release), set(&w.y, 1), vec![]).3;
    seen_on(&[fenced, MP_READER], &[1, 0], &[]);
    let light: Body = |w| (set(&w.x, 1), light_fence(), set(&w.y, 1), vec![]).3;
    seen_on(&[light, MP_READER], &[1, 0], &[Model::Pso]);
}

#[test]
fn a_store_may_overtake_an_earlier_release_store_under_pso() {
    let body: Body = |w| (w.x.store(1, Release), set(&w.y, 1), vec![]).2;
    seen_on(&[body, MP_READER], &[1, 0], &[Model::Pso]);
}

#[test]
fn load_buffering_is_never_seen() {
    seen_on(
        &[
            |w| {
                let seen = get(&w.x);
                set(&w.y, 1);
                vec![seen]
            },
            |w| {
                let seen = get(&w.y);
                set(&w.x, 1);
                vec![seen]
            },
        ],
        &[1, 1],
        &[],
    );
}

#[test]
fn independent_reads_of_independent_writes_agree() {
    seen_on(
        &[
            |w| (set(&w.x, 1), vec![]).1,
            |w| (set(&w.y, 1), vec![]).1,
            |w| vec![get(&w.x), get(&w.y)],
            |w| vec![get(&w.y), get(&w.x)],
        ],
        &[1, 0, 1, 0],
        &[],
    );
}

#[test]
fn one_location_is_coherent() {
    for model in ALL {
        let writers: [Body; 2] = [
            |w| (set(&w.x, 1), set(&w.x, 2), vec![]).2,
            |w| vec![get(&w.x), get(&w.x)],
        ];
        let all = outcomes(model, &writers, |w| vec![get(&w.x)]);
        let want = [
            [0, 0, 2],
            [0, 1, 2],
            [0, 2, 2],
            [1, 1, 2],
            [1, 2, 2],
            [2, 2, 2],
        ];
        assert_eq!(all, want.map(Vec::from).into(), "{model:?}");
    }
}

#[test]
fn both_orders_of_two_writers_are_seen() {
    for model in ALL {
        let writers: [Body; 2] = [|w| (set(&w.x, 1), vec![]).1, |w| (set(&w.x, 2), vec![]).1];
        let all = outcomes(model, &writers, |w| vec![get(&w.x)]);
        assert_eq!(all, [vec![1], vec![2]].into(), "{model:?}");
    }
}

#[test]
fn a_thread_s_own_store_may_be_overwritten_before_it_looks() {
    let bodies: [Body; 2] = [
        |w| (set(&w.x, 1), vec![get(&w.x)]).1,
        |w| (set(&w.x, 2), vec![]).1,
    ];
    seen_on(&bodies, &[1], &ALL);
    seen_on(&bodies, &[2], &ALL);
    seen_on(&bodies, &[0], &[]);
}

#[test]
fn a_thread_sees_its_own_stores_first() {
    // n6 of the x86-TSO paper: the left thread reads its own 1 and an old y, and still x ends as 1.
    let n6: [Body; 2] = [
        |w| (set(&w.x, 1), vec![get(&w.x), get(&w.y)]).1,
        |w| (set(&w.y, 2), set(&w.x, 2), vec![]).2,
    ];
    for (model, seen) in [(Model::Sc, false), (Model::Tso, true), (Model::Pso, true)] {
        let all = outcomes(model, &n6, |w| vec![get(&w.x), get(&w.y)]);
        assert_eq!(all.contains(&vec![1, 0, 1, 2]), seen, "{model:?}: {all:?}");
    }
}

#[test]
fn two_plus_two_writes_needs_pso() {
    let writers: [Body; 2] = [
        |w| (set(&w.x, 1), set(&w.y, 2), vec![]).2,
        |w| (set(&w.y, 1), set(&w.x, 2), vec![]).2,
    ];
    for (model, seen) in [(Model::Sc, false), (Model::Tso, false), (Model::Pso, true)] {
        let all = outcomes(model, &writers, |w| vec![get(&w.x), get(&w.y)]);
        assert_eq!(all.contains(&vec![1, 1]), seen, "{model:?}: {all:?}");
    }
}

//! Histories of concurrent calls are linearizable: what they returned is what the same calls return one after
//! the other, in an order in which a call that ended before another one began comes first.
//!
//! Calls name one key each, so each key's calls are judged on their own. The order is searched for (the
//! method of Wing and Gong, which notes the pairs of calls made and value reached that led nowhere).

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use quiescent_collections::RcuHashMap;

#[derive(Clone, Copy, Debug)]
enum Call {
    Get,
    Insert(u32),
    Remove,
    /// The new value is the old one, multiplied, plus this number.
    Replace(u32),
    Update(u32),
    GetOrInsert(u32),
}

/// A call, between which ticks of a common clock it ran, and what it returned.
#[derive(Clone, Copy, Debug)]
struct Event {
    call: Call,
    begin: u64,
    end: u64,
    result: Option<u32>,
}

fn updated(old: u32, by: u32) -> u32 {
    old.wrapping_mul(31).wrapping_add(by)
}

/// What a call returns, and the value behind it, if this is the value before.
fn alone(call: Call, before: Option<u32>) -> (Option<u32>, Option<u32>) {
    match call {
        Call::Get => (before, before),
        Call::Insert(new) => (before, Some(new)),
        Call::Remove => (before, None),
        Call::Replace(new) => (before, before.map(|_| new)),
        Call::Update(by) => {
            let after = before.map(|old| updated(old, by));
            (after, after)
        }
        Call::GetOrInsert(new) => {
            let after = before.or(Some(new));
            (after, after)
        }
    }
}

/// The search for an order of one key's calls.
struct Search<'a> {
    events: &'a [Event],
    /// Calls made, a bit for each, and the value reached: no order of the others exists.
    hopeless: HashSet<(u64, Option<u32>)>,
}

impl Search<'_> {
    fn run(&mut self, made: u64, value: Option<u32>) -> bool {
        let left = |at: &usize| made >> at & 1 == 0;
        let ends = (0..self.events.len())
            .filter(left)
            .map(|at| self.events[at].end);
        let Some(first_end) = ends.min() else {
            return true;
        };
        if !self.hopeless.insert((made, value)) {
            return false;
        }
        (0..self.events.len()).filter(left).any(|at| {
            let event = self.events[at];
            let (result, after) = alone(event.call, value);
            event.begin < first_end && result == event.result && self.run(made | 1 << at, after)
        })
    }
}

/// Whether the calls on a key that is not there at first have an order.
fn is_linearizable(events: &[Event]) -> bool {
    assert!(events.len() <= 64, "a bit for each call");
    let hopeless = HashSet::new();
    Search { events, hopeless }.run(0, None)
}

/// A key whose comparison now and then lets other threads run, amid a call.
#[derive(Clone, Copy, Debug, Eq)]
struct Key(u32);

static COMPARISONS: AtomicU32 = AtomicU32::new(0);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        pause();
        self.0 == other.0
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u32(self.0);
        pause();
    }
}

fn pause() {
    if COMPARISONS
        .fetch_add(1, Ordering::Relaxed)
        .is_multiple_of(3)
    {
        thread::yield_now();
    }
}

/// Keys of which histories are recorded.
const KEYS: u32 = 3;
/// Calls of a thread in a round.
const CALLS: u64 = 8;
const THREADS: u64 = 3;
const ROUNDS: u64 = 60;

fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number ^ number >> 29
}

/// Makes random calls, and records them with their keys.
fn record(map: &RcuHashMap<Key, u32>, clock: &AtomicU64, seed: u64) -> Vec<(u32, Event)> {
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let one = |number: u64| {
        let random = mixed(number);
        // No two calls write the same value.
        let new = number as u32;
        let call = match random % 9 {
            0 | 1 => Call::Get,
            2 | 3 => Call::Insert(new),
            4 => Call::Remove,
            5 | 6 => Call::Update(new),
            7 => Call::Replace(new),
            _ => Call::GetOrInsert(new),
        };
        let number = (random >> 32) as u32 % KEYS;
        let (key, map) = (Key(number), map.pin());
        let begin = tick();
        let result = match call {
            Call::Get => map.get(&key),
            Call::Insert(new) => map.insert(key, new),
            Call::Remove => map.remove(&key),
            Call::Replace(new) => map.replace(key, new),
            Call::Update(by) => map.update(key, |&old| {
                pause();
                updated(old, by)
            }),
            Call::GetOrInsert(new) => Some(map.get_or_insert_with(key, || new)),
        };
        let event = Event {
            call,
            begin,
            result: result.copied(),
            end: tick(),
        };
        (number, event)
    };
    (seed * CALLS..(seed + 1) * CALLS).map(one).collect()
}

/// Threads call while the map grows and shrinks.
fn round(seed: u64) -> Vec<(u32, Event)> {
    let map = RcuHashMap::new();
    let (clock, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    // A chain with an overflow bucket, when the table is small.
    for other in KEYS..KEYS + 20 {
        map.pin().insert(Key(other), 0);
    }
    thread::scope(|scope| {
        let callers: Vec<_> = (0..THREADS)
            .map(|who| {
                let (map, clock) = (&map, &clock);
                scope.spawn(move || record(map, clock, seed * THREADS + who))
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let guard = quiescent::read_lock();
                map.reserve(200, &guard);
                map.shrink_to_fit(&guard);
            }
        });
        let ended: Vec<_> = callers.into_iter().map(|it| it.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ended.into_iter().flat_map(|it| it.unwrap()).collect()
    })
}

#[test]
fn histories_during_resizes_are_linearizable() {
    let mut met = 0;
    for seed in 0..ROUNDS {
        let events = round(seed);
        for key in 0..KEYS {
            let of_key = events.iter().filter(|it| it.0 == key);
            let of_key: Vec<Event> = of_key.map(|it| it.1).collect();
            assert!(is_linearizable(&of_key), "no order: {of_key:#?}");
            let meet = |a: &Event| of_key.iter().any(|b| a.begin < b.begin && b.begin < a.end);
            met += of_key.iter().filter(|it| meet(it)).count();
        }
    }
    assert!(met > 0, "no call met another one");
}

#[test]
fn a_wrong_history_is_refused() {
    let event = |call, begin, end, result| Event {
        call,
        begin,
        end,
        result,
    };
    let insert = event(Call::Insert(1), 0, 5, None);
    let other = event(Call::Insert(2), 1, 6, Some(1));
    assert!(is_linearizable(&[insert, other]));
    // One of both comes first, and the other one returns its value.
    assert!(!is_linearizable(&[
        insert,
        event(Call::Insert(2), 1, 6, None)
    ]));
    // Reads during both see them in their order, or not yet.
    let first = event(Call::Get, 2, 3, Some(2));
    assert!(is_linearizable(&[insert, other, first]));
    assert!(!is_linearizable(&[
        insert,
        other,
        first,
        event(Call::Get, 4, 7, Some(1))
    ]));
    // A call that has ended is seen.
    assert!(!is_linearizable(&[insert, event(Call::Get, 6, 7, None)]));
    // An update that is lost.
    let update = event(Call::Update(7), 6, 8, Some(updated(1, 7)));
    assert!(is_linearizable(&[insert, update]));
    assert!(!is_linearizable(&[
        insert,
        update,
        event(Call::Get, 9, 10, Some(1))
    ]));
    // What was removed is found again.
    let remove = event(Call::Remove, 6, 8, Some(1));
    assert!(!is_linearizable(&[
        insert,
        remove,
        event(Call::Get, 9, 10, Some(1))
    ]));
}

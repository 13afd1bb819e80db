//! Breadth-first search over whole states.
//!
//! A state that was met before is recognised by a 128-bit fingerprint of all its fields; two different states
//! among a few million share a fingerprint with a probability below 10⁻²⁴. Whole states are kept only until
//! they are expanded. For each state one path back to the start is kept, so that a violation comes with the
//! shortest list of actions that leads to it.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::search::actions::{Action, Actions};
use crate::search::bounds::Bounds;
use crate::search::marks::{Marks, Pad};
use crate::search::model::State;

/// Two independent multiply-and-rotate hashes over the words of a state.
#[derive(Default)]
struct Fingerprint {
    a: u64,
    b: u64,
}

impl Fingerprint {
    fn word(&mut self, word: u64) {
        let k = word.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31);
        self.a = (self.a ^ k.wrapping_mul(0x4cf5_ad43_2745_937f)).rotate_left(27);
        self.a = self
            .a
            .wrapping_add(self.b)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        let k = word.wrapping_mul(0x4cf5_ad43_2745_937f).rotate_left(33);
        self.b = (self.b ^ k.wrapping_mul(0x87c3_7b91_1142_53d5)).rotate_left(31);
        self.b = self
            .b
            .wrapping_add(self.a)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }

    fn of(state: &State) -> u128 {
        let mut lanes = Fingerprint { a: 1, b: 2 };
        state.hash(&mut lanes);
        let mix = |mut x: u64| {
            x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
            x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            x ^ x >> 33
        };
        let (a, b) = (
            mix(lanes.a.wrapping_add(lanes.b)),
            mix(lanes.b ^ lanes.a.rotate_left(32)),
        );
        u128::from(a) << 64 | u128::from(b)
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, i: u8) {
        self.word(i.into());
    }
    fn write_u32(&mut self, i: u32) {
        self.word(i.into());
    }
    fn write_u64(&mut self, i: u64) {
        self.word(i);
    }
    fn write_usize(&mut self, i: usize) {
        self.word(i as u64);
    }
    fn write_isize(&mut self, i: isize) {
        self.word(i as u64);
    }
    fn finish(&self) -> u64 {
        self.a
    }
}

/// A hasher that returns the fingerprint itself, which is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        for (i, byte) in bytes.iter().take(8).enumerate() {
            self.0 ^= u64::from(*byte) << (8 * i);
        }
    }
    fn write_u128(&mut self, i: u128) {
        self.0 = i as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The result of a search.
pub struct Report {
    pub states: usize,
    pub transitions: usize,
    /// The length of the longest of the shortest paths from the start.
    pub depth: u32,
    /// States from which only the driver could continue; it did, until all waiters were satisfied.
    pub settled: usize,
    pub marks: Marks,
}

/// The states found, and the path to each.
struct Found {
    index: HashMap<u128, u32, BuildHasherDefault<AsIs>>,
    way: Vec<(u32, Action)>,
}

impl Found {
    /// The actions that lead to a state.
    fn path(&self, mut at: u32) -> Vec<Action> {
        let mut path = Vec::new();
        while at != 0 {
            let (from, action) = self.way[at as usize];
            path.push(action);
            at = from;
        }
        path.reverse();
        path
    }

    fn violation(&self, bounds: &Bounds, at: u32, last: Option<Action>, why: &str) -> String {
        let mut path = self.path(at);
        path.extend(last);
        let lines: Vec<String> = path.iter().map(|action| format!("  {action:?}")).collect();
        format!("{why}\nin {bounds:?}\nafter\n{}", lines.join("\n"))
    }
}

/// Runs a closure in which the engine may panic.
fn guarded(f: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Visits every state within `bounds`.
///
/// # Errors
/// The broken rule of the oracle, with the shortest path that leads there.
pub fn explore(bounds: &Bounds) -> Result<Report, String> {
    let pad = Pad::default();
    let start = State::new(bounds);
    let mut found = Found {
        index: HashMap::default(),
        way: Vec::new(),
    };
    found.index.insert(Fingerprint::of(&start), 0);
    found.way.push((0, Action::Drive));
    let mut queue = VecDeque::from([(0, 0, start)]);
    let (mut transitions, mut deepest, mut settled) = (0, 0, 0);
    while let Some((at, depth, state)) = queue.pop_front() {
        deepest = depth;
        let Actions { all, only_forced } = state.actions(bounds);
        if only_forced {
            settled += 1;
            if let Err(why) = guarded(|| state.clone().settle(bounds)) {
                return Err(found.violation(bounds, at, None, &why));
            }
        }
        for action in all {
            let mut next = state.clone();
            if let Err(why) = guarded(|| next.apply(action, bounds, &pad)) {
                return Err(found.violation(bounds, at, Some(action), &why));
            }
            transitions += 1;
            let number = found.way.len() as u32;
            if let Entry::Vacant(vacant) = found.index.entry(Fingerprint::of(&next)) {
                vacant.insert(number);
                found.way.push((at, action));
                queue.push_back((number, depth + 1, next));
            }
        }
    }
    let states = found.way.len();
    Ok(Report {
        states,
        transitions,
        depth: deepest,
        settled,
        marks: pad.get(),
    })
}

/// One path: each byte picks one of the possible actions, and at the end all waiters are satisfied.
///
/// # Errors
/// The broken rule, and the path.
pub fn walk(bounds: &Bounds, bytes: &[u8]) -> Result<Marks, String> {
    let pad = Pad::default();
    let mut state = State::new(bounds);
    let mut path = Vec::new();
    for byte in bytes {
        let all = state.actions(bounds).all;
        let Some(&action) = all.get(usize::from(*byte) % all.len().max(1)) else {
            break;
        };
        path.push(action);
        guarded(|| state.apply(action, bounds, &pad))
            .map_err(|why| format!("{why}\nin {bounds:?}\nafter {path:?}"))?;
    }
    guarded(|| state.settle(bounds)).map_err(|why| format!("{why}\nafter {path:?}"))?;
    Ok(pad.get())
}

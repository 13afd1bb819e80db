//! Breadth-first search over whole states, of any model.
//!
//! A state that was met before is recognised by a 128-bit fingerprint of all its fields; two different states
//! among a few million share a fingerprint with a probability below 10⁻²⁴. Whole states are kept only until
//! they are expanded. For each state one path back to the start is kept, so that a violation comes with the
//! shortest list of actions that leads to it.
#![allow(
    missing_docs,
    reason = "for the tests of this project only; each item's comment describes it"
)]

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

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

    fn of(state: &impl Hash) -> u128 {
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

/// The size of a search.
pub struct Searched {
    pub states: usize,
    pub transitions: usize,
    /// The length of the longest of the shortest paths from the start.
    pub depth: u32,
}

/// Runs a closure in which the engine may panic.
pub fn guarded<R>(f: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Visits every state that can be reached from `start`. `visit` checks a state and returns the actions that
/// are possible in it, `apply` performs one. `bounds` are printed with a violation.
///
/// # Errors
/// The broken rule, or the panic, with the shortest path that leads there.
pub fn explore<S: Clone + Hash, A: Copy + Debug>(
    bounds: &impl Debug,
    start: S,
    mut visit: impl FnMut(&S) -> Result<Vec<A>, String>,
    mut apply: impl FnMut(&mut S, A) -> Result<(), String>,
) -> Result<Searched, String> {
    let mut known: HashMap<u128, (), BuildHasherDefault<AsIs>> = HashMap::default();
    known.insert(Fingerprint::of(&start), ());
    // For each state the one that it was reached from, and the action.
    let mut way: Vec<(usize, Option<A>)> = vec![(0, None)];
    let mut queue = VecDeque::from([(0, 0, start)]);
    let (mut transitions, mut deepest) = (0, 0);
    while let Some((at, depth, state)) = queue.pop_front() {
        deepest = depth;
        let actions =
            guarded(|| visit(&state)).map_err(|why| violation(bounds, &way, at, None, &why))?;
        for action in actions {
            let mut next = state.clone();
            guarded(|| apply(&mut next, action))
                .map_err(|why| violation(bounds, &way, at, Some(action), &why))?;
            transitions += 1;
            if let Entry::Vacant(vacant) = known.entry(Fingerprint::of(&next)) {
                vacant.insert(());
                way.push((at, Some(action)));
                queue.push_back((way.len() - 1, depth + 1, next));
            }
        }
    }
    Ok(Searched {
        states: way.len(),
        transitions,
        depth: deepest,
    })
}

fn violation<A: Copy + Debug>(
    bounds: &impl Debug,
    way: &[(usize, Option<A>)],
    mut at: usize,
    last: Option<A>,
    why: &str,
) -> String {
    let mut path = Vec::from_iter(last);
    while let (from, Some(action)) = way[at] {
        path.push(action);
        at = from;
    }
    path.reverse();
    let lines: Vec<String> = path.iter().map(|action| format!("  {action:?}")).collect();
    format!("{why}\nin {bounds:?}\nafter\n{}", lines.join("\n"))
}

//! Breadth-first search over whole states, of any model.
//!
//! A state that was met before is recognised by a hash of all its fields, of 64 bits; two different states
//! among a few million share one with a probability below 10⁻⁶, and the same ones in every run. Whole states
//! are kept only until they are expanded. For each state one path back to the start is kept, so that a
//! violation comes with the shortest list of actions that leads to it.
#![allow(
    missing_docs,
    reason = "for the tests of this project only; each item's comment describes it"
)]

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};

use foldhash::quality::FixedState;

/// The same in every run.
fn fingerprint(state: &impl Hash) -> u64 {
    FixedState::with_seed(0).hash_one(state)
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
    let mut known = HashSet::from([fingerprint(&start)]);
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
            if known.insert(fingerprint(&next)) {
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

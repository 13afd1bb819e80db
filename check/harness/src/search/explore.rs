//! The search of every order of actions, and walks.

use crate::explore::{Searched, explore as explore_all, guarded};
use crate::search::actions::Actions;
use crate::search::bounds::Bounds;
use crate::search::marks::{Marks, Pad};
use crate::search::model::State;

/// The result of a search.
pub struct Report {
    pub searched: Searched,
    /// States from which only the driver could continue; it did, until all waiters were satisfied.
    pub settled: usize,
    pub marks: Marks,
}

/// Visits every state within `bounds`.
///
/// # Errors
/// The broken rule of the oracle, with the shortest path that leads there.
pub fn explore(bounds: &Bounds) -> Result<Report, String> {
    let pad = Pad::default();
    let mut settled = 0;
    let visit = |state: &State| {
        let Actions { all, only_forced } = state.actions(bounds);
        if only_forced {
            settled += 1;
            state.clone().settle(bounds)?;
        }
        Ok(all)
    };
    let apply = |state: &mut State, action| state.apply(action, bounds, &pad);
    let searched = explore_all(bounds, State::new(bounds), visit, apply)?;
    Ok(Report {
        searched,
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

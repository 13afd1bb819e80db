//! The coverage marks of a step of the engine.

use quiescent_kernel::{Global, Phase};

use crate::search::marks::{Mark, Pad};

/// The node of the first leaf.
pub fn first_leaf(engine: &Global) -> usize {
    engine.tree().map_or(0, |tree| tree.geometry().first_leaf())
}

/// Marks the engine's phase; `scans` were begun in this grace period.
pub fn phase(scans: u8, engine: &Global, pad: &Pad) {
    let first_leaf = first_leaf(engine);
    pad.set(match engine.phase() {
        Phase::Idle => Mark::Idle,
        Phase::Fence => Mark::Fence,
        Phase::Hotplug(_) => Mark::Hotplug,
        Phase::Init(node) if node < first_leaf => Mark::InitInner,
        Phase::Init(_) => Mark::InitLeaf,
        Phase::Wait => Mark::Wait,
        Phase::Scan(_) if scans < 2 => Mark::ScanFirst,
        Phase::Scan(_) => Mark::ScanLater,
        Phase::Cleanup(node) if node < first_leaf => Mark::CleanupInner,
        Phase::Cleanup(_) => Mark::CleanupLeaf,
        Phase::End => Mark::End,
    });
}

/// Marks what a step did. `deferred`: a work item is pending.
pub fn step(before: Phase, engine: &Global, deferred: bool, pad: &Pad) {
    let after = engine.phase();
    if before == Phase::Idle {
        let started = after != Phase::Idle;
        pad.set_if(Mark::NothingWanted, !started);
        let markers = engine.config().wait_markers;
        let waiting = engine.waiters().any_waiting();
        let none_is_free = deferred && markers == 1 && waiting;
        pad.set_if(Mark::NoMarker, started && none_is_free);
    }
    let ends = after == Phase::Cleanup(0);
    pad.set_if(Mark::NoScan, ends && matches!(before, Phase::Init(_)));
    pad.set_if(Mark::BackToBack, before == Phase::End && engine.busy());
}

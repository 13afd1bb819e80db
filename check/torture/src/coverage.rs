//! The minimum of a run that was long enough: every actor has acted, a lazy callback has run, and the
//! counters that its scenario names have increased. A run that does nothing proves nothing.

use quiescent::statistics;

use crate::book::role::Role;
use crate::book::world::World;

/// What has not happened so far, as texts.
pub fn missing(world: &World) -> Vec<String> {
    let roles = Role::ALL.into_iter();
    let idle = roles.filter(|role| world.options.cast.of(*role) > 0 && world.acts(*role) == 0);
    let mut missing: Vec<String> = idle
        .map(|role| format!("{}: no {}", role.name(), role.counts()))
        .collect();
    if lazily(world) == 0 {
        missing.push("nothing that was queued lazily has run".into());
    }
    if !world.options.expects.is_empty() {
        let now = statistics();
        let counters = world.options.expects.iter();
        let still = counters.filter(|counter| (counter.get)(&now) == 0);
        missing.extend(still.map(|counter| format!("{} is still 0", counter.name)));
    }
    missing
}

/// The number of lazily queued entries that have run.
pub fn lazily(world: &World) -> u64 {
    world.done(|kind| kind.is_lazy())
}

//! Which settings a machine of a kind has.

use super::table::{SETTINGS, THREAD_SETTINGS};
use crate::input::options::{MachineKind, Options};

/// Settings of a kernel's machine that a machine of threads has as well.
pub const BOTH: [&str; 6] = [
    "machine",
    "hz",
    "lazy_flush",
    "stepwise",
    "seed",
    "cost.callback_ns",
];

/// Has a machine of this kind this setting?
pub(super) fn serves(key: &str, kind: MachineKind) -> bool {
    let kernels = SETTINGS.iter().any(|it| it.key == key);
    match kind {
        MachineKind::Kernel => kernels,
        MachineKind::Threads => !kernels || BOTH.contains(&key),
    }
}

/// Settings of the other kind of machine do nothing.
pub(super) fn warnings(options: &Options) -> Vec<String> {
    let plain = Options::kernel_6_12(options.cpus, options.hz);
    let all = SETTINGS.iter().chain(THREAD_SETTINGS);
    let idle = all.filter(|it| !serves(it.key, options.kind) && it.get(options) != it.get(&plain));
    let keys: Vec<&str> = idle.map(|it| it.key).collect();
    let (this, other) = match options.kind {
        MachineKind::Kernel => ("kernel", "threads"),
        MachineKind::Threads => ("threads", "kernel"),
    };
    match keys.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "machine={this}: what only machine={other} has does nothing: {}",
            keys.join(", ")
        )],
    }
}

//! Settings of a machine of threads; and which settings a machine of a kind has.

use super::table::{SETTINGS, Setting};
use crate::input::options::{MachineKind, Options};
use crate::text::values::{number, switch, time, time_text};

/// Settings of a kernel's machine that a machine of threads has as well.
pub const BOTH: [&str; 6] = [
    "machine",
    "hz",
    "lazy_flush",
    "stepwise",
    "seed",
    "cost.callback_ns",
];

/// The setting of a time, up to an hour.
macro_rules! time {
    ($key:literal, $($field:ident).+, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: "a time such as 50ms or 0.5s, up to 1000min",
            read: |it, text| {
                it.$($field).+ = time(text).filter(|ns| *ns <= 60_000_000_000_000)?;
                Some(())
            },
            write: |it| time_text(it.$($field).+),
        }
    };
}

/// Settings that only a machine of threads has, in the order in which they are carried out.
pub static THREAD_SETTINGS: &[Setting] = &[
    time!(
        "prompt_flush",
        threads.prompt_ns,
        "prompt callbacks wait so long at most for company (the library's set_flush_times)"
    ),
    number!(
        "batch",
        threads.batch,
        1..=1_000_000,
        "1 to 1000000",
        "so many callbacks of a lane make a batch"
    ),
    number!(
        "batch_bytes",
        threads.batch_bytes,
        1..=1 << 40,
        "bytes, from 1",
        "so many bytes make one"
    ),
    number!(
        "budget_bytes",
        threads.budget_bytes,
        0..=u64::MAX,
        "a number of bytes",
        "so much may be queued (the library's set_budget)"
    ),
    number!(
        "budget_callbacks",
        threads.budget_callbacks,
        0..=u64::MAX,
        "a number",
        "so many callbacks may be"
    ),
    Setting {
        key: "offload",
        about: "the worker frees what threads retire, and not they (the library's set_offload)",
        allowed: "1 or 0",
        read: |it, text| {
            it.threads.offload = switch(text)?;
            Some(())
        },
        write: |it| u8::from(it.threads.offload).to_string(),
    },
    time!(
        "stall_after",
        threads.stall_ns,
        "readers that are in the way for so long are reported; 0s: never"
    ),
    Setting {
        key: "clock",
        about: "what the monotonic clock shows at the beginning: deadlines lie on its whole seconds; `any`: drawn from the seed",
        allowed: "a time such as 1000.5s, or `any`",
        read: |it, text| {
            it.threads.clock = match text {
                "any" => None,
                text => Some(time(text).filter(|ns| *ns <= u64::MAX >> 1)?),
            };
            Some(())
        },
        write: |it| it.threads.clock.map_or("any".into(), time_text),
    },
    cost!(
        "cost.fence_ns",
        threads.prices.fence,
        "a process-wide fence"
    ),
    cost!(
        "cost.wake_ns",
        threads.prices.wake,
        "from the wake-up of a thread until it runs"
    ),
    cost!(
        "cost.start_ns",
        threads.prices.start,
        "from the start of a thread until it runs"
    ),
    cost!(
        "cost.step_ns",
        threads.prices.step,
        "a step of a grace period"
    ),
    cost!(
        "cost.spin_ns",
        threads.prices.spin,
        "a spin of a driver between two scans"
    ),
    cost!(
        "cost.push_ns",
        threads.prices.push,
        "a push, or one end of a section"
    ),
    cost!(
        "cost.help_ns",
        threads.prices.help,
        "a trip of an owner to the locks"
    ),
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

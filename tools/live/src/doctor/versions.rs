//! Rules on the kernel's version: which of RCU's defaults it has, and who wakes the waiters of
//! `synchronize_rcu`.
//!
//! The versions are those of the kernel as released. A distribution or a vendor may have taken a part of a
//! later one, so a file that shows the fact itself counts more than the version.

use super::{Finding, Rule};
use crate::Machine;
use crate::state::machine::parameter_file;
use crate::state::version::{FILES, Version};

/// The first version with a default, and what that is.
const DEFAULTS: [(Version, &str); 7] = [
    (
        Version::new(6, 2),
        "lazy callbacks (CONFIG_RCU_LAZY, on offloaded CPUs)",
    ),
    (
        Version::new(6, 9),
        "timers of idle CPUs expire on CPUs that are awake (timer migration)",
    ),
    (WAKING, "rcu_normal_wake_from_gp, off"),
    (
        WAKING_WHERE_SMALL,
        "rcu_normal_wake_from_gp on by itself with at most 16 CPUs",
    ),
    (
        Version::new(6, 18),
        "kfree_rcu frees through sheaves of the slab allocator",
    ),
    (
        Version::new(7, 0),
        "a grace period's thread reports its own CPU early",
    ),
    (WAKING_EVERYWHERE, "rcu_normal_wake_from_gp on by itself"),
];

/// The first with `rcu_normal_wake_from_gp`.
const WAKING: Version = Version::new(6, 10);
/// The first that has it on with at most [`SMALL`] CPUs.
const WAKING_WHERE_SMALL: Version = Version::new(6, 17);
/// The first that has it on with any number of CPUs.
const WAKING_EVERYWHERE: Version = Version::new(7, 2);
/// CPUs of a small machine, at most.
const SMALL: usize = 16;

/// The defaults of this version, and those that it does not have.
pub(super) fn defaults(machine: &Machine) -> Finding {
    let Some(version) = machine.version() else {
        return Rule::of(
            "version",
            format!("the kernel's release ({})", FILES.join(", ")),
        )
        .cannot_tell(
            "not known: rules that depend on a version say less",
            machine.remedy("mount /proc", "copy one of the two files too"),
        );
    };
    let file = machine.release_file.unwrap_or(FILES[0]);
    let part = |has: bool| {
        let those = DEFAULTS.iter().filter(|it| (it.0 <= version) == has);
        let words: Vec<String> = those
            .map(|(since, what)| format!("{what} ({since})"))
            .collect();
        match words.is_empty() {
            true => "none".to_owned(),
            false => words.join("; "),
        }
    };
    let (with, without) = (part(true), part(false));
    Rule::of("version", format!("Linux {version} ({file})")).fine(format!(
        "defaults as released, with their first version: {with}. Not here, unless a vendor has added them: \
         {without}"
    ))
}

/// The default of `rcu_normal_wake_from_gp`, and why; none if it depends on something that is not known.
fn waking_by_default(machine: &Machine) -> Option<(bool, String)> {
    let version = machine.version()?;
    if version >= WAKING_EVERYWHERE || version < WAKING_WHERE_SMALL {
        let is_on = version >= WAKING_EVERYWHERE;
        return Some((is_on, format!("Linux {version}")));
    }
    let cpus = machine.possible.as_ref()?.len();
    Some((
        cpus <= SMALL,
        format!("Linux {version} with {cpus} CPUs (at most {SMALL} have it on)"),
    ))
}

/// `rcu_normal_wake_from_gp`: the thread of the grace period wakes who waits in `synchronize_rcu`.
pub(super) fn waking(machine: &Machine) -> Option<Finding> {
    let name = "rcu_normal_wake_from_gp";
    let file = parameter_file("rcutree", name);
    let by_default = waking_by_default(machine);
    let is_expedited = machine.root.line("/sys/kernel/rcu_expedited");
    if is_expedited.and_then(|it| it.parse::<i64>().ok()) > Some(0) {
        return None;
    }
    let slow =
        "who waits in synchronize_rcu is woken by a callback: up to two ticks later than need be";
    let Some(now) = machine.parameter("rcutree", name) else {
        return absent(machine, &file, slow);
    };
    let rule = Rule::of("waking", format!("{now} ({file})"));
    if now.parse::<i64>().is_ok_and(|it| it > 0) {
        let in_force = "the thread of the grace period wakes who waits in synchronize_rcu";
        return Some(rule.fine(in_force));
    }
    let origin = match by_default {
        Some((true, of)) => format!("switched off: it is on by default in {of}"),
        Some((false, of)) => format!("the default of {of}"),
        None => "whether that is the default is not known: the version, or the number of CPUs"
            .to_owned(),
    };
    let many = machine.possible.as_ref().map(Vec::len);
    let larger = match many.filter(|it| *it > SMALL) {
        Some(cpus) => format!(
            ". The larger lever with {cpus} CPUs is expedited grace periods, which do not wait for a scan: \
             echo 1 > /sys/kernel/rcu_expedited, where CPUs may be interrupted"
        ),
        None => String::new(),
    };
    Some(rule.note(
        format!("{slow}; {origin}"),
        format!("echo 1 > {file}, or boot with rcutree.{name}=1{larger}"),
    ))
}

/// The module's parameters can be read, and this one is not among them.
fn absent(machine: &Machine, file: &str, slow: &str) -> Option<Finding> {
    let version = machine.version()?;
    if !machine.has_parameters("rcutree") {
        return None;
    }
    let rule = Rule::of("waking", format!("no {file}"));
    Some(if version < WAKING {
        let in_force = format!("as in every version before {WAKING}: {slow}");
        rule.fine(in_force)
    } else if version >= WAKING_EVERYWHERE {
        let in_force = format!("on, as in every version from {WAKING_EVERYWHERE} on");
        rule.fine(in_force)
    } else {
        rule.cannot_tell(
            format!("not known: every version from {WAKING} on has this file"),
            machine.remedy(
                "is it a kernel of a vendor, or without CONFIG_SMP?",
                "copy that file too",
            ),
        )
    })
}

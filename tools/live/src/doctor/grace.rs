//! Rules on grace periods: the wait before the first scan, expedited and normal ones, stall warnings.

use super::{Finding, NOTHING, Rule, Severity};
use crate::Machine;
use crate::state::machine::parameter_file;

/// Longer than any wait: the parameter is not set.
const NOT_SET: u64 = 1 << 31;

/// `jiffies_till_first_fqs` and `jiffies_till_next_fqs`.
pub(super) fn waits(machine: &Machine) -> Vec<Finding> {
    let names = ["jiffies_till_first_fqs", "jiffies_till_next_fqs"];
    let mut found = Vec::new();
    let mut usual = Vec::new();
    for name in names {
        let Some(text) = machine.parameter("rcutree", name) else {
            continue;
        };
        let file = parameter_file("rcutree", name);
        let (Ok(ticks), Some(own)) = (text.parse::<u64>(), machine.usual_wait()) else {
            let rule = Rule::of("wait", format!("{name} is {text} ({file})"));
            found.push(rule.cannot_tell(
                "not known whether that is much: ticks a second, or the number of CPUs, cannot be read",
                "copy the build configuration and /sys/devices/system/cpu/possible too",
            ));
            continue;
        };
        let ticks = if ticks >= NOT_SET { own } else { ticks };
        // Twice as long, or less than half, is an explicit setting.
        if ticks <= 2 * own && 2 * ticks >= own {
            usual.push(format!("{name} {ticks}"));
            continue;
        }
        let ms = |ticks| {
            machine
                .ms(ticks)
                .map_or(String::new(), |it| format!(" = {it:.0} ms"))
        };
        let (cost, remedy) = match ticks > own {
            true => (
                "every grace period waits so long, and so does each synchronize_rcu; callbacks keep their \
                 memory as long",
                "if it is for the sake of power: offloaded CPUs with lazy callbacks save more, and delay \
                 synchronize_rcu less",
            ),
            false => (
                "grace periods are short, and idle CPUs are looked at, and woken, more often",
                "leave it away, unless latency is worth the power",
            ),
        };
        found.push(
            Rule::of(
                "wait",
                format!("{name} {ticks} ticks{} ({file})", ms(ticks)),
            )
            .note(
                format!("far from the kernel's own {own} ticks{}: {cost}", ms(own)),
                remedy,
            ),
        );
    }
    if !usual.is_empty() {
        let own = machine.usual_wait().unwrap_or_default();
        let in_force = format!("{}; the kernel's own is {own}", usual.join(", "));
        found.push(Rule::of("wait", "waits before a look for idle CPUs, in ticks").fine(in_force));
    }
    found
}

/// `rcu_expedited`, `rcu_normal`.
pub(super) fn kinds(machine: &Machine) -> Option<Finding> {
    let is_on = |name: &str| {
        let files = [
            format!("/sys/kernel/{name}"),
            parameter_file("rcupdate", name),
        ];
        let text = files.iter().find_map(|file| machine.root.line(file))?;
        text.parse::<i64>().ok().map(|it| it > 0)
    };
    let (expedited, normal) = (is_on("rcu_expedited"), is_on("rcu_normal"));
    let (asked, severity, in_force, remedy) = match (expedited, normal) {
        (Some(true), Some(true)) => (
            "rcu_expedited and rcu_normal, both (/sys/kernel)",
            Severity::WithoutEffect,
            "normal grace periods only: rcu_normal goes before",
            "echo 0 > /sys/kernel/rcu_normal, or into rcu_expedited",
        ),
        (Some(true), _) => (
            "rcu_expedited (/sys/kernel/rcu_expedited)",
            Severity::Note,
            "each synchronize_rcu interrupts every CPU that is not idle; callbacks are as before",
            "good for latency, bad for CPUs that must not be disturbed: echo 0 > /sys/kernel/rcu_expedited \
             ends it",
        ),
        (_, Some(true)) => (
            "rcu_normal (/sys/kernel/rcu_normal)",
            Severity::Note,
            "synchronize_rcu_expedited waits for a normal grace period as well",
            "good for CPUs that must not be disturbed, bad for latency: echo 0 > /sys/kernel/rcu_normal \
             ends it",
        ),
        (Some(false), Some(false)) => (
            NOTHING,
            Severity::Fine,
            "normal grace periods, and expedited ones where the kernel's own code asks for them",
            "",
        ),
        _ => return None,
    };
    Some(Rule::of("kind of grace period", asked).finding(severity, in_force, remedy))
}

/// Stall warnings that were switched off.
pub(super) fn stalls(machine: &Machine) -> Option<Finding> {
    let now = machine.parameter("rcupdate", "rcu_cpu_stall_suppress")?;
    let is_off = now.parse::<i64>().is_ok_and(|it| it != 0);
    is_off.then(|| {
        Rule::of("stall warnings", format!("rcu_cpu_stall_suppress {now}")).note(
            "a CPU that holds grace periods up for a minute is not reported",
            format!(
                "echo 0 > {}",
                parameter_file("rcupdate", "rcu_cpu_stall_suppress")
            ),
        )
    })
}

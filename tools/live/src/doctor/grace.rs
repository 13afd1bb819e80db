//! Rules on grace periods: the wait before the first scan, expedited and normal ones, stall warnings.

use super::parameters::truth;
use super::{Finding, NOTHING, Rule};
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
        let shown = files.iter().find_map(|file| machine.root.line(file));
        let asked = || machine.asked(&format!("rcupdate.{name}")).and_then(truth);
        shown.map_or_else(asked, |it| it.parse::<i64>().ok().map(|it| it > 0))
    };
    let is_real_time = is_real_time(machine);
    let after_boot = is_real_time || is_on("rcu_normal_after_boot") == Some(true);
    let normal = is_on("rcu_normal").or(after_boot.then_some(true));
    let rule = |asked: &str| Rule::of("kind of grace period", asked);
    Some(match (is_on("rcu_expedited"), normal) {
        (Some(true), Some(true)) => {
            let (by, remedy) = match after_boot {
                _ if is_real_time => (
                    ", and a kernel with CONFIG_PREEMPT_RT sets it at the end of boot",
                    "echo 0 > /sys/kernel/rcu_normal after each boot, if its tasks bear the interrupts; or \
                     leave rcu_expedited away",
                ),
                true => (
                    ", and rcupdate.rcu_normal_after_boot has set it at the end of boot",
                    "boot without rcupdate.rcu_normal_after_boot, or leave rcu_expedited to the boot alone",
                ),
                false => ("", "echo 0 > /sys/kernel/rcu_normal, or into rcu_expedited"),
            };
            let in_force = format!("normal grace periods only: rcu_normal goes before{by}");
            rule("rcu_expedited and rcu_normal, both (/sys/kernel)").without_effect(in_force, remedy)
        }
        (Some(true), _) => rule("rcu_expedited (/sys/kernel/rcu_expedited)").note(
            "each synchronize_rcu interrupts every CPU that is not idle; callbacks are as before",
            "good for latency, bad for CPUs that must not be disturbed: echo 0 > /sys/kernel/rcu_expedited \
             ends it",
        ),
        (_, Some(true)) if is_real_time => rule(NOTHING).fine(
            "normal grace periods only: a kernel with CONFIG_PREEMPT_RT sets rcu_normal at the end of boot, \
             so that none interrupts a CPU",
        ),
        (_, Some(true)) => rule("rcu_normal (/sys/kernel/rcu_normal)").note(
            "synchronize_rcu_expedited waits for a normal grace period as well",
            "good for CPUs that must not be disturbed, bad for latency: echo 0 > /sys/kernel/rcu_normal \
             ends it",
        ),
        (Some(false), Some(false)) => rule(NOTHING).fine(
            "normal grace periods, and expedited ones where the kernel's own code asks for them",
        ),
        _ => return None,
    })
}

/// Such a kernel sets `rcu_normal` at the end of boot, whatever is asked.
fn is_real_time(machine: &Machine) -> bool {
    machine.is_set("CONFIG_PREEMPT_RT") == Some(true)
        || machine.root.line("/sys/kernel/realtime").as_deref() == Some("1")
}

/// Stalls are to be reported within these times: sooner, a task that had to wait for its CPU is reported as
/// one; later, callbacks keep their memory for so long without a word. Kernels are released with 21 s, and
/// distributions set up to 60 s.
const REPORTED_MS: std::ops::RangeInclusive<u64> = 1_000..=60_000;

/// The times after which stalls are reported: what is held up, parameter, milliseconds of its unit. The build
/// configuration has the same names, in capitals.
const STALLS: [(&str, &str, u64); 2] = [
    ("a grace period", "rcu_cpu_stall_timeout", 1_000),
    ("an expedited grace period", "rcu_exp_cpu_stall_timeout", 1),
];

/// Stall warnings that are off, and those that come too early or too late.
pub(super) fn stalls(machine: &Machine) -> Vec<Finding> {
    const ABOUT: &str = "stall warnings";
    let now = machine.parameter("rcupdate", "rcu_cpu_stall_suppress");
    if let Some(now) = now.filter(|it| it.parse::<i64>().is_ok_and(|it| it != 0)) {
        let file = parameter_file("rcupdate", "rcu_cpu_stall_suppress");
        let rule = Rule::of(ABOUT, format!("rcu_cpu_stall_suppress {now}"));
        let why = "a CPU that holds grace periods up is never reported";
        return vec![rule.note(why, format!("echo 0 > {file}"))];
    }
    let found = STALLS.iter().filter_map(|(what, name, unit_ms)| {
        let config = format!("CONFIG_{}", name.to_uppercase());
        let file = parameter_file("rcupdate", name);
        let (text, from) = match machine.parameter("rcupdate", name) {
            Some(text) => (text, file.clone()),
            None => (
                machine.configured(&config)?.to_owned(),
                format!("{config} in {}", machine.config_file()),
            ),
        };
        let ms = text.parse::<u64>().ok()?.saturating_mul(*unit_ms);
        let rule = Rule::of(ABOUT, format!("{name} {text} ({from})"));
        let after = match ms < 1_000 {
            true => format!("{ms} ms"),
            false => format!("{} s", ms / 1_000),
        };
        let said = format!("{what} that is held up is reported after {after}");
        Some(match ms {
            0 => rule.fine(format!(
                "{what} that is held up is reported as a normal one is"
            )),
            _ if ms < *REPORTED_MS.start() => rule.note(
                format!(
                    "{said}: a busy machine or a paused virtual one is reported without a fault"
                ),
                format!("echo 0 > {file}: as normal ones are"),
            ),
            _ if ms > *REPORTED_MS.end() => rule.note(
                format!("{said}: until then callbacks keep their memory without a word"),
                format!("echo {} > {file}", 21_000 / unit_ms),
            ),
            _ => rule.fine(said),
        })
    });
    found.collect()
}

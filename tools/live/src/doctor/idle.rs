//! Rules on idle CPUs: whether ticks stop, isolated CPUs, idle states.

use super::{Finding, NOTHING, Rule};
use crate::Machine;
use crate::state::cpus::{common, known_list, listed, without};
use crate::state::machine::CPU;

/// Do ticks of idle CPUs stop?
pub(super) fn ticks(machine: &Machine) -> Option<Finding> {
    let on = "ticks of idle CPUs never stop, with callbacks or without: offloading and laziness save no \
     ticks";
    if machine.asked("nohz") == Some("off") {
        let rule = Rule::on_line("ticks", "nohz=off");
        return Some(rule.note(on, "leave nohz=off away"));
    }
    match machine.is_set("CONFIG_HZ_PERIODIC")? {
        true => Some(
            Rule::of("ticks", machine.with("CONFIG_HZ_PERIODIC"))
                .note(on, "boot a kernel that is built with CONFIG_NO_HZ_IDLE=y"),
        ),
        false => Some(
            Rule::of("ticks", NOTHING)
                .fine("an idle CPU stops its tick, unless it has callbacks and is not offloaded"),
        ),
    }
}

/// `nohz_full=`.
pub(super) fn full(machine: &Machine) -> Option<Finding> {
    let list = machine.asked("nohz_full")?;
    let rule = Rule::on_line("nohz_full", format!("nohz_full={list}"));
    let file = format!("{CPU}/nohz_full");
    if machine.is_set("CONFIG_NO_HZ_FULL") == Some(false) {
        return Some(rule.without_effect(
            format!("none: {}", machine.without("CONFIG_NO_HZ_FULL")),
            "boot a kernel that is built with CONFIG_NO_HZ_FULL=y",
        ));
    }
    compare(machine, &rule, machine.named(list), &file)
}

/// `isolcpus=`, as far as it takes CPUs away from the scheduler's balance.
pub(super) fn isolated(machine: &Machine) -> Option<Finding> {
    let value = machine.asked("isolcpus")?;
    let is_word = |it: &&str| matches!(*it, "domain" | "managed_irq" | "nohz");
    let parts: Vec<&str> = value.split(',').collect();
    let words: Vec<&str> = parts.iter().copied().take_while(is_word).collect();
    let list = parts[words.len()..].join(",");
    if !words.is_empty() && !words.contains(&"domain") {
        return None; // no file tells about the other kinds
    }
    let rule = Rule::on_line("isolcpus", format!("isolcpus={value}"));
    let file = format!("{CPU}/isolated");
    compare(machine, &rule, machine.named(&list), &file)
}

/// CPUs that were named beside those in a file.
fn compare(
    machine: &Machine,
    rule: &Rule,
    wanted: Option<Vec<u32>>,
    file: &str,
) -> Option<Finding> {
    let Some(now) = known_list(&machine.root, file) else {
        let why = format!("not known: {file} cannot be read");
        return Some(rule.cannot_tell(why, "copy that file too"));
    };
    let in_force = format!("CPUs {} ({file})", listed(&now));
    let remedy = "name CPUs of this machine, and leave at least one out; `dmesg` says what the kernel made \
     of it";
    let Some(wanted) = wanted else {
        return Some(rule.without_effect(in_force, remedy));
    };
    let possible = machine.possible.as_deref();
    let there = possible.map_or(wanted.clone(), |it| common(&wanted, it));
    let missing = without(&there, &now);
    if !missing.is_empty() || there.is_empty() {
        return Some(rule.without_effect(in_force, remedy));
    }
    let absent = without(&wanted, &there);
    Some(match absent.is_empty() {
        true => rule.fine(in_force),
        false => {
            let absent = listed(&absent);
            rule.note(format!("{in_force}; there are no CPUs {absent}"), remedy)
        }
    })
}

/// Words of the command line that keep CPUs from sleeping.
const AWAKE: [(&str, &str); 5] = [
    ("idle", "poll"),
    ("cpuidle.off", "1"),
    ("intel_idle.max_cstate", "0"),
    ("intel_idle.max_cstate", "1"),
    ("processor.max_cstate", "1"),
];

/// An idle state of the first CPU.
struct State {
    name: String,
    residency_us: u64,
    disabled: bool,
}

/// cpuidle: driver, governor, states.
pub(super) fn states(machine: &Machine) -> Option<Finding> {
    let line = |file: &str| machine.root.line(&format!("{CPU}/{file}"));
    for (name, value) in AWAKE {
        if machine.asked(name) == Some(value) {
            return Some(Rule::on_line("idle states", format!("{name}={value}")).note(
                "CPUs do not sleep deeply, so wake-ups that RCU spares them save next to nothing",
                format!("leave {name}={value} away"),
            ));
        }
    }
    let driver = line("cpuidle/current_driver")?;
    let governor = line("cpuidle/current_governor")
        .or_else(|| line("cpuidle/current_governor_ro"))
        .unwrap_or_else(|| "not known".to_owned());
    let asked = format!("driver {driver}, governor {governor} ({CPU}/cpuidle)");
    let rule = Rule::of("idle states", asked);
    let states = all_states(machine);
    let Some(deepest) = states
        .iter()
        .filter(|it| !it.disabled)
        .max_by_key(|it| it.residency_us)
    else {
        return Some(rule.note(
            "no idle states: CPUs halt, and what deeper sleep would save cannot be had or seen here",
            "in a virtual machine that is as it should be: look at its host",
        ));
    };
    let disabled: Vec<&str> = states
        .iter()
        .filter(|it| it.disabled)
        .map(|it| it.name.as_str())
        .collect();
    if !disabled.is_empty() {
        return Some(rule.note(
            format!(
                "disabled: {}; the deepest that is left is {}",
                disabled.join(", "),
                deepest.name
            ),
            "echo 0 > /sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
        ));
    }
    Some(rule.fine(depth(machine, deepest)))
}

/// What the deepest state needs, beside what RCU leaves it.
fn depth(machine: &Machine, deepest: &State) -> String {
    let needs = format!(
        "the deepest is {}, worth it from {} us on",
        deepest.name, deepest.residency_us
    );
    let first = machine.parameter("rcutree", "jiffies_till_first_fqs");
    let first = first
        .and_then(|it| it.parse().ok())
        .filter(|it: &u64| *it < 1 << 31);
    let wait = first.or_else(|| machine.usual_wait());
    match wait.and_then(|it| machine.ms(it)) {
        Some(ms) if ms * 1e3 < deepest.residency_us as f64 => {
            format!("{needs}: longer than the {ms:.0} ms between two looks of a grace period")
        }
        Some(ms) => format!("{needs}; a grace period looks every {ms:.0} ms"),
        None => needs,
    }
}

fn all_states(machine: &Machine) -> Vec<State> {
    let state = |n: u32| {
        let file = |name: &str| {
            machine
                .root
                .line(&format!("{CPU}/cpu0/cpuidle/state{n}/{name}"))
        };
        Some(State {
            name: file("name")?,
            residency_us: file("residency")
                .and_then(|it| it.parse().ok())
                .unwrap_or(0),
            disabled: file("disable").is_some_and(|it| it == "1"),
        })
    };
    (0..10).map_while(state).collect()
}

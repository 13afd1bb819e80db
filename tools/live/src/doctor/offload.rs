//! Rules on offloading, and on polling, which has no effect without it.

use super::{Finding, NOTHING, Rule};
use crate::Machine;
use crate::state::cpus::{common, listed, without};

const REMEDY_BUILD: &str = "boot a kernel that is built with CONFIG_RCU_NOCB_CPU=y";

const ABOUT: &str = "offloading";

/// Nothing is known of offloaded CPUs.
const UNSEEN: &str = "not known: the kernel's threads are not to be seen";

/// The remedy for [`UNSEEN`].
pub(super) fn unseen(machine: &Machine) -> &'static str {
    machine.remedy(
        "run it outside of the container; an offloaded CPU has a thread rcuop/N",
        "copy /proc/PID/comm of the kernel's threads too; an offloaded CPU has a thread rcuop/N",
    )
}

/// The requests to offload CPUs.
struct Ask {
    words: String,
    /// The CPUs; none if it is no list of any.
    cpus: Option<Vec<u32>>,
}

fn asks(machine: &Machine) -> Vec<Ask> {
    let mut asks = Vec::new();
    for name in ["rcu_nocbs", "nohz_full"] {
        let list = machine.asked(name);
        asks.extend(list.map(|list| Ask {
            words: match list {
                "" => format!("{name} on the command line, without CPUs"),
                list => format!("{name}={list} on the command line"),
            },
            cpus: machine.named(list),
        }));
    }
    let all = "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL";
    if asks.is_empty() && machine.is_set(all) == Some(true) {
        asks.push(Ask {
            words: format!("{all}=y in {}", machine.config_file()),
            cpus: machine.possible.clone(),
        });
    }
    asks
}

/// Are CPUs to be offloaded?
pub(super) fn is_asked(machine: &Machine) -> bool {
    !asks(machine).is_empty()
}

pub(super) fn offload(machine: &Machine) -> Vec<Finding> {
    let asks = asks(machine);
    let offloaded = machine.offloaded();
    if asks.is_empty() {
        return vec![unasked(machine, offloaded.as_deref())];
    }
    let words: Vec<&str> = asks.iter().map(|it| it.words.as_str()).collect();
    let rule = Rule::of(ABOUT, words.join(" and "));
    if machine.is_set("CONFIG_RCU_NOCB_CPU") == Some(false) {
        let why = format!("none: {}", machine.without("CONFIG_RCU_NOCB_CPU"));
        return vec![rule.without_effect(why, REMEDY_BUILD)];
    }
    let without = asks.iter().filter(|it| it.cpus.is_none());
    let without = without.map(|ask| no_cpus(machine, ask, offloaded.as_deref()));
    let mut found: Vec<Finding> = without.collect();
    let wanted = asks.iter().filter_map(|it| it.cpus.clone());
    let wanted: Vec<u32> = wanted.flatten().collect();
    if !wanted.is_empty() {
        found.push(compare(machine, &rule, &wanted, offloaded.as_deref()));
    }
    found
}

/// No request.
fn unasked(machine: &Machine, offloaded: Option<&[u32]>) -> Finding {
    let rule = Rule::of(ABOUT, NOTHING);
    match offloaded {
        Some([]) => rule.fine(
            "no CPU is offloaded: each invokes its own callbacks, and keeps its tick while it has any",
        ),
        Some(cpus) => {
            let asked = match machine.command {
                Some(_) => "nothing that is to be seen",
                None => "not known: the command line cannot be read",
            };
            let in_force = format!("CPUs {} are offloaded (threads rcuop/N)", listed(cpus));
            Rule::of(ABOUT, asked).fine(in_force)
        }
        None => rule.cannot_tell(UNSEEN, unseen(machine)),
    }
}

/// A word without CPUs, or with something else.
fn no_cpus(machine: &Machine, ask: &Ask, offloaded: Option<&[u32]>) -> Finding {
    let rule = Rule::of(ABOUT, &ask.words);
    let all_is_unknown = ask.words.contains("=all ") && machine.possible.is_none();
    let remedy = "name the CPUs: rcu_nocbs=all, or rcu_nocbs=1-3";
    match offloaded {
        _ if all_is_unknown => rule.cannot_tell(
            "not known: /sys/devices/system/cpu/possible cannot be read",
            machine.remedy("mount /sys", "copy that file too"),
        ),
        Some(cpus @ [_, ..]) => rule.note(
            format!(
                "names no CPU; CPUs {} are offloaded all the same",
                listed(cpus)
            ),
            remedy,
        ),
        _ => rule.without_effect("none: that names no CPU, so none is offloaded", remedy),
    }
}

/// CPUs that were named beside those that have a thread.
fn compare(machine: &Machine, rule: &Rule, wanted: &[u32], offloaded: Option<&[u32]>) -> Finding {
    let Some(offloaded) = offloaded else {
        return rule.cannot_tell(UNSEEN, unseen(machine));
    };
    // A CPU that has never been there has no thread yet.
    let (there, absent) = match (&machine.online, &machine.possible) {
        (Some(online), Some(possible)) => (common(wanted, online), without(wanted, possible)),
        _ => (wanted.to_vec(), Vec::new()),
    };
    let missing = without(&there, offloaded);
    if !missing.is_empty() || offloaded.is_empty() {
        let why = match (missing.is_empty(), offloaded.is_empty()) {
            (true, _) => format!("none: there are no CPUs {}", listed(wanted)),
            (_, true) => "none: there is no thread rcuop/N".to_owned(),
            _ => format!(
                "CPUs {} only: CPUs {} have no thread rcuop/N",
                listed(offloaded),
                listed(&missing)
            ),
        };
        let remedy = match missing.is_empty() {
            true => "name CPUs of this machine, or all: rcu_nocbs=all".to_owned(),
            false if machine.is_set("CONFIG_RCU_NOCB_CPU").is_none() => {
                format!("is it built without CONFIG_RCU_NOCB_CPU? then {REMEDY_BUILD}")
            }
            false => "`dmesg | grep -i nocb` says what the kernel made of it".to_owned(),
        };
        return rule.without_effect(why, remedy);
    }
    let mut in_force = format!("CPUs {} (threads rcuop/N)", listed(offloaded));
    if absent.is_empty() {
        return rule.fine(in_force);
    }
    in_force += &format!("; there are no CPUs {}", listed(&absent));
    let remedy = "name CPUs that there are, or all";
    rule.note(in_force, remedy)
}

/// `rcu_nocb_poll`: threads of offloading look each tick.
pub(super) fn poll(machine: &Machine) -> Option<Finding> {
    machine.asked("rcu_nocb_poll")?;
    let rule = Rule::on_line("polling", "rcu_nocb_poll");
    Some(match machine.offloaded() {
        Some(cpus) if cpus.is_empty() => rule.without_effect(
            "none: no CPU is offloaded",
            "boot with rcu_nocbs=all, or leave it away",
        ),
        Some(_) => rule.note(
            "threads rcuog/N wake up each tick, whether there is anything to do or not",
            "leave it away, unless CPUs must never be the ones to wake them: it costs idle CPUs their \
             sleep, and laziness its use",
        ),
        None => rule.cannot_tell(UNSEEN, unseen(machine)),
    })
}

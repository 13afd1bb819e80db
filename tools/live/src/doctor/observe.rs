//! Rules on observability: tracing events, memory pressure, membarrier, unreadable files.

use super::{Finding, NOTHING, Rule, Severity};
use crate::Machine;
use crate::state::tracefs::Place;

/// The remedy where tracefs is not among the copied files.
const COPY_EVENTS: &str = "copy /sys/kernel/tracing/events/rcu/*/id too, as root";

/// RCU's own events.
pub(super) fn events(machine: &Machine) -> Finding {
    let asked = "events of RCU to record (`quiescent record`, `quiescent top --kernel`)";
    let rule = Rule::of("events", asked);
    let built = machine.is_set("CONFIG_RCU_TRACE");
    let missing =
        "only rates are known, not which callbacks there are, nor how long grace periods take";
    let remedy = "boot a kernel that is built with CONFIG_RCU_TRACE=y, or CONFIG_KPROBE_EVENTS=y";
    let by_probes =
        "tracepoints are not there, and probes on the kernel's functions are taken instead";
    let place = match machine.tracing {
        Place::At(place) => place,
        _ if built == Some(false) && machine.is_set("CONFIG_KPROBE_EVENTS") == Some(true) => {
            return rule.fine(format!(
                "{by_probes} ({})",
                machine.with("CONFIG_KPROBE_EVENTS")
            ));
        }
        _ if built == Some(false) => {
            let why = format!("{}: {missing}", machine.without("CONFIG_RCU_TRACE"));
            return rule.note(why, remedy);
        }
        Place::Forbidden(place) => {
            let why = format!("not known: {place} may not be read");
            let remedy = machine.remedy("run it as root", "read the copy as its owner");
            return rule.cannot_tell(why, remedy);
        }
        Place::NotMounted(place) => {
            let why = format!("not known: nothing is mounted on {place}");
            let mount = format!("as root: mount -t tracefs nodev {place}");
            let remedy = machine.remedy(&mount, COPY_EVENTS);
            return rule.cannot_tell(why, remedy);
        }
        Place::Absent => {
            let why = "not known: there is no /sys/kernel/tracing";
            let remedy = machine.remedy("is the kernel built with CONFIG_TRACING=y?", COPY_EVENTS);
            return rule.cannot_tell(why, remedy);
        }
    };
    let names = machine.root.folders(&format!("{place}/events/rcu"));
    let wanted = ["rcu_grace_period", "rcu_callback", "rcu_invoke_callback"];
    let absent: Vec<&str> = wanted
        .into_iter()
        .filter(|it| !names.iter().any(|name| name == it))
        .collect();
    if absent.is_empty() {
        let in_force = format!("{} tracepoints in {place}/events/rcu", names.len());
        return rule.fine(in_force);
    }
    if machine.root.has(&format!("{place}/kprobe_events")) {
        return rule.fine(format!("{by_probes} ({place}/kprobe_events)"));
    }
    let frees = machine.root.folders(&format!("{place}/events/kmem"));
    let instead = match frees.iter().any(|it| it == "kmem_cache_free") {
        true => "; what callbacks free can be seen by events kmem:kfree and kmem:kmem_cache_free",
        false => "",
    };
    let why = format!(
        "neither tracepoints (no {} in {place}/events/rcu) nor probes (no kprobe_events): {missing}{instead}",
        absent.join(", ")
    );
    rule.note(why, remedy)
}

/// Pressure stall information, by which the library learns that memory is low.
pub(super) fn pressure(machine: &Machine) -> Option<Finding> {
    let word = machine.asked("psi");
    let rule = match word {
        Some(value) => Rule::on_line("pressure", format!("psi={value}")),
        None => Rule::of("pressure", NOTHING),
    };
    let shown = machine.root.line("/proc/pressure/memory");
    if shown.is_some_and(|it| it.starts_with("some")) {
        let why = "on (/proc/pressure/memory): lazy memory is given back when it is scarce";
        return Some(rule.fine(why));
    }
    let off = "off: a program that holds lazy memory is not notified when it is scarce, but by its budget \
     and its cgroup";
    let wanted = word.and_then(super::parameters::truth) == Some(true);
    let built = machine.is_set("CONFIG_PSI");
    let by_default = "CONFIG_PSI_DEFAULT_DISABLED";
    if word.is_none() && built == Some(true) && machine.is_set(by_default) == Some(true) {
        // Of a copy the file is not missing: such a kernel has none.
        let why = format!("{off} ({}: off unless asked for)", machine.with(by_default));
        return machine
            .command
            .as_ref()
            .map(|_| rule.note(why, "boot with psi=1"));
    }
    let severity = match wanted {
        true => Severity::WithoutEffect,
        false => Severity::Note,
    };
    let finding = |remedy| Some(rule.finding(severity, off, remedy));
    match (wanted, built) {
        (_, Some(false)) => finding("boot a kernel that is built with CONFIG_PSI=y"),
        (true, Some(true)) if machine.here => {
            finding("is /proc/pressure hidden here, as in a container? `dmesg | grep -i psi`")
        }
        (false, Some(true)) if machine.here && machine.command.is_some() => {
            finding("boot with psi=1")
        }
        _ => Some(rule.cannot_tell("not known: /proc/pressure/memory cannot be read", machine.remedy(
                "boot with psi=1 on a kernel that is built with CONFIG_PSI=y",
                "copy that file too; it exists with psi=1 on a kernel that is built with CONFIG_PSI=y",
            ))),
    }
}

/// `MEMBARRIER_CMD_GLOBAL` and `MEMBARRIER_CMD_PRIVATE_EXPEDITED` of membarrier(2).
const GLOBAL: i64 = 1;
const PRIVATE_EXPEDITED: i64 = 1 << 3;

/// The system call on which the library's readers rely.
pub(super) fn membarrier(machine: &Machine) -> Option<Finding> {
    let asked = "membarrier(2), so that this library's readers need no fences";
    let rule = Rule::of("membarrier", asked);
    let fenced = "each reader carries a fence";
    Some(match &machine.membarrier {
        None => match machine.is_set("CONFIG_MEMBARRIER")? {
            true => rule.fine(machine.with("CONFIG_MEMBARRIER")),
            false => rule.note(
                format!("{}: {fenced}", machine.without("CONFIG_MEMBARRIER")),
                "boot a kernel that is built with CONFIG_MEMBARRIER=y",
            ),
        },
        Some(Err(why)) => rule.note(
            format!("refused ({why}): {fenced}"),
            "allow the system call in the sandbox (seccomp), or boot a kernel that is built with \
             CONFIG_MEMBARRIER=y",
        ),
        Some(Ok(commands)) if commands & PRIVATE_EXPEDITED == 0 => rule.note(
            format!("without PRIVATE_EXPEDITED (commands {commands:#x}): {fenced}"),
            "boot Linux 4.14 or newer",
        ),
        Some(Ok(commands)) if commands & GLOBAL == 0 => rule.fine(
            "PRIVATE_EXPEDITED; GLOBAL is not there (nohz_full), so `quiescent kernel bench` has nothing to \
             time",
        ),
        Some(Ok(_)) => rule.fine("PRIVATE_EXPEDITED, and GLOBAL"),
    })
}

/// Files that could not be read, on which rules depend.
pub(super) fn unread(machine: &Machine) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut missing = |asked: &str, remedy: &str| {
        let why = "not known: it cannot be read, so rules that need it say less";
        found.push(Rule::of("files", asked).cannot_tell(why, remedy));
    };
    if machine.config.is_none() {
        missing(
            "the build configuration (/proc/config.gz, /boot/config-RELEASE)",
            machine.remedy(
                "modprobe configs, or install the kernel's package",
                "copy one of the two (modprobe configs makes the first), and /proc/sys/kernel/osrelease",
            ),
        );
    }
    if machine.command.is_none() {
        missing(
            "the command line (/proc/cmdline)",
            machine.remedy("mount /proc", "copy that file too"),
        );
    }
    found
}

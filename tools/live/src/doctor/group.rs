//! Rules on the control group: a limit of memory that the pressure of the whole machine says nothing about.
//!
//! The library listens to `/proc/pressure/memory`, and to `memory.pressure` and `memory.events` of its
//! process's group. Behind a limit only the group's files report that memory is low: the rest of the machine
//! may have plenty. The group is that of `/proc/self/cgroup`, so the command has to run where the program
//! runs, in its container or service.

use super::{Finding, Rule};
use crate::Machine;
use std::fs::OpenOptions;

const ABOUT: &str = "limit of memory";

/// Mount points of control groups version 2, as the library tries them.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The controller of memory of version 1.
const OLD: &str = "/sys/fs/cgroup/memory";

/// Values from here on are no limit: version 1 has no word for that.
const NO_LIMIT: u64 = 1 << 62;

pub(super) fn inspect(machine: &Machine) -> Option<Finding> {
    let groups = machine.root.text("/proc/self/cgroup")?;
    match folder(machine, &groups) {
        Some((mount, group)) => new(machine, mount, group),
        None => old(machine, &groups),
    }
}

/// A group of version 2: its mount point, and its path below that.
fn folder<'a>(machine: &Machine, groups: &'a str) -> Option<(&'static str, &'a str)> {
    let group = groups.lines().find_map(|it| it.strip_prefix("0::"))?;
    let group = group.trim_end_matches('/');
    let files = ["cgroup.events", "memory.max"]; // the root has neither
    let is_there = |mount: &&str| {
        let mut files = files.iter();
        files.any(|it| machine.root.has(&format!("{mount}{group}/{it}")))
    };
    let mount = MOUNTS.into_iter().find(is_there)?;
    (!group.split('/').any(|it| it == "..")).then_some((mount, group))
}

/// The smallest limit of a group and those around it: bytes, file, and whether it is the group's own.
fn limit(machine: &Machine, mount: &str, group: &str) -> Option<(u64, String, bool)> {
    let mut limits = Vec::new();
    let mut at = Some(group);
    while let Some(part) = at {
        for name in ["memory.high", "memory.max"] {
            let file = format!("{mount}{part}/{name}");
            let bytes = machine.root.line(&file);
            let bytes = bytes.and_then(|it| it.parse::<u64>().ok());
            limits.extend(bytes.map(|it| (it, file, part == group)));
        }
        at = part.rsplit_once('/').map(|it| it.0);
    }
    limits.into_iter().min_by_key(|it| it.0)
}

/// A limit of version 2.
fn new(machine: &Machine, mount: &str, group: &str) -> Option<Finding> {
    let (bytes, file, is_own) = limit(machine, mount, group)?;
    let rule = Rule::of(ABOUT, format!("at most {} ({file})", mebibytes(bytes)));
    let pressure = format!("{mount}{group}/memory.pressure");
    let events = format!("{mount}{group}/memory.events");
    let useless =
        "/proc/pressure/memory is about the whole machine: it says nothing about this limit";
    let is_usable = machine.root.line(&pressure).is_some() && may_write(machine, &pressure);
    if is_usable {
        let who = machine.remedy("", ", if it may write to it");
        let why = format!("{useless}; the library listens to {pressure} as well{who}");
        return Some(rule.fine(why));
    }
    let missing = match machine.root.has(&pressure) {
        true => format!("{pressure} may not be written to, or pressure is off"),
        false => format!("there is no {pressure}"),
    };
    let hears_limit = is_own && machine.root.has(&events);
    let (instead, soft) = match hears_limit {
        true => (
            format!(
                "the library learns from {events} that the limit has been reached, and nothing before"
            ),
            "set memory.high below memory.max, or ",
        ),
        false => (
            "nothing reports to the library that memory is low".to_owned(),
            "",
        ),
    };
    Some(rule.note(
        format!("{useless}; {missing}; {instead}"),
        format!(
            "let the program write to memory.pressure (systemd: Delegate=yes), or {soft}{BUDGET}"
        ),
    ))
}

/// The remedy that needs no file.
const BUDGET: &str = "set a budget well below the limit (quiescent::tuning::set_budget)";

/// A limit of version 1, which has no file that the library could listen to.
fn old(machine: &Machine, groups: &str) -> Option<Finding> {
    let is_memory = |it: &&str| it.split(',').any(|it| it == "memory");
    let group = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        is_memory(&controllers).then_some(path.trim_end_matches('/'))
    })?;
    let file = format!("{OLD}{group}/memory.limit_in_bytes");
    // In a container the mount point itself is the group.
    let inside = format!("{OLD}/memory.limit_in_bytes");
    let (bytes, file) = [file, inside].into_iter().find_map(|file| {
        let bytes = machine.root.line(&file)?.parse::<u64>().ok()?;
        Some((bytes, file))
    })?;
    (bytes < NO_LIMIT).then(|| {
        Rule::of(ABOUT, format!("at most {} ({file})", mebibytes(bytes))).note(
            "/proc/pressure/memory is about the whole machine, and a group of version 1 has no \
             memory.pressure: nothing reports to the library that memory is low",
            format!("boot with systemd.unified_cgroup_hierarchy=1 for version 2, or {BUDGET}"),
        )
    })
}

/// A trigger of pressure is written to the file. Of a copy it is not known.
fn may_write(machine: &Machine, file: &str) -> bool {
    let path = machine.root.path(file);
    !machine.here || OpenOptions::new().write(true).open(path).is_ok()
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

//! Limits of memory of a control group.

use super::*;

const ABOUT: &str = "limit of memory";
const GROUP: &str = "sys/fs/cgroup/system.slice/it.service";

/// A process in a group of version 2.
fn grouped(limit: &str) -> Made {
    Made::usual()
        .with("proc/self/cgroup", "0::/system.slice/it.service\n")
        .with(&format!("{GROUP}/memory.max"), limit)
        .with(&format!("{GROUP}/memory.high"), "max\n")
        .with(&format!("{GROUP}/memory.events"), "high 0\nmax 0\n")
        .with(&format!("{GROUP}/memory.pressure"), "some avg10=0.00\n")
}

#[test]
fn a_limit_shows_in_the_groups_own_pressure() {
    Made::usual().is_silent(ABOUT);
    grouped("max\n").is_silent(ABOUT);
    grouped("536870912\n").is(
        ABOUT,
        FINE,
        "the library listens to /sys/fs/cgroup/system.slice",
    );
    let asked = grouped("536870912\n").says(ABOUT)[0].asked.clone();
    assert!(
        asked.contains("at most 512.0 MiB (/sys/fs/cgroup/system.slice/it.service/memory.max)")
    );
    // The smallest counts, wherever it is.
    let soft = grouped("536870912\n").with(&format!("{GROUP}/memory.high"), "1048576\n");
    assert!(soft.says(ABOUT)[0].asked.contains("1.0 MiB"));
    let around = grouped("max\n").with("sys/fs/cgroup/system.slice/memory.max", "2097152\n");
    assert!(
        around.says(ABOUT)[0]
            .asked
            .contains("system.slice/memory.max")
    );
}

#[test]
fn without_it_pressure_of_the_machine_is_no_help() {
    let pressure = format!("{GROUP}/memory.pressure");
    let none = || grouped("536870912\n").less(&pressure);
    none().is(ABOUT, NOTE, "that the limit has been reached");
    none().is(ABOUT, NOTE, "memory.high below memory.max");
    let no_events = none().less(&format!("{GROUP}/memory.events"));
    no_events.is(ABOUT, NOTE, "nothing reports");
    // Events of a group around it are not counted in the group's own file.
    let around = grouped("max\n")
        .with("sys/fs/cgroup/system.slice/memory.max", "2097152\n")
        .less(&pressure);
    around.is(ABOUT, NOTE, "nothing reports");
}

#[test]
fn a_container_sees_its_group_as_the_root() {
    let made = Made::usual()
        .with("proc/self/cgroup", "0::/\n")
        .with("sys/fs/cgroup/cgroup.events", "populated 1\n")
        .with("sys/fs/cgroup/memory.max", "1073741824\n");
    made.is(ABOUT, NOTE, "there is no /sys/fs/cgroup/memory.pressure");
    let outside = Made::usual()
        .with("proc/self/cgroup", "0::/../other\n")
        .with("sys/fs/cgroup/memory.max", "1073741824\n");
    outside.is_silent(ABOUT);
}

#[test]
fn version_1_has_nothing_to_listen_to() {
    let made = |limit: &str| {
        Made::usual()
            .with("proc/self/cgroup", "9:cpu,memory:/it\n0::/\n")
            .with("sys/fs/cgroup/memory/it/memory.limit_in_bytes", limit)
    };
    made("1073741824\n").is(ABOUT, NOTE, "a group of version 1");
    made("9223372036854771712\n").is_silent(ABOUT);
}

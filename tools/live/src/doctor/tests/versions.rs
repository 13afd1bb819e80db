//! Defaults of versions, and parameters that a version does not have.

use super::*;

#[test]
fn a_version_has_its_defaults() {
    let made = |release: &str| Made::usual().release(release);
    for (release, has, lacks) in [
        ("5.15.1", "none.", "lazy callbacks"),
        ("6.2.0", "(6.2).", "timer migration) (6.9)"),
        ("6.12.9-made", "off (6.10).", "at most 16 CPUs (6.17)"),
        (
            "6.18.44",
            "sheaves of the slab allocator (6.18).",
            "early (7.0)",
        ),
        ("7.0-rc2", "early (7.0).", "on by itself (7.2)"),
        ("7.2.0", "on by itself (7.2).", "added them: none"),
    ] {
        let it = &made(release).says("version")[0];
        assert_eq!(it.severity, FINE);
        let (here, not_here) = it.in_force.split_once(" Not here").unwrap();
        assert!(here.ends_with(has), "{release}: {has} in {here}");
        assert!(not_here.contains(lacks), "{release}: {lacks} in {not_here}");
    }
}

#[test]
fn a_version_is_read_from_two_files() {
    let made = Made::usual().less("proc/sys/kernel/osrelease").with(
        "proc/version",
        "Linux version 6.17.3-made (me@here) #1 SMP\n",
    );
    assert_eq!(made.machine().release, "6.17.3-made");
    assert!(
        made.says("version")[0]
            .asked
            .contains("6.17 (/proc/version)")
    );
    let none = made.less("proc/version");
    none.is("version", CANNOT, "copy one of the two files");
}

#[test]
fn who_wakes_depends_on_version_and_cpus() {
    let made = |release: &str, cpus: &str, now: &str| {
        Made::usual()
            .release(release)
            .cpu("possible", cpus)
            .parameter("rcutree", "rcu_normal_wake_from_gp", now)
    };
    made("6.12.1", "0-3", "1").is("waking", FINE, "wakes who waits");
    made("6.12.1", "0-3", "0").is("waking", NOTE, "the default of Linux 6.12");
    made("6.17.1", "0-15", "0").is("waking", NOTE, "switched off: it is on by default");
    made("6.17.1", "0-16", "-1").is("waking", NOTE, "the default of Linux 6.17 with 17 CPUs");
    made("7.2.1", "0-63", "0").is("waking", NOTE, "switched off");
    made("6.12.1", "0-63", "0").is("waking", NOTE, "larger lever with 64 CPUs");
    let few = made("6.12.1", "0-15", "0").says("waking");
    assert!(!few[0].remedy.contains("lever"), "{few:?}");
    made("what", "0-3", "0").is("waking", NOTE, "is not known");
    let expedited = made("6.12.1", "0-3", "0").with("sys/kernel/rcu_expedited", "1\n");
    expedited.is_silent("waking");
}

#[test]
fn a_missing_parameter_means_what_its_version_says() {
    let file = "sys/module/rcutree/parameters/rcu_normal_wake_from_gp";
    let made = |release: &str| Made::usual().release(release).less(file);
    made("6.9.1").is("waking", FINE, "every version before 6.10");
    made("6.12.1").is("waking", CANNOT, "copy that file");
    made("7.2.0").is("waking", FINE, "every version from 7.2");
    made("7.2.0").less("sys/module/rcutree").is_silent("waking");
    let asked = |release: &str| made(release).command("rcutree.rcu_normal_wake_from_gp=1");
    asked("6.9.1").is("parameter", WITHOUT, "boot Linux 6.10 or newer");
    asked("6.12.1").is("parameter", WITHOUT, "has no /sys/module");
    asked("6.12.1")
        .less("sys/module/rcutree")
        .is("parameter", CANNOT, "copy that folder");
}

#[test]
fn laziness_depends_on_the_version() {
    let lazy = || {
        Made::usual()
            .config("CONFIG_RCU_LAZY=y")
            .offloaded(&[0, 1, 2, 3])
    };
    // Built with it, and too old for a switch: always on.
    let old = || lazy().configured_release("6.6.1");
    old().is("laziness", FINE, "before 6.9 have no parameter");
    old().command("rcutree.enable_rcu_lazy=0").is(
        "laziness",
        WITHOUT,
        "built without CONFIG_RCU_LAZY",
    );
    lazy().is("laziness", CANNOT, "copy that file");
    // Not known how it was built.
    let unknown = || Made::usual().release("6.1.1").offloaded(&[0]);
    unknown().is("laziness", NOTE, "boot Linux 6.2 or newer");
    unknown().command("rcutree.enable_rcu_lazy=1").is(
        "laziness",
        WITHOUT,
        "first version with lazy callbacks",
    );
}

#[test]
fn offloading_without_laziness_could_save_more() {
    let made = || Made::usual().offloaded(&[0, 1, 2, 3]);
    made().is("laziness", NOTE, "CONFIG_RCU_LAZY=y (Linux 6.2 or newer)");
    let off = || {
        made()
            .config("CONFIG_RCU_LAZY=y\nCONFIG_RCU_LAZY_DEFAULT_OFF=y")
            .parameter("rcutree", "enable_rcu_lazy", "N")
    };
    off().is("laziness", NOTE, "quiescent whatif TRACE --set rcu_lazy=1");
    assert!(off().says("laziness")[0].in_force.contains("CPUs 0-3"));
    // Who asked for it knows.
    off()
        .command("rcutree.enable_rcu_lazy=0")
        .is("laziness", FINE, "no callback is lazy");
    Made::usual().is("laziness", FINE, "no callback is lazy");
}

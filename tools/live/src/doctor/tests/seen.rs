//! Events, pressure, membarrier, files that are not to be seen.

use super::*;

#[test]
fn events_that_are_there_and_that_are_not() {
    Made::usual().is("events", FINE, "3 tracepoints");
    let poor = || Made::usual().less("sys/kernel/tracing/events/rcu/rcu_callback");
    poor().is("events", NOTE, "no rcu_callback");
    poor()
        .event("kmem/kmem_cache_free")
        .is("events", NOTE, "kmem:kmem_cache_free");
    let probes = poor().with("sys/kernel/tracing/kprobe_events", "");
    probes.is(
        "events",
        FINE,
        "probes on the kernel's functions are taken instead",
    );
    let empty = Made::usual().less("sys/kernel/tracing/events");
    empty.is("events", CANNOT, "copy /sys/kernel/tracing/events/rcu");
    let none = || Made::usual().less("sys/kernel/tracing");
    none().is("events", CANNOT, "no /sys/kernel/tracing");
    let unset = "# CONFIG_RCU_TRACE is not set";
    none()
        .configured("CONFIG_RCU_TRACE=y", unset)
        .is("events", NOTE, "CONFIG_RCU_TRACE=y");
    none()
        .configured(
            "CONFIG_RCU_TRACE=y",
            "CONFIG_KPROBE_EVENTS=y\n# CONFIG_RCU_TRACE is not set",
        )
        .is("events", FINE, "CONFIG_KPROBE_EVENTS=y");
    let old = none().with("sys/kernel/debug/tracing/events/rcu/rcu_callback/id", "1\n");
    old.is("events", NOTE, "/sys/kernel/debug/tracing/events/rcu");
}

#[test]
fn pressure_that_is_off() {
    let off = || Made::usual().less("proc/pressure");
    Made::usual().is("pressure", FINE, "on");
    Made::usual().command("psi=1").is("pressure", FINE, "on");
    let here = |made: &Made| {
        let mut machine = made.machine();
        machine.here = true;
        let mut all = diagnose(&machine);
        all.retain(|it| it.about == "pressure");
        (all.len(), all[0].severity, all.remove(0).remedy)
    };
    assert_eq!(here(&off()), (1, NOTE, "boot with psi=1".to_owned()));
    assert_eq!(here(&off().command("psi=1")).1, WITHOUT);
    // Such a kernel has none unless it is asked for, and a copy of its files lacks nothing.
    let by_default = || off().config("CONFIG_PSI_DEFAULT_DISABLED=y");
    by_default().is("pressure", NOTE, "boot with psi=1");
    by_default()
        .command("psi=1")
        .is("pressure", CANNOT, "copy that file");
    assert_eq!(here(&by_default().command("psi=1")).1, WITHOUT);
    // Of another machine the file may not have been copied.
    off().is("pressure", CANNOT, "copy that file");
    off()
        .command("psi=1")
        .is("pressure", CANNOT, "copy that file");
    let unset = off().configured("CONFIG_PSI=y", "# CONFIG_PSI is not set");
    unset.is("pressure", NOTE, "CONFIG_PSI=y");
    unset
        .command("psi=1")
        .is("pressure", WITHOUT, "CONFIG_PSI=y");
}

#[test]
fn membarrier_as_it_was_answered() {
    let made = Made::usual();
    let answered = |answer: Result<i64, String>| {
        let mut machine = made.machine();
        machine.membarrier = Some(answer);
        let mut all = diagnose(&machine);
        all.retain(|it| it.about == "membarrier");
        (all[0].severity, all.remove(0).in_force)
    };
    assert_eq!(answered(Ok(1023)).0, FINE);
    let (kind, said) = answered(Ok(1022));
    assert!(kind == FINE && said.contains("nohz_full"), "{said}");
    assert_eq!(answered(Ok(1)).0, NOTE);
    let (kind, said) = answered(Err("Function not implemented".into()));
    assert!(kind == NOTE && said.contains("not implemented"), "{said}");
    // Of another machine the configuration tells.
    made.is("membarrier", FINE, "CONFIG_MEMBARRIER=y");
    let unset = Made::usual().configured("CONFIG_MEMBARRIER=y", "# CONFIG_MEMBARRIER is not set");
    unset.is("membarrier", NOTE, "each reader carries a fence");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    Made::usual().is_silent("files");
    Made::usual()
        .less("boot/config-6.12.9-made")
        .is("files", CANNOT, "modprobe configs");
    Made::usual()
        .less("proc/cmdline")
        .is("files", CANNOT, "copy that file");
}

#[test]
fn threads_say_which_cpus_they_serve() {
    let made = Made::usual()
        .offloaded(&[0, 3])
        .thread_at(102, "rcuog/2", "2", 7);
    let machine = made.machine();
    let text = super::super::text(&machine, &[], 110);
    for line in [
        "rcuog/0         100  0-3        other        grace periods for callbacks of CPUs 0",
        "rcuog/2         102  2          fifo 7       grace periods for callbacks of CPUs 3",
        "rcuop/3         203  0-3        other        callbacks of CPU 3",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        super::super::text(&Made::usual().contained().machine(), &[], 110)
            .contains("not to be seen")
    );
}

//! Offloading, laziness, polling, parameters.

use super::*;

#[test]
fn cpus_that_were_asked_for_and_have_a_thread_are_offloaded() {
    let all = [0, 1, 2, 3];
    Made::usual().is("offloading", FINE, "no CPU is offloaded");
    for list in ["all", "0-3", "0-N"] {
        let made = Made::usual().command(&format!("rcu_nocbs={list}"));
        made.is("offloading", WITHOUT, "no thread rcuop/N");
        made.offloaded(&all).is("offloading", FINE, "CPUs 0-3");
    }
    let some = Made::usual().command("rcu_nocbs=0-3").offloaded(&[0, 1]);
    some.is("offloading", WITHOUT, "CPUs 2-3 have no thread");
    let full = Made::usual().command("nohz_full=2,3").offloaded(&[2, 3]);
    full.is("offloading", FINE, "CPUs 2-3");
    let unasked = Made::usual().offloaded(&[1]);
    unasked.is("offloading", FINE, "CPUs 1 are offloaded");
}

#[test]
fn a_kernel_that_cannot_offload_says_so() {
    let made = || Made::usual().command("rcu_nocbs=all");
    let unset = "# CONFIG_RCU_NOCB_CPU is not set";
    let made_without = made().configured("CONFIG_RCU_NOCB_CPU=y", unset);
    made_without.is("offloading", WITHOUT, "CONFIG_RCU_NOCB_CPU=y");
    let unknown = made().less("boot/config-6.12.9-made");
    unknown.is("offloading", WITHOUT, "is it built without");
    made()
        .contained()
        .is("offloading", CANNOT, "copy /proc/PID/comm");
    Made::usual()
        .contained()
        .is("offloading", CANNOT, "not to be seen");
}

#[test]
fn offloading_without_cpus_is_none() {
    for word in ["rcu_nocbs", "rcu_nocbs=", "rcu_nocbs=cpus"] {
        Made::usual()
            .command(word)
            .is("offloading", WITHOUT, "rcu_nocbs=all");
    }
    Made::usual()
        .command("rcu_nocbs")
        .offloaded(&[1])
        .is("offloading", NOTE, "all the same");
    Made::usual()
        .command("rcu_nocbs=8-15")
        .is("offloading", WITHOUT, "no CPUs 8-15");
    let more = Made::usual()
        .command("rcu_nocbs=0-7")
        .offloaded(&[0, 1, 2, 3]);
    more.is("offloading", NOTE, "no CPUs 4-7");
    let unknown = Made::usual()
        .command("rcu_nocbs=all")
        .less("sys/devices/system/cpu/possible");
    unknown.is("offloading", CANNOT, "possible");
}

#[test]
fn all_by_default_counts_unless_the_command_line_says_otherwise() {
    let all = "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y";
    Made::usual()
        .config(all)
        .is("offloading", WITHOUT, "no thread");
    Made::usual()
        .config(all)
        .offloaded(&[0, 1, 2, 3])
        .is("offloading", FINE, "0-3");
    let said = Made::usual()
        .config(all)
        .command("rcu_nocbs=1")
        .offloaded(&[1]);
    said.is("offloading", FINE, "CPUs 1");
}

#[test]
fn a_cpu_that_was_never_there_needs_no_thread() {
    let made = Made::usual().cpu("online", "0-1").command("rcu_nocbs=all");
    made.offloaded(&[0, 1]).is("offloading", FINE, "CPUs 0-1");
}

#[test]
fn laziness_needs_offloading() {
    let lazy = || {
        Made::usual()
            .config("CONFIG_RCU_LAZY=y")
            .parameter("rcutree", "enable_rcu_lazy", "Y")
    };
    // Built so: nothing was asked for by the machine's owner.
    lazy().is("laziness", FINE, "no CPU is offloaded");
    for asked in [
        "rcu_nocbs=all",
        "nohz_full=1-3",
        "rcutree.enable_rcu_lazy=1",
    ] {
        lazy()
            .command(asked)
            .is("laziness", WITHOUT, "boot with rcu_nocbs=all");
    }
    lazy()
        .command("rcu_nocbs=all")
        .offloaded(&[0, 1, 2, 3])
        .is("laziness", FINE, "all CPUs");
    lazy().command("rcu_nocbs=1").offloaded(&[1]).is(
        "laziness",
        NOTE,
        "CPUs 0,2-3 are not offloaded",
    );
    lazy().contained().is("laziness", CANNOT, "offloaded");
    // An answer that is known is given, whatever else is not.
    let unread = Made::usual().config("CONFIG_RCU_LAZY=y");
    unread.is("laziness", FINE, "no CPU is offloaded");
    let unread = Made::usual()
        .config("CONFIG_RCU_LAZY=y")
        .command("rcu_nocbs=all");
    unread
        .offloaded(&[0, 1, 2, 3])
        .is("laziness", CANNOT, "enable_rcu_lazy");
}

#[test]
fn laziness_that_is_off_is_off() {
    Made::usual().is("laziness", FINE, "without CONFIG_RCU_LAZY");
    let off = || {
        Made::usual()
            .config("CONFIG_RCU_LAZY=y\nCONFIG_RCU_LAZY_DEFAULT_OFF=y")
            .parameter("rcutree", "enable_rcu_lazy", "N")
    };
    off().is("laziness", FINE, "switches it on");
    off()
        .command("rcutree.enable_rcu_lazy=1")
        .is("laziness", WITHOUT, "is N");
    let on = off().parameter("rcutree", "enable_rcu_lazy", "Y");
    on.command("rcutree.enable_rcu_lazy=1")
        .is("laziness", WITHOUT, "no CPU is offloaded");
    let built =
        Made::usual()
            .config("CONFIG_RCU_LAZY=y")
            .parameter("rcutree", "enable_rcu_lazy", "N");
    built
        .command("rcutree.enable_rcu_lazy=0")
        .is("laziness", FINE, "no callback is lazy");
    let old = Made::usual().command("rcutree.enable_rcu_lazy=1");
    old.is("laziness", WITHOUT, "CONFIG_RCU_LAZY=y");
}

#[test]
fn polling_is_for_threads_of_offloading() {
    Made::usual().is_silent("polling");
    let poll = || Made::usual().command("rcu_nocb_poll");
    poll().is("polling", WITHOUT, "no CPU is offloaded");
    poll().offloaded(&[0]).is("polling", NOTE, "each tick");
    poll()
        .contained()
        .is("polling", CANNOT, "copy /proc/PID/comm");
}

#[test]
fn parameters_are_read_back() {
    let asked = |line: &str| {
        Made::usual()
            .parameter("rcutree", "qhimark", "10000")
            .command(line)
    };
    Made::usual().is_silent("parameter");
    asked("rcutree.qhimark=10000").is("parameter", FINE, "10000");
    asked("rcutree.qhimark=20000").is("parameter", WITHOUT, "10000");
    asked("rcutree.qhimark=1 rcutree.qhimark=10000").is("parameter", FINE, "10000");
    asked("rcutree.no_such=1").is("parameter", WITHOUT, "has no");
    asked("rcupdate.no_such=1").is("parameter", CANNOT, "/sys/module/rcupdate");
    asked("other.no_such=1 -- rcutree.no_such=1").is_silent("parameter");
}

#[test]
fn words_that_the_kernel_does_not_know() {
    let asked = |line: &str| Made::usual().command(line);
    asked("jiffies_till_first_fqs=8").is("parameter", WITHOUT, "rcutree.jiffies_till_first_fqs=8");
    asked("enable_rcu_lazy=1").is("parameter", WITHOUT, "rcutree.enable_rcu_lazy=1");
    asked("rcu_nocb=all").is("parameter", WITHOUT, "rcu_nocbs=all");
    asked("rcu_nocbs=all rcu_nocb_poll rcu=1").is_silent("parameter");
}

//! Waits, kinds of grace periods, threads, CPUs at rest.

use super::*;

#[test]
fn waits_are_held_against_the_kernels_own() {
    let first = |ticks: &str| Made::usual().parameter("rcutree", "jiffies_till_first_fqs", ticks);
    Made::usual().is("wait", FINE, "the kernel's own is 3");
    let kind = |made: &Made| {
        made.says("wait")
            .into_iter()
            .map(|it| it.severity)
            .collect::<Vec<_>>()
    };
    assert_eq!(kind(&first("6")), [FINE]);
    assert_eq!(kind(&first("18446744073709551615")), [FINE]);
    for far in ["7", "32", "1", "0"] {
        assert_eq!(kind(&first(far)), [NOTE, FINE], "{far}");
    }
    let both = first("32").parameter("rcutree", "jiffies_till_next_fqs", "32");
    assert_eq!(kind(&both), [NOTE, NOTE]);
    assert!(both.says("wait")[0].asked.contains("32 ticks = 32 ms"));
    // At 250 ticks a second the kernel's own is one.
    let slow = Made::usual().configured("CONFIG_HZ=1000", "CONFIG_HZ=250");
    assert_eq!(kind(&slow), [NOTE, NOTE]);
    let unknown = Made::usual().less("boot/config-6.12.9-made");
    assert_eq!(kind(&unknown), [CANNOT, CANNOT]);
    Made::usual().less("sys/module/rcutree").is_silent("wait");
}

#[test]
fn expedited_and_normal() {
    let kind = |expedited: &str, normal: &str| {
        Made::usual()
            .with("sys/kernel/rcu_expedited", expedited)
            .with("sys/kernel/rcu_normal", normal)
    };
    let about = "kind of grace period";
    kind("0\n", "0\n").is(about, FINE, "normal");
    kind("2\n", "0\n").is(about, NOTE, "interrupts every CPU");
    kind("0\n", "1\n").is(about, NOTE, "expedited waits");
    kind("1\n", "1\n").is(about, WITHOUT, "rcu_normal goes before");
    Made::usual()
        .less("sys/kernel/rcu_expedited")
        .is_silent(about);
}

#[test]
fn rcu_normal_after_boot_undoes_rcu_expedited() {
    let about = "kind of grace period";
    let both = || {
        Made::usual()
            .with("sys/kernel/rcu_expedited", "1\n")
            .with("sys/kernel/rcu_normal", "1\n")
    };
    let after = || both().parameter("rcupdate", "rcu_normal_after_boot", "1");
    after().is(
        about,
        WITHOUT,
        "boot without rcupdate.rcu_normal_after_boot",
    );
    let real_time = || both().config("CONFIG_PREEMPT_RT=y");
    real_time().is(
        about,
        WITHOUT,
        "CONFIG_PREEMPT_RT sets it at the end of boot",
    );
    both()
        .with("sys/kernel/realtime", "1\n")
        .is(about, WITHOUT, "CONFIG_PREEMPT_RT");
    let quiet = real_time().with("sys/kernel/rcu_expedited", "0\n");
    quiet.is(about, FINE, "none interrupts a CPU");
    // Without the files the command line has both.
    let line = "rcupdate.rcu_expedited=1 rcupdate.rcu_normal_after_boot=1";
    let bare = || {
        Made::usual()
            .less("sys/kernel/rcu_expedited")
            .less("sys/kernel/rcu_normal")
    };
    bare()
        .command(line)
        .is(about, WITHOUT, "rcu_normal_after_boot has set it");
    bare().is_silent(about);
}

#[test]
fn stall_warnings_that_are_off_early_or_late() {
    let about = "stall warnings";
    let with = |name: &str, value: &str| Made::usual().parameter("rcupdate", name, value);
    with("rcu_cpu_stall_suppress", "0").is_silent(about);
    with("rcu_cpu_stall_suppress", "1").is(about, NOTE, "echo 0");
    for (seconds, severity) in [
        ("3", FINE),
        ("21", FINE),
        ("60", FINE),
        ("61", NOTE),
        ("300", NOTE),
        ("18446744073709551615", NOTE),
    ] {
        with("rcu_cpu_stall_timeout", seconds).is(about, severity, "is reported after");
    }
    with("rcu_cpu_stall_timeout", "300").is(about, NOTE, "echo 21 >");
    for (ms, severity, part) in [
        ("0", FINE, "as a normal one is"),
        ("20", NOTE, "20 ms: a busy machine"),
        ("999", NOTE, "echo 0 >"),
        ("1000", FINE, "after 1 s"),
        ("300000", NOTE, "echo 21000 >"),
    ] {
        with("rcu_exp_cpu_stall_timeout", ms).is(about, severity, part);
    }
    // Where there is no parameter, the configuration has it.
    Made::usual()
        .config("CONFIG_RCU_EXP_CPU_STALL_TIMEOUT=20")
        .is(about, NOTE, "paused virtual one");
    assert_eq!(
        with("rcu_cpu_stall_timeout", "60")
            .parameter("rcupdate", "rcu_exp_cpu_stall_timeout", "20")
            .says(about)
            .len(),
        2
    );
}

#[test]
fn threads_of_offloading_belong_elsewhere() {
    let about = "threads of offloading";
    Made::usual().offloaded(&[2, 3]).is_silent(about);
    let apart = || Made::usual().cpu("isolated", "2-3");
    apart().is_silent(about);
    apart().offloaded(&[2, 3]).is(about, NOTE, "3 of 3");
    let moved = apart()
        .thread_at(100, "rcuog/0", "0-1", 0)
        .thread_at(202, "rcuop/2", "0-1", 0);
    moved.is(about, FINE, "none may run there");
    let full = Made::usual()
        .cpu("nohz_full", "1")
        .thread_at(202, "rcuop/2", "1", 0);
    full.is(about, NOTE, "1 of 1");
    Made::usual()
        .cpu("nohz_full", " (null)")
        .offloaded(&[1])
        .is_silent(about);
}

#[test]
fn priorities_are_those_of_the_thread() {
    let asked = |prio: u32, line: &str| {
        Made::usual()
            .thread_at(15, "rcu_preempt", "0-3", prio)
            .command(line)
    };
    asked(0, "").is_silent("priority");
    asked(2, "rcutree.kthread_prio=2").is("priority", FINE, "fifo 2");
    asked(0, "rcutree.kthread_prio=2").is("priority", WITHOUT, "other");
    asked(0, "rcutree.kthread_prio=0").is("priority", FINE, "other");
    asked(1, "rcutree.kthread_prio=2")
        .less("proc/15/stat")
        .is("priority", CANNOT, "stat");
}

#[test]
fn soft_interrupts_as_threads() {
    Made::usual().is_silent("soft interrupt");
    let asked = || Made::usual().command("rcutree.use_softirq=0");
    asked().is("soft interrupt", WITHOUT, "no thread rcuc/N");
    asked()
        .thread(16, "rcuc/0")
        .is("soft interrupt", FINE, "1 threads");
    Made::usual()
        .thread(16, "rcuc/0")
        .is("soft interrupt", FINE, "1 threads");
}

#[test]
fn ticks_that_never_stop() {
    Made::usual().is("ticks", FINE, "stops its tick");
    Made::usual()
        .command("nohz=off")
        .is("ticks", NOTE, "leave nohz=off away");
    Made::usual()
        .config("CONFIG_HZ_PERIODIC=y")
        .is("ticks", NOTE, "NO_HZ_IDLE");
    Made::usual()
        .less("boot/config-6.12.9-made")
        .is_silent("ticks");
}

#[test]
fn cpus_that_were_set_apart() {
    let full = || {
        Made::usual()
            .config("CONFIG_NO_HZ_FULL=y")
            .command("nohz_full=1-3")
            .offloaded(&[1, 2, 3])
    };
    Made::usual().is_silent("nohz_full");
    full().cpu("nohz_full", "1-3").is("nohz_full", FINE, "1-3");
    full()
        .cpu("nohz_full", "1")
        .is("nohz_full", WITHOUT, "CPUs 1 ");
    full()
        .cpu("nohz_full", "(null)")
        .is("nohz_full", WITHOUT, "none");
    full().is("nohz_full", CANNOT, "cannot be read");
    Made::usual()
        .command("nohz_full=1-3")
        .is("nohz_full", WITHOUT, "CONFIG_NO_HZ_FULL=y");
    let isolated = |line: &str, now: &str| Made::usual().command(line).cpu("isolated", now);
    isolated("isolcpus=2-3", "2-3").is("isolcpus", FINE, "2-3");
    isolated("isolcpus=managed_irq,domain,2-3", "2-3").is("isolcpus", FINE, "2-3");
    isolated("isolcpus=2-3", "").is("isolcpus", WITHOUT, "none");
    isolated("isolcpus=2-7", "2-3").is("isolcpus", NOTE, "no CPUs 4-7");
    isolated("isolcpus=what", "").is("isolcpus", WITHOUT, "none");
    isolated("isolcpus=managed_irq,2-3", "").is_silent("isolcpus");
}

#[test]
fn idle_states() {
    let about = "idle states";
    Made::usual().is_silent(about);
    let state = |made: Made, n: u32, name: &str, us: &str, disable: &str| {
        let file = |what: &str| format!("cpu0/cpuidle/state{n}/{what}");
        made.cpu(&file("name"), name)
            .cpu(&file("residency"), us)
            .cpu(&file("disable"), disable)
    };
    let driver = || {
        Made::usual()
            .cpu("cpuidle/current_driver", "intel_idle")
            .cpu("cpuidle/current_governor", "menu")
    };
    driver().is(about, NOTE, "no idle states");
    let two = |disable: &str| {
        state(
            state(driver(), 0, "C1", "2", "0"),
            1,
            "C10",
            "5000",
            disable,
        )
    };
    two("0").is(about, FINE, "longer than the 3 ms");
    two("1").is(about, NOTE, "disabled: C10; the deepest that is left is C1");
    state(driver(), 0, "C6", "600", "0").is(about, FINE, "looks every 3 ms");
    two("0")
        .command("idle=poll")
        .is(about, NOTE, "leave idle=poll away");
}

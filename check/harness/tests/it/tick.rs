//! The scheduling-clock tick in the test host: what it notes, requests and raises.

use quiescent_harness::host::TestHost;
use quiescent_kernel::limits::Context;
use quiescent_kernel::tick::{At, Interrupted, Pending, Settings, Ticked};
use quiescent_kernel::{Config, EarlyQs, Phase, Pos};

const HZ: u64 = 1000;

fn config(preemptible: bool) -> Config {
    Config {
        early_qs: EarlyQs::Init,
        tick: Settings {
            preemptible,
            ..Settings::kernel_6_12()
        },
        ..Config::kernel_6_12(2, HZ as u32)
    }
}

/// Two CPUs, up to date, between grace periods. CPU 1 is busy.
fn machine(config: Config) -> TestHost {
    let mut host = TestHost::kernel_with(2, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    assert!(host.run_until(Phase::Idle, 100));
    host.set_busy(1, true);
    let _ = host.core(1);
    host
}

/// Starts a grace period, up to its first wait.
fn start(host: &mut TestHost) -> Pos {
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    ticket
}

fn pending(host: &TestHost, at: At) -> Option<Pending> {
    let cpu = host.cpu(1).expect("it has looked");
    cpu.pending(host.engine(), at)
}

fn from(host: &TestHost, from: Interrupted) -> At {
    At { from, ..host.at(1) }
}

#[test]
fn the_first_reason_of_the_list_is_the_one_that_counts() {
    let mut host = machine(config(true));
    let at = host.at(1);
    let put_off = At {
        deferred_wake: true,
        ..at
    };
    assert_eq!(pending(&host, at), None);
    assert_eq!(pending(&host, put_off), Some(Pending::DeferredWake));
    // A queued callback, and no grace period: one must be requested.
    let _ = host.call(1);
    assert_eq!(pending(&host, at), Some(Pending::Request));
    let _ = host.core(1);
    assert_eq!(pending(&host, at), None, "asked for");
    // It begins, and the CPU notices it.
    start(&mut host);
    assert_eq!(pending(&host, at), Some(Pending::Edge));
    let _ = host.core(1);
    let _ = host.call(1);
    assert_eq!(pending(&host, at), None, "no reason while one is in flight");
    host.note_qs(1);
    assert_eq!(pending(&host, at), Some(Pending::Report));
    assert_eq!(pending(&host, put_off), Some(Pending::DeferredWake));
    // It ends before the report: the noted state does not count.
    host.set_busy(1, false);
    assert!(host.run_until(Phase::Idle, 50));
    assert!(host.cpu(1).expect("it has looked").qs().noted());
    assert_eq!(
        pending(&host, at),
        Some(Pending::Request),
        "another one ran in between"
    );
    // Two more checks make both callbacks ready; then all reasons apply at once.
    host.set_busy(1, true);
    let _ = host.core(1);
    assert_eq!(pending(&host, at), Some(Pending::Invoke));
    let _ = host.call(1);
    start(&mut host);
    assert_eq!(pending(&host, at), Some(Pending::Invoke), "before the edge");
    let _ = host.core(1);
    host.note_qs(1);
    assert_eq!(
        pending(&host, at),
        Some(Pending::Report),
        "before callbacks"
    );
}

#[test]
fn callbacks_are_no_reason_where_others_look_after_them() {
    for offloaded in [false, true] {
        let mut host = machine(config(true));
        let _ = host.call(1);
        let _ = host.core(1);
        host.set_offloaded(1, offloaded);
        let at = host.at(1);
        start(&mut host);
        host.set_busy(1, false);
        assert!(host.run_until(Phase::Idle, 50));
        host.set_busy(1, true);
        assert_eq!(pending(&host, at), Some(Pending::Edge));
        let _ = host.core(1);
        let done = host.cpu(1).expect("it has looked").list().ready();
        assert_eq!(done, u64::from(!offloaded), "nor does it move them");
        assert_eq!(pending(&host, at), (!offloaded).then_some(Pending::Invoke));
        let _ = host.batch(1, Default::default(), 0);
        let _ = host.call(1);
        assert_eq!(pending(&host, at), (!offloaded).then_some(Pending::Request));
    }
    // Nor do callbacks that were ready before.
    let mut host = machine(config(true));
    let _ = host.call(1);
    let _ = host.core(1);
    host.set_busy(1, false);
    start(&mut host);
    assert!(host.run_until(Phase::Idle, 50));
    let _ = host.core(1);
    assert_eq!(pending(&host, host.at(1)), Some(Pending::Invoke));
    host.set_offloaded(1, true);
    assert_eq!(pending(&host, host.at(1)), None);
}

#[test]
fn a_nohz_full_cpu_in_user_space_or_idle_is_left_alone_for_a_second() {
    let mut host = machine(config(true));
    host.set_nohz_full(1);
    let _ = host.call(1);
    assert!(
        pending(&host, host.at(1)).is_some(),
        "in the kernel it is not"
    );
    for place in [Interrupted::User, Interrupted::Idle] {
        let at = from(&host, place);
        assert_eq!(pending(&host, at), None, "{place:?}, no grace period");
        let put_off = At {
            deferred_wake: true,
            ..at
        };
        assert!(pending(&host, put_off).is_some(), "that reason comes first");
        let other = At {
            nohz_full: false,
            ..at
        };
        assert!(
            pending(&host, other).is_some(),
            "other reasons apply during the pause"
        );
    }
    host.enter(1);
    start(&mut host);
    for (age, left_alone) in [(0, true), (HZ - 1, true), (HZ, false)] {
        let mut at = from(&host, Interrupted::User);
        at.now.jiffies += age;
        assert_eq!(pending(&host, at).is_none(), left_alone, "{age}");
    }
}

#[test]
fn patience_leaves_a_nohz_full_cpu_in_the_kernel_alone_as_well() {
    let tick = Settings::kernel_6_12().patience_ms(100, HZ as u32);
    let mut host = machine(Config {
        tick,
        ..config(true)
    });
    host.set_nohz_full(1);
    let _ = host.call(1);
    let at = host.at(1);
    assert!(pending(&host, at).is_some(), "there is no grace period");
    host.enter(1);
    start(&mut host);
    for (age, left_alone) in [(99, true), (100, false)] {
        let mut at = host.at(1);
        at.now.jiffies += age;
        assert_eq!(pending(&host, at).is_none(), left_alone, "{age}");
        at.nohz_full = false;
        assert!(pending(&host, at).is_some());
    }
    // Never more than a second, however long the pause is.
    let tick = Settings::kernel_6_12().patience_ms(5000, HZ as u32);
    let mut host = machine(Config {
        tick,
        ..config(true)
    });
    host.set_nohz_full(1);
    start(&mut host);
    let mut at = host.at(1);
    at.now.jiffies += HZ;
    assert!(pending(&host, at).is_some());
}

/// A tick on CPU 1 during a grace period that waits for it: whether it noted a quiescent state, and its
/// result.
fn hook(preemptible: bool, change: impl Fn(&mut At)) -> (bool, Ticked) {
    let mut host = machine(config(preemptible));
    start(&mut host);
    let _ = host.core(1);
    let mut at = host.at(1);
    change(&mut at);
    let ticked = host.tick_at(1, at);
    let noted = !host.cpu(1).expect("it has looked").qs().missing;
    assert_eq!(noted, ticked.core == Some(Pending::Report));
    (noted, ticked)
}

#[test]
fn without_preemption_a_tick_notes_unless_something_holds_the_cpu_in_the_kernel() {
    use Interrupted::{Idle, Kernel, User};
    let rows = [
        (Kernel, false, true),
        (Kernel, true, false),
        (User, false, true),
        (User, true, true),
        (Idle, true, true),
    ];
    for (from, held, notes) in rows {
        let (noted, ticked) = hook(false, |at| (at.from, at.held) = (from, held));
        assert_eq!(noted, notes, "{from:?} {held}");
        assert_eq!(ticked.tasks_qs, from != Kernel);
        assert!(!ticked.resched && !ticked.report_deferred && !ticked.ask_unlock);
    }
}

#[test]
fn with_preemption_a_tick_notes_outside_sections_only_and_never_in_idle() {
    use Interrupted::{Idle, Kernel, User};
    let rows = [
        (Kernel, 0, false, true),
        (Kernel, 1, false, false),
        (Kernel, 0, true, false),
        (User, 0, false, true),
        (Idle, 0, false, false),
    ];
    for (from, depth, held, notes) in rows {
        let (noted, ticked) = hook(true, |at| {
            (at.from, at.depth, at.held) = (from, depth, held);
        });
        assert_eq!(noted, notes, "{from:?} {depth} {held}");
        assert!(!ticked.resched && !ticked.report_deferred && !ticked.ask_unlock);
    }
}

#[test]
fn a_state_that_an_unlock_put_off_is_reported_or_the_task_is_hurried() {
    let rows = [(0, false, true), (1, false, false), (0, true, false)];
    for (depth, held, reports) in rows {
        let (noted, ticked) = hook(true, |at| {
            (at.depth, at.held, at.deferred_qs) = (depth, held, true);
        });
        assert!(!noted);
        assert_eq!(
            (ticked.report_deferred, ticked.resched),
            (reports, !reports)
        );
    }
}

#[test]
fn the_unlock_of_an_old_section_is_asked_for_help() {
    for (age, depth, asks) in [(HZ, 1, false), (HZ + 1, 1, true), (HZ + 1, 0, false)] {
        let (_, ticked) = hook(true, |at| {
            at.now.jiffies += age;
            (at.depth, at.held) = (depth, true);
        });
        assert_eq!(ticked.ask_unlock, asks, "{age} {depth}");
    }
    // Not if this grace period no longer waits for the CPU.
    let mut host = machine(config(true));
    start(&mut host);
    let _ = host.core(1);
    host.note_qs(1);
    let mut at = host.at(1);
    at.now.jiffies += 2 * HZ;
    at.depth = 1;
    assert!(!host.tick_at(1, at).ask_unlock);
}

/// A grace period that has asked CPU 1 to hurry.
fn urgent() -> (TestHost, Pos) {
    let mut host = machine(config(true));
    host.enter(1);
    let ticket = start(&mut host);
    while !host.engine().asked(1).urgent {
        let _ = host.step();
    }
    (host, ticket)
}

#[test]
fn a_tick_hands_on_the_urgency_once_unless_it_hits_a_quiescent_state() {
    for (place, resched) in [
        (Interrupted::Kernel, true),
        (Interrupted::User, false),
        (Interrupted::Idle, false),
    ] {
        let (mut host, _) = urgent();
        let at = from(&host, place);
        assert_eq!(host.tick_at(1, at).resched, resched, "{place:?}");
        assert!(!host.engine().asked(1).urgent, "consumed, {place:?}");
        assert!(!host.tick_at(1, at).resched);
    }
    let mut host = machine(config(true));
    assert!(!host.tick(1).resched, "no request is pending");
}

#[test]
fn urgency_switches_the_tick_of_a_nohz_full_cpu_on_until_it_has_reported() {
    let force = |host: &mut TestHost| host.irq_enter(1);
    let mut host = machine(config(true));
    start(&mut host);
    assert!(!force(&mut host), "no request is pending");
    for by_scan in [false, true] {
        let (mut host, ticket) = urgent();
        host.set_nohz_full(1);
        host.take_nudges();
        assert!(force(&mut host) && !force(&mut host), "once");
        assert!(host.engine().asked(1).forced_tick);
        host.exit(1);
        if by_scan {
            host.set_busy(1, false);
            host.drive(ticket, 10);
            let stops: Vec<_> = host.take_nudges().iter().map(|n| n.stop_tick).collect();
            assert_eq!(stops, [2]);
        } else {
            let _ = host.core(1);
            let _ = host.tick(1);
            let noticed = host.core(1);
            assert!(noticed.reported && noticed.stop_tick);
        }
        assert!(!host.engine().asked(1).forced_tick);
    }
}

#[test]
fn the_trace_of_a_tick_and_a_soft_interrupt_reads_like_the_kernels() {
    let mut host = machine(config(true));
    start(&mut host);
    host.take_trace();
    let _ = host.core(1);
    let _ = host.tick(1);
    let _ = host.context_switch(1);
    let want = "\
rcu_utilization: Start RCU core
rcu_grace_period: rcu_preempt -1195 cpustart
rcu_utilization: Start scheduler-tick
rcu_grace_period: rcu_preempt -1195 cpuqs
rcu_utilization: End scheduler-tick
rcu_utilization: Start context switch
rcu_utilization: End context switch";
    assert_eq!(host.take_trace().join("\n"), want);
}

#[test]
fn who_does_the_work_follows_the_configuration() {
    let it = Settings::kernel_6_12();
    assert_eq!(it.context(), Context::Softirq);
    let threads = Settings {
        use_softirq: false,
        ..it
    };
    assert_eq!(threads.context(), Context::Rcuc);
}

/// All CPUs tick: grace periods end by reports alone, and a callback takes the measured number of ticks.
#[test]
fn a_ticking_machine_ends_its_grace_periods_by_itself() {
    for preemptible in [false, true] {
        let mut host = machine(config(preemptible));
        host.set_busy(0, true);
        let _ = host.call(1);
        let (scans, start) = (host.engine().counts().scans, host.now().jiffies);
        while host.cpu(1).is_some_and(|cpu| !cpu.is_empty()) {
            host.pass_jiffies(1);
            for cpu in 0..2 {
                if host.tick(cpu).core.is_some() {
                    let _ = host.core(cpu);
                    let _ = host.batch(cpu, Default::default(), 0);
                }
            }
            host.run_thread();
            assert!(host.now().jiffies < start + 20, "it does not end");
        }
        assert_eq!(host.engine().counts().scans, scans, "no scan was needed");
        let took = host.now().jiffies - start;
        assert!((3..=5).contains(&took), "{took} ticks");
    }
}

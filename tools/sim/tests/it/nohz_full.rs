//! `nohz_full`: CPUs without a tick, and what RCU does so that grace periods end all the same.

use crate::common::{List, MS, call};
use quiescent_sim::torture::{Case, run as torture};
use quiescent_sim::{FullTicks, Hog, Machine, Op, Options, Stats, Steps, Work};

const SECOND: u64 = 1000 * MS;

/// In the kernel for ever, in pieces between which it can be interrupted.
struct InKernel;

impl Work for InKernel {
    fn next(&mut self, _: u64) -> Op {
        Op::Kernel(50_000)
    }
}

/// CPU 0 keeps house; the others need no tick.
fn options() -> Options {
    Options {
        nohz_full: vec![1, 2, 3],
        ..Options::kernel_6_12(4, 1000)
    }
}

fn full(stats: &Stats) -> FullTicks {
    stats.full.expect("there are such CPUs")
}

/// Latencies in nanoseconds.
fn latencies(stats: &Stats) -> Vec<u64> {
    stats.calls.iter().map(|it| it.end - it.start).collect()
}

#[test]
fn a_cpu_that_computes_has_no_tick_and_delays_no_grace_period() {
    let run = |options: Options| {
        let mut machine = Machine::new(options);
        for cpu in 1..4 {
            machine.spawn_endless("hog", cpu, 0, Hog);
        }
        machine.spawn("caller", 0, 10 * MS, Steps::caller(50, 3 * MS));
        machine.window(10 * MS, u64::MAX);
        assert!(machine.run_tasks(20 * SECOND));
        assert_eq!(machine.too_early(), 0);
        machine.stats()
    };
    let stats = run(options());
    assert_eq!(full(&stats), FullTicks::default(), "no tick at all");
    let ordinary = run(Options::kernel_6_12(4, 1000));
    assert_eq!(ordinary.full, None);
    let each = ordinary.totals.busy_ticks as f64 / ordinary.seconds();
    assert!(each > 2900.0, "{each}: three CPUs, 1000 a second");
    // User space is seen by the first scan: one wait, or two if the thread's own CPU was in the way.
    let longest = latencies(&stats).into_iter().max();
    assert!(longest < Some(16 * MS), "{longest:?}");
    for cpu in 1..4 {
        assert_eq!(stats.credits[cpu].own, 0, "it reports nothing");
        assert!(stats.credits[cpu].scan >= 50);
    }
}

#[test]
fn tasks_that_share_a_cpu_take_turns_and_then_the_tick_stops() {
    let mut machine = Machine::new(options());
    machine.spawn_endless("stays", 1, 0, Hog);
    machine.spawn("goes", 1, 0, List::new(vec![Op::Compute(500 * MS)]));
    machine.run(2 * SECOND);
    let ticks = full(&machine.stats());
    assert!((995..1010).contains(&ticks.sched), "{ticks:?}: a second");
    assert!(ticks.ticks - ticks.sched < 5, "{ticks:?}");
    assert_eq!((ticks.rcu, ticks.rcu_exp), (0, 0));
}

#[test]
fn a_grace_period_turns_the_tick_on_until_the_cpu_has_reported() {
    let mut machine = Machine::new(options());
    machine.keep_trace();
    machine.spawn_endless("in kernel", 1, 0, InKernel);
    machine.run(100 * MS);
    assert_eq!(full(&machine.stats()).ticks, 0, "RCU has not asked");
    machine.spawn("caller", 0, 100 * MS, Steps::caller(1, 0));
    machine.run(SECOND);
    let stats = machine.stats();
    // Two scans, since only the second one knows that nothing has changed; then a tick that notes and
    // reports.
    let latency = latencies(&stats)[0];
    assert!((8 * MS..20 * MS).contains(&latency), "{latency}");
    assert_eq!(stats.credits[1].own, 1, "it has reported itself");
    let ticks = full(&stats);
    assert!((1..=3).contains(&ticks.rcu), "{ticks:?}");
    assert_eq!(ticks.ticks, ticks.rcu, "and then it is off again");
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let kept = text.find("tick_stop: success=0 dependency=RCU\n");
    let stopped = text.rfind("tick_stop: success=1 dependency=NONE\n");
    assert!(kept.is_some() && kept < stopped, "{kept:?} {stopped:?}");
}

#[test]
fn patience_leaves_it_alone_for_so_long() {
    let mut machine = Machine::new(Options {
        patience_ms: 500,
        ..options()
    });
    machine.spawn_endless("in kernel", 1, 0, InKernel);
    machine.spawn("caller", 0, 100 * MS, Steps::caller(1, 0));
    machine.run(3 * SECOND);
    let latency = latencies(&machine.stats())[0];
    assert!((500 * MS..520 * MS).contains(&latency), "{latency}");
}

#[test]
fn an_expedited_grace_period_keeps_the_tick_of_the_cpu_that_it_waits_for() {
    let mut machine = Machine::new(options());
    let reads = vec![
        Op::Lock,
        Op::Compute(40 * MS),
        Op::Unlock,
        Op::Compute(SECOND),
    ];
    machine.spawn("reader", 1, 0, List::new(reads));
    let caller = vec![Op::SynchronizeExpedited];
    machine.spawn("caller", 0, 10 * MS, List::new(caller));
    machine.run(SECOND);
    let stats = machine.stats();
    assert_eq!(machine.too_early(), 0);
    let end = stats.calls[0].end;
    assert!((40 * MS..42 * MS).contains(&end), "{end}");
    let ticks = full(&stats);
    assert!(
        (25..32).contains(&ticks.rcu_exp),
        "{ticks:?}: 30 ms, less the first"
    );
    assert!(
        ticks.ticks <= ticks.rcu_exp + 1,
        "{ticks:?}: and not after it"
    );
}

#[test]
fn its_callbacks_are_offloaded_and_rcus_threads_keep_away() {
    let mut machine = Machine::new(Options {
        moves: Some(20 * MS),
        ..options()
    });
    machine.keep_trace();
    machine.func("callback");
    for cpu in 1..4 {
        let ops = (0..20).flat_map(|n| [call(false), Op::SleepUntil(n * 30 * MS)]);
        machine.spawn("queues", cpu, 0, List::new(ops.collect()));
    }
    machine.spawn(
        "caller",
        2,
        0,
        List::new(vec![Op::SynchronizeExpedited; 20]),
    );
    machine.run(2 * SECOND);
    assert_eq!((machine.owed(), machine.too_early()), (0, 0));
    let stats = machine.stats();
    for cpu in 1..4 {
        assert!(stats.wakeups_of(&format!("rcuop/{cpu}")) > 0);
    }
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let woken = |line: &&str| line.contains("sched_wakeup: comm=rcu");
    let woken: Vec<&str> = text.lines().filter(woken).collect();
    assert!(woken.len() > 20);
    let elsewhere = woken.iter().find(|it| !it.ends_with("target_cpu=000"));
    assert_eq!(elsewhere, None);
}

#[test]
fn its_callbacks_are_not_taken_back() {
    let mut machine = Machine::new(Options {
        online_toggle: true,
        nocbs: vec![0],
        ..options()
    });
    let back = (0..4).map(Op::Deoffload).collect();
    machine.spawn("toggles", 0, 0, List::new(back));
    machine.run(SECOND);
    assert_eq!(machine.counts()["toggles"], 1, "of CPU 0, which has a tick");
}

#[test]
fn callbacks_that_are_not_offloaded_keep_its_tick_until_they_are_done() {
    let run = |none_offloaded| {
        let mut machine = Machine::new(Options {
            none_offloaded,
            ..options()
        });
        machine.func("freed");
        machine.spawn(
            "queues",
            1,
            100 * MS,
            List::new(vec![call(false), Op::Compute(300 * MS)]),
        );
        machine.run(SECOND);
        assert_eq!(
            (machine.owed(), machine.too_early()),
            (0, 0),
            "{none_offloaded}"
        );
        full(&machine.stats())
    };
    assert_eq!(
        run(false).ticks,
        0,
        "its callback is offloaded, as in a kernel"
    );
    let kept = run(true);
    assert!(
        (5..30).contains(&kept.rcu),
        "{kept:?}: a grace period, and not 300 ticks"
    );
    assert_eq!(kept.ticks, kept.rcu);
}

#[test]
fn the_timekeeper_ticks_and_stays() {
    let mut machine = Machine::new(options());
    machine.plug(10 * MS, 0, false);
    machine.plug(10 * MS, 3, false);
    machine.run(SECOND);
    assert!(machine.is_online(0) && !machine.is_online(3));
    let ticks = machine.stats().totals.idle_ticks;
    assert!((995..1010).contains(&ticks), "{ticks}: CPU 0's");
}

#[test]
fn nothing_comes_too_early_and_no_task_waits_for_ever() {
    for seed in 0..100 {
        let mut case = Case::of_seed(seed);
        let (cpus, gp_cpu) = (case.options.cpus, case.options.gp_cpu);
        let wanted = |cpu: &u32| *cpu != gp_cpu && (seed >> (cpu % 5)) & 1 == 0;
        case.options.nohz_full = (0..cpus).filter(wanted).collect();
        case.options.patience_ms = 20 * (seed % 3);
        let outcome = torture(&case, false);
        assert_eq!(outcome.finding, None, "seed {seed}: {}", case.to_text());
    }
}

//! `whatif`: what is read out of a trace, what follows a wait, and how near the model comes to real traces,
//! as recorded and with a change.

use quiescent_kernel::EarlyQs;
use quiescent_sim::experiments::{Basis, Outcome, Script};
use quiescent_sim::whatif::doings::{Awaited, Run, Step, Waited};
use quiescent_sim::whatif::{self, Line, Trace};
use quiescent_sim::{IdleLoop, Options, Smp, settings};
use quiescent_trace::{Options as Known, Window, open};

const MS: u64 = 1_000_000;

/// Everything between `from` and `to`, in microseconds, of text.
fn text(text: &str, from: u64, to: u64) -> Trace {
    let known = Known {
        hz: Some(1000),
        window: Some(Window {
            start_ns: from * 1000,
            end_ns: to * 1000,
        }),
    };
    whatif::read("text", text.as_bytes(), known).unwrap()
}

fn file(name: &str, window: Option<Window>) -> Trace {
    let path = format!(
        "{}/../../data/traces/{name}.txt.xz",
        env!("CARGO_MANIFEST_DIR")
    );
    let known = Known {
        window,
        ..Known::default()
    };
    whatif::read(&path, open(&path).unwrap(), known).unwrap()
}

fn runs<'a>(trace: &'a Trace, name: &str) -> &'a [Run] {
    let found = trace
        .doings
        .lives
        .iter()
        .find(|it| it.name.starts_with(name));
    &found
        .unwrap_or_else(|| panic!("{name}: {:?}", trace.doings.lives))
        .runs
}

/// A thread that works, queues, is preempted, works on and sleeps; another that waits twice; an interrupt
/// that queues.
const LIVES: &str = "\
<idle>-0 [001] dNh4. 0.001000: sched_wakeup: comm=a pid=7 prio=120 target_cpu=001
<idle>-0 [001] d..2. 0.001010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
a-7 [001] d..2. 0.001030: rcu_callback: rcu_preempt rhp=ff10 func=__d_free 1
a-7 [001] d..2. 0.001040: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=8 next_prio=120
b-8 [001] ..... 0.001050: rcu_sr_normal: rcu_preempt rhp=0xff90 event=request
b-8 [001] d..2. 0.001051: rcu_callback: rcu_preempt rhp=ff94 func=wakeme_after_rcu 2
b-8 [001] d..2. 0.001060: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=D ==> next_comm=a next_pid=7 next_prio=120
a-7 [001] d..2. 0.001100: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
<idle>-0 [002] d.h2. 0.002000: rcu_callback: rcu_preempt rhp=ff20 func=file_free 1
<idle>-0 [001] dNs5. 0.006000: sched_wakeup: comm=b pid=8 prio=120 target_cpu=001
<idle>-0 [001] d..2. 0.006010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
b-8 [001] d..2. 0.006030: rcu_callback: rcu_preempt rhp=ff98 func=wakeme_after_rcu 1
b-8 [001] d..2. 0.006040: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120
<idle>-0 [001] d..1. 0.009000: cpu_idle: state=1 cpu_id=1
";

#[test]
fn a_life_is_wake_ups_work_callbacks_and_waits() {
    let trace = text(LIVES, 0, 9000);
    let at = |us: u64| us * 1000;
    let a = Run {
        at: at(1000),
        cpu: 1,
        counted: 1,
        deferred: false,
        steps: vec![
            Step::Busy(at(20)),
            Step::Call {
                index: 0,
                after: at(30),
            },
            Step::Busy(at(10 + 40)),
        ],
    };
    assert_eq!(runs(&trace, "a-7"), [a]);
    // No wake-up of it was seen; its second wait has no end.
    let [b] = runs(&trace, "b-8") else {
        panic!("the wake-up after a wait begins no run");
    };
    assert_eq!((b.at, b.counted), (at(1040), 0));
    let until = |us: Option<u64>| Step::Wait {
        what: Awaited::GracePeriod,
        until: us.map(|it| it * 1000),
    };
    let steps = [
        Step::Busy(at(10)),
        until(Some(6010)),
        Step::Busy(at(20)),
        until(None),
    ];
    // What it does between asking and sleeping is a part of the wait.
    assert_eq!(b.steps, steps);
    let waited = Waited {
        what: Awaited::GracePeriod,
        from: at(1050),
        until: at(6010),
    };
    assert_eq!(trace.doings.waits, [waited]);
    let [interrupt] = runs(&trace, "interrupts/2") else {
        panic!("one callback")
    };
    assert_eq!(
        (interrupt.counted, &interrupt.steps[1]),
        (
            0,
            &Step::Call {
                index: 2,
                after: at(15)
            }
        )
    );
    assert_eq!(
        (trace.doings.threads().count(), trace.doings.calls()),
        (2, 2)
    );
}

#[test]
fn other_timers_ticks_are_fed_and_rcus_are_not() {
    let tick = |us: u64, cpu: u32| {
        format!(
            "<idle>-0 [00{cpu}] d.h1. 0.{us:06}: hrtimer_expire_entry: hrtimer=ff \
             function=tick_nohz_handler now=1\n"
        )
    };
    let timer = |us: u64, function: &str, clock: u64| {
        format!(
            "<idle>-0 [001] d.s1. 0.{us:06}: timer_expire_entry: timer=ff function={function} now=100 \
             baseclk={clock}\n"
        )
    };
    let rcu = "<idle>-0 [003] dNh2. 0.005020: sched_wakeup: comm=rcu_preempt pid=15 prio=120 \
     target_cpu=003\n";
    let all = [
        tick(1001, 1) + &tick(1005, 2) + &timer(1008, "delayed_work_timer_fn", 100),
        // RCU's, and one that was only taken along.
        tick(5001, 1)
            + &timer(5008, "process_timeout", 100)
            + &timer(5009, "delayed_work_timer_fn", 50)
            + rcu,
        // It is no thread of RCU that wakes up: the wake-up is another task's.
        tick(8001, 1) + &timer(8008, "process_timeout", 100),
    ];
    let trace = text(&all.concat(), 0, 9000);
    assert_eq!(trace.doings.ticks, [(1, MS), (2, MS), (1, 8 * MS)]);
}

/// Figures of a run with these settings on top of what the trace tells.
fn with(trace: &Trace, sets: &[(&str, &str)]) -> Vec<Line> {
    let mut options = Options {
        smp: Smp::Serial,
        ..trace.options()
    };
    settings::apply(&mut options, sets).unwrap();
    let stats = trace
        .run(&options, trace.times([&options]), || false)
        .unwrap();
    whatif::lines(trace, &stats, &stats)
}

fn of(lines: &[Line], metric: &str) -> f64 {
    let found = lines.iter().find(|it| it.metric == metric);
    found
        .unwrap_or_else(|| panic!("{metric}: {lines:?}"))
        .changed
}

#[test]
fn waits_take_as_long_as_the_settings_make_them() {
    // Of `data/kernel-measurements.json`: 10.00 ms, 6.00 with the early report, 4.00 offloaded.
    let window = Window {
        start_ns: 1_621_400_000,
        end_ns: 2_121_200_000,
    };
    let trace = file("s-sync-classic-8", Some(window));
    let (waits, ms) = trace.waits(Awaited::GracePeriod);
    assert_eq!(waits, 50);
    let recorded = with(&trace, &[]);
    let near = |it: f64, real: f64| (it / real - 1.0).abs() < 0.03;
    assert!(near(ms, 10.0) && near(of(&recorded, "synchronize_ms_mean"), 10.0));
    for (sets, real) in [
        (&[("early_qs", "init")][..], 6.0),
        (&[("rcu", "offload")], 4.0),
        (
            &[
                ("jiffies_till_first_fqs", "8"),
                ("jiffies_till_next_fqs", "8"),
            ],
            20.0,
        ),
    ] {
        let lines = with(&trace, sets);
        let modelled = of(&lines, "synchronize_ms_mean");
        assert!(near(modelled, real), "{sets:?}: {modelled}");
        // One call right after the other: the script is faster, or slower, by as much. The trace has calls
        // for two seconds.
        let rate = of(&lines, "synchronize_per_s");
        assert!(
            (rate * modelled / 1000.0 - 1.0).abs() < 0.35,
            "{sets:?}: {rate}"
        );
    }
}

#[test]
fn the_trace_tells_jiffies_and_the_early_report() {
    let inferred = |name| file(name, None).inferred;
    let j32 = inferred("classic-d-nocb-j32-file100");
    assert_eq!((j32.first_fqs, j32.next_fqs), (Some(32), Some(32)));
    let early = inferred("classic-a-softirq-file100-early");
    assert_eq!(
        (early.first_fqs, early.early_qs),
        (Some(3), Some(EarlyQs::Init))
    );
    assert_eq!(
        inferred("classic-a-softirq-file100").early_qs,
        Some(EarlyQs::Off)
    );
    // Three grace periods tell nothing; ticks do.
    let lazy = inferred("classic-c-lazy-file100");
    assert_eq!(
        (lazy.settings(), lazy.smp),
        (vec!["smp", "idle_loop"], Some(Smp::Serial))
    );
    assert_eq!(j32.smp, Some(Smp::Serial));
}

#[test]
fn idle_times_tell_when_the_tick_stops() {
    let seen = |name| file(name, None).inferred.idle_loop;
    for name in ["a-softirq-file100-cut", "b-nocb-file100-cut"] {
        assert_eq!(seen(name), Some(IdleLoop::Retain), "{name}");
    }
    // Callbacks keep the tick of one CPU there; its idle times do not count.
    for name in [
        "classic-a-softirq-file100",
        "classic-b-nocb-file100",
        "classic-c-lazy-file100",
        "classic-idle",
    ] {
        assert_eq!(seen(name), Some(IdleLoop::Classic), "{name}");
    }
}

#[test]
fn what_the_trace_does_not_show_is_the_machine_that_fits() {
    // As if idle times were unknown.
    let unknown = |name| {
        let mut trace = file(name, None);
        trace.inferred.idle_loop = None;
        trace
    };
    let retain = unknown("a-softirq-file100-cut");
    let fit = retain.fitted(&retain.options(), &[], || false).unwrap();
    assert_eq!(fit.options.idle_loop, IdleLoop::Retain);
    assert_eq!(fit.chosen, ["idle_loop"], "ticks tell the other one");
    let alone = unknown("classic-a-softirq-file100");
    let fit = alone.fitted(&alone.options(), &[], || false).unwrap();
    assert_eq!(fit.chosen, ["smp", "idle_loop"], "one CPU ticks at a time");
    let offloaded = unknown("classic-b-nocb-file100");
    let fit = offloaded
        .fitted(&offloaded.options(), &[], || false)
        .unwrap();
    assert_eq!(
        (fit.options.smp, fit.options.idle_loop),
        (Smp::Serial, IdleLoop::Classic)
    );
    let given = offloaded.fitted(&offloaded.options(), &["smp", "idle_loop"], || false);
    assert_eq!(given.unwrap().chosen, [""; 0]);
    assert!(
        offloaded
            .fitted(&offloaded.options(), &[], || true)
            .is_none(),
        "it was stopped"
    );
}

#[test]
fn a_short_trace_is_lived_through_again_for_lazy_callbacks() {
    let trace = file("b-nocb-file100-cut", None);
    let mut options = trace.options();
    assert_eq!(trace.times([&options]), 1);
    settings::apply(&mut options, &[("rcu", "lazy")]).unwrap();
    let times = trace.times([&options]);
    assert!(
        (38..=41).contains(&times),
        "{times} times two and a half seconds"
    );
    let again = trace.doings.repeated(&trace.recorded, 3);
    let window = trace.recorded.window;
    let count = |it: &whatif::doings::Doings| {
        let runs = it.lives.iter().flat_map(|it| &it.runs);
        runs.filter(|it| it.at >= window.start_ns).count()
    };
    let once = trace.doings.repeated(&trace.recorded, 1);
    assert_eq!(count(&again), 3 * count(&once));
}

fn experiment(name: &str) -> Outcome {
    let all = Script::named(name.as_ref()).unwrap();
    all[0].run(1).unwrap()
}

#[test]
fn as_recorded_the_model_is_within_15_per_cent() {
    let outcome = experiment("whatif-as-recorded");
    assert_eq!(outcome.comparisons.len(), 8 * 3);
    for it in &outcome.comparisons {
        assert!(
            it.allowed == 0.15 && it.holds() == Some(true),
            "{it:?} {}",
            it.ratio()
        );
    }
}

#[test]
fn changes_are_predicted_within_20_per_cent_but_for_ticks_that_depend_on_placement() {
    let outcome = experiment("whatif");
    let (predicted, explained): (Vec<_>, Vec<_>) = outcome
        .comparisons
        .iter()
        .partition(|it| it.basis == Basis::InSample);
    assert_eq!(predicted.len(), 6 * 3);
    assert!(outcome.comparisons.iter().all(|it| it.allowed == 0.20));
    let missed: Vec<(&str, &str)> = predicted
        .iter()
        .filter(|it| it.holds() == Some(false))
        .map(|it| (it.case.rsplit(' ').next().unwrap(), it.metric))
        .collect();
    // `docs/model.md` says so, and why: nothing else may join them unseen.
    let known = [
        "b-nocb-file100-cut",
        "classic-c-lazy-file100",
        "classic-d-nocb-j32-file100",
    ];
    assert_eq!(missed, known.map(|it| (it, "idle_ticks_per_s")));
    // With what is known only afterwards they hold, too.
    for it in explained {
        assert!(it.is_near(), "{it:?} {}", it.ratio());
    }
}

#[test]
fn interrupts_that_only_end_a_halt_are_fed() {
    // Other timers of a machine that does nothing, and a clock that is early: of 82 passes of the idle loop
    // 54.
    let mut trace = file("classic-idle", None);
    let window = trace.recorded.window;
    let inside = trace.doings.interrupts.iter();
    assert_eq!(inside.filter(|it| window.contains(it.1)).count(), 54);
    let ratio = |trace: &Trace| {
        let lines = with(trace, &[]);
        let entries = lines.iter().find(|it| it.metric == "idle_entries_per_s");
        entries.unwrap().ratio().unwrap()
    };
    let fed = ratio(&trace);
    trace.doings.interrupts.clear();
    let without = ratio(&trace);
    assert!((fed - 1.0).abs() < 0.15 && without < 0.6, "{fed} {without}");
}

//! `whatif`: threads without switches in the trace, whether CPUs execute at the same time, what is not known
//! of a prediction, and damaged traces.

use crate::common::List;
use quiescent_kernel::EarlyQs;
use quiescent_report::Control;
use quiescent_sim::whatif::doings::{Awaited, Step};
use quiescent_sim::whatif::{self, Answer, Direction, Feed, Line, Placement, Request, Trace};
use quiescent_sim::{
    Arrivals, Churn, Hog, IdleLoop, Machine, Op, Options, Queued, Smp, Steps, Workload, settings,
};
use quiescent_trace::{Options as Known, Window};

const MS: u64 = 1_000_000;

/// When the trace that is looked at begins, in nanoseconds, and when its window ends.
const FROM: u64 = 300 * MS;
const UNTIL: u64 = 2_300 * MS;

fn read(text: &str, from: u64, to: u64) -> Trace {
    let known = Known {
        hz: Some(1000),
        window: Some(Window {
            start_ns: from,
            end_ns: to,
        }),
    };
    whatif::read("text", text.as_bytes(), known).unwrap()
}

/// The trace of four CPUs of which CPU 2 computes all the time and CPU 1 queues callbacks, or of more CPUs
/// that compute; what happens before [`FROM`] is cut off, as a recorder that is started later does not have
/// it.
fn computes(smp: Smp, hogs: &[u32], sets: &[(&str, &str)]) -> String {
    let mut options = Options {
        smp,
        idle_loop: IdleLoop::Classic,
        ..Options::kernel_6_12(4, 1000)
    };
    settings::apply(&mut options, sets).unwrap();
    let mut machine = Machine::new(options);
    machine.keep_trace();
    let func = machine.func("file_free");
    for cpu in hogs {
        machine.spawn(&format!("hog/{cpu}"), *cpu, 0, Hog);
    }
    let arrivals = (0..300).map(|n| Arrivals {
        at: 5 * MS + n * 13 * MS + (n * n * 7919) % MS,
        calls: vec![Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.run(UNTIL + 200 * MS);
    written(&machine, FROM)
}

/// The trace of a machine from a time on.
fn written(machine: &Machine, from: u64) -> String {
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let time = |line: &str| {
        let seconds = line
            .split_whitespace()
            .find_map(|it| it.strip_suffix(':')?.parse::<f64>().ok());
        seconds.map_or(u64::MAX, |it| (it * 1e9) as u64)
    };
    let lines = text
        .lines()
        .filter(|it| it.starts_with('#') || time(it) >= from);
    lines.map(|it| format!("{it}\n")).collect()
}

fn asked(trace: &Trace, set: &str) -> Answer {
    let request = Request {
        file: "text".into(),
        set: vec![set.into()],
        ..Request::default()
    };
    let answer = whatif::ask(trace, &request, Control::none());
    answer.unwrap().unwrap()
}

fn of<'a>(lines: &'a [Line], metric: &str) -> &'a Line {
    let found = lines.iter().find(|it| it.metric == metric);
    found.unwrap_or_else(|| panic!("{metric}: {lines:?}"))
}

#[test]
fn a_cpu_that_computes_throughout_is_in_the_way_in_the_replay_too() {
    let text = computes(Smp::Parallel, &[2], &[]);
    assert!(!text.contains("next_comm=hog/2"), "no switch to it");
    let trace = read(&text, FROM + 100 * MS, UNTIL);
    let hog = trace
        .doings
        .lives
        .iter()
        .find(|it| it.name.starts_with("hog/2"));
    let [run] = &hog.expect("it is seen in ticks").runs[..] else {
        panic!("it runs all the time: {hog:?}")
    };
    let [Step::Busy(ns)] = run.steps[..] else {
        panic!("it only computes: {run:?}")
    };
    assert!(run.at < FROM + MS && run.at + ns > UNTIL + 198 * MS);
    // Its CPU reports at a tick of its own: what the change does is seen in a run that has it.
    let set = "jiffies_till_first_fqs=1";
    let answer = asked(&trace, set);
    let real = computes(Smp::Parallel, &[2], &[("jiffies_till_first_fqs", "1")]);
    let real = asked(&read(&real, FROM + 100 * MS, UNTIL), "early_qs=init");
    for metric in [
        "gp_duration_ms_mean",
        "grace_periods_per_s",
        "idle_ticks_per_s",
    ] {
        let (line, real) = (
            of(&answer.lines, metric),
            of(&real.lines, metric).recorded.unwrap(),
        );
        assert!(line.off().unwrap() < 0.05, "{line:?}");
        assert!((line.changed / real - 1.0).abs() < 0.1, "{line:?}: {real}");
    }
    // Again and again, too.
    let twice = trace.doings.repeated(&trace.recorded, 3);
    let hog = twice
        .lives
        .iter()
        .find(|it| it.name.starts_with("hog/2"))
        .unwrap();
    let busy = hog.runs.iter().flat_map(|it| &it.steps);
    let busy: u64 = busy
        .map(|it| if let Step::Busy(ns) = it { *ns } else { 0 })
        .sum();
    assert!(hog.runs[0].at + busy > twice.end);
}

/// Ticks of a CPU whose task is never switched, and the switches of another CPU.
const TICKS: &str = "\
<idle>-0 [000] d..2. 0.001000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
cc1-9 [001] d.h1. 0.001001: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1
a-7 [000] d..2. 0.001500: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
cc1-9 [001] d.h1. 0.002001: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1
cc1-9 [001] d.h2. 0.002005: rcu_callback: rcu_preempt rhp=ff20 func=file_free 1
cc1-9 [001] d.h1. 0.003001: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1
";

#[test]
fn who_is_seen_in_ticks_runs_and_whose_cpu_idles_does_not() {
    let steps = |text: &str, name: &str| {
        let trace = read(text, 0, 4 * MS);
        let lives = trace.doings.lives.iter().filter(|it| it.name == name);
        let runs: Vec<_> = lives.flat_map(|it| it.runs.clone()).collect();
        (
            runs.first().map(|it| it.at),
            runs.into_iter().flat_map(|it| it.steps).collect::<Vec<_>>(),
        )
    };
    let (at, cc1) = steps(TICKS, "cc1-9");
    assert_eq!(at, Some(MS), "since the trace began");
    assert_eq!(
        cc1,
        [
            Step::Busy(1_005_000),
            Step::Call {
                index: 0,
                after: 1_005_000
            },
            Step::Busy(996_000)
        ]
    );
    assert_eq!(
        steps(TICKS, "a-7").1,
        [Step::Busy(500_000)],
        "it sleeps at the end"
    );
    // Without any switch: a task that is all that its CPU has, and not one that takes turns with others.
    let all = |keep: &dyn Fn(&str) -> bool| {
        let lines = TICKS
            .lines()
            .filter(|it| !it.contains("sched_switch") && keep(it));
        lines.map(|it| format!("{it}\n")).collect::<String>()
    };
    let only = all(&|it| !it.contains("rcu_callback"));
    assert_eq!(steps(&only, "cc1-9").1, [Step::Busy(2_000_000)]);
    let turns = only
        .replacen("cc1-9", "<idle>-0", 2)
        .replacen("<idle>-0", "cc1-9", 1);
    assert_eq!(steps(&turns, "cc1-9").1, []);
}

#[test]
fn wake_ups_of_interrupts_are_left_out_once_and_those_before_a_sleep_are_counted() {
    // A thread that is woken 100 times, each time once more before it sleeps, and interrupts that queue 100
    // callbacks.
    let mut text = String::new();
    for n in 0..100 {
        let at = |us: u64| format!("0.{:06}", 1000 + n * 1000 + us);
        let (idle, a) = ("<idle>-0 [000] d..2.", "a-7 [000] d..2.");
        text += &format!(
            "<idle>-0 [000] dNh4. {}: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n",
            at(0)
        );
        text += &format!(
            "{idle} {}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
             next_comm=a next_pid=7 next_prio=120\n",
            at(5)
        );
        text += &format!(
            "a-7 [000] d.h4. {}: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n",
            at(25)
        );
        text += &format!(
            "{a} {}: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> \
             next_comm=swapper/0 next_pid=0 next_prio=120\n",
            at(45)
        );
        text += &format!(
            "<idle>-0 [001] d.h2. {}: rcu_callback: rcu_preempt rhp=f{n:03x}0 func=file_free 1\n",
            at(300)
        );
    }
    let trace = read(&text, MS / 2, 102 * MS);
    let stats = trace.run(&trace.options(), 1, || false).unwrap();
    let lines = whatif::lines(&trace, &stats, &stats);
    let others = of(&lines, "wakeups_per_s others");
    assert_eq!(others.count, Some(200));
    assert!(others.off().unwrap() < 0.02, "{others:?}");
}

#[test]
fn rcus_soft_interrupt_in_a_thread_is_the_models_own() {
    // More callbacks than a batch has, while a task waits for the CPU: the rest is ksoftirqd's.
    let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    machine.keep_trace();
    let func = machine.func("file_free");
    let arrivals = (0..40).map(|n| Arrivals {
        at: (5 + n * 50) * MS,
        calls: vec![Queued::of(func).lazy(false); 400],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.spawn("hog", 1, 0, Hog);
    machine.run(UNTIL + 200 * MS);
    let trace = read(&written(&machine, FROM), FROM, UNTIL);
    let lives = &trace.doings.lives;
    let those: Vec<_> = lives
        .iter()
        .filter(|it| it.name.starts_with("ksoftirqd"))
        .collect();
    assert!(those.is_empty(), "{those:?}");
    let stats = trace.run(&trace.options(), 1, || false).unwrap();
    let rounds = stats.wakeups_of("ksoftirqd");
    assert!(rounds > 20, "{rounds}");
    let lines = whatif::lines(&trace, &stats, &stats);
    let others = of(&lines, "wakeups_per_s others");
    assert!(others.off().unwrap() < 0.02, "{others:?}");
}

#[test]
fn ticks_at_one_instant_tell_that_cpus_execute_at_the_same_time() {
    for smp in [Smp::Parallel, Smp::Serial] {
        let trace = read(&computes(smp, &[0, 2, 3], &[]), FROM, UNTIL);
        assert_eq!(trace.inferred.smp, Some(smp));
        let fit = trace.fitted(&trace.options(), &[], || false).unwrap();
        assert_eq!((fit.options.smp, fit.chosen), (smp, vec!["idle_loop"]));
        assert!(fit.alike.iter().all(|it| it.smp == smp));
    }
    // One CPU ticks at a time: nothing is seen, and both machines are in the range.
    let trace = read(&computes(Smp::Serial, &[], &[]), FROM, UNTIL);
    assert_eq!(trace.inferred.smp, None);
    let fit = trace.fitted(&trace.options(), &[], || false).unwrap();
    assert!(fit.alike.iter().any(|it| it.smp != fit.options.smp));
}

#[test]
fn the_range_has_all_placements_of_rcus_threads() {
    let trace = read(&computes(Smp::Parallel, &[0, 2], &[]), FROM, UNTIL);
    let answer = asked(&trace, "rcu=offload");
    let changed = &answer.machines[1];
    let placements = trace.placements(changed);
    for it in [
        Placement::GpThread(0),
        Placement::Offload(1),
        Placement::Together(3),
        Placement::AtHome,
    ] {
        assert!(placements.contains(&it), "{it:?} {placements:?}");
    }
    let mut found = Vec::new();
    for it in placements {
        let stats = trace.run_with(changed, Feed::of(1), it, || false).unwrap();
        let lines = whatif::lines(&trace, &stats, &stats);
        let ticks = of(&lines, "idle_entries_per_s").changed;
        let (least, most) = of(&answer.lines, "idle_entries_per_s").spread.unwrap();
        assert!(
            least <= ticks && ticks <= most,
            "{it:?}: {ticks} in {least} to {most}"
        );
        found.push((it, ticks));
    }
    let of = |wanted| found.iter().find(|it| it.0 == wanted).unwrap().1;
    assert_ne!(
        of(Placement::Together(1)),
        of(Placement::GpThread(1)),
        "rcuog and rcuop move"
    );
}

#[test]
fn the_range_has_all_threads_where_the_grace_period_thread_was_recorded() {
    let text = computes(Smp::Parallel, &[], &[("gp_cpu", "2")]);
    let trace = read(&text, FROM, UNTIL);
    let mut changed = trace.options();
    changed.nocbs = (0..4).collect();
    assert_eq!(changed.gp_cpu, 0, "rcuog begins elsewhere");
    let placements = trace.placements(&changed);
    for it in [Placement::GpThread(2), Placement::Together(2)] {
        assert!(placements.contains(&it), "{it:?} {placements:?}");
    }
    for (n, it) in placements.iter().enumerate() {
        assert!(!placements[..n].contains(it), "{it:?} twice");
    }
}

#[test]
fn a_change_that_needs_a_boot_has_the_grace_period_thread_on_a_cpu_of_its_own() {
    let seen = |gp_cpu, moves, set| {
        let sets = [("cpus", "8"), ("gp_cpu", gp_cpu), ("moves", moves)];
        let trace = read(&computes(Smp::Parallel, &[], &sets), FROM, UNTIL);
        let answer = asked(&trace, set);
        let ticks = |placement| {
            let stats = trace.run_with(&answer.machines[1], Feed::of(1), placement, || false);
            let stats = stats.unwrap();
            of(&whatif::lines(&trace, &stats, &stats), "idle_ticks_per_s").changed
        };
        let changed = of(&answer.lines, "idle_ticks_per_s").changed;
        let said = answer.doubts.iter().any(|it| it.contains("a boot"));
        (
            changed,
            ticks(Placement::Recorded),
            ticks(Placement::Booted(Some(7))),
            said,
        )
    };
    // CPU 1 has the load: most boots put the thread elsewhere.
    let (changed, recorded, elsewhere, said) = seen("1", "never", "rcu=offload");
    assert!(
        changed == elsewhere && changed != recorded && said,
        "{changed} {recorded} {elsewhere}"
    );
    // A running kernel lets this be changed; the next one sees the thread on a CPU of its own.
    let (changed, recorded, _, said) = seen("1", "never", "jiffies_till_first_fqs=8");
    assert!(changed == recorded && !said, "{changed} {recorded}");
    let (changed, recorded, _, said) = seen("3", "never", "rcu=offload");
    assert!(changed == recorded && said, "{changed} {recorded}");
    // One that moves all the time is on no CPU in particular.
    let (changed, recorded, _, said) = seen("1", "5ms", "rcu=offload");
    assert!(changed == recorded && !said, "{changed} {recorded}");
}

#[test]
fn the_range_has_work_that_nothing_interrupts() {
    // Each CPU has four tasks that work 0.3 ms at a time: the other runs of the range have more ticks.
    let sets = "cpus=8 gp_cpu=1 rate=200 tasks=32 seed=1".split(' ');
    let sets: Vec<_> = sets.filter_map(|it| it.split_once('=')).collect();
    let plan = Workload::named("fork").unwrap().plan(&sets).unwrap();
    let mut machine = plan.machine();
    machine.keep_trace();
    machine.run(UNTIL + 200 * MS);
    let trace = read(&written(&machine, FROM), FROM, UNTIL);
    let answer = asked(&trace, "rcu=offload");
    let mut feed = Feed::of(1);
    feed.in_kernel = MS;
    let stats = trace.run_with(&answer.machines[1], feed, Placement::Recorded, || false);
    let stats = stats.unwrap();
    let lines = whatif::lines(&trace, &stats, &stats);
    let ticks = of(&lines, "idle_ticks_per_s").changed;
    let line = of(&answer.lines, "idle_ticks_per_s");
    let (least, most) = line.spread.unwrap();
    let inside = least <= ticks && ticks <= most;
    assert!(inside && ticks < 0.95 * line.changed, "{ticks}, {line:?}");
}

/// The model as recorded has 100 of it.
fn line(recorded: Option<f64>, changed: f64, spread: Option<(f64, f64)>) -> Line {
    Line {
        metric: "wakeups_per_s",
        unit: "1/s",
        recorded,
        modelled: 100.0,
        changed,
        spread,
        count: None,
        decides: true,
    }
}

#[test]
fn a_range_on_both_sides_leaves_the_direction_open() {
    let is = |recorded, changed, spread| line(recorded, changed, spread).direction();
    assert_eq!(is(None, 90.0, Some((80.0, 100.0))), Direction::Less);
    assert_eq!(is(None, 90.0, Some((80.0, 101.0))), Direction::Unknown);
    let above = Some((110.0, 130.0));
    assert_eq!(is(None, 120.0, above), Direction::More);
    assert_eq!(is(Some(115.0), 120.0, above), Direction::Unknown);
}

#[test]
fn a_range_within_what_two_records_differ_by_is_no_direction() {
    let is = |recorded, changed, spread| line(recorded, changed, spread).direction();
    assert_eq!(is(None, 102.0, Some((99.0, 104.0))), Direction::Same);
    assert_eq!(is(None, 104.0, Some((102.0, 106.0))), Direction::More);
    // A hundred events differ by more than a thousand.
    let mut counted = line(None, 120.0, None);
    for (count, direction) in [(100, Direction::Same), (1000, Direction::More)] {
        counted.count = Some(count);
        assert_eq!(counted.direction(), direction);
    }
    // It has to be near what was recorded, too.
    assert_eq!(is(Some(90.0), 102.0, None), Direction::More);
}

/// The trace of a task that waits again and again, and of another that queues callbacks.
fn calls(pause: u64, sets: &[(&str, &str)]) -> Trace {
    read(&called(pause, sets), FROM, UNTIL)
}

fn called(pause: u64, sets: &[(&str, &str)]) -> String {
    called_and_changed(pause, sets, &[])
}

/// The same, and from [`HALF`] on these are in force.
fn called_and_changed(pause: u64, sets: &[(&str, &str)], then: &[(&str, &str)]) -> String {
    let mut options = Options::kernel_6_12(4, 1000);
    settings::apply(&mut options, sets).unwrap();
    let mut machine = Machine::new(options.clone());
    machine.keep_trace();
    machine.spawn("caller", 1, 0, Steps::caller(10_000, pause));
    let func = machine.func("file_free");
    let arrivals = (0..100).map(|n| Arrivals {
        at: 5 * MS + n * 31 * MS,
        calls: vec![Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 2, 0, Churn::new(arrivals.collect()));
    machine.run(HALF);
    settings::apply(&mut options, then).unwrap();
    machine.change(options);
    machine.run(UNTIL);
    written(&machine, 0)
}

/// In the middle of the window, in nanoseconds.
const HALF: u64 = 1_300 * MS;

#[test]
fn settings_that_change_in_a_trace_change_in_its_replay() {
    for (key, first, second) in [
        ("jiffies_till_first_fqs", "2", "9"),
        ("jiffies_till_next_fqs", "2", "9"),
        ("rcu_normal_wake_from_gp", "0", "1"),
        ("early_qs", "init", "off"),
    ] {
        let text = called_and_changed(3 * MS, &[(key, first)], &[(key, second)]);
        let trace = read(&text, FROM, UNTIL);
        let later = &trace.options().later;
        assert_eq!(later.len(), 1, "{later:?}");
        let (at, changed, value) = &later[0];
        assert_eq!((*changed, value.as_str()), (key, second));
        assert!(HALF - MS < *at && *at < HALF + 40 * MS, "{key}: {at}");
        let stats = trace.run(&trace.options(), 1, || false).unwrap();
        let lines = whatif::lines(&trace, &stats, &stats);
        for metric in ["synchronize_per_s", "synchronize_ms_mean"] {
            let line = of(&lines, metric);
            assert!(line.off().unwrap() < 0.03, "{key}: {line:?}");
        }
        // One value from the beginning to the end is another machine.
        assert_ne!(asked(&trace, &format!("{key}={first}")).differences(), []);
        // With the window again and again, the change is there again and again.
        let again = trace.run(&trace.options(), 3, || false).unwrap();
        let mean = |it| of(&whatif::lines(&trace, it, it), "synchronize_ms_mean").modelled;
        let (once, again) = (mean(&stats), mean(&again));
        assert!((again / once - 1.0).abs() < 0.05, "{key}: {again} {once}");
    }
}

#[test]
fn who_waits_less_is_through_sooner_and_rates_are_over_that_time() {
    for pause in [3 * MS, 7 * MS] {
        let trace = calls(pause, &[]);
        let answer = asked(&trace, "rcu_expedited=1");
        assert!(!answer.again && answer.lacks == 0.0 && answer.holds());
        // Ten milliseconds a wait, and then nearly nothing.
        let (waits, ms) = trace.waits(Awaited::GracePeriod);
        let saved = waits as f64 * ms / 1e3;
        let [before, after] = answer.took;
        assert!(
            (before - 2.0).abs() < 0.02 && (before - saved - after).abs() < 0.03,
            "{answer:?}"
        );
        let line = of(&answer.lines, "expedited_gps_per_s");
        let real = calls(pause, &[("rcu_expedited", "1")]);
        let real = whatif::recorded(&real, "expedited_gps_per_s").unwrap();
        assert!((line.changed / real - 1.0).abs() < 0.02, "{line:?}: {real}");
        let text = whatif::text(&answer, 118);
        assert!(
            text.contains("the run takes: 2.0") && !text.contains("NaN"),
            "{text}"
        );
    }
}

#[test]
fn who_waits_longer_ends_later_and_what_others_do_is_fed_again() {
    let trace = calls(3 * MS, &[]);
    let answer = asked(&trace, "jiffies_till_first_fqs=12");
    let [before, after] = answer.took;
    assert!(
        answer.again && after > 1.5 * before && answer.lacks == 0.0,
        "{answer:?}"
    );
    assert!(answer.doubts.iter().any(|it| it.contains("again")));
    let others = of(&answer.lines, "wakeups_per_s others");
    let queues = 1000.0 / 31.0;
    let wakes = 2.0 * trace.waits(Awaited::GracePeriod).0 as f64;
    let rate = |seconds: f64, all: f64| all - wakes / seconds;
    let rate = rate(after, others.changed);
    assert!(
        (rate / queues - 1.0).abs() < 0.2,
        "{rate} {queues} {wakes} {before} {after} {others:?}"
    );
    // So long that there is no end to it: that is said.
    let answer = asked(&calls(3 * MS, &[]), "jiffies_till_first_fqs=1000");
    assert!(
        (answer.took[1] - 16.0).abs() < 0.1,
        "eight times as long at most"
    );
    assert!(answer.lacks == 0.0 || !answer.holds());
}

#[test]
fn a_trace_without_input_does_not_tell_of_effects() {
    let text = "<idle>-0 [000] ..... 0.100000: cpu_idle: state=0 cpu_id=0\n\
                <idle>-0 [000] ..... 0.800000: cpu_idle: state=4294967295 cpu_id=0\n";
    let answer = asked(&read(text, 0, 900 * MS), "rcu=lazy");
    assert!(
        answer
            .no_effect()
            .is_some_and(|it| it.starts_with("not known")),
        "{answer:?}"
    );
}

#[test]
fn a_setting_that_nothing_depends_on_is_said_to_have_no_effect() {
    let trace = read(&computes(Smp::Parallel, &[], &[]), FROM, UNTIL);
    let answer = asked(&trace, "rcu_expedited=1");
    let text = whatif::text(&answer, 200);
    assert!(
        text.contains("no effect: in this trace callbacks, not waiters"),
        "{text}"
    );
    assert!(
        answer.lines.iter().all(|it| it.spread.is_none()),
        "{answer:?}"
    );
    assert_eq!(asked(&trace, "rcu=offload").no_effect(), None);
    let zero = line(Some(3.0), 0.0, None);
    let mut answer = answer;
    answer.lines = vec![Line {
        modelled: 0.0,
        ..zero
    }];
    let text = whatif::text(&answer, 200);
    assert!(text.contains("none") && !text.contains(" new"), "{text}");
}

#[test]
fn a_wait_that_only_its_end_shows_is_a_wait() {
    // The grace-period thread wakes who waits; no request, no callback.
    let text = called(7 * MS, &[("rcu_normal_wake_from_gp", "1")]);
    let whole = read(&text, FROM, UNTIL).waits(Awaited::GracePeriod);
    let lines = text.lines().filter(|it| !it.contains("rcu_sr_normal:"));
    let text: String = lines.map(|it| format!("{it}\n")).collect();
    let trace = read(&text, FROM, UNTIL);
    let waits = trace.waits(Awaited::GracePeriod);
    assert_eq!(waits.0, whole.0);
    assert!(
        (waits.1 / whole.1 - 1.0).abs() < 0.01,
        "{waits:?} {whole:?}"
    );
    assert!(trace.options().wake_from_gp && !calls(7 * MS, &[]).options().wake_from_gp);
    let stats = trace.run(&trace.options(), 1, || false).unwrap();
    assert!((stats.seconds() - 2.0).abs() < 0.02, "{}", stats.seconds());
    let lines = whatif::lines(&trace, &stats, &stats);
    for metric in ["synchronize_per_s", "synchronize_ms_mean"] {
        let line = of(&lines, metric);
        assert!(line.off().unwrap() < 0.02, "{line:?}");
    }
}

#[test]
fn damage_is_counted_as_by_the_reader() {
    let text = TICKS.replacen("rhp=ff20 ", "", 1) + "what is this?\nand this?\n";
    let trace = read(&text, 0, 4 * MS);
    assert_eq!(trace.unread, 3);
    let said = trace.damage.join("\n");
    assert!(
        said.contains("2 lines could not be read, first line 7"),
        "{said}"
    );
    assert!(
        said.contains("1 events had a field that could not be read, first line 5"),
        "{said}"
    );
}

/// A trace without what a stock kernel's probes cannot have.
fn by_probes(text: &str) -> String {
    let lacks = ["rcu_nocb_wake:", "rcu_quiescent_state_report:"];
    let lines = text
        .lines()
        .filter(|line| lacks.iter().all(|it| !line.contains(it)));
    lines.map(|it| format!("{it}\n")).collect()
}

#[test]
fn offloading_is_read_off_batches_and_no_report_tells_nothing() {
    let text = computes(Smp::Parallel, &[], &[("rcu", "offload")]);
    let whole = read(&text, FROM, UNTIL);
    assert_eq!(whole.inferred.early_qs, Some(EarlyQs::Off));
    let trace = read(&by_probes(&text), FROM, UNTIL);
    // CPU 1 queues, and none invokes by itself.
    assert_eq!(trace.options().nocbs, [0, 1, 2, 3]);
    assert_eq!(trace.inferred.early_qs, None);
    let fit = trace.fitted(&trace.options(), &["smp", "idle_loop"], || false);
    let fit = fit.unwrap();
    assert_eq!(
        (fit.options.early_qs, fit.chosen),
        (EarlyQs::Off, vec!["early_qs"])
    );
    let early = computes(Smp::Parallel, &[], &[("early_qs", "init")]);
    let trace = read(&by_probes(&early), FROM, UNTIL);
    let fit = trace.fitted(&trace.options(), &["smp", "idle_loop"], || false);
    assert_eq!(fit.unwrap().options.early_qs, EarlyQs::Init);
    // No number of a CPU, or none that a CPU can have.
    for name in ["rcuop/x", "rcuop/70000"] {
        let text = by_probes(&text).replace("rcuop/1", name);
        assert_eq!(read(&text, FROM, UNTIL).options().nocbs, [0; 0], "{name}");
    }
}

#[test]
fn laziness_is_read_off_callbacks_that_wait_while_no_grace_period_does() {
    let lazy = |lazy: bool, reader: bool| {
        let mut options = Options::kernel_6_12(4, 1000);
        let sets = [("rcu", "lazy"), ("lazy_flush", "1200ms")];
        settings::apply(&mut options, &sets).unwrap();
        let mut machine = Machine::new(options);
        machine.keep_trace();
        let func = machine.func("file_free");
        let arrivals = (0..200).map(|n| Arrivals {
            at: 5 * MS + n * 13 * MS,
            calls: vec![Queued::of(func).lazy(lazy)],
        });
        machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
        let section = [Op::Lock, Op::Compute(1300 * MS), Op::Unlock];
        let ops = section.into_iter().filter(|_| reader).collect();
        machine.spawn("reader", 2, 0, List::new(ops));
        machine.run(UNTIL + 200 * MS);
        let trace = read(&by_probes(&written(&machine, 0)), 0, UNTIL);
        (trace.options().nocbs, trace.options().lazy)
    };
    assert_eq!(lazy(true, false), (vec![0, 1, 2, 3], true));
    assert_eq!(lazy(false, false), (vec![0, 1, 2, 3], false));
    assert_eq!(
        lazy(false, true),
        (vec![0, 1, 2, 3], false),
        "a reader holds them up"
    );
}

#[test]
fn handlers_that_alternate_do_not_tell_of_parallel_cpus() {
    let pairs = |n: u64, apart: u64| {
        let of = |at: u64| {
            let tick = |cpu: u32, at: u64| {
                format!(
                    "<idle>-0 [00{cpu}] d.h1. 0.{at:06}: hrtimer_expire_entry: hrtimer=ff \
                     function=tick_nohz_handler now=1\n"
                )
            };
            tick(0, at)
                + &tick(1, at + apart)
                + &format!(
                    "<idle>-0 [000] ..s1. 0.{:06}: softirq_entry: vec=9 [action=RCU]\n",
                    at + 4
                )
        };
        let text: String = (0..n).map(|n| of(1000 + n * 1000)).collect();
        read(&text, 0, 900 * MS).inferred.smp
    };
    assert_eq!(pairs(120, 2), Some(Smp::Serial));
    assert_eq!(pairs(120, 0), Some(Smp::Parallel));
}

#[test]
fn callbacks_go_in_at_their_own_times() {
    // Two milliseconds of callbacks, which begin half a millisecond before a tick.
    let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    machine.keep_trace();
    let func = machine.func("file_free");
    let mut ops = Vec::new();
    for n in 1..60 {
        ops.push(Op::SleepUntil((n * 40 + n % 7) * MS + MS / 2));
        for _ in 0..400 {
            let (lazy, can_wake) = (false, true);
            ops.extend([
                Op::Kernel(4300),
                Op::Call(Queued {
                    func,
                    lazy,
                    can_wake,
                }),
            ]);
        }
    }
    machine.spawn("burst", 1, 0, List::new(ops));
    machine.run(UNTIL + 200 * MS);
    let trace = read(&written(&machine, FROM), FROM, UNTIL);
    let run = trace
        .doings
        .threads()
        .find(|it| it.name.starts_with("burst"));
    let run = &run.unwrap().runs[3];
    let Step::Call { index, after } = run.steps[run.steps.len() - 2] else {
        panic!("the last of 400: {run:?}")
    };
    assert_eq!(trace.recorded.arrivals[index].time_ns, run.at + after);
    let stats = trace.run(&trace.options(), 1, || false).unwrap();
    let lines = whatif::lines(&trace, &stats, &stats);
    let line = of(&lines, "grace_periods_per_s");
    assert!(line.off().unwrap() < 0.02, "{line:?}");
}

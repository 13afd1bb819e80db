//! Machines with idle states, as a whole.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::idling::{Blocked, Idled, Residency};
use crate::{Machine, Op, Stats, Steps, Time, Work, Workload, settings};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn options(sets: &[(&str, &str)]) -> Options {
    let mut options = Options::kernel_6_12(4, 250);
    let table = [("idle_table", "alder-lake")];
    settings::apply(&mut options, &[&table, sets].concat()).unwrap();
    options
}

fn run(workload: &str, sets: &[(&str, &str)]) -> Stats {
    let table = [("idle_table", "alder-lake")];
    let plan = Workload::named(workload).unwrap();
    let plan = plan.plan(&[&table, sets].concat()).unwrap();
    plan.run(|| false).unwrap()
}

fn idled(stats: &Stats) -> &Idled {
    stats.idled.as_ref().expect("it has idle states")
}

/// One task that computes and sleeps by turns on CPU 0, for so many seconds; the first one does not count.
fn turns(sets: &[(&str, &str)], compute: u64, sleep: u64, seconds: u64) -> Stats {
    let mut machine = Machine::new(options(sets));
    let work = Steps::default().repeat(None, |it| it.run(Time::of(compute)).pause(Time::of(sleep)));
    machine.spawn_endless("load", 0, 0, work);
    machine.window(SECOND, u64::MAX);
    machine.run(seconds * SECOND);
    machine.stats()
}

/// The share of a state in per cent.
fn share(all: &[Residency], name: &str) -> f64 {
    let it = all.iter().find(|it| it.name == name).expect("a state");
    100.0 * it.ns as f64 / it.of_ns as f64
}

/// All sums are exact.
fn adds_up(stats: &Stats, cpus: u64) {
    let it = idled(stats);
    let window = stats.until - stats.from;
    assert_eq!(it.ns, window);
    let sum = |all: &[Residency]| all.iter().map(|it| it.ns).sum::<u64>();
    assert_eq!(sum(&it.cpus), cpus * window, "CPUs times the time");
    assert_eq!(sum(&it.package), window);
    assert_eq!(it.package.iter().map(|it| it.of_ns).max(), Some(window));
    for (depth, state) in it.package.iter().enumerate().skip(1) {
        let inside = sum(&it.package[depth..]);
        let charged = it.blocked_ns(&state.name, true) + it.blocked_ns(&state.name, false);
        assert_eq!(inside + charged, window, "{}", state.name);
    }
    let exits: u64 = it.breaks.iter().map(|it| it.1).sum();
    assert_eq!(it.package[0].entries, exits);
}

#[test]
fn without_a_table_there_is_nothing_of_this() {
    let plain = Workload::named("churn").unwrap().plan(&[]).unwrap();
    let stats = plain.run(|| false).unwrap();
    assert_eq!(stats.idled, None);
    let none = Workload::named("churn").unwrap();
    let sets = [("idle_table", "none"), ("governor", "deepest")];
    let same = none.plan(&sets).unwrap().run(|| false).unwrap();
    assert_eq!(same, stats, "to the last figure");
}

#[test]
fn an_idle_machine_is_in_the_deepest_states() {
    let mut machine = Machine::new(options(&[]));
    machine.run(10 * SECOND);
    let stats = machine.stats();
    adds_up(&stats, 4);
    assert_eq!(share(&idled(&stats).package, "PC10"), 100.0);
    assert_eq!(share(&idled(&stats).cpus, "C10"), 100.0);
}

#[test]
fn everything_adds_up_whatever_runs() {
    for sets in [
        &[][..],
        &[("rcu_nocbs", "all")],
        &[("rcu_nocbs", "all"), ("rcu_lazy", "1")],
        &[("fast_no_hz", "v5.10"), ("hz", "250")],
        &[("governor", "deepest")],
        &[("governor", "shallowest"), ("package_limit", "PC6")],
        &[("idle_table", "alder-lake-2p8e"), ("cpus", "12")],
        &[("idle_table", "sm8550"), ("rate", "20")],
        &[("cpu_dma_latency", "250us"), ("moves", "100ms")],
    ] {
        let stats = run("churn", sets);
        let cpus = sets.iter().find(|it| it.0 == "cpus").map_or("8", |it| it.1);
        adds_up(&stats, cpus.parse().unwrap());
        assert_eq!(run("churn", sets), stats, "a seed is a run: {sets:?}");
    }
}

#[test]
fn a_period_below_the_target_keeps_a_cpu_out_of_a_state() {
    let short = turns(&[], 20_000, MS + MS / 2, 5);
    adds_up(&short, 4);
    assert_eq!(idled(&short).package_pct("PC10"), 0.0);
    let cpus = &idled(&short).cpus;
    // A quarter of all CPUs, less what it runs, wakes up and waits for kept ticks.
    assert!(share(cpus, "C8") > 15.0, "{cpus:?}");
    let mut by = idled(&short).blocked.iter();
    let most = by
        .find(|it| it.state == "PC10")
        .expect("no CPU is the cause");
    assert_eq!(most.by.thread, "load", "{most:?}");
    assert_eq!(
        idled(&short).blocked_ns("PC10", true),
        0,
        "RCU has nothing to do"
    );
    let long = turns(&[], 20_000, 10 * MS, 5);
    adds_up(&long, 4);
    assert!(idled(&long).package_pct("PC10") > 80.0);
}

#[test]
fn always_deepest_pays_for_it() {
    let menu = turns(&[], 20_000, MS + MS / 2, 3);
    let deepest = turns(&[("governor", "deepest")], 20_000, MS + MS / 2, 3);
    let too_deep = |stats: &Stats| idled(stats).cpus.iter().map(|it| it.too_deep).sum::<u64>();
    assert!(too_deep(&deepest) > 100 && too_deep(&menu) < 10);
    assert!(share(&idled(&deepest).cpus, "C0") > share(&idled(&menu).cpus, "C0"));
    let shallow = turns(&[("governor", "shallowest")], 20_000, 10 * MS, 3);
    assert_eq!(idled(&shallow).package_pct("PC2"), 0.0);
    let governor = |it: &&Blocked| it.by.thread == "governor";
    assert!(idled(&shallow).blocked.iter().any(|it| governor(&it)));
}

/// Sleeps, and notes when it runs again.
struct Sleeper(Rc<RefCell<Vec<u64>>>, Vec<u64>);

impl Work for Sleeper {
    fn next(&mut self, now: u64) -> Op {
        self.0.borrow_mut().push(now);
        self.1.pop().map_or(Op::Exit, Op::SleepUntil)
    }
}

/// How late a task runs that sleeps until the given times.
fn late(options: Options, mut times: Vec<u64>) -> Vec<u64> {
    let ran = Rc::new(RefCell::new(Vec::new()));
    let mut machine = Machine::new(options);
    times.reverse();
    machine.spawn("sleeper", 1, MS, Sleeper(ran.clone(), times.clone()));
    assert!(machine.run_tasks(100 * SECOND));
    let ran = ran.borrow();
    let late = ran[1..].iter().zip(times.iter().rev());
    late.map(|(ran, due)| ran - due).collect()
}

#[test]
fn waking_takes_what_the_states_take_to_be_left() {
    let times = vec![50 * MS, 100 * MS];
    let plain = late(Options::kernel_6_12(4, 250), times.clone());
    let with = |sets: &[(&str, &str)]| late(options(sets), times.clone());
    let more = |with: Vec<u64>| {
        let each = with.iter().zip(&plain).map(|(with, plain)| with - plain);
        each.collect::<Vec<u64>>()
    };
    assert_eq!(more(with(&[])), [680_000; 2], "C10");
    assert_eq!(
        more(with(&[("cpu_dma_latency", "250us")])),
        [220_000; 2],
        "C6"
    );
    assert_eq!(more(with(&[("governor", "shallowest")])), [1000; 2], "C1");
    // The cluster's exit on top of the core's; CPU 1 is a small one.
    let arm = more(with(&[("idle_table", "sm8550")]));
    assert_eq!(arm, [750_000 + 4_400_000; 2]);
}

#[test]
fn rcus_threads_are_named_with_the_callbacks_that_they_ran_for() {
    let sets = [("rcu_nocbs", "all"), ("rate", "20"), ("hz", "250")];
    let stats = run("churn", &sets);
    adds_up(&stats, 8);
    let blocked = &idled(&stats).blocked;
    // rcuop runs where rcuog does, which is awake already: it wakes no CPU.
    for family in ["rcu_preempt", "rcuog/"] {
        let of = |it: &&Blocked| it.by.thread.starts_with(family) && it.ns > 0;
        let it = blocked
            .iter()
            .find(of)
            .unwrap_or_else(|| panic!("{family}"));
        assert!(it.by.rcu);
        let known = ["i_callback", "__d_free"];
        let func = it.by.function.as_deref().expect("a function");
        assert!(known.contains(&func), "{family}: {func}");
    }
    let churn = blocked.iter().find(|it| it.by.thread == "churn").unwrap();
    assert!(!churn.by.rcu && churn.by.function.is_none());
    let lazy = run("churn", &[&sets[..], &[("rcu_lazy", "1")]].concat());
    let (before, after) = (idled(&stats), idled(&lazy));
    assert!(after.package_pct("PC10") > before.package_pct("PC10") + 3.0);
    assert!(after.blocked_ns("PC10", true) * 10 < before.blocked_ns("PC10", true));
}

#[test]
fn callbacks_that_need_a_tick_are_named_too() {
    let stats = run("churn", &[("rate", "20")]);
    let ticks = |it: &&Blocked| it.by.thread == "tick for callbacks";
    let it = idled(&stats).blocked.iter().find(ticks).expect("it ticks");
    assert!(it.by.rcu && it.by.function.is_some(), "{it:?}");
}

#[test]
fn the_governor_keeps_ticks_only_where_guesses_are_short() {
    // 300 us apart, and ticks of a millisecond: it keeps the tick, which hardly ever comes.
    let sets = [("hz", "1000")];
    let short = turns(&sets, 20_000, 300_000, 3);
    adds_up(&short, 4);
    let long = turns(&sets, 20_000, 20 * MS, 3);
    assert!(short.totals.idle_ticks > 100, "{:?}", short.totals);
    assert_eq!(long.totals.idle_ticks, 0);
    let off = turns(
        &[("hz", "1000"), ("idle_table", "none")],
        20_000,
        300_000,
        3,
    );
    assert_eq!(
        off.totals.idle_ticks, 0,
        "and without idle states no CPU does"
    );
}

#[test]
fn a_core_is_as_deep_as_its_shallowest_thread() {
    let sets = [("idle_table", "alder-lake-2p8e"), ("cpus", "12")];
    let stats = turns(&sets, 900_000_000, 1000, 3);
    adds_up(&stats, 12);
    let it = idled(&stats);
    // CPU 0 is busy: its core is, and its other thread is not.
    assert!(
        (share(&it.cores, "P C0") - 50.0).abs() < 1.0,
        "{:?}",
        it.cores
    );
    assert!(
        (share(&it.cpus, "P C0") - 25.0).abs() < 1.0,
        "{:?}",
        it.cpus
    );
    assert!(share(&it.cores, "E C10") > 99.0);
    let cores: u64 = it.cores.iter().map(|it| it.ns).sum();
    assert_eq!(cores, 10 * it.ns);
}

#[test]
fn cpus_that_go_and_come_keep_the_books() {
    let mut machine = Machine::new(options(&[("rcu_nocbs", "all")]));
    let func = machine.func("callback");
    let arrivals = (1..400).map(|i| crate::Arrivals {
        at: i * 5 * MS,
        calls: vec![crate::Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 1, 0, crate::Churn::new(arrivals.collect()));
    for (at, cpu, online) in [
        (300, 1, false),
        (500, 2, false),
        (900, 1, true),
        (1200, 2, true),
    ] {
        machine.plug(at * MS, cpu, online);
    }
    machine.run(3 * SECOND);
    let stats = machine.stats();
    adds_up(&stats, 4);
    assert_eq!((machine.too_early(), machine.owed()), (0, 0));
    let away = |it: &&Blocked| it.by.thread == "hotplug";
    assert!(idled(&stats).blocked.iter().any(|it| away(&it)));
}

#[test]
fn what_it_took_is_a_range_about_a_profile() {
    let sets = [("power", "two-states"), ("rcu_nocbs", "all")];
    let stats = run("churn", &sets);
    let energy = idled(&stats).energy.as_ref().unwrap();
    let (low, high) = energy.watts();
    assert_eq!(energy.profile, "two-states");
    let deep = idled(&stats).package_pct("PC10") / 100.0;
    let least = 0.037 * deep + 1.84 * (1.0 - deep);
    assert!(
        (low - least).abs() < 1e-6,
        "{low} {least}: exits cost nothing at least"
    );
    assert!(high > low);
    let lazy = run("churn", &[&sets[..], &[("rcu_lazy", "1")]].concat());
    let lazy = idled(&lazy).energy.as_ref().unwrap().watts();
    assert!(lazy.0 < low && lazy.1 < high, "{lazy:?}");
}

//! Settings of a kernel, each in the direction in which it works there.

use crate::common::{List, MS};
use quiescent_sim::{Machine, Op, Options, Stats, Workload};

fn run(name: &str, sets: &[(&str, &str)]) -> Stats {
    let plan = Workload::named(name).unwrap().plan(sets).unwrap();
    let stats = plan.run(|| false).unwrap();
    assert_eq!(stats.early, 0, "{name} {sets:?}");
    stats
}

fn mean_ms(stats: &Stats) -> f64 {
    assert!(stats.calls.len() > 10);
    let all = stats
        .calls
        .iter()
        .map(|it| (it.end - it.start) as f64 / 1e6);
    all.sum::<f64>() / stats.calls.len() as f64
}

fn per_s(stats: &Stats, count: u64) -> f64 {
    count as f64 / stats.seconds()
}

#[test]
fn a_periodic_tick_hits_every_cpu_and_saves_the_second_wait() {
    let of = |nohz| run("sync", &[("caller_cpu", "1"), ("nohz", nohz)]);
    let (stops, periodic) = (of("1"), of("0"));
    let ticks = |it: &Stats| per_s(it, it.totals.idle_ticks + it.totals.busy_ticks);
    let (few, all) = (ticks(&stops), ticks(&periodic));
    // Eight CPUs, a thousand times a second.
    assert!(
        few < 2000.0 && (7990.0..8010.0).contains(&all),
        "{few} {all}"
    );
    // The grace-period thread's CPU has a tick in which to report itself.
    let (two, one) = (mean_ms(&stops), mean_ms(&periodic));
    assert!(two > 9.0 && one < 7.0, "{two} {one}");
}

#[test]
fn a_reader_that_cannot_be_preempted_ends_its_section_first() {
    let returns = |preempt, kind: Op| {
        let options = Options {
            preempt,
            ..Options::kernel_6_12(4, 1000)
        };
        let mut machine = Machine::new(options);
        let section = vec![Op::Lock, Op::Compute(10 * MS), Op::Unlock];
        machine.spawn("reader", 2, 0, List::new(section));
        machine.spawn("hog", 2, 5 * MS, List::new(vec![Op::Compute(100 * MS)]));
        machine.spawn("caller", 1, MS, List::new(vec![kind]));
        assert!(machine.run_tasks(3000 * MS), "a task waits for ever");
        assert_eq!(machine.too_early(), 0);
        (
            machine.stats().calls[0].end,
            machine.counts()["preempted_readers"],
        )
    };
    for kind in [Op::Synchronize, Op::SynchronizeExpedited] {
        let (late, queued) = returns(true, kind.clone());
        assert!(queued >= 1 && late > 11 * MS, "{kind:?}: {late}");
        let (soon, none) = returns(false, kind.clone());
        assert_eq!(none, 0, "{kind:?}");
        assert!(
            (10 * MS..30 * MS).contains(&soon) && soon < late,
            "{kind:?}: {soon} {late}"
        );
    }
}

#[test]
fn strict_grace_periods_are_short_and_interrupt_every_cpu() {
    let of = |strict| {
        run(
            "sync",
            &[("caller_cpu", "1"), ("rcu_strict_grace_period", strict)],
        )
    };
    let (plain, strict) = (of("0"), of("1"));
    assert!(
        mean_ms(&strict) < 0.8 * mean_ms(&plain),
        "{}",
        mean_ms(&strict)
    );
    let each = |it: &Stats| it.totals.ipis as f64 / it.grace_periods.len() as f64;
    // Seven other CPUs, as it begins and as it ends.
    assert!(
        each(&plain) < 5.0 && each(&strict) >= 14.0,
        "{}",
        each(&strict)
    );
}

#[test]
fn larger_batches_are_fewer() {
    let batches = |sets: &[(&str, &str)]| run("flood", sets).totals.batches;
    let (ten, hundred) = (batches(&[("blimit", "10")]), batches(&[("blimit", "100")]));
    assert!(ten > 2 * hundred, "{ten} {hundred}");
    assert_eq!(ten, batches(&[]), "ten is the kernel's own number");
}

#[test]
fn a_flood_is_over_when_few_are_left() {
    // It lifts the limit of batches. The more may be left, the sooner that ends.
    let batches = |low| {
        let sets = [("qhimark", "1000"), ("qlowmark", low)];
        run("flood", &sets).totals.batches
    };
    let (long, short) = (batches("100"), batches("3000"));
    assert!(5 * long < short, "{long} {short}");
}

#[test]
fn a_bypass_list_is_flushed_at_its_limit() {
    let held = |mark| {
        run("flood", &[("rcu", "lazy"), ("qhimark", mark)])
            .held
            .most
            .0
    };
    let (default, small) = (held("default"), held("1000"));
    assert!(default > 10_000 && small < default / 2, "{default} {small}");
}

#[test]
fn a_thread_that_polls_is_never_woken_by_callers() {
    let of = |poll, rate| {
        let sets = [
            ("rcu_nocbs", "all"),
            ("rcu_nocb_poll", poll),
            ("rate", rate),
        ];
        run("churn", &sets)
    };
    let woken = |it: &Stats| per_s(it, it.wakeups_of("rcuog/0"));
    let (few, many) = (of("1", "1"), of("1", "200"));
    // A timer of one tick rings in the second one.
    for it in [&few, &many] {
        assert!((480.0..510.0).contains(&woken(it)), "{}", woken(it));
        let (queued, invoked) = it.funcs.iter().fold((0, 0), |(queued, invoked), it| {
            (queued + it.queued, invoked + it.invoked)
        });
        assert!(queued > 0 && invoked > queued / 2, "{queued} {invoked}");
    }
    assert!(woken(&of("0", "1")) < 100.0);
}

#[test]
fn confined_threads_run_where_they_may_and_leave_other_cpus_asleep() {
    let sets = [("rcu", "offload"), ("rcu_cpus", "2-3"), ("moves", "20ms")];
    let plan = Workload::named("local-video").unwrap().plan(&sets).unwrap();
    let mut machine = plan.machine();
    machine.keep_trace();
    machine.run(500 * MS);
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let wakes = text
        .lines()
        .filter(|it| it.contains("sched_wakeup: comm=rcu"));
    let mut targets: Vec<&str> = wakes.filter_map(|it| it.rsplit('=').next()).collect();
    assert!(targets.len() > 100);
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets, ["002", "003"]);
    let entries = |cpus, moves| {
        let sets = [("rcu", "offload"), ("rcu_cpus", cpus), ("moves", moves)];
        run("local-video", &sets).totals.idle_entries
    };
    let (confined, spread) = (entries("2-3", "100ms"), entries("all", "100ms"));
    assert!(confined < spread, "{confined} {spread}");
}

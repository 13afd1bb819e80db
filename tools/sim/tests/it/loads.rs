//! The essential effect of each workload that no experiment asserts.

use quiescent_sim::{Machine, Stats, Workload, report};

/// A run of the workload: nothing comes too early.
fn run(name: &str, sets: &[(&str, &str)]) -> (Machine, Stats) {
    let plan = Workload::named(name).unwrap().plan(sets).unwrap();
    let mut machine = plan.machine();
    assert!(plan.run_on(&mut machine, || false));
    let stats = machine.stats();
    assert_eq!(stats.early, 0, "{name} {sets:?}");
    (machine, stats)
}

/// A figure of the run as a whole.
fn figure(stats: &Stats, metric: &str) -> f64 {
    let figures = report::figures(std::slice::from_ref(stats));
    let run = |it: &&report::Figure| it.metric == metric && it.about == report::About::Run;
    let found = figures.iter().find(run);
    found.unwrap_or_else(|| panic!("no {metric}")).values[0]
}

fn mean(values: impl Iterator<Item = u64>) -> f64 {
    let (n, sum) = values.fold((0u64, 0u64), |(n, sum), it| (n + 1, sum + it));
    assert!(n > 0, "there are none");
    sum as f64 / n as f64
}

#[test]
fn barriers_share_and_do_not_wait_for_lazy_time() {
    let mean_ms = |stats: &Stats| mean(stats.barriers.iter().map(|it| it.1 - it.0)) / 1e6;
    let (_, one) = run("barrier", &[]);
    assert_eq!(one.barriers.len(), 100);
    assert!((2.0..40.0).contains(&mean_ms(&one)), "{}", mean_ms(&one));
    let lazy = [("rcu_nocbs", "all"), ("rcu_lazy", "1")];
    let (_, hurried) = run("barrier", &lazy);
    assert!(mean_ms(&hurried) < 100.0, "{}", mean_ms(&hurried));
    let (machine, many) = run("barrier", &[("callers", "16"), ("calls", "50")]);
    assert_eq!(many.barriers.len(), 800);
    assert!(
        machine.counts()["barriers"] < 400,
        "{}",
        machine.counts()["barriers"]
    );
}

#[test]
fn no_callback_is_lost_with_a_cpu_that_goes() {
    for sets in [
        &[][..],
        &[("rcu_nocbs", "all")],
        &[
            ("rcu_nocbs", "all"),
            ("rcu_lazy", "1"),
            ("lazy_flush", "500ms"),
        ],
    ] {
        let (machine, stats) = run("hotplug", sets);
        assert!(
            machine.counts()["departures"] > 100,
            "{}",
            machine.counts()["departures"]
        );
        assert!(stats.calls.len() > 200, "{}", stats.calls.len());
        let files = stats.funcs.iter().filter(|it| it.bytes > 0);
        for it in files {
            assert!(it.queued > 5000, "{sets:?}: {}", it.queued);
            assert_eq!(it.invoked, it.queued, "{sets:?}: {}", it.name);
        }
        let (_, still) = run("hotplug", &[&[("which", "none")], sets].concat());
        let worst = |stats: &Stats| figure(stats, "delay_ms_max");
        // A CPU's callbacks start over when it goes: they wait for two more grace periods at most.
        let bound = 3.0 * worst(&still) + 50.0;
        assert!(worst(&stats) < bound, "{} {}", worst(&stats), worst(&still));
    }
}

#[test]
fn lazy_callbacks_survive_a_change_of_sides() {
    let (machine, changed) = run("deoffload", &[("which", "1")]);
    assert!(
        machine.counts()["toggles"] >= 10,
        "{}",
        machine.counts()["toggles"]
    );
    assert_eq!(machine.owed(), 0, "{:?}", machine.pending());
    let (_, never) = run("deoffload", &[("which", "none")]);
    let wakeups = |stats: &Stats| stats.wakeups_of("rcuop") as f64;
    let (with, without) = (wakeups(&changed), wakeups(&never));
    assert!(with < 4.0 * without, "others stay lazy: {with} {without}");
    let delay = |stats: &Stats| figure(stats, "delay_ms_p50");
    assert!(delay(&changed) > 1000.0, "{}", delay(&changed));
    assert!(figure(&changed, "delay_ms_max") < 20_500.0);
    let (refused, _) = run("deoffload", &[("which", "1"), ("online_toggle", "0")]);
    assert_eq!(refused.counts()["toggles"], 0);
}

#[test]
fn expedited_grace_periods_interrupt_a_real_time_task_for_longer() {
    // On the task's own CPU: the longest of all CPUs is that of the one that invokes callbacks, which
    // expedited grace periods may make shorter.
    let of = |expedited| {
        let (_, stats) = run("real-time", &[("expedited", expedited)]);
        let normal = stats.calls.iter().filter(|it| !it.expedited).count();
        assert!(stats.grace_periods.len() > 1000 && normal > 500);
        (stats.interruptions[3].1, stats.totals.ipis)
    };
    let ((alone, few), (beside, many)) = (of("0"), of("4"));
    assert!(beside > alone, "{beside} {alone}");
    assert!(many > 5 * few, "{many} {few}");
}

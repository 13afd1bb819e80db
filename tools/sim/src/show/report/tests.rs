use super::*;
use crate::Workload;

fn run(workload: &str, sets: &[(&str, &str)]) -> Vec<Figure> {
    let plan = Workload::named(workload).unwrap().plan(sets).unwrap();
    figures(&[plan.run(|| false).unwrap()])
}

fn value(figures: &[Figure], about: &About, metric: &str) -> f64 {
    let found = figures
        .iter()
        .find(|it| it.about == *about && it.metric == metric);
    found
        .unwrap_or_else(|| panic!("no {metric} of {about:?}"))
        .values[0]
}

#[test]
fn the_early_report_is_named_as_what_credits() {
    let sets = [("calls", "50"), ("caller_cpu", "1"), ("early_qs", "off")];
    let off = run("sync", &sets);
    assert_eq!(
        value(&off, &About::Run, "credited_by_early_report_pct"),
        0.0
    );
    assert_eq!(value(&off, &About::Run, "two_wait_pct"), 100.0);
    let init = run("sync", &[sets[0], sets[1], ("early_qs", "init")]);
    assert_eq!(value(&init, &About::Run, "one_wait_pct"), 100.0);
    let gps = value(&init, &About::Run, "grace_periods");
    assert_eq!(
        value(&init, &About::Cpu(0), "credited_by_early_report"),
        gps
    );
    assert_eq!(value(&init, &About::Cpu(0), "credited_by_scan"), 0.0);
    let of = |figures: &[Figure], cpu: u32| {
        let about = About::Cpu(cpu);
        let by = |metric| value(figures, &about, metric);
        by("credited_by_scan") + by("credited_by_own_report") + by("credited_by_early_report")
    };
    for cpu in 0..8 {
        assert_eq!(
            of(&init, cpu),
            gps,
            "each CPU is credited once a grace period"
        );
    }
}

#[test]
fn everything_that_is_queued_is_executed_or_held() {
    let all = run("churn", &[("rcu_nocbs", "all"), ("rcu_lazy", "1")]);
    let func = About::Function("i_callback".into());
    let queued = value(&all, &func, "queued");
    assert!((850.0..1150.0).contains(&queued), "{queued}");
    assert!(
        value(&all, &func, "delay_ms_p50") > 1000.0,
        "lazy ones wait for seconds"
    );
    let most = value(&all, &About::Run, "held_bytes_max");
    let backlog = value(&all, &About::Run, "backlog_max");
    assert!(
        backlog > 500.0 && most > 390.0 * backlog && most < 400.0 * backlog,
        "{backlog} {most}"
    );
    let mean = value(&all, &About::Run, "held_bytes_mean");
    assert!(mean < most && mean > most / 10.0);
    let one = value(&all, &About::Thread("rcuop/1".into()), "wakeups");
    assert_eq!(one, value(&all, &About::Family("rcuop".into()), "wakeups"));
}

#[test]
fn a_percentile_is_one_of_the_values() {
    let values: Vec<u64> = (1..=100).collect();
    assert_eq!(
        [1, 50, 99, 100].map(|p| percentile(&values, p)),
        [1, 50, 99, 100]
    );
    assert_eq!((percentile(&[7], 1), percentile(&[], 50)), (7, 0));
}

#[test]
fn a_value_a_run_and_calls_of_all_runs_together() {
    let workload = Workload::named("sync").unwrap();
    let run = |seed| workload.plan(&[("seed", seed), ("calls", "10")]).unwrap();
    let runs: Vec<Stats> = ["1", "2", "3"]
        .map(|it| run(it).run(|| false).unwrap())
        .into();
    let all = figures(&runs);
    let n = |metric: &str| {
        let found = all.iter().find(|it| it.metric == metric);
        found.unwrap().values.len()
    };
    assert_eq!(
        (
            n("latency_us"),
            n("latency_us_mean"),
            n("latency_us_pooled_mean")
        ),
        (30, 3, 1)
    );
}

#[test]
fn system_calls_have_figures_where_there_are_some() {
    let of = |rcu| {
        let workload = Workload::named("display-pipeline").unwrap();
        let mut plan = workload.plan(&[("rcu", rcu), ("works", "0")]).unwrap();
        (plan.warm_up, plan.length) = (100_000_000, 1_000_000_000);
        figures(&[plan.run(|| false).unwrap()])
    };
    let it = of("offload");
    let run_has = |metric| value(&it, &About::Run, metric);
    // Thirty cycles of fifteen closes; the last files are still owed.
    assert!((435.0..=465.0).contains(&run_has("syscalls_per_s")));
    assert!((95.0..=100.0).contains(&run_has("syscalls_freed_pct")));
    let delays = [
        "freed_after_ms_p50",
        "freed_after_ms_p99",
        "freed_after_ms_max",
    ]
    .map(run_has);
    assert!(0.0 < delays[0] && delays.is_sorted(), "{delays:?}");
    let lazy = of("lazy");
    assert_eq!(value(&lazy, &About::Run, "syscalls_freed_pct"), 0.0);
    let none = |figures: &[Figure]| figures.iter().all(|it| it.metric != "freed_after_ms_max");
    assert!(none(&lazy) && none(&run("sync", &[("calls", "5")])));
}

//! Wake-ups: the times of each thread's, in a list.

use super::{Case, TASKS, Table, What, cases, config, least, mean, most};
use proptest::prelude::*;
use quiescent_trace::Kind;

fn slow(case: &Case, window: (u64, u64)) -> Table {
    let metrics = ["wakeups", "wakeups_per_s"];
    let times = |of: usize| -> Vec<u64> {
        let woken =
            |i: &usize| matches!(case.entries[*i].what, What::Wakeup { task, .. } if task == of);
        let inside = case.places().filter(|i| case.inside(*i));
        inside
            .filter(woken)
            .map(|i| case.entries[i].time_us)
            .collect()
    };
    let all: Vec<Vec<u64>> = (0..TASKS.len()).map(times).collect();
    let mut table = Table::default();
    for (task, times) in all
        .iter()
        .enumerate()
        .filter(|(_, times)| !times.is_empty())
    {
        let (name, pid) = TASKS[task];
        let same = (0..TASKS.len()).filter(|t| TASKS[*t].0 == name && !all[*t].is_empty());
        let row = match same.count() {
            1 => name.to_owned(),
            _ => format!("{name}-{pid}"),
        };
        let intervals: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        table.put(&row, "pid", Some(pid.into()));
        table.rate(&row, metrics, times.len(), window);
        table.put(&row, "interval_us_min", least(&intervals));
        table.put(&row, "interval_us_max", most(&intervals));
        table.put(&row, "interval_us_avg", mean(&intervals));
    }
    table.rate("(all)", metrics, all.iter().map(Vec::len).sum(), window);
    table
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn threads_by_wakeups(case in cases(&[13, 13, 14, 15])) {
        let threads = ["a", "<idle>", "rcuop/1", "rcu_preempt", "(all)"];
        case.compare(Kind::Wakeups, &threads, slow)?;
    }
}

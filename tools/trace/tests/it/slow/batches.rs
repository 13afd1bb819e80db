//! Batches: each end looks back for its start.

use super::{Case, TASKS, Table, What, cases, config, least, mean, most, ms, percentile};
use proptest::prelude::*;
use quiescent_trace::Kind;
use std::collections::{BTreeMap, BTreeSet};

fn invoker(case: &Case, i: usize) -> String {
    let entry = case.entries[i];
    match TASKS[entry.task].0 {
        task if task.starts_with("rcuop/") => task.to_owned(),
        _ => format!("softirq CPU {}", entry.cpu),
    }
}

/// Where the batch starts that ends here: the invoker's last event about batches.
fn start(case: &Case, end: usize) -> Option<usize> {
    let last = (0..end).rev().find(|i| {
        let of = case.entries[*i].what;
        let about = matches!(of, What::BatchStart { .. } | What::BatchEnd { .. });
        about && invoker(case, *i) == invoker(case, end)
    })?;
    matches!(case.entries[last].what, What::BatchStart { .. }).then_some(last)
}

#[derive(Default)]
struct Sums {
    ready: Vec<u64>,
    invoked: Vec<u64>,
    durations: Vec<u64>,
    spacings: Vec<u64>,
}

/// Of one invoker; `None`: of all, and no spacings.
fn sums(case: &Case, of: Option<&str>) -> Sums {
    let mut sums = Sums::default();
    let mut before = None;
    for i in case.places().filter(|i| case.inside(*i)) {
        if of.is_some_and(|of| of != invoker(case, i)) {
            continue;
        }
        let time = |i: usize| case.entries[i].time_us;
        match case.entries[i].what {
            What::BatchStart { ready } => {
                sums.ready.push(ready.into());
                if let Some(before) = before.replace(time(i)).filter(|_| of.is_some()) {
                    sums.spacings.push(time(i) - before);
                }
            }
            What::BatchEnd { invoked } => {
                let begun = start(case, i).filter(|begun| case.inside(*begun));
                if let Some(begun) = begun {
                    sums.invoked.push(invoked.into());
                    sums.durations.push(time(i) - time(begun));
                }
            }
            _ => {}
        }
    }
    sums
}

/// Starts without an end and ends without a start, by the events of the window.
fn torn(case: &Case) -> usize {
    let inside = case.places().filter(|i| case.inside(*i));
    let last: BTreeMap<String, usize> = case
        .places()
        .filter(|i| {
            let of = case.entries[*i].what;
            matches!(of, What::BatchStart { .. } | What::BatchEnd { .. })
        })
        .map(|i| (invoker(case, i), i))
        .collect();
    let runs = last
        .into_values()
        .filter(|i| case.inside(*i) && matches!(case.entries[*i].what, What::BatchStart { .. }));
    let runs = runs.count();
    let torn = inside.filter(|i| match case.entries[*i].what {
        What::BatchStart { .. } => start(case, *i).is_some(),
        What::BatchEnd { .. } => start(case, *i).is_none(),
        _ => false,
    });
    runs + torn.count()
}

fn slow(case: &Case, _: (u64, u64)) -> Table {
    let invokers: BTreeSet<String> = case.places().map(|i| invoker(case, i)).collect();
    let rows = invokers
        .iter()
        .map(|name| (name.as_str(), Some(name.as_str())));
    let mut table = Table::default();
    for (row, of) in rows.chain([("(all)", None)]) {
        let of = sums(case, of);
        if of.ready.is_empty() && row != "(all)" {
            continue;
        }
        table.put(row, "batches", Some(of.invoked.len() as f64));
        table.put(row, "invoked", Some(of.invoked.iter().sum::<u64>() as f64));
        table.put(row, "batch_invoked_avg", mean(&of.invoked));
        table.put(row, "batch_invoked_max", most(&of.invoked));
        table.put(row, "batch_ready_avg", mean(&of.ready));
        table.put(row, "batch_ready_max", most(&of.ready));
        table.put(row, "duration_us_avg", mean(&of.durations));
        table.put(row, "duration_us_p50", percentile(&of.durations, 50));
        table.put(row, "duration_us_max", most(&of.durations));
        table.put(row, "spacing_ms_min", ms(least(&of.spacings)));
        table.put(row, "spacing_ms_p50", ms(percentile(&of.spacings, 50)));
        table.put(row, "spacing_ms_avg", ms(mean(&of.spacings)));
    }
    table
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn batches_by_invoker(case in cases(&[16, 17, 16, 17, 3])) {
        case.compare(Kind::Batches, &[""], slow)?;
    }

    #[test]
    fn batches_that_are_torn(case in cases(&[16, 17, 16, 17])) {
        let torn = torn(&case);
        let expected = format!("{torn} batches have no start or no end");
        if let Ok(found) = case.run(Kind::Batches) {
            let said = found.notes.iter().find(|note| note.contains("have no start"));
            let right = said.map_or(torn == 0, |note| note.starts_with(&expected));
            prop_assert!(right, "{:?}, expected {}\n{}", said, torn, case.text());
        }
    }
}

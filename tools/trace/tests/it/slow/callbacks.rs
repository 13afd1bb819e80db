//! Callbacks: each queueing looks forward for its end, each invocation back for its queueing.

use super::{Case, TASKS, Table, What, cases, config, least, mean, most, ms, percentile};
use proptest::prelude::*;
use quiescent_trace::Kind;
use std::collections::BTreeSet;

/// A callback's head and function, if this event queues one.
fn queued(case: &Case, i: usize) -> Option<(u32, String)> {
    match case.entries[i].what {
        What::Queue { head, function } => Some((head, format!("f{function}"))),
        What::QueueBlock { head } => Some((head, "kvfree".to_owned())),
        _ => None,
    }
}

/// The same, if it invokes one.
fn invoked(case: &Case, i: usize) -> Option<(u32, String)> {
    match case.entries[i].what {
        What::Invoke { head, function } => Some((head, format!("f{function}"))),
        What::InvokeBlock { head } => Some((head, "kvfree".to_owned())),
        _ => None,
    }
}

/// The queueing of what this event invokes: the last event about its head, if that is one.
fn origin(case: &Case, i: usize) -> Option<usize> {
    let (head, _) = invoked(case, i)?;
    let about = |j: &usize| {
        let other = queued(case, *j).or_else(|| invoked(case, *j));
        other.is_some_and(|(other, _)| other == head)
    };
    (0..i)
        .rev()
        .find(about)
        .filter(|j| queued(case, *j).is_some())
}

/// Whether nothing is said about a queued one afterwards.
fn is_left(case: &Case, i: usize) -> bool {
    queued(case, i).is_some_and(|(head, _)| {
        (i + 1..case.entries.len()).all(|j| {
            let other = queued(case, j).or_else(|| invoked(case, j));
            other.is_none_or(|(other, _)| other != head)
        })
    })
}

/// The rows of a callback by its queueing.
fn rows(case: &Case, i: usize) -> Vec<String> {
    let entry = case.entries[i];
    let task = match entry.context {
        'h' => "interrupt",
        's' => "softirq",
        _ => TASKS[entry.task].0,
    };
    let (_, function) = queued(case, i).expect("is a queueing");
    vec![
        format!("task {task} {function}"),
        function,
        "(all)".to_owned(),
    ]
}

#[derive(Default)]
struct Sums {
    queued: usize,
    invoked: usize,
    unseen: usize,
    left: usize,
    delays: Vec<u64>,
}

/// Of one row.
fn sums(case: &Case, row: &str) -> Sums {
    let mut sums = Sums::default();
    let here = |i: usize| rows(case, i).iter().any(|other| other == row);
    for i in case.places().filter(|i| case.inside(*i)) {
        if queued(case, i).is_some() && here(i) {
            sums.queued += 1;
            sums.left += usize::from(is_left(case, i));
        }
        if let What::Bulk { blocks } = case.entries[i].what
            && ["(all)", "kvfree (bulk)"].contains(&row)
        {
            sums.invoked += blocks as usize;
            sums.unseen += blocks as usize;
        }
        let Some((_, function)) = invoked(case, i) else {
            continue;
        };
        match origin(case, i) {
            Some(from) if here(from) => {
                sums.invoked += 1;
                if case.inside(from) {
                    sums.delays
                        .push(case.entries[i].time_us - case.entries[from].time_us);
                }
            }
            None if row == "(all)" || row == function => {
                sums.invoked += 1;
                sums.unseen += 1;
            }
            _ => {}
        }
    }
    sums
}

fn slow(case: &Case, _: (u64, u64)) -> Table {
    let mut names = BTreeSet::from(["(all)".to_owned(), "kvfree (bulk)".to_owned()]);
    for i in case.places() {
        names.extend(invoked(case, i).map(|(_, function)| function));
        if queued(case, i).is_some() {
            names.extend(rows(case, i));
        }
    }
    let mut table = Table::default();
    for row in &names {
        let of = sums(case, row);
        let counts = [of.queued, of.invoked, of.unseen, of.left];
        let bulk = row == "kvfree (bulk)"
            && case
                .places()
                .any(|i| case.inside(i) && matches!(case.entries[i].what, What::Bulk { .. }));
        if row != "(all)" && !bulk && counts == [0; 4] {
            continue;
        }
        for (metric, n) in ["queued", "invoked", "unseen", "left"]
            .into_iter()
            .zip(counts)
        {
            table.put(row, metric, Some(n as f64));
        }
        table.put(row, "delay_ms_min", ms(least(&of.delays)));
        table.put(row, "delay_ms_avg", ms(mean(&of.delays)));
        table.put(row, "delay_ms_p50", ms(percentile(&of.delays, 50)));
        table.put(row, "delay_ms_p99", ms(percentile(&of.delays, 99)));
        table.put(row, "delay_ms_max", ms(most(&of.delays)));
    }
    table
}

/// The figures of the whole program, which has another reader of callbacks.
fn measured(case: &Case) -> Result<(), TestCaseError> {
    let Some(figures) = case.figures()? else {
        return Ok(());
    };
    let (of, text) = (sums(case, "(all)"), case.text());
    let delays = figures.callback_delay.map(|delay| (delay.n, delay.max));
    let longest = of.delays.iter().max();
    let theirs = longest.map(|longest| (of.delays.len() as u64, longest * 1000));
    prop_assert_eq!(delays, theirs, "delays of\n{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn callbacks_by_function_and_task(case in cases(&[6, 6, 7, 8, 8, 9, 10, 11])) {
        case.compare(Kind::Callbacks, &[""], slow)?;
    }

    #[test]
    fn figures_of_callbacks(case in cases(&[6, 6, 7, 8, 8, 9, 10])) {
        measured(&case)?;
    }
}

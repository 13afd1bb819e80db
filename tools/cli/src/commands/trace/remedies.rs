//! What would shorten the waits of a trace: `whatif` replays it with each of a few settings, and the mean
//! wait of the model with that setting stands beside the recorded one.
//!
//! It is here because `trace` reads and `sim` replays, and neither of them imports the other for this.

use quiescent_report::{Control, Error};
use quiescent_sim::whatif::{self, Line, Request};
use quiescent_trace::Window;
use quiescent_trace::{Column, Filter, Findings, Options, Table};

/// Settings of a running kernel, and of its command line, that change how long waits take.
const REMEDIES: [&str; 5] = [
    "rcu_expedited=1",
    "rcu_normal_wake_from_gp=1",
    "jiffies_till_first_fqs=1",
    "jiffies_till_first_fqs=0",
    "rcu=lazy",
];

/// Figures of `whatif` that are means of waits, and the names of these waits.
const MEANS: [(&str, &str); 3] = [
    ("synchronize_ms_mean", "normal"),
    ("synchronize_expedited_ms_mean", "expedited"),
    ("barrier_ms_mean", "barrier"),
];

const COLUMNS: [(&str, &str, &str); 6] = [
    ("recorded", "wait_ms_recorded", "ms"),
    ("model", "wait_ms_model", "ms"),
    ("remedied", "wait_ms_changed", "ms"),
    ("least", "wait_ms_changed_least", "ms"),
    ("most", "wait_ms_changed_most", "ms"),
    ("saves %", "saved_pct", "%"),
];

/// What a replay needs to know before the trace is read.
///
/// # Errors
/// If only one end of the window is given.
pub fn options(filter: &Filter) -> Result<Options, Error> {
    let window = match (filter.from_ns, filter.to_ns) {
        (None, None) => None,
        (Some(start_ns), Some(end_ns)) => Some(Window { start_ns, end_ns }),
        _ => {
            let why = "--remedies replays a window: give both --from and --to, or neither";
            return Err(Error::Usage(why.into()));
        }
    };
    Ok(Options { window, hz: None })
}

/// The table, with notes on what it is worth; none if nothing can be replayed, or if it was stopped.
pub fn table(
    file: &str,
    trace: &Result<whatif::Trace, quiescent_trace::Error>,
    findings: &mut Findings,
    control: Control<'_>,
) -> Option<Table> {
    let mut say = |why: String| findings.notes.push(format!("remedies: {why}"));
    let trace = match trace {
        Ok(trace) => trace,
        Err(why) => {
            say(format!("the trace cannot be replayed: {why}"));
            return None;
        }
    };
    let mut table = empty();
    let mut machines = Vec::new();
    for remedy in REMEDIES {
        let request = Request {
            file: file.to_owned(),
            set: vec![remedy.to_owned()],
            seed: 1,
            ..Request::default()
        };
        let answer = match whatif::ask(trace, &request, control) {
            Ok(Some(answer)) => answer,
            Ok(None) => return None,
            Err(why) => {
                let why = why.to_string();
                let why = why.split(';').next().unwrap_or_default();
                say(format!("none by {}", why.trim_start_matches("--set ")));
                continue;
            }
        };
        let known = answer.settings().into_iter();
        let known = known.map(|(key, value, from)| format!("{key}={value} ({from})"));
        let machine = known.collect::<Vec<_>>().join(" ");
        for (metric, wait) in MEANS {
            let line = answer.lines.iter().find(|it| it.metric == metric);
            if let Some(line) = line.filter(|it| it.recorded.is_some()) {
                table.rows.push(quiescent_trace::Line {
                    labels: vec![remedy.to_owned(), wait.to_owned()],
                    figures: figures(line),
                });
                machines.push(machine.clone());
            }
        }
    }
    if table.rows.is_empty() {
        say("no wait of this window is in the replay: none has an event of its own".to_owned());
        return None;
    }
    doubts(&table.rows, &machines).into_iter().for_each(say);
    Some(table)
}

/// Of which rows the model of the recorded machine, which may be another one for each remedy, is too far off.
fn doubts(rows: &[quiescent_trace::Line], machines: &[String]) -> Vec<String> {
    let off = |(row, machine): (&'_ quiescent_trace::Line, _)| match row.figures[..] {
        [Some(recorded), Some(model), ..] if (model / recorded - 1.0).abs() > whatif::BAD_FIT => {
            Some((row.labels.clone(), recorded, model, machine))
        }
        _ => None,
    };
    let off: Vec<_> = rows.iter().zip(machines).filter_map(off).collect();
    let said = |(_, wait): (&str, &str)| {
        let of = || off.iter().filter(|it| it.0[1] == wait);
        let (_, recorded, model, machine) = of().next()?;
        let by: Vec<&str> = of().map(|it| it.0[0].as_str()).collect();
        Some(format!(
            "do not trust the changes of {wait} waits by {}: on the model as recorded they take {model:.3} \
             ms, {recorded:.3} in the trace; it takes {machine} for the recorded machine, `whatif --as` \
             takes what was in force",
            by.join(", ")
        ))
    };
    MEANS.into_iter().filter_map(said).collect()
}

fn empty() -> Table {
    let columns = COLUMNS.map(|(head, metric, unit)| Column { head, metric, unit });
    Table {
        title: "What would shorten them: the mean wait in ms, recorded and on the model".to_owned(),
        prefix: "remedy ",
        labels: vec!["remedy", "wait"],
        columns: columns.to_vec(),
        rows: Vec::new(),
    }
}

/// None where there is no such figure.
fn figures(line: &Line) -> Vec<Option<f64>> {
    let all = [
        line.recorded,
        Some(line.modelled),
        Some(line.changed),
        line.spread.map(|it| it.0),
        line.spread.map(|it| it.1),
        line.change_pct().map(|it| -it),
    ];
    all.map(|it| it.filter(|it| it.is_finite())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_whose_model_is_off_is_doubted_with_its_machine() {
        let row = |remedy: &str, wait: &str, model| quiescent_trace::Line {
            labels: vec![remedy.to_owned(), wait.to_owned()],
            figures: vec![Some(10.0), Some(model)],
        };
        let rows = [
            row("a=1", "normal", 9.9),
            row("b=1", "normal", 7.5),
            row("b=1", "barrier", 10.1),
            row("c=1", "normal", 20.0),
        ];
        let machines = ["x=1", "x=2", "x=2", "x=3"].map(str::to_owned);
        let said = doubts(&rows, &machines);
        let start = "do not trust the changes of normal waits by b=1, c=1: on the model as recorded they \
                     take 7.500 ms, 10.000 in the trace; it takes x=2 for";
        assert!(said.len() == 1 && said[0].starts_with(start), "{said:?}");
    }

    #[test]
    fn savings_are_shares_of_the_model_as_recorded() {
        let line = Line {
            metric: "synchronize_ms_mean",
            unit: "ms",
            recorded: Some(11.0),
            modelled: 10.0,
            changed: 4.0,
            spread: Some((3.0, 5.0)),
            count: None,
            decides: false,
        };
        let all = [11.0, 10.0, 4.0, 3.0, 5.0, 60.0].map(Some);
        assert_eq!(figures(&line), all);
        let changed = f64::NAN;
        let none = figures(&Line { changed, ..line })[2];
        assert_eq!(none, None);
        assert_eq!(empty().columns.len(), all.len());
    }
}

//! What the second of two variants saves beside the first, and which of many variants to choose.
//!
//! Runs are compared in pairs: the same seed, so the same load. Of many variants one is recommended, by a
//! rule that is printed with it, and each of the others is held against it.

use super::text::Names;
use quiescent_report::text::folded;
use quiescent_report::text::number::{short, spread};
use quiescent_report::{Report, Row};
use quiescent_sim::report::Figure;
use serde::{Deserialize, Serialize};

/// The case of the savings, behind the workload's name.
pub const SAVED: &str = " saved";

/// Figures that a user pays for, the most important first; the first that there is counts as the cost.
const COSTS: [&str; 4] = [
    "watts_at_most",
    "rcu_cpu_us_per_s",
    "idle_entries_per_s",
    "grace_periods_per_s",
];
/// Figures of waiting, the most important first.
const LATENCIES: [&str; 3] = ["latency_us_mean", "delay_ms_mean", "delay_ms_p50"];

/// The values of a figure, a value a run, as a shard passes them on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Values {
    about: String,
    metric: String,
    values: Vec<f64>,
}

impl Values {
    /// Those of a variant.
    pub fn of(figures: &[Figure]) -> Vec<Values> {
        let one = |it: &Figure| Values {
            about: it.about.case(""),
            metric: it.metric.to_owned(),
            values: it.values.clone(),
        };
        figures.iter().map(one).collect()
    }
}

/// A row for each figure of both: by how much per cent the second is lower than the first, seed by seed.
pub fn rows(workload: &str, first: &[Values], second: &[Values]) -> Vec<Row> {
    let mut rows = Vec::new();
    for after in second {
        let same = |it: &&Values| it.metric == after.metric && it.about == after.about;
        let Some(before) = first.iter().find(same) else {
            continue;
        };
        if before.values.len() != after.values.len() {
            continue; // of calls, of which there may be more in one of them
        }
        let pairs = before.values.iter().zip(&after.values);
        let saved = pairs.filter(|(before, _)| **before != 0.0);
        let saved: Vec<f64> = saved
            .map(|(before, after)| 100.0 * (1.0 - after / before))
            .collect();
        let case = format!("{workload}{SAVED}{}", after.about);
        rows.extend(Row::of("model", &case, &after.metric, "%", &saved));
    }
    rows
}

/// The first of these metrics that a case has.
fn first_of<'a>(report: &'a Report, case: &str, metrics: &[&str]) -> Option<&'a Row> {
    let of_case = |row: &&Row| {
        let rest = row.case.strip_prefix(case);
        rest.is_some_and(|it| it.is_empty() || it.starts_with(", power "))
    };
    metrics.iter().find_map(|metric| {
        let rows = report.rows.iter().filter(of_case);
        rows.into_iter().find(|row| row.metric == *metric)
    })
}

/// What is saved, in per cent, with its range. Growth is said as such: so many per cent, or so many times.
pub fn cell(row: &Row) -> String {
    let of = |say: &dyn Fn(f64) -> f64, from, to| match row.min == row.max {
        true => short(say(row.median)),
        false => spread(say(row.median), say(from), say(to)),
    };
    if row.median >= 0.0 || row.median > -100.0 && row.max > 0.0 {
        return of(&|it| it, row.min, row.max);
    }
    let times = |saved| 1.0 - saved / 100.0;
    let (say, words) = change(times(row.median));
    of(&|saved| say(times(saved)), row.max, row.min) + words
}

/// How a change to so many times is said: the figure of a ratio, and the words behind it.
fn change(times: f64) -> (fn(f64) -> f64, &'static str) {
    match times {
        2.0.. => (|it| it, "x as much"),
        1.0.. => (|it| 100.0 * (it - 1.0), " % more"),
        _ => (|it| 100.0 * (1.0 - it), " % less"),
    }
}

/// A figure with its range.
fn figure(row: &Row) -> String {
    match row.min == row.max {
        true => format!("{} {}", short(row.median), row.unit),
        false => format!("{} {}", spread(row.median, row.min, row.max), row.unit),
    }
}

/// Which of two variants saves what, as one sentence; empty without a cost.
pub fn sentence(report: &Report, variants: &[Names]) -> String {
    let [first, second] = *variants else {
        return String::new();
    };
    let saved = format!(
        "{}{SAVED}",
        report.options["workload"].as_str().unwrap_or_default()
    );
    let Some(cost) = first_of(report, &saved, &COSTS) else {
        return String::new();
    };
    let of = |it: Names, metrics| first_of(report, it.0, metrics).map_or("-".into(), figure);
    let metric = [cost.metric.as_str()];
    let said = match (cost.min > 0.0, cost.max < 0.0) {
        (true, _) => format!("saves {}", figure(cost)),
        (_, true) => format!("costs {}", cell(cost)),
        _ => format!("may save or cost: it saves {}", figure(cost)),
    };
    format!(
        "{} {said} of {} ({} beside {} with {}); mean latency {} beside {}.\n",
        second.1,
        cost.metric,
        of(second, &metric),
        of(first, &metric),
        first.1,
        of(second, &LATENCIES),
        of(first, &LATENCIES),
    )
}

/// A variant by what it costs and how long callers wait.
struct Point<'a> {
    name: &'a str,
    cost: &'a Row,
    latency: &'a Row,
}

/// What a variant gives up: a share of what the variants differ by in cost, and one in latency.
type Given = (f64, f64);

/// The share of the way from the least to the most.
fn share(all: &[Point], of: fn(&Point) -> f64) -> impl Fn(&Point) -> f64 {
    let least = all.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    move |it| match most > least {
        true => (of(it) - least) / (most - least),
        false => 0.0,
    }
}

/// One of the variants, why it, and a line for each of the others beside it. It is the one that gives up
/// least: neither the cheapest at any latency, nor the fastest at any cost.
pub fn recommendation(report: &Report, variants: &[Names], width: usize) -> String {
    let (mut points, mut others) = (Vec::new(), String::new());
    for &(case, name) in variants {
        let [cost, latency] = [&COSTS[..], &LATENCIES].map(|it| first_of(report, case, it));
        let lacks = match (cost, latency) {
            (Some(cost), Some(latency)) => {
                points.push(Point {
                    name,
                    cost,
                    latency,
                });
                continue;
            }
            (None, _) => COSTS.join(", "),
            (_, None) => LATENCIES.join(", "),
        };
        let line = format!("  {name}: not compared, it has none of {lacks}");
        others += &(folded(&line, width, 4) + "\n");
    }
    let cost = share(&points, |it| it.cost.median);
    let latency = share(&points, |it| it.latency.median);
    let given = |it: &Point| -> Given { (cost(it), latency(it)) };
    let all = |it: &Point| given(it).0 + given(it).1;
    let Some(best) = points.iter().min_by(|a, b| all(a).total_cmp(&all(b))) else {
        return "no recommendation: no variant has a latency and a cost\n".to_owned() + &others;
    };
    let (metrics, given) = ([&best.cost.metric, &best.latency.metric], given(best));
    let said = format!(
        "Recommended: {}, with {} {} and {} {}. Of what these variants differ by it gives up {:.0} % in the \
         one and {:.0} % in the other: no other gives up less in all. Beside it:",
        best.name,
        metrics[0],
        figure(best.cost),
        metrics[1],
        figure(best.latency),
        100.0 * given.0,
        100.0 * given.1
    );
    let mut text = folded(&said, width, 2) + "\n";
    for it in points.iter().filter(|it| it.name != best.name) {
        let (cost, latency) = (beside(it.cost, best.cost), beside(it.latency, best.latency));
        let line = format!(
            "  {}: {} {cost}, {} {latency}",
            it.name, metrics[0], metrics[1]
        );
        text += &(folded(&line, width, 4) + "\n");
    }
    text + &others
}

/// How much more or less one is than the other.
fn beside(it: &Row, other: &Row) -> String {
    match it.median / other.median {
        1.0 => "the same".into(),
        times if !times.is_finite() => figure(it),
        times => short(change(times).0(times)) + change(times).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_gives_up_least_is_recommended() {
        let mut report = Report::new("sim", 1);
        let all = [
            ("fast", 4.0, 10.0),
            ("even", 2.2, 12.0),
            ("cheap", 2.0, 100.0),
        ];
        for (name, watts, us) in all {
            let row = |metric, value| Row::single("model", name, metric, "u", value);
            report.rows.extend(row("watts_at_most", watts));
            report.rows.extend(row("latency_us_mean", us));
        }
        report
            .rows
            .extend(Row::single("model", "mute", "watts_at_most", "u", 1.0));
        let variants = ["fast", "even", "cheap", "mute"].map(|it| (it, it));
        let said = recommendation(&report, &variants, 200);
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            lines[0].starts_with("Recommended: even, with watts_at_most 2.20 u"),
            "{said}"
        );
        assert!(
            lines[0].contains("gives up 10 % in the one and 2 % in the other"),
            "{said}"
        );
        assert_eq!(
            lines[1],
            "  fast: watts_at_most 81.8 % more, latency_us_mean 16.7 % less"
        );
        assert_eq!(
            lines[2],
            "  cheap: watts_at_most 9.09 % less, latency_us_mean 8.33x as much"
        );
        assert_eq!(
            lines[3],
            "  mute: not compared, it has none of latency_us_mean, delay_ms_mean, delay_ms_p50"
        );
    }

    #[test]
    fn others_are_more_or_less() {
        let row = |value| Row::single("model", "x", "m", "u", value).unwrap();
        let said = |it, other| beside(&row(it), &row(other));
        assert_eq!(said(3.0, 3.0), "the same");
        assert_eq!(said(3.9, 3.0), "30.0 % more");
        assert_eq!(said(1.5, 3.0), "50.0 % less");
        assert_eq!(said(12.0, 3.0), "4.00x as much");
        assert_eq!(
            (said(2.0, 0.0), said(0.0, 0.0)),
            ("2.00 u".into(), "0 u".into())
        );
    }

    #[test]
    fn growth_is_said_as_growth() {
        let said = |values: &[f64]| {
            let rows: Vec<Row> = Row::of("model", "x saved", "m", "%", values)
                .into_iter()
                .collect();
            cell(&rows[0])
        };
        assert_eq!(said(&[30.0]), "30.0");
        assert_eq!(said(&[0.0]), "0");
        assert_eq!(said(&[-45.0]), "45.0 % more");
        assert_eq!(said(&[-40.0, -45.0, -60.0]), "45.0 [40.0..60.0] % more");
        assert_eq!(said(&[-10.0, -5.0, 20.0]), "-5.00 [-10.0..20.0]");
        assert_eq!(said(&[-100.0]), "2.00x as much");
        assert_eq!(
            said(&[-1100.0, -1000.0, -1200.0]),
            "12.0 [11.0..13.0]x as much"
        );
    }
}

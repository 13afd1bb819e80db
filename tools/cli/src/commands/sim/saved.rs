//! What the second of two variants saves beside the first, and which of many variants to choose.
//!
//! Runs are compared in pairs: the same seed, so the same load. Of many variants those are named that no
//! other one beats in both latency and cost; the choice between them is the user's.

use super::Variant;
use quiescent_report::text::number::{short, spread};
use quiescent_report::text::{Table, folded};
use quiescent_report::{Report, Row};
use quiescent_sim::report::Figure;

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

/// A row for each figure of both: by how much per cent the second is lower than the first, seed by seed.
pub fn rows(workload: &str, first: &[Figure], second: &[Figure]) -> Vec<Row> {
    let mut rows = Vec::new();
    for after in second {
        let same = |it: &&Figure| it.metric == after.metric && it.about == after.about;
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
        let case = after.about.case(&format!("{workload}{SAVED}"));
        rows.extend(Row::of("model", &case, after.metric, "%", &saved));
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
    match row.median {
        saved if saved <= -100.0 => of(&|it| 1.0 - it / 100.0, row.max, row.min) + "x as much",
        saved if saved < 0.0 && row.max <= 0.0 => of(&|it| -it, row.max, row.min) + " % more",
        _ => of(&|it| it, row.min, row.max),
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
pub fn sentence(report: &Report, variants: &[Variant]) -> String {
    let [first, second] = variants else {
        return String::new();
    };
    let saved = format!(
        "{}{SAVED}",
        report.options["workload"].as_str().unwrap_or_default()
    );
    let Some(cost) = first_of(report, &saved, &COSTS) else {
        return String::new();
    };
    let of = |it: &Variant, metrics| first_of(report, &it.case, metrics).map_or("-".into(), figure);
    let metric = [cost.metric.as_str()];
    let said = match (cost.min > 0.0, cost.max < 0.0) {
        (true, _) => format!("saves {}", figure(cost)),
        (_, true) => format!("costs {}", cell(cost)),
        _ => format!("may save or cost: it saves {}", figure(cost)),
    };
    format!(
        "{} {said} of {} ({} beside {} with {}); mean latency {} beside {}.\n",
        second.varies,
        cost.metric,
        of(second, &metric),
        of(first, &metric),
        first.varies,
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

impl Point<'_> {
    /// Is the other one no worse in both, and better in one?
    fn is_beaten_by(&self, other: &Point) -> bool {
        let (cost, latency) = (other.cost.median, other.latency.median);
        cost <= self.cost.median
            && latency <= self.latency.median
            && (cost < self.cost.median || latency < self.latency.median)
    }
}

/// The variants that no other one beats in both cost and latency, and those that are beaten.
pub fn recommendation(report: &Report, variants: &[Variant], width: usize) -> String {
    let point = |it: &'_ Variant| -> Option<(&Row, &Row)> {
        let cost = first_of(report, &it.case, &COSTS)?;
        Some((cost, first_of(report, &it.case, &LATENCIES)?))
    };
    let points: Vec<Point> = variants
        .iter()
        .filter_map(|it| {
            let (cost, latency) = point(it)?;
            let name = it.varies.as_str();
            Some(Point {
                name,
                cost,
                latency,
            })
        })
        .collect();
    let Some(any) = points.first() else {
        return "no recommendation: the workload has no latency, or no cost\n".into();
    };
    let heads = [
        "variant",
        &any.latency.metric,
        &any.cost.metric,
        "choose it if",
    ];
    let mut table = Table::new(&heads, 1);
    let (mut least, mut kept) = (f64::INFINITY, Vec::new());
    for it in &points {
        let beaten = points.iter().find(|other| it.is_beaten_by(other));
        let why = match beaten {
            Some(other) => format!("never: {} is better in both", other.name),
            None => "latency and cost are worth it".into(),
        };
        if beaten.is_none() {
            kept.push(it);
            least = least.min(it.cost.median);
        }
        let cells = [it.name.to_owned(), figure(it.latency), figure(it.cost), why];
        table.row(cells);
    }
    let fastest = kept
        .iter()
        .min_by(|a, b| a.latency.median.total_cmp(&b.latency.median));
    let cheapest = kept
        .iter()
        .min_by(|a, b| a.cost.median.total_cmp(&b.cost.median));
    let ends = fastest
        .zip(cheapest)
        .map_or(String::new(), |(fast, cheap)| {
            format!(
                "\nfor latency: {} ({}); for {}: {} ({})\n",
                fast.name,
                figure(fast.latency),
                cheap.cost.metric,
                cheap.name,
                figure(cheap.cost)
            )
        });
    table.within(width) + &folded(&ends, width, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

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

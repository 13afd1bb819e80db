//! A measured kernel and its prediction, as text.

use super::beside::Beside;
use super::verdict::IDLE;
use quiescent_report::text::cases::{Column, of_metrics};
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};
use quiescent_report::{Report, Row};

/// A remark about the columns.
const REMARK: &str = "waits: those that ended in a scan; 0 where every CPU reported by itself before. On a \
                      busy machine the scheduler decides which task waits for a CPU, how long, and which \
                      moves; the model predicts little of that.\n";

/// The whole text, the verdict first.
pub fn text(found: &Beside, width: usize) -> String {
    format!(
        "{}\n\n{}\nThis kernel: {}\n{}",
        folded(&sentence(found), width, 2),
        measured(found, width),
        predicted(found, width),
        facts(found, width)
    )
}

/// The facts about this kernel, with their sources.
fn facts(found: &Beside, width: usize) -> String {
    let mut table = Table::new(&["fact", "value", "read from"], 3);
    for fact in &found.facts.list {
        let assumed = if fact.assumed { "unknown -> " } else { "" };
        let value = format!("{assumed}{}", fact.value);
        table.row([fact.name, &value, &fact.from]);
    }
    let title = "This kernel (what could not be read is assumed)\n\n";
    let mut text = title.to_owned() + &table.within(width);
    for warning in &found.facts.warnings {
        text += &folded(&format!("warning: {warning}\n"), width, 2);
    }
    text
}

/// The rows of these, with these columns.
fn table(
    found: &Beside,
    shown: fn(&Row) -> bool,
    columns: &[(&'static str, &'static str)],
) -> Table {
    let mut report = Report::new("kernel bench", 0);
    report.rows = found.rows(super::CASE).into_iter().filter(shown).collect();
    let columns = columns.iter().map(|it| Column(it.0, it.1));
    of_metrics(&report, |_| true, &columns.collect::<Vec<_>>())
}

/// The calls, and how many of them took so many ticks.
fn measured(found: &Beside, width: usize) -> String {
    let columns = [
        ("us", "latency_us"),
        ("mean", "latency_us_pooled_mean"),
        ("p99", "latency_us_pooled_p99"),
        ("calls", "calls"),
    ];
    let at_once = found.at_once.iter();
    let at_once = at_once.map(|why| format!("warning: NO grace period: {why}\n"));
    let busy = match found.busiest {
        None => "How busy the CPUs were is not known.\n".into(),
        Some(busy) => format!(
            "Meanwhile the machine was {}: its busiest CPU was busy for {} % of the time.\n",
            if busy < IDLE { "idle" } else { "not idle" },
            short(100.0 * busy)
        ),
    };
    format!(
        "Measured: {} calls of membarrier(MEMBARRIER_CMD_GLOBAL), each a synchronize_rcu\n\n{}{}{busy}",
        found.latencies().len(),
        table(found, |it| it.subject == "kernel", &columns).within(width),
        at_once.collect::<String>()
    )
}

/// The model's figures, and the verdict.
pub fn predicted(found: &Beside, width: usize) -> String {
    if found.predictions.is_empty() {
        return "predicted by the machine model: nothing (stopped)\n".into();
    }
    let columns = [
        ("mean us", "latency_us_pooled_mean"),
        ("waits", "waits_per_gp"),
    ];
    format!(
        "predicted by the machine model\n\n{}\n{}{}",
        table(found, |it| it.subject == "model", &columns).within(width),
        folded(REMARK, width, 0),
        nearest(found)
    )
}

/// The predictions that are nearest to what was measured.
fn nearest(found: &Beside) -> String {
    let Some(verdict) = &found.verdict else {
        return String::new();
    };
    let nearest = found.groups.iter().zip(&verdict.nearest);
    let nearest = nearest.map(|(group, nearest)| {
        let place = group
            .place
            .map_or("on any CPU (invisible)", |it| it.words());
        let (calls, mean) = (group.us.len(), short(group.mean_us() / 1e3));
        let prediction = &found.predictions[*nearest];
        let predicted = short(prediction.mean_us / 1e3);
        format!(
            "calls with the thread {place}: {calls}, mean {mean} ms; nearest: {predicted} ms, {}\n",
            prediction.case()
        )
    });
    let nearest: String = nearest.collect();
    format!(
        "{nearest}{} calls took as many ticks as predicted for one that fits.\n",
        verdict.as_predicted
    )
}

/// Is the measured mean inside or outside the range?
pub fn sentence(found: &Beside) -> String {
    let Some(verdict) = &found.verdict else {
        return "No verdict: nothing to compare.".into();
    };
    let [measured, low, high] =
        [verdict.measured_us, verdict.lowest_us, verdict.highest_us].map(|us| short(us / 1e3));
    let range = match low == high {
        true => format!("the prediction, {low} ms"),
        false => format!("the predicted range, {low} to {high} ms"),
    };
    let where_it_is = match verdict.inside() {
        true => format!("is inside {range} (2.5 % more or less)"),
        false => format!("is OUTSIDE {range}, by {:+.1} %", 100.0 * verdict.off()),
    };
    format!("The measured mean, {measured} ms, {where_it_is}.")
}

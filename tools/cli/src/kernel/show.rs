//! A measured kernel and its prediction, as text.

use super::beside::Beside;
use super::predict::Prediction;
use super::verdict::{IDLE, fits};
use quiescent_report::rows::stats;
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};

/// The widest bar of the histogram, in characters.
const BAR: u64 = 40;

/// A remark about the columns.
const REMARK: &str = "waits: those that ended in a scan; 0 where every CPU reported by itself before. On a \
                      busy machine the scheduler decides which task waits for a CPU, how long, and which \
                      moves; the model predicts little of that.\n";

/// The whole text.
pub fn text(found: &Beside, width: usize) -> String {
    format!(
        "{}\n{}\nThis kernel: {}",
        facts(found, width),
        measured(found),
        predicted(found, width)
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

/// The calls, in ms and in ticks.
fn measured(found: &Beside) -> String {
    let all = found.latencies();
    let (Some(summary), Some(mean)) = (stats::summary(&all), stats::mean(&all)) else {
        return "Measured: nothing\n".into();
    };
    let p99 = stats::percentile(&all, 99.0).unwrap_or(summary.max);
    let [mean, min, p50, p99, max] =
        [mean, summary.min, summary.median, p99, summary.max].map(|us| short(us / 1e3));
    let ticks = found.ticks();
    let most = ticks.values().copied().max().unwrap_or(1);
    let mut table = Table::new(&["ticks", "calls", ""], 3);
    for (ticks, calls) in ticks {
        let bar = "#".repeat((calls * BAR).div_ceil(most) as usize);
        table.row([ticks.to_string(), calls.to_string(), bar]);
    }
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
        "Measured: {} calls of membarrier(MEMBARRIER_CMD_GLOBAL), each a synchronize_rcu\n\n\
         mean {mean} ms, min {min}, p50 {p50}, p99 {p99}, max {max}\n\n{}{}{busy}",
        summary.n,
        table.render(),
        at_once.collect::<String>()
    )
}

/// The model's figures, and the verdict.
pub fn predicted(found: &Beside, width: usize) -> String {
    if found.predictions.is_empty() {
        return "predicted by the machine model: nothing (stopped)\n".into();
    }
    let heads = [
        "",
        "what else runs",
        "idle loop, CPUs execute",
        "model ms",
        "waits",
        "measured ms",
        "off by",
        "",
    ];
    let mut table = Table::new(&heads, 3);
    for (index, it) in found.predictions.iter().enumerate() {
        let thread = format!("thread {}", it.place.words());
        let figures = [short(it.mean_us / 1e3), short(it.waits)];
        let [mean, waits] = figures;
        let words = [thread, it.load.to_owned(), it.ways(), mean, waits];
        table.row(words.into_iter().chain(beside(found, index, it)));
    }
    format!(
        "predicted by the machine model\n\n{}\n{}{}",
        table.within(width),
        folded(REMARK, width, 0),
        conclusion(found)
    )
}

/// The measured mean of a prediction's place, how far the model is off, and whether it was so.
fn beside(found: &Beside, index: usize, it: &Prediction) -> Vec<String> {
    let Some(verdict) = &found.verdict else {
        return Vec::new();
    };
    let group = found.groups.iter().find(|group| group.has(it.place));
    let Some(group) = group else {
        return vec!["never there".into()];
    };
    let mean = group.mean_us();
    let was_so = match verdict.nearest.contains(&index) {
        true => "<- nearest",
        false if fits(it, group, found.busiest) => "",
        false => "was not so",
    };
    let off = format!("{:+.0} %", 100.0 * (it.mean_us / mean - 1.0));
    vec![short(mean / 1e3), off, was_so.into()]
}

/// Is the measured mean inside or outside the range?
fn conclusion(found: &Beside) -> String {
    let Some(verdict) = &found.verdict else {
        return "No verdict: nothing to compare.\n".into();
    };
    let [measured, low, high] =
        [verdict.measured_us, verdict.lowest_us, verdict.highest_us].map(|us| short(us / 1e3));
    let counts = found.groups.iter().map(|group| {
        let place = group.place;
        let place = place.map_or("on any CPU (invisible)", |it| it.words());
        format!("calls with the thread {place}: {}", group.us.len())
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let range = match low == high {
        true => format!("the prediction, {low} ms"),
        false => format!("the predicted range, {low} to {high} ms"),
    };
    let where_it_is = match verdict.inside() {
        true => format!("is inside {range} (2.5 % more or less)"),
        false => format!("is OUTSIDE {range}, by {:+.1} %", 100.0 * verdict.off()),
    };
    format!(
        "{counts}; {} took as many ticks as predicted for one that fits.\n\
         The measured mean, {measured} ms, {where_it_is}.\n",
        verdict.as_predicted
    )
}

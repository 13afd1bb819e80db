//! A measured kernel and its prediction, as text.

use super::beside::Beside;
use super::facts::Fact;
use super::predict::Prediction;
use super::verdict::fits;
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

/// The facts about this kernel, with their sources: on a narrow terminal below.
fn facts(found: &Beside, width: usize) -> String {
    let row = |fact: &Fact| {
        let assumed = if fact.assumed { "unknown -> " } else { "" };
        let value = format!("{assumed}{}", fact.value);
        [fact.name.to_owned(), value, fact.from.clone()]
    };
    let head = ["fact", "value", "read from"].map(String::from);
    let rows: Vec<_> = std::iter::once(head)
        .chain(found.facts.list.iter().map(row))
        .collect();
    let [names, values] = [0, 1].map(|at| rows.iter().map(|it| it[at].chars().count()).max());
    let (names, values) = (names.unwrap_or(0), values.unwrap_or(0));
    let mut text = "This kernel (what could not be read is assumed)\n\n".to_owned();
    for [name, value, from] in rows {
        let line = format!("{name:<names$}  {value:<values$}  {from}\n");
        text += &folded(&line, width, 4);
    }
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
    let mut text = format!(
        "Measured: {} calls of membarrier(MEMBARRIER_CMD_GLOBAL), each a synchronize_rcu\n\n\
         mean {mean} ms, min {min}, p50 {p50}, p99 {p99}, max {max}\n\n",
        summary.n
    );
    let mut table = Table::new(&["ticks", "calls", ""], 0);
    let ticks = found.ticks();
    let most = ticks.values().copied().max().unwrap_or(1);
    let mut lines = String::new();
    for (ticks, calls) in &ticks {
        table.row([ticks.to_string(), calls.to_string(), String::new()]);
    }
    for (line, calls) in table
        .render()
        .lines()
        .zip([0, 0].into_iter().chain(ticks.into_values()))
    {
        let bar = "#".repeat((calls * BAR).div_ceil(most) as usize);
        lines += format!("{}  {bar}", line.trim_end()).trim_end();
        lines.push('\n');
    }
    text += &lines;
    if let Some(why) = &found.at_once {
        text += &format!("warning: NO grace period: {why}\n");
    }
    text + &load(found)
}

fn load(found: &Beside) -> String {
    let Some(load) = &found.load else {
        return "How busy the CPUs were is not known.\n".into();
    };
    let shares: Vec<f64> = load.busy.iter().map(|it| 100.0 * it.1).collect();
    let busiest = shares.iter().copied().fold(0.0, f64::max);
    let mean = stats::mean(&shares).unwrap_or(0.0);
    let word = match (load.idle(), load.full()) {
        (true, _) => "idle",
        (_, true) => "busy on every CPU",
        _ => "not idle",
    };
    format!(
        "Meanwhile the machine was {word}: CPUs busy {} % of the time, the busiest {} %, about {} wake-ups \
         of others a second.\n",
        short(mean),
        short(busiest),
        short(load.wakeups_per_s)
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
        table.row(line(found, index, it));
    }
    format!(
        "predicted by the machine model\n\n{}\n{}{}",
        table.within(width),
        folded(REMARK, width, 0),
        conclusion(found)
    )
}

fn line(found: &Beside, index: usize, it: &Prediction) -> Vec<String> {
    let mut cells = vec![
        format!("thread {}", it.place.words()),
        it.load_words().to_owned(),
        it.ways(),
        short(it.mean_us / 1e3),
        short(it.waits),
    ];
    let Some(verdict) = &found.verdict else {
        return cells;
    };
    let group = found.groups.iter().find(|group| group.has(it.place));
    let Some(group) = group else {
        cells.push("never there".into());
        return cells;
    };
    cells.push(short(group.mean_us() / 1e3));
    cells.push(format!(
        "{:+.0} %",
        100.0 * (it.mean_us / group.mean_us() - 1.0)
    ));
    cells.push(match verdict.nearest.contains(&index) {
        true => "<- nearest".into(),
        false if fits(it, group, found.load.as_ref()) => String::new(),
        false => "was not so".into(),
    });
    cells
}

/// Is the measured mean inside or outside the range?
pub fn conclusion(found: &Beside) -> String {
    let Some(verdict) = &found.verdict else {
        return "No verdict: nothing to compare.\n".into();
    };
    let [measured, low, high] =
        [verdict.measured_us, verdict.lowest_us, verdict.highest_us].map(|us| short(us / 1e3));
    let counts = found.groups.iter().map(|group| {
        let place = group
            .place
            .map_or("on any CPU (invisible)", |it| it.words());
        let calls = match group.us.len() {
            1 => "1 call".to_owned(),
            n => format!("{n} calls"),
        };
        format!("{calls} with the thread {place}")
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

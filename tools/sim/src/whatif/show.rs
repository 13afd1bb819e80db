//! An answer as rows and as text.
//!
//! Columns in the order of reading: recorded, model as recorded, error, model with the change. What makes the
//! last column doubtful is a warning above the table.

use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};
use quiescent_report::{Report, Row};
use serde_json::json;

use super::{Answer, BAD_FIT, Direction, Line, SMALL};
use crate::input::options::Options;
use crate::load::settings;

/// As rows: subjects `recorded`, `model` and `changed`, and `changed_least` and `changed_most`, the range.
pub fn report(answer: &Answer, stopped: bool) -> Report {
    let mut report = Report::new("whatif", answer.request.seed);
    report.option("file", answer.request.file.as_str());
    report.option("set", answer.request.set.clone());
    report.option("as", answer.request.was.clone());
    report.option("repeat", answer.times);
    report.option("told_by_the_trace", answer.inferred.clone());
    report.option("fitted", answer.fitted.clone());
    let machine = |options: &Options| -> serde_json::Map<String, serde_json::Value> {
        let all = settings::listed(options).into_iter();
        all.map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    };
    report.option("recorded_machine", machine(&answer.machines[0]));
    report.option("changed_machine", machine(&answer.machines[1]));
    report.option("settings_change", json!(answer.machines[0].later));
    report.option("window_s", answer.fed.seconds);
    report.option("threads", answer.fed.threads);
    report.option("callbacks", answer.fed.callbacks);
    report.option("waits", answer.fed.waits);
    report.option("barriers", answer.fed.barriers);
    report.option("fits", answer.misfits().next().is_none());
    report.option("warnings", answer.doubts.clone());
    for (key, direction) in [
        ("direction_unknown", Direction::Unknown),
        ("about_the_same", Direction::Same),
    ] {
        let those = answer
            .lines
            .iter()
            .filter(|it| it.changed.is_finite() && it.direction() == direction);
        let those: Vec<&str> = those.map(|it| it.metric).collect();
        report.option(key, those);
    }
    report.option("took_s", answer.took.to_vec());
    report.option("lacks_input_s", answer.lacks);
    report.option("no_effect", answer.no_effect());
    report.option("unread", answer.unread);
    report.option("stopped", stopped);
    for line in &answer.lines {
        let row = |subject, value| Row::single(subject, "whatif", line.metric, line.unit, value);
        let recorded = line.recorded.and_then(|it| row("recorded", it));
        let [least, most] = match line.spread {
            Some((least, most)) => [row("changed_least", least), row("changed_most", most)],
            None => [None, None],
        };
        let changed = row("changed", line.changed);
        let all = [recorded, row("model", line.modelled), changed, least, most];
        report.rows.extend(all.into_iter().flatten());
    }
    report
}

/// The head of the table.
const HEAD: [&str; 7] = [
    "",
    "recorded",
    "model as recorded",
    "ratio",
    "model with change",
    "change",
    "range",
];

/// A figure, or `-` where it is not known.
fn known(figure: f64) -> String {
    match figure.is_finite() {
        true => short(figure),
        false => "-".into(),
    }
}

/// Of what the model as recorded has none of.
fn appeared(line: &Line) -> String {
    if line.changed == 0.0 { "none" } else { "new" }.into()
}

/// A line's cells.
fn cells(line: &Line) -> [String; 7] {
    let ratio = line.ratio().filter(|it| it.is_finite());
    let ratio = ratio.map_or(String::new(), |it| {
        let wrong = line.decides && line.misfits();
        format!("{it:.3}{}", if wrong { " !" } else { "" })
    });
    let change = line.change_pct();
    [
        format!("{} ({})", line.metric, line.unit),
        line.recorded.map_or("-".into(), short),
        known(line.modelled),
        ratio,
        known(line.changed),
        change.map_or_else(
            || appeared(line),
            |it| match it {
                it if it.is_nan() => "-".into(),
                it if line.direction() == Direction::Unknown => format!("? {it:+.1} %"),
                it if line.direction() == Direction::Same => format!("~ {it:+.1} %"),
                // An increase of more than ten times is shown as a factor.
                it if it > 900.0 => format!("x {}", short(it / 100.0 + 1.0)),
                it => format!("{it:+.1} %"),
            },
        ),
        line.spread
            .map_or(String::new(), |(least, most)| match least == most {
                true => String::new(),
                false => format!("{} to {}", short(least), short(most)),
            }),
    ]
}

/// As text, in lines of at most `width` columns.
pub fn text(answer: &Answer, width: usize) -> String {
    let mut text = answer.about() + "\n";
    let known: Vec<String> = answer
        .settings()
        .into_iter()
        .map(|(key, value, from)| format!("{key}={value} ({from})"))
        .collect();
    text += &format!("as recorded: {}\n", known.join(" "));
    let change: Vec<String> = answer
        .differences()
        .into_iter()
        .map(|(key, before, after)| format!("{key}={after} (was {before})"))
        .collect();
    text += &format!("change:      {}\n", change.join(" "));
    let [before, after] = answer.took;
    if answer.fed.waits + answer.fed.barriers > 0 {
        text += &format!(
            "the run takes: {} s → {} s (recorded: {} s)\n",
            short(before),
            short(after),
            short(answer.fed.seconds * answer.times.max(1) as f64)
        );
    }
    text += &answer.no_effect().map_or(String::new(), |it| it + "\n");
    for doubt in &answer.doubts {
        text += &format!("warning: {doubt}\n");
    }
    let mut text = folded(&text, width, 2);
    let mut table = Table::new(&HEAD, 1);
    for line in &answer.lines {
        table.row(cells(line));
    }
    text += &format!("\n{}\n", table.within(width));
    let legend = format!(
        "ratio: model as recorded over recorded; the first three lines decide, `!` is more than {:.0} % \
         off. range: least and most of the model with the change, wherever RCU's threads run, on all \
         machines that fit, and as a factor of what was recorded; `?`: it has figures on both sides, so the \
         direction is not known; `~`: all of it is within what two records of one machine differ by \
         ({:.0} %; more for few events). `fitted`: chosen because it fits. What each line is: \
         quiescent whatif --help-metrics\n",
        100.0 * BAD_FIT,
        100.0 * SMALL
    );
    text + &folded(&legend, width, 0)
}

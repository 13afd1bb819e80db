//! The library beside other libraries: a chart for each question, a panel for each case, a bar for each
//! library.
//!
//! A question is a metric with its unit (many parts of `reproduce` have a `cpu_ns`) and its cases. Bars are
//! in the report's order in every panel, so that a library is always at the same place; a library that was
//! not measured in a case has no bar there.

use quiescent_bench::cases::{hold, mixed, retire, sync, trickle};
use quiescent_report::Report;
use quiescent_report::html::chart::{Bars, Panel};
use quiescent_report::html::{Markup, html};
use quiescent_report::pages::panels_by_case;
use quiescent_report::rows::{MEBIBYTE, MILLION};

/// The question of a chart.
struct Question {
    title: &'static str,
    about: &'static str,
    metric: &'static str,
    /// The rows' unit.
    of: &'static str,
    wanted: fn(&str) -> bool,
    /// The chart's unit, and the number of the rows' units in it.
    unit: &'static str,
    scale: f64,
    /// Lengths are compared: no logarithm.
    linear: bool,
}

/// Questions about one part of the library.
struct QuestionGroup {
    title: &'static str,
    questions: &'static [Question],
}

/// A library that wakes up for nothing frees nothing: both are one question.
const WAKEUPS: &str = "wakeups_per_s";

const GROUPS: [QuestionGroup; 5] = [
    QuestionGroup {
        title: "Reading",
        questions: &[
            Question {
                title: "A read-side pair: CPU time",
                about: "lock and unlock, without the cost of the loop; shorter is better",
                metric: "cpu_ns",
                of: "ns/pair",
                wanted: |case| !mixed::is_of(mixed::READ, case),
                unit: "ns a pair",
                scale: 1.0,
                linear: true,
            },
            Question {
                title: "A read-side pair: instructions",
                about: "counted by callgrind; shorter is better",
                metric: "instructions",
                of: "instructions/pair",
                wanted: |_| true,
                unit: "instructions a pair",
                scale: 1.0,
                linear: true,
            },
        ],
    },
    QuestionGroup {
        title: "Waiting for a grace period",
        questions: &[
            Question {
                title: "synchronize: latency",
                about: "the median of the rounds' medians; shorter is faster",
                metric: "latency_us",
                of: "us",
                wanted: sync::is_case,
                unit: "us a call",
                scale: 1.0,
                linear: false,
            },
            Question {
                title: "synchronize: process-wide fences",
                about: "membarrier calls, which interrupt other CPUs; fewer are better",
                metric: "fences",
                of: "fences/gp",
                wanted: sync::is_case,
                unit: "fences a grace period",
                scale: 1.0,
                linear: true,
            },
        ],
    },
    QuestionGroup {
        title: "Reclaiming later",
        questions: &[
            Question {
                title: "The call: CPU time",
                about: "of the calling thread, blocks made ahead; shorter is better",
                metric: "cpu_ns",
                of: "ns/call",
                wanted: |_| true,
                unit: "ns a call",
                scale: 1.0,
                linear: true,
            },
            Question {
                title: "All in: CPU time",
                about: "malloc, retire, grace periods, free, of all threads; shorter is better",
                metric: "cpu_ns",
                of: "ns/object",
                wanted: retire::is_of_objects,
                unit: "ns an object",
                scale: 1.0,
                linear: true,
            },
            Question {
                title: "A value that is replaced: CPU time",
                about: "made, replaced, retired, freed; malloc-free: made and dropped; shorter is better",
                metric: "cpu_ns",
                of: "ns/object",
                wanted: retire::is_of_values,
                unit: "ns a value",
                scale: 1.0,
                linear: false,
            },
            Question {
                title: "A value that is retired inside a section, or after it: CPU time",
                about: "read, replaced, retired, freed; the same calls in another order; shorter is better",
                metric: "cpu_ns",
                of: "ns/object",
                wanted: retire::is_of_sections,
                unit: "ns a value",
                scale: 1.0,
                linear: false,
            },
            Question {
                title: "All in: throughput",
                about: "longer is better",
                metric: "ops_per_s",
                of: "objects/s",
                wanted: retire::is_of_objects,
                unit: "million objects a second",
                scale: MILLION,
                linear: true,
            },
            Question {
                title: "Peak memory of a process that retires 20 million objects",
                about: "shorter is better",
                metric: "peak_rss_bytes",
                of: "bytes",
                wanted: |case| case.starts_with("all-in") && retire::is_peak_case(case),
                unit: "MiB",
                scale: MEBIBYTE,
                linear: true,
            },
            Question {
                title: "Peak memory where large values are replaced and no weight is declared",
                about: "nothing reads, except where it says so; shorter is better",
                metric: "peak_rss_bytes",
                of: "bytes",
                wanted: hold::is_row,
                unit: "MiB",
                scale: MEBIBYTE,
                linear: false,
            },
        ],
    },
    QuestionGroup {
        title: "Reads beside updates",
        questions: &[
            Question {
                title: "A read beside updates: CPU time",
                about: "the loop included; shorter is better",
                metric: "cpu_ns",
                of: "ns/pair",
                wanted: |case| mixed::is_of(mixed::READ, case),
                unit: "ns a read",
                scale: 1.0,
                linear: true,
            },
            Question {
                title: "An update beside reads: CPU time",
                about: "of all other threads; shorter is better",
                metric: "cpu_ns",
                of: "ns/update",
                wanted: |case| case == mixed::UPDATE,
                unit: "ns an update",
                scale: 1.0,
                linear: true,
            },
            Question {
                title: "Updates beside a reader: throughput",
                about: "longer is better",
                metric: "ops_per_s",
                of: "updates/s",
                wanted: |case| case == mixed::UPDATE,
                unit: "million updates a second",
                scale: MILLION,
                linear: true,
            },
        ],
    },
    QuestionGroup {
        title: "A trickle: a block retired now and then",
        questions: &[
            Question {
                title: "Wake-ups of the library's own threads, and what it never freed",
                about: "shorter is better, if all is freed: blocks that never were stand beside the figure",
                metric: WAKEUPS,
                of: "wake-ups/s",
                wanted: |case| trickle::is_of(case, "retire"),
                unit: "wake-ups a second",
                scale: 1.0,
                linear: false,
            },
            Question {
                title: "Delay until freed",
                about: "median; fewer wake-ups cost a longer delay; blocks that were never freed have none",
                metric: "delay_ms",
                of: "ms",
                wanted: |case| trickle::is_of(case, "retire"),
                unit: "ms",
                scale: 1.0,
                linear: false,
            },
        ],
    },
];

/// Says beside a library's wake-ups how many blocks it never freed.
fn never_freed(report: &Report, panel: &mut Panel) {
    for row in &panel.rows {
        let left = report.median(&row.name, &panel.name, "never_run");
        if let Some(left) = left.filter(|left| *left > 0.0) {
            let note = format!("{left:.0} never freed");
            panel.notes.push((row.name.clone(), note));
        }
    }
}

pub(super) fn body(report: &Report) -> Option<Markup> {
    let groups: Vec<(&str, Vec<Markup>)> = GROUPS
        .iter()
        .map(|group| {
            let charts = group.questions.iter();
            (
                group.title,
                charts.filter_map(|it| chart(report, it)).collect(),
            )
        })
        .filter(|(_, charts): &(&str, Vec<Markup>)| !charts.is_empty())
        .collect();
    if groups.is_empty() {
        return None;
    }
    Some(html! {
        p class="soft" {
            "Bars are medians of this run; a thin line is the range of the rounds. Names of other libraries \
             are as in "
            code { "--compare" } "."
        }
        @for (title, charts) in &groups {
            h3 { (title) }
            @for chart in charts { (chart) }
        }
    })
}

/// The chart of a question; nothing if it has no measured figure.
fn chart(report: &Report, question: &Question) -> Option<Markup> {
    let rows = report.rows.iter().filter(|row| {
        let about = row.metric == question.metric && row.unit == question.of;
        about && (question.wanted)(&row.case)
    });
    let mut panels = panels_by_case(rows, question.scale);
    if question.metric == WAKEUPS {
        panels
            .iter_mut()
            .for_each(|panel| never_freed(report, panel));
    }
    if panels.is_empty() {
        return None;
    }
    let bars = Bars {
        title: question.title.into(),
        about: question.about.into(),
        unit: question.unit.into(),
        linear: question.linear,
        legend: Vec::new(),
        panels,
    };
    Some(bars.render())
}

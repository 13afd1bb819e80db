//! The first screen of `reproduce`: the result in sentences, the verdict by part, and the misses.
//!
//! It has at most [`LINES`] lines of at most [`COLUMNS`] columns; on a narrow terminal some more, so that
//! [`MISSES`] are shown. Misses come before what could not be measured; those of the library before those of
//! the model, and each kind with the worst first. Everything is in the page, in `--full` and in `--json`.

use super::{Reproduced, sentences};
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded, shortened};
use quiescent_report::verdict::{Sense, Target};
use quiescent_sim::experiments::{Comparison, Shown, Source, Verdict};

/// The height of a terminal.
const LINES: usize = 25;
/// The width of a line.
const COLUMNS: usize = 100;
/// The least misses shown: of the library, and of both.
const MISSES: usize = 4;

/// The first screen, in lines of at most so many columns.
pub fn text(found: &Reproduced, width: usize) -> String {
    let width = width.min(COLUMNS);
    let (ours, models) = misses(found);
    let busy = found.busy.iter().cloned();
    let said = busy.chain(sentences::sentences(found));
    let said = said.map(|it| folded(&it, width, 2));
    let mut lines: Vec<String> = said.flat_map(|it| lines_of(&it)).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(lines_of(&parts(found).within(width)));
    let mut end = Vec::new();
    if let Some((note, more)) = found.notes.split_first() {
        let more = match more.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let room = width.saturating_sub(more.chars().count() + "not measured: ".len());
        end.push(format!("not measured: {}{more}", shortened(note, room)));
    }
    end.push("All tables: --full, or the page.".into());
    let all = ours.len() + models.len();
    if all > 0 {
        lines.extend(["", "Missed, worst first:"].map(String::from));
        let room = LINES
            .saturating_sub(lines.len() + end.len() + 1)
            .max(MISSES);
        let share = room.saturating_sub(models.len()).max(MISSES);
        let ours = ours.into_iter().take(share);
        let chosen: Vec<Target> = ours.chain(models).take(room).collect();
        lines.extend(chosen.iter().map(|it| miss(it, width)));
        if chosen.len() < all {
            end.insert(0, format!("… and {} more misses.", all - chosen.len()));
        }
    }
    let lines = lines.iter().chain(&end);
    lines.map(|line| shortened(line, width) + "\n").collect()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}

/// A miss in words: `- a read: 5.90 ns, 1.50 at most: 3.93x too much`.
fn miss(it: &Target, width: usize) -> String {
    let (most, much) = match it.sense {
        Sense::AtMost => ("at most", "much"),
        Sense::AtLeast => ("at least", "little"),
    };
    let figure = |value: Option<f64>| value.map_or("-".into(), short);
    let by = it
        .ratio()
        .map_or(String::new(), |it| format!(": {}x too {much}", short(it)));
    let (ours, bound) = (figure(it.ours), figure(it.bound));
    let said = format!(": {ours} {}, {most} {bound} wanted{by}", it.unit);
    let room = width.saturating_sub(said.chars().count() + 2);
    format!("- {}{said}", shortened(&it.what, room))
}

/// The verdicts of a part: met, in part, missed, contradicted, fitted, none.
type Counts = [usize; 6];

fn tally(verdicts: impl Iterator<Item = Verdict>) -> Counts {
    let mut counts = Counts::default();
    verdicts.for_each(|it| counts[it as usize] += 1);
    counts
}

/// Verdicts by part. Recordings that no rule was inferred from come first, and those that rules were inferred
/// from last, since they show how well the rules describe them; nothing counts twice.
fn parts(found: &Reproduced) -> Table {
    let compared = |class: fn(&Comparison) -> bool| {
        let all = found.modelled.comparisons();
        tally(all.filter(|it| class(it)).map(Comparison::verdict))
    };
    let claimed = |words| {
        let all = found.modelled.shown();
        let those = all.filter(|it| it.claim.as_ref().is_some_and(|it| it.words == words));
        tally(those.map(Shown::verdict))
    };
    let targets = found.targets.iter().map(|it| match it.met() {
        Some(true) => Verdict::Met,
        Some(false) => Verdict::Missed,
        None => Verdict::None,
    });
    let all = [
        (
            "model: unseen kernels",
            compared(|it| it.source == Source::Unseen),
        ),
        ("library: this machine", tally(targets)),
        (
            "model: published figures",
            compared(|it| it.source == Source::Published),
        ),
        ("model: stated bounds", claimed(false)),
        ("model: stated in words", claimed(true)),
        (
            "model: in-sample kernels",
            compared(|it| it.source == Source::Kernel),
        ),
    ];
    let heads = [
        "figures of",
        "met",
        "part",
        "MISSED",
        "contradicted",
        "fitted",
        "no verdict",
    ];
    let mut table = Table::new(&heads, 1);
    for (name, counts) in all.into_iter().filter(|it| it.1 != Counts::default()) {
        let counts = counts.map(|it| it.to_string());
        table.row(std::iter::once(name.to_owned()).chain(counts));
    }
    table
}

/// All misses as targets: the library's first, and the worst first. How far a figure of the model is off, in
/// percent, has a bound.
fn misses(found: &Reproduced) -> (Vec<Target>, Vec<Target>) {
    let spaced = |metric: &str| metric.replace('_', " ");
    let target = |what: String, ours, bound, sense, unit| Target {
        what,
        ours: Some(ours),
        bound,
        sense,
        unit,
    };
    let figures = found.modelled.comparisons();
    let figures = figures.filter(|it| it.holds() == Some(false)).map(|it| {
        let what = format!(
            "{} {}: {}, off by",
            it.experiment,
            it.case,
            spaced(it.metric)
        );
        let off = 100.0 * (it.ratio() - 1.0).abs();
        target(what, off, Some(100.0 * it.allowed), Sense::AtMost, "%")
    });
    let claims = found.modelled.shown();
    let claims = claims.filter(|it| it.holds() == Some(false)).map(|it| {
        let what = format!("{}: {}", it.case, spaced(it.metric));
        let (least, most) = it.claim.as_ref().map_or((None, None), |it| it.bound.ends());
        match least.filter(|least| it.model < *least) {
            Some(least) => target(what, it.model, Some(least), Sense::AtLeast, it.unit),
            None => target(what, it.model, most, Sense::AtMost, it.unit),
        }
    });
    let targets = found.targets.iter().filter(|it| it.met() == Some(false));
    let targets = targets.cloned();
    let sorted = |mut all: Vec<Target>| {
        let off = |it: &Target| it.ratio().unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| off(b).total_cmp(&off(a)));
        all
    };
    (
        sorted(targets.collect()),
        sorted(figures.chain(claims).collect()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::{Report, Row};
    use quiescent_sim::experiments::{Basis, Modelled, Outcome, Part};

    fn found() -> Reproduced {
        let mut report = Report::new("reproduce", 1);
        for (subject, ns) in [("quiescent", 0.5), ("crossbeam-epoch", 4.0)] {
            report
                .rows
                .extend(Row::single(subject, "load", "cpu_ns", "ns/pair", ns));
        }
        let target = |name: usize, ours| {
            let what = format!(
                "target {name} with a name that is as long as names of targets are, or longer"
            );
            Target {
                what,
                ours,
                bound: Some(1.0),
                sense: Sense::AtMost,
                unit: "ns",
            }
        };
        let targets = (1..=30).map(|it| target(it, Some(it as f64)));
        let comparisons = (1..=40).map(|it| Comparison {
            experiment: "bridge",
            case: format!("variant {it}"),
            metric: "total_s",
            unit: "s",
            source: Source::Published,
            real: 10.0,
            model: 10.0 + f64::from(it % 40),
            allowed: 0.15,
            basis: if it >= 39 {
                Basis::Fitted
            } else {
                Basis::Assumed
            },
        });
        let outcome = Outcome {
            comparisons: comparisons.collect(),
            ..Outcome::default()
        };
        let part = Part {
            name: "bridge",
            what: "",
            outcome,
        };
        Reproduced {
            report,
            tables: Vec::new(),
            modelled: Modelled::of(vec![part]),
            targets: targets.chain([target(31, None)]).collect(),
            notes: vec!["valgrind is not installed: apt-get install valgrind".into(); 3],
            busy: None,
        }
    }

    #[test]
    fn it_fits_a_screen_and_has_the_verdict_and_the_worst_misses() {
        for (width, most) in [(80, 80), (118, COLUMNS)] {
            let text = text(&found(), width);
            assert!(text.lines().count() <= LINES, "{text}");
            let is_narrow = |it: &str| it.chars().count() <= most;
            assert!(text.lines().all(is_narrow), "{text}");
        }
        let text = text(&found(), 80);
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("no {words} in {text}"))
        };
        assert!(
            text.starts_with(
                "A read costs 0.500 ns. Better: 8.00x faster than crossbeam-epoch (4.00)."
            ),
            "{text}"
        );
        let line = |of: &str| {
            text[place(of)..]
                .lines()
                .next()
                .unwrap()
                .split_whitespace()
                .rev()
                .take(6)
                .collect::<Vec<_>>()
        };
        let library = line("library: this");
        assert_eq!(library, ["1", "0", "0", "29", "0", "1"], "{text}");
        let published = line("model: published");
        assert_eq!(published, ["0", "1", "0", "38", "0", "1"], "{text}");
        place("meets 1 of 39 published figures");
        assert!(
            place("target 30") < place("target 29"),
            "the worst first: {text}"
        );
        assert!(
            place("target 29") < place("variant 39"),
            "the library's first: {text}"
        );
        assert!(
            !text.contains("variant 40"),
            "a fitted figure that comes out is no miss: {text}"
        );
        place("longer: 30.0 ns, at most 1.00 wanted: 30.0x too much");
        place("more misses");
        place("not measured: valgrind is not installed");
    }

    #[test]
    fn what_was_stopped_has_no_sentence_and_no_miss() {
        let empty = Reproduced {
            report: Report::new("reproduce", 1),
            tables: Vec::new(),
            modelled: Modelled::default(),
            targets: Vec::new(),
            notes: vec!["stopped: the rest was not measured".into()],
            busy: Some("warning: the machine was busy".into()),
        };
        let text = text(&empty, 80);
        assert!(
            text.starts_with("warning: the machine was busy\n"),
            "{text}"
        );
        assert!(
            !text.contains("costs") && !text.contains("Missed, worst"),
            "{text}"
        );
        assert!(
            text.contains("stopped: the rest was not measured"),
            "{text}"
        );
    }
}

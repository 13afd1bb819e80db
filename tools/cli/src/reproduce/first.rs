//! The first screen of `reproduce`: the result in sentences, the verdict by part, and the misses.
//!
//! It has at most [`LINES`] lines of at most [`COLUMNS`] columns. Misses come before what could not be
//! measured; those of the library before those of the model, and each kind with the worst first. Everything
//! is in the page, in `--full` and in `--json`.

use super::{Reproduced, sentences};
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, shortened};
use quiescent_report::verdict::Target;
use quiescent_sim::experiments::{Comparison, Shown, Source};

/// The height of a terminal.
const LINES: usize = 25;
/// The width of a line.
const COLUMNS: usize = 100;
/// Misses of the library; the model has the rest of the screen.
const MISSES: usize = 4;

/// The first screen.
pub fn text(found: &Reproduced) -> String {
    let (parts, misses) = (parts(found), misses(found));
    let mut lines: Vec<String> = sentences::sentences(found);
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(parts.render().lines().map(String::from));
    let mut end = Vec::new();
    if let Some(note) = found.notes.first() {
        let more = match found.notes.len() {
            1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        let room = COLUMNS.saturating_sub(more.chars().count() + "not measured: ".len());
        end.push(format!("not measured: {}{more}", shortened(note, room)));
    }
    end.push("All tables: --full, or the page.".into());
    if !misses.is_empty() {
        lines.push(String::new());
        let room = LINES.saturating_sub(lines.len() + end.len() + 3);
        let chosen = chosen(&misses, room);
        lines.extend(table(&chosen).render().lines().map(String::from));
        let left = misses.len() - chosen.len();
        if left > 0 {
            end.insert(0, format!("… and {left} more misses."));
        }
    }
    lines.extend(end);
    let lines = lines.iter().map(|line| shortened(line, COLUMNS) + "\n");
    lines.collect()
}

/// What has a verdict, by part: held, missed, fitted, not measured.
#[derive(Default)]
struct Tally([usize; 4]);

impl Tally {
    fn of(verdicts: impl Iterator<Item = Option<bool>>, none: usize) -> Tally {
        let mut tally = Tally::default();
        for it in verdicts {
            let place = it.map_or(none, |held| usize::from(!held));
            tally.0[place] += 1;
        }
        tally
    }
}

fn parts(found: &Reproduced) -> Table {
    let modelled = &found.modelled;
    let of = |source| {
        let all = modelled.comparisons();
        Tally::of(
            all.filter(move |it| it.source == source)
                .map(Comparison::holds),
            2,
        )
    };
    let claims = modelled.shown().filter(|it| it.claim.is_some());
    let all = [
        (
            "the library, on this machine",
            Tally::of(found.targets.iter().map(Target::met), 3),
        ),
        ("the model, beside measured kernels", of(Source::Kernel)),
        ("the model, beside published figures", of(Source::Published)),
        (
            "the model, published statements",
            Tally::of(claims.map(Shown::holds), 2),
        ),
    ];
    let mut table = Table::new(
        &["figures of", "held", "MISSED", "fitted", "not measured"],
        1,
    );
    for (name, Tally(counts)) in all {
        if counts.iter().any(|&it| it > 0) {
            let counts = counts.map(|it| it.to_string());
            table.row(std::iter::once(name.to_owned()).chain(counts));
        }
    }
    table
}

/// Something that was missed.
struct Miss {
    what: String,
    figure: String,
    bound: String,
    basis: &'static str,
    /// How far it lies outside: 1 is at the bound.
    off: f64,
    ours: bool,
}

/// All misses: the library's first, and the worst first.
fn misses(found: &Reproduced) -> Vec<Miss> {
    let targets = found.targets.iter().filter(|it| it.met() == Some(false));
    let figures = found.modelled.comparisons();
    let figures = figures.filter(|it| it.holds() == Some(false));
    let claims = found
        .modelled
        .shown()
        .filter(|it| it.holds() == Some(false));
    let all = targets
        .map(of_target)
        .chain(figures.map(of_figure))
        .chain(claims.map(of_claim));
    let mut all: Vec<Miss> = all.collect();
    all.sort_by(|a, b| b.ours.cmp(&a.ours).then(b.off.total_cmp(&a.off)));
    all
}

fn of_target(it: &Target) -> Miss {
    let figure = |value: Option<f64>| value.map_or("-".into(), short);
    Miss {
        what: it.what.clone(),
        figure: format!("{} {}", figure(it.ours), it.unit),
        bound: figure(it.bound),
        basis: "measured",
        off: it.ratio().unwrap_or(f64::INFINITY),
        ours: true,
    }
}

fn of_figure(it: &Comparison) -> Miss {
    Miss {
        what: format!(
            "{} {}: {}",
            it.experiment,
            it.case,
            it.metric.replace('_', " ")
        ),
        figure: format!("{} {}", short(it.model), it.unit),
        bound: format!("{} +-{} %", short(it.real), short(it.allowed * 100.0)),
        basis: it.basis.name(),
        off: (it.ratio() - 1.0).abs() / it.allowed,
        ours: false,
    }
}

fn of_claim(it: &Shown) -> Miss {
    let bound = it.claim.as_ref().map(|claim| claim.bound.ends());
    let (least, most) = bound.unwrap_or_default();
    let bound = [(least, "at least"), (most, "at most")];
    let bound = bound
        .iter()
        .filter_map(|(end, word)| end.map(|end| format!("{word} {}", short(end))));
    Miss {
        what: format!("{}: {}", it.case, it.metric.replace('_', " ")),
        figure: format!("{} {}", short(it.model), it.unit),
        bound: bound.collect::<Vec<_>>().join(", "),
        basis: it.basis.name(),
        off: 1.0,
        ours: false,
    }
}

/// Those for which there is room.
fn chosen(misses: &[Miss], room: usize) -> Vec<&Miss> {
    let (ours, models): (Vec<&Miss>, Vec<&Miss>) = misses.iter().partition(|it| it.ours);
    let share = room.saturating_sub(models.len()).max(MISSES);
    let mut chosen: Vec<&Miss> = ours.into_iter().take(share.min(room)).collect();
    let left = room - chosen.len();
    chosen.extend(models.into_iter().take(left));
    chosen
}

fn table(chosen: &[&Miss]) -> Table {
    let width = |cell: fn(&Miss) -> &str, head: usize| {
        let cells = chosen.iter().map(|it| cell(it).chars().count());
        cells.max().unwrap_or(0).max(head)
    };
    let others = width(|it| &it.figure, 6) + width(|it| &it.bound, 5) + width(|it| it.basis, 5);
    let room = COLUMNS.saturating_sub(others + 3 * 2);
    let mut table = Table::new(&["missed, worst first", "figure", "bound", "basis"], 1);
    for it in chosen {
        let cells = [
            shortened(&it.what, room),
            it.figure.clone(),
            it.bound.clone(),
        ];
        table.row(cells.into_iter().chain([it.basis.to_owned()]));
    }
    table
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
            Target::at_most(what, ours, Some(1.0), "ns")
        };
        let targets = (1..=30).map(|it| target(it, Some(it as f64)));
        let comparisons = (1..=40).map(|it| Comparison {
            experiment: "bridge",
            case: format!("variant {it}"),
            metric: "total_s",
            unit: "s",
            source: Source::Published,
            real: 10.0,
            model: 10.0 + f64::from(it),
            allowed: 0.15,
            basis: if it == 40 {
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
            benchmark: None,
            modelled: Modelled::of(vec![part]),
            targets: targets.chain([target(31, None)]).collect(),
            notes: vec!["valgrind is not installed: apt-get install valgrind".into(); 3],
        }
    }

    #[test]
    fn it_fits_a_screen_and_has_the_verdict_and_the_worst_misses() {
        let text = text(&found());
        assert!(text.lines().count() <= LINES, "{text}");
        assert!(
            text.lines().all(|it| it.chars().count() <= COLUMNS),
            "{text}"
        );
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("no {words} in {text}"))
        };
        assert!(
            text.starts_with("A read costs 0.500 ns; crossbeam 8.00x."),
            "{text}"
        );
        let line = |of: &str| {
            text[place(of)..]
                .lines()
                .next()
                .unwrap()
                .split_whitespace()
                .rev()
                .take(4)
                .collect::<Vec<_>>()
        };
        assert_eq!(line("the library"), ["1", "0", "29", "1"], "{text}");
        assert_eq!(line("beside published"), ["0", "1", "38", "1"], "{text}");
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
            "a fitted figure is no miss: {text}"
        );
        place("more misses");
        place("not measured: valgrind is not installed");
    }

    #[test]
    fn what_was_stopped_has_no_sentence_and_no_miss() {
        let empty = Reproduced {
            report: Report::new("reproduce", 1),
            benchmark: None,
            modelled: Modelled::default(),
            targets: Vec::new(),
            notes: vec!["stopped: the rest was not measured".into()],
        };
        let text = text(&empty);
        assert!(
            !text.contains("costs") && !text.contains("missed, worst"),
            "{text}"
        );
        assert!(
            text.contains("stopped: the rest was not measured"),
            "{text}"
        );
    }
}

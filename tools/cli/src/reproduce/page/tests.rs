//! The page as a file: well-formed, loads nothing, has every comparison and every row, and names missing
//! parts.

use super::*;
use crate::reproduce::{benchmark, published};
use quiescent_bench::targets as bounds;
use quiescent_report::pages::is_ours;
use quiescent_report::text::number::figure;
use quiescent_report::{Report, Row};
use quiescent_sim::experiments::Modelled;
use quiescent_sim::experiments::{Basis, Bound, Claim, Comparison, Outcome, Part, Shown, Source};
use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

const ODD: &str = "<script>\"a\" & 'b'";

fn comparison(case: &str, metric: &'static str, real: f64, model: f64) -> Comparison {
    Comparison {
        experiment: "made up",
        case: case.into(),
        metric,
        unit: "ms",
        source: Source::Kernel,
        real,
        model,
        allowed: 0.05,
        basis: Basis::Predicted,
    }
}

fn outcome(comparisons: Vec<Comparison>) -> Outcome {
    Outcome {
        comparisons,
        notes: vec![format!("assumed: {ODD} and `code`")],
        ..Outcome::default()
    }
}

/// A true statement, an untrue one, and a figure without a verdict.
fn sentences() -> Outcome {
    let bounds = [
        Some(Bound::AtMost(9.0)),
        Some(Bound::Between(8.0, 9.0)),
        None,
    ];
    let shown = bounds.map(|bound| Shown {
        case: format!("claims {ODD}"),
        metric: "looks_per_s",
        unit: "1/s",
        model: 7.25,
        basis: Basis::Assumed,
        claim: bound.map(|bound| Claim { says: ODD, bound }),
    });
    Outcome {
        shown: shown.into(),
        ..Outcome::default()
    }
}

/// One experiment of each shape, odd names, figures that are not numbers.
fn modelled() -> Modelled {
    let few = vec![comparison(ODD, "latency_ms", 12.125, 12.25)];
    let many = (1..=40).map(|n| {
        let real = f64::from(n);
        comparison(&format!("many cpus={n} x"), "latency_ms", real, 1.01 * real)
    });
    let lines = [(3, 21.5), (8, 47.5), (32, 150.5)];
    let lines =
        lines.map(|(n, real)| comparison(&format!("lines jiffies={n}"), "latency_ms", real, real));
    let mixed = vec![
        comparison("trace", "latency_ms", 5.5, 5.0),
        comparison("trace", "wakeups_per_s", 0.0, 0.0),
    ];
    let mut fitted = comparison("fitted", "latency_ms", 7.75, 70.75);
    fitted.basis = Basis::Fitted;
    let part = |(name, outcome)| Part {
        name,
        what: "",
        outcome,
    };
    let parts = [
        ("few", outcome(few)),
        ("many", outcome(many.collect())),
        ("lines", outcome(lines.to_vec())),
        ("mixed", outcome(mixed)),
        ("fit", outcome(vec![fitted])),
        (ODD, outcome(Vec::new())),
        ("claims", sentences()),
    ];
    Modelled::of(parts.map(part).into())
}

fn found() -> Reproduced {
    let mut report = Report::new("reproduce", 77);
    for (subject, case, metric, unit, samples) in [
        (
            "quiescent",
            "load",
            "cpu_ns",
            "ns/pair",
            &[1.5, 1.25, 2.0][..],
        ),
        (ODD, "load", "cpu_ns", "ns/pair", &[17.5]),
        ("quiescent", "other asleep", "latency_us", "us", &[3.5]),
        (ODD, ODD, ODD, ODD, &[123.5]),
    ] {
        report
            .rows
            .extend(Row::of(subject, case, metric, unit, samples));
    }
    Reproduced {
        targets: bounds::of(&report, None),
        report,
        benchmark: None,
        modelled: modelled(),
        notes: vec![ODD.into()],
    }
}

fn occasion() -> Occasion {
    Occasion {
        began: UNIX_EPOCH + Duration::from_secs(1_000_000_000),
        elapsed: Duration::from_millis(154_321),
        command_line: format!("quiescent reproduce --html {ODD}"),
        version: "9.8.7".into(),
        stopped: false,
    }
}

/// The body as XML; void elements are in the head only.
fn body(page: &str) -> &str {
    let start = page.find("<body>").expect("a body");
    let end = page.find("</body>").expect("its end");
    &page[start..end + "</body>".len()]
}

#[test]
fn it_is_well_formed_and_loads_nothing() {
    let page = render(&found(), &occasion());
    assert!(is_ours(&page));
    let read = roxmltree::Document::parse(body(&page)).unwrap();
    let (mut ids, mut links) = (BTreeSet::new(), BTreeSet::new());
    for node in read.descendants().filter(|it| it.is_element()) {
        assert!(
            !["script", "link", "img", "iframe", "object", "image", "use"]
                .contains(&node.tag_name().name())
        );
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(
                !name.starts_with("on") && name != "src" && name != "style",
                "{name}={value}"
            );
            assert!(
                !value.contains("url(") && !value.contains("NaN"),
                "{name}={value}"
            );
            if name == "href" {
                links.insert(
                    value
                        .strip_prefix('#')
                        .expect("a place on this page")
                        .to_string(),
                );
            }
            if name == "id" {
                assert!(ids.insert(value.to_string()), "{value} twice");
            }
        }
    }
    assert_eq!(links, ids, "each section is linked to, and nothing else");
    assert!(!page.contains("http"), "nothing elsewhere is named");
}

#[test]
fn every_comparison_and_every_row_is_in_a_table() {
    let found = found();
    let page = render(&found, &occasion());
    let read = roxmltree::Document::parse(body(&page)).unwrap();
    let rows: Vec<Vec<&str>> = read
        .descendants()
        .filter(|it| it.has_tag_name("tr"))
        .map(|row| {
            row.children()
                .map(|cell| cell.text().unwrap_or(""))
                .collect()
        })
        .collect();
    for it in found.modelled.comparisons() {
        let [real, model] = [it.real, it.model].map(|it| format!("{} {}", figure(it), "ms"));
        let line = rows.iter().find(|row| {
            row.len() > 1
                && it.case.ends_with(row[1])
                && !row[1].is_empty()
                && row.contains(&&*real)
                && row.contains(&&*model)
        });
        let line = line.unwrap_or_else(|| panic!("no row for {it:?}"));
        let said = match it.holds() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "fitted",
        };
        assert!(
            line[0] == said && line.contains(&it.basis.name()),
            "{line:?}"
        );
    }
    for row in &found.report.rows {
        let wanted = [&row.subject, &row.case, &row.metric, &row.unit].map(String::as_str);
        assert!(
            rows.iter().any(|cells| cells.starts_with(&wanted)),
            "no row for {row:?}"
        );
    }
}

#[test]
fn sentences_have_their_verdicts() {
    let page = render(&found(), &occasion());
    for text in [
        "1 of 2 sentences",
        "statements that it contradicts",
        "at most 9",
        "8.00 to 9.00",
        "looks per s",
        ">shown<",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn each_shape_has_its_chart() {
    let chart = |wanted: &str| {
        let all = modelled();
        let parts = all.parts().filter(|it| it.name == wanted);
        let body = show::page::body(&Modelled::of(parts.cloned().collect()));
        body.expect("it was run").into_string()
    };
    assert!(chart("many").contains("<polygon") && chart("many").contains("model over real"));
    assert!(chart("lines").contains("class=\"join real\""));
    let few = chart("few");
    assert!(few.contains("<rect class=\"real\"") && few.contains("<rect class=\"model\""));
    assert!(chart("mixed").contains("wakeups/s") && chart("mixed").contains("class=\"missed\""));
    assert!(chart("fit").contains("<rect class=\"fitted\""));
    assert!(chart("fit").contains("Fitted: 1, without a verdict."));
    assert!(chart(ODD).contains("No figures."));
}

#[test]
fn wakeups_and_what_was_never_freed_are_one_chart() {
    let case = "retire 10/s";
    let mut report = Report::new("reproduce", 1);
    for (subject, wakeups, left) in [("quiescent", 0.1, 0.0), ("other", 0.0, 37.0)] {
        for (metric, unit, value) in [
            ("wakeups_per_s", "wake-ups/s", wakeups),
            ("never_run", "blocks", left),
        ] {
            let row = Row::single(subject, case, metric, unit, value);
            report.rows.extend(row);
        }
    }
    let page = library::body(&report).expect("measured").into_string();
    assert_eq!(page.matches("<figure").count(), 1, "{page}");
    assert_eq!(page.matches("37 never freed</tspan>").count(), 1, "{page}");
    assert!(!page.contains("0 never freed</tspan>"), "{page}");
    // The answer is the first column, which a phone shows.
    let found = render(&found(), &occasion());
    assert!(found.contains("<th scope=\"col\">met?</th><th scope=\"col\">target</th>"));
}

#[test]
fn a_prediction_stands_beside_this_kernels_calls() {
    let runs = vec![published::Run {
        mean_ms: 8.0,
        min_ms: 4.0,
        max_ms: 12.0,
    }];
    let mut benchmark = benchmark::Benchmark {
        columns: vec![benchmark::Column {
            head: "kernel here".into(),
            what: "measured".into(),
            runs,
        }],
        ..Default::default()
    };
    let drawn =
        |benchmark: &benchmark::Benchmark| kernel::body(benchmark).expect("measured").into_string();
    let without = drawn(&benchmark);
    assert!(
        without.contains("kernel here") && without.contains("12.0"),
        "{without}"
    );
    assert!(!without.contains("predicts"), "{without}");
    for (whose, case, us) in [
        ("kernel", "x", 8_125.0),
        ("model", "x, thread there", 9_250.0),
    ] {
        let row = Row::single(whose, case, "latency_us_pooled_mean", "us", us);
        benchmark.rows.extend(row);
    }
    let with = drawn(&benchmark);
    for words in [
        "kernel: all calls",
        ">8.12<",
        "model: thread there",
        ">9.25<",
    ] {
        assert!(with.contains(words), "no `{words}` in {with}");
    }
}

#[test]
fn the_head_says_what_when_and_how_it_went() {
    let page = render(&found(), &occasion());
    for words in [
        "2001-09-09 01:46:40 UTC, took 2m 34s",
        "<dd>77</dd>",
        "<dd>9.8.7</dd>",
        "--html &lt;script&gt;",
        "<b>1</b><span>fitted model figures",
        "<code>code</code>",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
    assert!(!page.contains("Incomplete"));
    assert!(!page.contains("<script"), "names are escaped");
}

#[test]
fn a_run_that_was_stopped_at_once_has_a_page_that_says_so() {
    let mut found = found();
    found.report.rows.clear();
    found.modelled = Modelled::default();
    found.targets = bounds::of(&found.report, None);
    found.notes.clear();
    let stopped = Occasion {
        stopped: true,
        ..occasion()
    };
    let page = render(&found, &stopped);
    roxmltree::Document::parse(body(&page)).unwrap();
    assert!(
        page.contains("Incomplete") && page.contains("not measured"),
        "{page}"
    );
    for id in ["library", "model", "rows", "kernel"] {
        assert!(!page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

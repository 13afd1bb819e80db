//! Pages of invented reports.

use super::*;
use crate::{OURS, Row};
use std::time::UNIX_EPOCH;

const ODD: &str = "<script>\"a\" & 'b'\u{1}";

fn occasion(stopped: bool) -> Occasion {
    Occasion {
        began: UNIX_EPOCH,
        elapsed: Duration::from_millis(1234),
        command_line: format!("quiescent bench {ODD}"),
        version: "9.8.7".into(),
        stopped,
    }
}

fn row(subject: &str, case: &str, metric: &str, samples: &[f64]) -> Row {
    Row::of(subject, case, metric, "ns/pair", samples).unwrap()
}

/// The texts of the cells of the table with this name, row by row.
fn cells(page: &str, name: &str) -> Vec<Vec<String>> {
    let body = page.find("<body>").unwrap()..page.find("</html>").unwrap();
    let read = roxmltree::Document::parse(&page[body]).unwrap();
    let table = read
        .descendants()
        .find(|it| it.attribute("aria-label") == Some(name));
    let rows = table
        .unwrap()
        .descendants()
        .filter(|it| it.has_tag_name("tr"));
    let text = |it: roxmltree::Node<'_, '_>| it.text().unwrap_or("").to_owned();
    rows.map(|row| row.children().map(text).collect()).collect()
}

#[test]
fn a_family_has_bars_ratios_ranges_and_its_percentiles() {
    let mut report = Report::new("bench read", 7);
    report.rows = vec![
        row(OURS, "a", "cpu_ns", &[2.0, 1.0, 3.0]),
        row(OURS, "a", "cpu_ns_max", &[9.0]),
        row("peer", "b", "cpu_ns", &[5.0]),
        row("peer", "a", "cpu_ns", &[8.0]),
    ];
    let page = page(&report, "about", "", &occasion(false));
    let all = cells(&page, "cpu ns, ns/pair");
    let expected = [
        "case|subject||median|times ours|smallest|largest|range|max",
        "a|quiescent||2.00||1.00|3.00|100 %|9.00",
        "a|peer||8.00|×4.00|8.00|8.00|-|-",
        "b|peer||5.00||5.00|5.00|-|-",
    ];
    assert_eq!(
        all.iter().map(|it| it.join("|")).collect::<Vec<_>>(),
        expected
    );
    // Bars of one case have one scale.
    for bar in [
        "class=\"ours\" style=\"width:25.00%\"",
        "class=\"other\" style=\"width:100.00%\"",
    ] {
        assert!(page.contains(bar), "no {bar} in {page}");
    }
    assert_eq!(page.matches("width:100.00%").count(), 2);
}

#[test]
fn every_row_and_option_is_there_and_every_text_is_escaped() {
    let mut report = Report::new(&format!("bench {ODD}"), 7);
    report.rows = vec![
        row(ODD, ODD, ODD, &[f64::MAX]),
        row(OURS, "x", "y", &[0.0, 0.0]),
    ];
    report.option(ODD, ODD);
    report.option("list", vec!["a", "b"]);
    report.host.more.insert(ODD.into(), ODD.into());
    let page = page(&report, ODD, &format!("{ODD}\n  {ODD}"), &occasion(true));
    assert_eq!(cells(&page, "All figures").len(), 3);
    assert_eq!(
        cells(&page, "Options in force")[1..],
        [
            [r#"<script>"a" & 'b'\x01"#; 2].map(String::from),
            ["list".into(), "a, b".into()]
        ]
    );
    for words in [
        "Incomplete",
        "1s 200ms",
        "1970-01-01 00:00:00 UTC",
        "--seed 7",
        "<dd>9.8.7</dd>",
    ] {
        assert!(page.contains(words), "no {words} in {page}");
    }
    for word in [
        "<script", "src=", "url(", "@import", "<link", "http", "NaN", "\u{1}",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_page_is_recognised_and_other_files_are_not() {
    let report = Report::new("bench read", 1);
    assert!(is_ours(&page(&report, "", "", &occasion(false))));
    let foreign = "<html><meta name=\"generator\" content=\"other\"><title>quiescent </title>";
    let within = "<title>x</title><meta name=\"generator\" content=\"quiescent bench\">";
    for text in ["", "plain text", foreign, within] {
        assert!(!is_ours(text), "{text}");
    }
}

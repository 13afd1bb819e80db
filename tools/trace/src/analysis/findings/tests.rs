//! Order of rows, and what is said about what was left out.

use super::{Findings, Table, count};
use crate::analysis::DISTINCT_MOST;
use crate::analysis::spread::{Room, Spread};

/// Of an empty trace.
fn nothing() -> Findings {
    Findings {
        about: super::super::about::tests::nothing(),
        tables: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn rows_are_sorted_by_a_column_the_unknown_ones_last_and_equal_ones_by_words() {
    let mut table = Table::new("A table", "", &["word"]);
    for (word, n, m) in [
        ("d", None, 9),
        ("c", Some(0), 1),
        ("b", Some(2), 7),
        ("a", Some(2), 3),
    ] {
        let n = n.and_then(count);
        let figures = [("n", "n", "count", n), ("m", "m", "count", count(m))];
        table.add(&[word], &figures);
    }
    let words = |table: &Table| {
        let words: Vec<String> = table.rows.iter().map(|row| row.labels[0].clone()).collect();
        words.concat()
    };
    table.sort_by(0);
    assert_eq!(words(&table), "abcd");
    table.sort_by(1);
    assert_eq!(words(&table), "dbac");
}

#[test]
fn each_loss_is_a_note_of_its_own_with_its_number() {
    let spread = |values: usize, room: &mut Room| {
        let mut spread = Spread::default();
        (0..values as u64).for_each(|value| spread.add(value * 1000, room));
        spread
    };
    let room = &mut Room::default();
    let all = [
        spread(3, room),
        spread(DISTINCT_MOST + 1, room),
        spread(DISTINCT_MOST + 1, room),
        spread(2, &mut Room::none()),
        spread(2, &mut Room::none()),
        spread(2, &mut Room::none()),
    ];
    let notes = |spreads: &[Spread]| {
        let mut findings = nothing();
        findings.about_spreads("delays", spreads.iter());
        findings.notes
    };
    let said = notes(&all);
    let expected = [
        "delays: percentiles of 2 rows with more than 4096 different values",
        "delays: percentiles of 3 rows were given up",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(notes(&all[..1]), [""; 0]);

    let mut findings = nothing();
    findings.about_evicted("callbacks that waited", 0);
    findings.about_cpus(0);
    findings.about_names(0);
    assert_eq!(findings.notes, [""; 0]);
    findings.about_evicted("callbacks that waited", 7);
    findings.about_cpus(1);
    findings.about_names(3);
    let expected = [
        "7 callbacks that waited were given up",
        "CPUs with numbers above 8191",
        "3 ",
    ];
    assert_eq!(findings.notes.len(), expected.len());
    for (said, expected) in findings.notes.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
}

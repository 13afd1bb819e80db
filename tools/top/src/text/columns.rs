//! Columns of the table: which fit, and how wide they are. No figure is ever cut: a column is as wide as its
//! widest figure, and where the line is too short whole columns are left out, the least important first.

use crate::interval::{Order, Row};
use crate::text::names::{distinct, least, shortened};
use crate::text::{bytes, rate};
use quiescent_report::text::shown as escaped;
use std::collections::BTreeMap;

/// Columns behind the name: heading, least width, and what sorts by it.
const COLUMNS: [(&str, usize, Option<Order>); 8] = [
    ("Domain", 10, None),
    ("Queued/s", 9, Some(Order::Queued)),
    ("Executed/s", 11, Some(Order::Executed)),
    ("Held", 6, Some(Order::Held)),
    ("Bytes", 9, Some(Order::Bytes)),
    ("Delay ms", 9, Some(Order::Delay)),
    ("Lazy", 5, None),
    ("Broke/s", 8, Some(Order::Broke)),
];

/// The place of the domain's column: the only one with text, which may be shortened.
const DOMAIN: usize = 0;

/// Columns in the order in which they are left out. The one that rows are sorted by goes last.
const DROPPED: [usize; 8] = [6, DOMAIN, 7, 5, 2, 4, 1, 3];

/// The least width of a name: `head at` and an address of a program. Columns are left out for names that need
/// more to keep crate and function, up to the largest.
const NAME_LEAST: usize = 22;
const NAME_MOST: usize = 44;

/// The most letters of a domain's name.
const DOMAIN_MOST: usize = 32;

/// A column as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    n: usize,
    /// Its width.
    width: usize,
}

impl Column {
    /// Its heading, with a mark if rows are sorted by it.
    fn heading(self, sorted: Order, mark: &str) -> String {
        let (name, _, order) = COLUMNS[self.n];
        let mark = if order == Some(sorted) { mark } else { "" };
        format!("{:>1$}", format!("{mark}{name}"), self.width)
    }

    /// A row's figure.
    fn cell(self, row: &Row) -> String {
        let text = match self.n {
            DOMAIN => shortened(&row.domain, self.width),
            n => figure(row, n),
        };
        format!("{text:>0$}", self.width)
    }
}

/// A table's layout.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The width of names.
    names: usize,
    /// What is shown of each name.
    labels: BTreeMap<String, String>,
    shown: Vec<Column>,
}

impl Columns {
    /// The headings, with a mark at the one that rows are sorted by.
    pub(crate) fn head(&self, sorted: Order, mark: &str) -> String {
        let callback = match sorted {
            Order::Name => format!("{mark}Callback"),
            _ => "Callback".to_owned(),
        };
        let columns = self.shown.iter().map(|it| it.heading(sorted, mark));
        self.line(callback, columns)
    }

    /// A row's name and figures.
    pub(crate) fn row(&self, row: &Row) -> String {
        let figures = self.shown.iter().map(|it| it.cell(row));
        let label = self.labels.get(&row.name).cloned().unwrap_or_default();
        self.line(label, figures)
    }

    fn line(&self, name: String, figures: impl Iterator<Item = String>) -> String {
        let names = self.names;
        std::iter::once(format!("{name:<names$}"))
            .chain(figures)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// What fits into a line of this width.
    pub(crate) fn of(rows: &[&Row], sorted: Order, width: usize) -> Columns {
        let widest = |n: usize| {
            let figures = rows.iter().map(|row| figure(row, n).chars().count());
            figures.max().unwrap_or(0).max(COLUMNS[n].1)
        };
        let mut shown: Vec<Column> = (0..COLUMNS.len())
            .map(|n| Column {
                n,
                width: match n {
                    DOMAIN => COLUMNS[n].1,
                    _ => widest(n),
                },
            })
            .collect();
        let longest = rows.iter().map(|row| escaped(&row.name).chars().count());
        let longest = longest.max().unwrap_or(0);
        let needed = rows.iter().map(|row| least(&row.name)).max().unwrap_or(0);
        let needed = needed.clamp(NAME_LEAST, NAME_MOST);
        let is_sorted = |n: usize| COLUMNS[n].2 == Some(sorted);
        let mut dropped = DROPPED.to_vec();
        dropped.sort_by_key(|&n| is_sorted(n));
        for n in dropped {
            let is_enough = rest(&shown, width) >= needed;
            // The figure that rows are sorted by stays, as far as any name has room.
            if is_enough || is_sorted(n) && rest(&shown, width) >= NAME_LEAST {
                break;
            }
            shown.retain(|it| it.n != n);
        }
        // Domains are as wide as names leave room.
        let more = rest(&shown, width).saturating_sub(longest.max(NAME_LEAST));
        if let Some(domain) = shown.iter_mut().find(|it| it.n == DOMAIN) {
            let wanted = rows.iter().map(|row| row.domain.chars().count());
            let wanted = wanted.max().unwrap_or(0).min(DOMAIN_MOST);
            domain.width = domain.width.max(wanted.min(domain.width + more));
        }
        let names = rest(&shown, width);
        Columns {
            names,
            labels: distinct(rows.iter().map(|row| row.name.as_str()), names),
            shown,
        }
    }
}

/// What columns leave for the name.
fn rest(shown: &[Column], width: usize) -> usize {
    let others: usize = shown.iter().map(|it| it.width + 1).sum();
    width.saturating_sub(others)
}

/// The figure of a row in the `n`th column.
fn figure(row: &Row, n: usize) -> String {
    let figure = match n {
        1 => row.queued_per_s.map(rate),
        2 => Some(rate(row.executed_per_s)),
        3 => row.held.map(|it| it.to_string()),
        4 => row.held_bytes.map(bytes),
        5 => row.delay_ms.map(rate),
        6 => row.lazy_pct.map(|it| format!("{it:.0}%")),
        7 => row.broke_per_s.map(rate),
        _ => None,
    };
    figure.unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sorted: Order, width: usize) -> (usize, Vec<&'static str>) {
        let columns = Columns::of(&[], sorted, width);
        let shown = columns.shown.iter().map(|it| COLUMNS[it.n].0);
        (columns.names, shown.collect())
    }

    #[test]
    fn a_line_is_no_wider_than_it_may_be() {
        for width in [40, 80, 100, 200] {
            let columns = Columns::of(&[], Order::Queued, width);
            let all: usize = columns.shown.iter().map(|it| it.width + 1).sum();
            assert_eq!(columns.names + all, width);
            assert!(columns.names >= NAME_LEAST);
        }
    }

    #[test]
    fn the_least_important_columns_are_left_out_first() {
        assert_eq!(shown(Order::Queued, 200).1.len(), 8);
        let at_80 = shown(Order::Queued, 80);
        let names = [
            "Queued/s",
            "Executed/s",
            "Held",
            "Bytes",
            "Delay ms",
            "Broke/s",
        ];
        assert_eq!(at_80, (22, names.to_vec()));
        assert_eq!(shown(Order::Queued, 50).1, ["Queued/s", "Held", "Bytes"]);
        // What rows are sorted by stays.
        assert_eq!(shown(Order::Broke, 35).1, ["Broke/s"]);
    }
}

//! Which rows are shown, and in which order.

use std::cmp::Ordering;

use crate::interval::{Interval, Row};

/// The order of rows. All but names: the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The callback's name.
    Name,
    /// Times it was queued.
    #[default]
    Queued,
    /// Times it was executed.
    Executed,
    /// How many are held.
    Held,
    /// Their bytes.
    Bytes,
    /// How long they wait.
    Delay,
    /// How often it breaks the laziness of others.
    Broke,
}

impl Order {
    /// All, in the order of the columns.
    pub const ALL: [Order; 7] = [
        Order::Name,
        Order::Queued,
        Order::Executed,
        Order::Held,
        Order::Bytes,
        Order::Delay,
        Order::Broke,
    ];

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Order::Name => "name",
            Order::Queued => "queued",
            Order::Executed => "executed",
            Order::Held => "held",
            Order::Bytes => "bytes",
            Order::Delay => "delay",
            Order::Broke => "broke",
        }
    }

    /// The next column.
    #[must_use]
    pub fn next(self) -> Order {
        let at = Order::ALL.iter().position(|&it| it == self).unwrap_or(0);
        Order::ALL[(at + 1) % Order::ALL.len()]
    }

    fn of(self, a: &Row, b: &Row) -> Ordering {
        // Unknown values come last.
        let by = |of: fn(&Row) -> Option<f64>| {
            let value = |row: &Row| of(row).unwrap_or(-1.0);
            value(b).total_cmp(&value(a))
        };
        match self {
            Order::Name => a.name.cmp(&b.name),
            Order::Queued => by(|it| it.queued_per_s),
            Order::Executed => by(|it| Some(it.executed_per_s)),
            Order::Held => b.held.cmp(&a.held),
            Order::Bytes => b.held_bytes.cmp(&a.held_bytes),
            Order::Delay => by(|it| it.delay_ms),
            Order::Broke => by(|it| it.broke_per_s),
        }
    }
}

/// Which rows are shown, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Sorted by this; equal rows by their names.
    pub order: Order,
    /// In reverse.
    pub reversed: bool,
    /// Only those with this in their names or domains, ignoring case; empty: all.
    pub filter: String,
}

impl View {
    /// The rows of an interval that are shown.
    pub fn rows<'a>(&self, interval: &'a Interval) -> Vec<&'a Row> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let all = interval.functions.iter();
        let mut rows: Vec<&Row> = all
            .filter(|row| has(&row.name) || has(&row.domain))
            .collect();
        rows.sort_by(|a, b| {
            let order = self.order.of(a, b);
            let order = if self.reversed {
                order.reverse()
            } else {
                order
            };
            order.then_with(|| (&a.name, &a.domain).cmp(&(&b.name, &b.domain)))
        });
        rows
    }
}

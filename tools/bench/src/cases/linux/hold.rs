//! `bench hold`: what a cell costs whose large values are replaced now and then, when no weight is declared.
//!
//! A thread makes a value, puts it in the place of the one before, and retires that one, so many times a
//! second. Nothing reads, except in the row that says so. A row is a case of [`ROWS`], such as `4 MiB 100/s`;
//! each has a process of its own, because peak memory is a property of a process. Processes sleep most of the
//! time, so several run at once; one with a reader in a loop has the machine to itself.
//!
//! Measured: peak resident memory; the most old values that were held when one more was made; CPU time of a
//! store, the making of the value included (`malloc-free`: made and dropped); for this library grace periods
//! and wake-ups of its workers.

use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::deferral::pace::Pace;
use crate::deferral::swap::{BARE, Content};
use crate::deferral::{self, buffer};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::{clock, threads};
use crate::subjects::ReaderControl;
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The measurement.
pub static HOLD: Bench = Bench {
    name: "hold",
    settings: &[setting::compare(), Setting::seconds("ms", "seconds", "4")],
    body: Body::Asked(cells, patience, measure),
    capacity: |_| CAPACITY,
    ..Bench::USUAL
};

/// Those beside it.
pub const PEERS: [&str; 4] = ["arc-swap", "crossbeam-epoch", "seize", BARE];

/// Bytes a second that the processes of a wave store together, at most: half of what one CPU can.
const CAPACITY: u64 = 2 << 30;

fn cells(given: &Given) -> Vec<Cell> {
    let peers = PEERS.into_iter().filter(|_| given.is("compare"));
    let peers = peers.filter(|name| deferral::named(name).is_some());
    let subjects: Vec<&'static str> = std::iter::once(OURS).chain(peers).collect();
    let of_row = |row: Row| {
        let load = if row.read {
            CAPACITY
        } else {
            row.bytes as u64 * row.rate
        };
        let of = move |subject: &&'static str| Cell::of(given, subject, row.name()).of_load(load);
        subjects.iter().map(of).collect::<Vec<_>>()
    };
    ROWS.into_iter().flat_map(of_row).collect()
}

/// What is stored, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Bytes that a value owns.
    bytes: usize,
    /// Stores a second.
    rate: u64,
    /// Small values that are stored before, as fast as possible.
    before: u64,
    /// Whether a thread reads in a loop.
    read: bool,
}

/// Bytes of a small value.
const SMALL: usize = 32;
/// The small values before the pace changes.
const BEFORE: u64 = 1_000_000;

const fn row(bytes: usize, rate: u64) -> Row {
    Row {
        bytes,
        rate,
        before: 0,
        read: false,
    }
}

/// What is measured.
pub const ROWS: [Row; 7] = [
    row(4 << 20, 100),
    row(1 << 20, 100),
    row(256 << 10, 300),
    row(64 << 10, 1_000),
    row(16 << 20, 20),
    Row {
        before: BEFORE,
        ..row(4 << 20, 100)
    },
    Row {
        read: true,
        ..row(SMALL, 1_000)
    },
];

impl Row {
    /// The name in reports.
    pub fn name(self) -> String {
        let size = match self.bytes {
            bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        let before = if self.before > 0 { "small, then " } else { "" };
        let read = if self.read { " beside a reader" } else { "" };
        format!("{before}{size} {}/s{read}", self.rate)
    }
}

fn patience(ask: &Ask) -> Duration {
    10 * ask.ms("ms") + Duration::from_micros(10 * BEFORE)
}

fn measure(ask: &Ask) -> Said {
    let row = ROWS.into_iter().find(|row| row.name() == ask.case);
    let row = row.ok_or_else(|| format!("no row `{}`", ask.case))?;
    store(&ask.subject, row, ask.ms("ms"))
}

/// Has values of this row stored for so long.
fn store(subject: &str, row: Row, time: Duration) -> Result<Vec<Figure>, String> {
    let subject = deferral::find(subject)?;
    let beside = subject.beside(Content::Buffer);
    let beside = beside.ok_or_else(|| format!("{} has no such loop", subject.name))?;
    let control = ReaderControl::default();
    // The first member stores, the second reads.
    let prepare = |number| {
        if number == 0 {
            buffer::set_bytes(SMALL);
            (beside.update)(&mut Pace::count(row.before));
            buffer::set_bytes(row.bytes);
        }
    };
    let work = |number, ()| {
        let cpu = clock::thread_cpu_ns();
        let mut pace = Pace::new(&control.stop.0, Some(row.rate));
        match number {
            0 => (beside.update)(&mut pace),
            _ => _ = (beside.read)(&control),
        }
        (pace.done(), clock::thread_cpu_ns() - cpu)
    };
    let (mut now, mut before) = ([0; 2], [0; 2]);
    let during = || {
        before = counted();
        std::thread::sleep(time);
        now = counted();
        control.stop.0.store(1, Relaxed);
    };
    let members = 1 + usize::from(row.read);
    let ran = threads::run(&subject, members, prepare, work, during)?;
    let reading = ran.results.get(1).map_or(0, |it| it.1);
    let cpu_us = ran.cpu_ns.saturating_sub(reading) as f64 / 1e3;
    let stores = ran.results[0].0.max(1) as f64;
    let mut figures = Figures::of(row.name());
    figures.add("held", "values", buffer::most_held() as f64);
    figures.add("cpu_us", "us/store", cpu_us / stores);
    if subject.name == OURS {
        figures.counted(COUNTED, now, before);
    }
    figures.peak();
    Ok(figures.all)
}

/// What this library counts about itself.
const COUNTED: [&str; 2] = ["grace_periods", "wakeups"];

fn counted() -> [u64; 2] {
    let now = quiescent::statistics();
    let wakeups = now.worker_wakeups;
    [now.grace_periods, wakeups.kick + wakeups.timer]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_holds_something_or_nothing() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let reader = Row {
            before: 100,
            read: true,
            ..row(SMALL, 1_000)
        };
        for subject in deferral::all() {
            for row in [row(3 << 10, 1_000), reader] {
                let asked = || store(subject.name, row, Duration::from_millis(20));
                if subject.beside(Content::Buffer).is_none() {
                    assert!(asked().unwrap_err().contains("no such loop"));
                    continue;
                }
                let figures = asked().unwrap();
                assert!(
                    figures
                        .iter()
                        .all(|it| it.case == row.name() && it.value.is_finite())
                );
                let counts = figures
                    .iter()
                    .filter(|it| COUNTED.contains(&&*it.metric))
                    .count();
                assert_eq!(counts, if subject.name == OURS { 2 } else { 0 });
            }
        }
    }

    #[test]
    fn rows_have_the_names_that_targets_have() {
        let names = ROWS.map(Row::name);
        assert_eq!(names[0], "4 MiB 100/s");
        assert_eq!(names[6], "32 B 1000/s beside a reader");
    }
}

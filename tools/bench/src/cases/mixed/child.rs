//! A measuring process of `bench mixed`: one subject, once.

use super::{READ, UPDATE, case_name};
use crate::deferral;
use crate::measure::once::Question;
use crate::measure::{clock, process, threads};
use crate::subjects::ReaderControl;
use quiescent_report::rows::Figure;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedAsk {
    /// Who.
    pub subject: String,
    /// Threads that read.
    pub readers: u64,
    /// For so long.
    pub ms: u64,
}

/// What one thread did.
struct Did {
    turns: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

impl Question for MixedAsk {
    const KIND: &'static str = "mixed";

    fn name(&self) -> String {
        format!("{}, reads beside updates", self.subject)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(10 * self.ms)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        measure(self)
    }
}

/// Measures.
///
/// # Errors
/// A text with the reason and the remedy.
fn measure(ask: &MixedAsk) -> Result<Vec<Figure>, String> {
    let subject = deferral::find(&ask.subject)?;
    let beside = subject
        .beside
        .ok_or_else(|| format!("{} is not measured with reads beside updates", subject.name))?;
    let members = 1 + ask.readers as usize;
    let controls: Vec<ReaderControl> = (0..members).map(|_| ReaderControl::default()).collect();
    // The first member updates, the others read.
    let work = |number: usize, ()| {
        let turns = match number {
            0 => beside.update,
            _ => beside.read,
        };
        let (cpu, begin) = (clock::thread_cpu_ns(), Instant::now());
        let turns = turns(&controls[number]);
        Did {
            turns,
            cpu_ns: clock::thread_cpu_ns() - cpu,
            wall_ns: begin.elapsed().as_nanos() as u64,
        }
    };
    let stop_in_time = || {
        std::thread::sleep(Duration::from_millis(ask.ms));
        for control in &controls {
            control.stop.0.store(1, Relaxed);
        }
    };
    let ran = threads::run(&subject, members, |_| (), work, stop_in_time)?;
    let (updater, readers) = ran.results.split_first().ok_or("nobody measured")?;
    Ok(figures(ask.readers, updater, readers, ran.cpu_ns))
}

fn figures(number: u64, updater: &Did, readers: &[Did], process_cpu_ns: u64) -> Vec<Figure> {
    let (read, update) = (case_name(READ, number), case_name(UPDATE, number));
    // A thread that never came to its turn makes no figure but 0 a second.
    let each = |ns: u64, turns: u64| ns as f64 / turns.max(1) as f64;
    let per_second = |did: &Did| did.turns as f64 * 1e9 / did.wall_ns.max(1) as f64;
    let reads: u64 = readers.iter().map(|did| did.turns).sum();
    let reading: u64 = readers.iter().map(|did| did.cpu_ns).sum();
    let updating = process_cpu_ns.saturating_sub(reading);
    let mut figures = vec![
        Figure::new(&read, "cpu_ns", "ns/pair", each(reading, reads)),
        Figure::new(
            &read,
            "ops_per_s",
            "reads/s",
            readers.iter().map(per_second).sum(),
        ),
        Figure::new(
            &update,
            "cpu_ns",
            "ns/update",
            each(updating, updater.turns),
        ),
        Figure::new(&update, "ops_per_s", "updates/s", per_second(updater)),
    ];
    let peak = process::peak_rss_bytes();
    figures.extend(peak.map(|bytes| Figure::new(&update, "peak_rss_bytes", "bytes", bytes as f64)));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_reads_and_updates() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            let ask = MixedAsk {
                subject: subject.name.into(),
                readers: 2,
                ms: 10,
            };
            if subject.beside.is_none() {
                assert!(measure(&ask).unwrap_err().contains("beside"));
                continue;
            }
            let figures = measure(&ask).unwrap();
            for (case, metric) in [("read 2r", "ops_per_s"), ("update 2r", "ops_per_s")] {
                let found = figures
                    .iter()
                    .find(|f| f.case == case && f.metric == metric);
                assert!(found.is_some(), "{} {case}", subject.name);
            }
        }
    }

    #[test]
    fn costs_are_shared_out() {
        let did = |turns, cpu_ns| Did {
            turns,
            cpu_ns,
            wall_ns: 1_000,
        };
        let figures = figures(1, &did(10, 400), &[did(100, 300)], 1_000);
        let value = |case: &str, metric: &str| {
            let found = figures
                .iter()
                .find(|f| f.case == case && f.metric == metric);
            found.unwrap().value
        };
        assert_eq!(value("read", "cpu_ns"), 3.0);
        assert_eq!(
            value("update", "cpu_ns"),
            70.0,
            "all that readers did not use"
        );
        assert_eq!(value("update", "ops_per_s"), 1e7);
    }
}

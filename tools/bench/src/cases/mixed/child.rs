//! A measuring process of `bench mixed`: one subject and content, once, at one rate after the other.

use super::{READ, UPDATE, case_name};
use crate::deferral;
use crate::deferral::pace::Pace;
use crate::deferral::rest;
use crate::deferral::swap::Content;
use crate::measure::once::Question;
use crate::measure::{clock, process, threads};
use crate::subjects::{Counters, ReaderControl};
use quiescent_report::rows::Figure;
use serde::{Deserialize, Serialize};
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedAsk {
    /// Who.
    pub subject: String,
    /// What is read and replaced.
    pub content: Content,
    /// Threads that read.
    pub readers: u64,
    /// Updates a second, one after the other. No updates come before these, and as many as possible after.
    pub rates: Vec<u64>,
    /// For so long at each.
    pub ms: u64,
}

/// A stretch of the measurement: so many updates a second, `None` for as many as possible.
type Rate = Option<u64>;

/// What one thread did at one rate.
#[derive(Debug, Clone, Copy)]
struct Did {
    turns: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

/// What the whole process did at one rate.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    begin_cpu_ns: u64,
    wall_ns: u64,
    counted: Option<Counters>,
}

impl Question for MixedAsk {
    const KIND: &'static str = "mixed";

    fn name(&self) -> String {
        let content = self.content.name();
        format!("{}, reads beside updates of a {content}", self.subject)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(10 * self.ms * (self.rates.len() as u64 + 2))
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let beside = subject.beside(self.content).ok_or_else(|| {
            let content = self.content.name();
            format!(
                "{} is not measured with reads beside updates of a {content}",
                subject.name
            )
        })?;
        let rates = self.stretches();
        let members = 1 + self.readers as usize;
        // One for each thread and rate.
        let controls: Vec<Vec<ReaderControl>> = (0..members)
            .map(|_| rates.iter().map(|_| ReaderControl::default()).collect())
            .collect();
        let together = Barrier::new(members + 1);
        // The first member updates, the others read.
        let work = |number: usize, ()| -> Vec<Did> {
            let stretches = controls[number].iter().zip(&rates);
            let each = stretches.map(|(control, rate)| {
                together.wait();
                let (cpu, begin) = (clock::thread_cpu_ns(), Instant::now());
                let turns = match number {
                    0 => {
                        let mut pace = Pace::new(&control.stop.0, *rate);
                        (beside.update)(&mut pace);
                        pace.done()
                    }
                    _ => (beside.read)(control),
                };
                Did {
                    turns,
                    cpu_ns: clock::thread_cpu_ns() - cpu,
                    wall_ns: begin.elapsed().as_nanos() as u64,
                }
            });
            each.collect()
        };
        let mut stretches = Vec::new();
        let mut fence_ns = None;
        let in_time = || {
            let begin_cpu = clock::process_cpu_ns();
            for (index, rate) in rates.iter().enumerate() {
                together.wait();
                let (begin_cpu_ns, begin) = (clock::process_cpu_ns() - begin_cpu, Instant::now());
                let before = rest::counters(&subject);
                std::thread::sleep(Duration::from_millis(self.ms));
                if *rate == Some(0) && before.is_some() {
                    fence_ns = process::fence_ns();
                }
                let counted = rest::counters(&subject).zip(before);
                for control in &controls {
                    control[index].stop.0.store(1, Relaxed);
                }
                stretches.push(Stretch {
                    begin_cpu_ns,
                    wall_ns: begin.elapsed().as_nanos() as u64,
                    counted: counted.map(|(now, before)| now.since(before)),
                });
            }
        };
        let ran = threads::run(&subject, members, |_| (), work, in_time)?;
        let mut figures = Vec::new();
        let mut alone = None;
        for (index, (rate, stretch)) in rates.iter().zip(&stretches).enumerate() {
            let did: Vec<Did> = ran.results.iter().map(|member| member[index]).collect();
            let (updater, readers) = did.split_first().ok_or("no thread measured")?;
            let case = |case| case_name(case, self.content, *rate, self.readers);
            let read_ns = reads(&case(READ), readers, alone, &mut figures);
            alone.get_or_insert(read_ns);
            let update = case(UPDATE);
            if *rate != Some(0) {
                let per_second = per_second(updater);
                figures.push(Figure::new(&update, "ops_per_s", "updates/s", per_second));
                figures.extend(fences(&update, stretch, fence_ns));
            }
            if rate.is_none() {
                let rest = ran.cpu_ns.saturating_sub(stretch.begin_cpu_ns);
                figures.extend(updates(&update, updater, readers, rest));
            }
        }
        Ok(figures)
    }
}

impl MixedAsk {
    fn stretches(&self) -> Vec<Rate> {
        let slow = std::iter::once(0).chain(self.rates.iter().copied());
        slow.map(Some).chain([None]).collect()
    }
}

/// A thread that never came to its turn makes no figure but 0 a second.
fn each(ns: u64, turns: u64) -> f64 {
    ns as f64 / turns.max(1) as f64
}

fn per_second(did: &Did) -> f64 {
    did.turns as f64 * 1e9 / did.wall_ns.max(1) as f64
}

/// Figures of readers; the CPU time of a read, which `alone` is without updates.
fn reads(case: &str, readers: &[Did], alone: Option<f64>, figures: &mut Vec<Figure>) -> f64 {
    let turns = readers.iter().map(|did| did.turns).sum();
    let ns = each(readers.iter().map(|did| did.cpu_ns).sum(), turns);
    figures.push(Figure::new(case, "cpu_ns", "ns/pair", ns));
    let per_second = readers.iter().map(per_second).sum();
    figures.push(Figure::new(case, "ops_per_s", "reads/s", per_second));
    if let Some(alone) = alone.filter(|ns| *ns > 0.0) {
        figures.push(Figure::new(case, "cpu_ns_ratio", "times", ns / alone));
    }
    ns
}

/// Figures of an updater at full speed: all CPU time of the process but the readers' is its.
fn updates(case: &str, updater: &Did, readers: &[Did], process_cpu_ns: u64) -> Vec<Figure> {
    let reading = readers.iter().map(|did| did.cpu_ns).sum();
    let ns = each(process_cpu_ns.saturating_sub(reading), updater.turns);
    let peak = process::peak_rss_bytes();
    let peak = peak.map(|bytes| Figure::new(case, "peak_rss_bytes", "bytes", bytes as f64));
    let cpu = Figure::new(case, "cpu_ns", "ns/update", ns);
    std::iter::once(cpu).chain(peak).collect()
}

/// What a library says of its fences: how many a second, and the share of the time that they take.
fn fences(case: &str, stretch: &Stretch, fence_ns: Option<u64>) -> Vec<Figure> {
    let Some(counted) = stretch.counted else {
        return Vec::new();
    };
    let issued = counted.fences_issued as f64;
    let seconds = stretch.wall_ns.max(1) as f64 / 1e9;
    let per_s = issued / seconds;
    let mut figures = vec![Figure::new(case, "fences_per_s", "fences/s", per_s)];
    figures.extend(fence_ns.map(|ns| {
        let percent = 100.0 * issued * ns as f64 / stretch.wall_ns.max(1) as f64;
        Figure::new(case, "fence_time_percent", "%", percent)
    }));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(subject: &str, content: Content) -> MixedAsk {
        MixedAsk {
            subject: subject.into(),
            content,
            readers: 2,
            rates: vec![1_000],
            ms: 10,
        }
    }

    #[test]
    fn every_subject_reads_and_updates() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for content in [Content::Block, Content::Config] {
                let ask = ask(subject.name, content);
                if subject.beside(content).is_none() {
                    assert!(ask.measure().unwrap_err().contains("beside"));
                    continue;
                }
                let figures = ask.measure().unwrap();
                let found = |case: &str, metric| {
                    let mut all = figures.iter();
                    all.any(|it| it.case == case && it.metric == metric)
                };
                let name = |case, rate| case_name(case, content, rate, 2);
                for rate in [Some(0), Some(1_000), None] {
                    let ratio = found(&name(READ, rate), "cpu_ns_ratio");
                    assert!(found(&name(READ, rate), "cpu_ns"), "{}", subject.name);
                    assert_eq!(ratio, rate != Some(0), "{}", subject.name);
                    let updates = found(&name(UPDATE, rate), "ops_per_s");
                    assert_eq!(updates, rate != Some(0), "{}", subject.name);
                }
                assert!(found(&name(UPDATE, None), "cpu_ns"), "{}", subject.name);
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
        let readers = [did(100, 300)];
        let mut figures = Vec::new();
        assert_eq!(reads("read", &readers, Some(1.5), &mut figures), 3.0);
        figures.extend(updates("update", &did(10, 400), &readers, 1_000));
        let stretch = Stretch {
            begin_cpu_ns: 0,
            wall_ns: 1_000_000_000,
            counted: Some(Counters {
                fences_issued: 1_000,
                ..Counters::default()
            }),
        };
        figures.extend(fences("update", &stretch, Some(20_000)));
        let value = |metric: &str, case: &str| {
            let mut all = figures.iter();
            let found = all.find(|f| f.case == case && f.metric == metric);
            found.unwrap().value
        };
        assert_eq!(value("cpu_ns_ratio", "read"), 2.0);
        let update = value("cpu_ns", "update");
        assert_eq!(update, 70.0, "all that readers did not use");
        assert_eq!(value("ops_per_s", "read"), 1e8);
        assert_eq!(value("fence_time_percent", "update"), 2.0);
    }
}

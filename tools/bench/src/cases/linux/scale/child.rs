//! A measuring process of `bench scale`: one subject, one number of threads, once.

use super::case_name;
use super::threads::{Cost, Sleepers, Step, bare_exit_ns, of};
use crate::measure::once::Question;
use crate::measure::{clock, process};
use crate::subjects::{self, Counters, Waiting};
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use quiescent_report::rows::stats;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use std::time::Instant;

/// Bare threads whose end is measured for what is subtracted.
const BARE: usize = 32;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleAsk {
    /// Who.
    pub subject: String,
    /// Registered threads, the caller among them.
    pub threads: u64,
    /// Grace periods.
    pub calls: u64,
}

impl Question for ScaleAsk {
    const KIND: &'static str = "scale";

    fn name(&self) -> String {
        format!("{}, {} threads", self.subject, self.threads)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(20 * self.threads) + Duration::from_millis(50 * self.calls)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = subjects::named(&self.subject).ok_or_else(|| {
            let name = &self.subject;
            format!("`{name}` is not in this build; see `host.absent_peers`")
        })?;
        let waiting = subject
            .waiting
            .ok_or_else(|| format!("{} has no grace period to wait for", subject.name))?;
        let ours = subject.name == OURS;
        let bare = bare_exit_ns(BARE);
        (subject.attach)();
        let others = self.threads.saturating_sub(1) as usize;
        let mut sleepers = Sleepers::start(others, Some(subject), ours.then_some(retire));
        // What a first grace period sets up for one thread is not the others'.
        (waiting.sync)();
        let before = process::anonymous_bytes();
        sleepers.step(Step::Register);
        (waiting.sync)();
        let registered = process::anonymous_bytes();
        let mut case = Case::of(self, &sleepers);
        case.grace_periods(waiting, self.calls);
        sleepers.step(Step::Retire);
        let retired = process::anonymous_bytes();
        sleepers.step(Step::End);
        let (reached, retirers) = (sleepers.reached(), sleepers.reached() / 2);
        case.memory("reader_bytes", before, registered, reached);
        let retirers = if ours { retirers } else { 0 };
        case.memory("retirer_bytes", registered, retired, retirers);
        case.costs(sleepers.costs(), bare, ours);
        (subject.detach)();
        Ok(case.figures)
    }
}

/// Something small, retired.
fn retire() {
    quiescent::RcuCell::new(0u64).store(1).retire();
}

/// The figures of one case.
struct Case {
    name: String,
    figures: Vec<Figure>,
}

impl Case {
    fn of(ask: &ScaleAsk, sleepers: &Sleepers) -> Case {
        let reached = 1 + sleepers.reached() as u64;
        let name = match &sleepers.refused {
            None => case_name(ask.threads),
            Some(why) => format!("{} (reached {reached}: {why})", case_name(ask.threads)),
        };
        let mut case = Case {
            name,
            figures: Vec::new(),
        };
        case.add("threads", "threads", reached as f64);
        case
    }

    fn add(&mut self, metric: &str, unit: &str, value: f64) {
        self.figures
            .push(Figure::new(&self.name, metric, unit, value));
    }

    /// Waits for so many, with all others asleep outside any section.
    fn grace_periods(&mut self, waiting: Waiting, calls: u64) {
        let counters = waiting.counters.unwrap_or(Counters::default);
        let (before, cpu) = (counters(), clock::process_cpu_ns());
        let mut latencies = Vec::with_capacity(calls as usize);
        for _ in 0..calls {
            let begin = Instant::now();
            (waiting.sync)();
            latencies.push(begin.elapsed().as_nanos() as f64 / 1_000.0);
        }
        let each = |total: u64| total as f64 / calls as f64;
        let cpu = each(clock::process_cpu_ns() - cpu);
        let after = counters();
        for (metric, value) in [
            ("latency_us", stats::percentile(&latencies, 50.0)),
            ("latency_us_p99", stats::percentile(&latencies, 99.0)),
        ] {
            if let Some(value) = value {
                self.add(metric, "us", value);
            }
        }
        self.add("cpu_ns", "ns/gp", cpu);
        if waiting.counters.is_some() {
            self.add("scans", "scans/gp", each(after.scans - before.scans));
            self.add("leaves", "leaves/gp", each(after.leaves - before.leaves));
            self.add("steps", "steps/gp", each(after.steps - before.steps));
            self.add("fences", "fences/gp", each(after.fences - before.fences));
        }
    }

    /// What so many threads added.
    fn memory(&mut self, metric: &str, before: Option<u64>, after: Option<u64>, threads: usize) {
        if let (Some(before), Some(after), 1..) = (before, after, threads) {
            let added = after.saturating_sub(before) as f64;
            self.add(metric, "bytes/thread", added / threads as f64);
        }
    }

    fn costs(&mut self, costs: &[Cost], bare_exit_ns: f64, ours: bool) {
        let mut mean = |metric, values: Vec<f64>| {
            if let Some(mean) = stats::mean(&values) {
                self.add(metric, "ns/thread", mean);
            }
        };
        mean(
            "register_cpu_ns",
            costs.iter().map(|cost| of(&cost.register_ns)).collect(),
        );
        let exit = |first: usize| {
            let some = costs.iter().skip(first).step_by(2);
            some.map(|cost| (of(&cost.exit_ns) - bare_exit_ns).max(0.0))
                .collect()
        };
        mean("exit_cpu_ns", exit(0));
        if ours {
            mean("exit_retired_cpu_ns", exit(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(subject: &str, threads: u64) -> Result<Vec<Figure>, String> {
        ScaleAsk {
            subject: subject.into(),
            threads,
            calls: 3,
        }
        .measure()
    }

    #[test]
    fn every_subject_that_waits_is_measured() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in subjects::all() {
            if subject.waiting.is_none() {
                assert!(ask(subject.name, 2).unwrap_err().contains("grace period"));
                continue;
            }
            for threads in [1, 5] {
                let figures = ask(subject.name, threads).unwrap();
                let value = |metric: &str| figures.iter().find(|f| f.metric == metric);
                let number = value("threads").map(|figure| figure.value);
                assert_eq!(number, Some(threads as f64), "{}", subject.name);
                assert!(value("latency_us").is_some() && value("cpu_ns").is_some());
                let beside = threads > 1;
                assert_eq!(value("register_cpu_ns").is_some(), beside);
                assert_eq!(value("exit_cpu_ns").is_some(), beside);
                let ours = subject.name == OURS;
                assert_eq!(value("leaves").is_some(), ours);
                assert_eq!(value("retirer_bytes").is_some(), ours && beside);
            }
        }
    }

    #[test]
    fn unknown_subjects_are_refused() {
        assert!(ask("nobody", 2).unwrap_err().contains("absent_peers"));
    }
}

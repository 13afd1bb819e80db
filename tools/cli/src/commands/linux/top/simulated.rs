//! A simulated run as a source for `top`: a machine that runs while it is viewed.
//!
//! Virtual time passes at each reading: on a terminal as much as real time has passed, otherwise exactly an
//! interval, at full speed. The first reading is at the machine's start. A machine that is too large for real
//! time runs slower and does not block the terminal.

use quiescent_sim::{InTheWay, Look, Machine, Plan};
use quiescent_top::{Function, Holdout, SOFTIRQS, Sample, Source, Subject, Thread, What};
use std::io;
use std::time::{Duration, Instant};

/// Virtual time that passes between two checks of the clock.
const SLICE: u64 = 10_000_000;

/// The longest time that the machine runs in one reading.
const PATIENCE: Duration = Duration::from_millis(500);

/// The largest number of tasks shown.
const MOST_TASKS: usize = 512;

/// The pace of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As real time.
    Real,
    /// This much from one reading to the next.
    Step(Duration),
}

/// A running machine.
pub struct Simulated {
    name: String,
    machine: Machine,
    pace: Pace,
    /// The name of the machine's time 0.
    origin: Instant,
    looked: Option<Instant>,
    /// Sums of the counts of all readings.
    waited_ns: Vec<u64>,
    grace_periods: u64,
    scans: u64,
}

impl Simulated {
    /// The plan's machine, at its start. All of it counts.
    pub fn new(name: &str, plan: &Plan, pace: Pace) -> Self {
        let mut machine = plan.machine();
        machine.window(0, u64::MAX);
        Simulated {
            name: name.to_owned(),
            machine,
            pace,
            origin: Instant::now(),
            looked: None,
            waited_ns: Vec::new(),
            grace_periods: 0,
            scans: 0,
        }
    }

    /// Lets the due virtual time pass.
    fn go_on(&mut self) {
        let begun = Instant::now();
        let Some(looked) = self.looked.replace(begun) else {
            return;
        };
        let due = match self.pace {
            Pace::Real => begun.saturating_duration_since(looked),
            Pace::Step(step) => step,
        };
        let now = self.machine.now();
        let end = now.saturating_add(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX));
        let mut until = now;
        while until < end && (self.pace != Pace::Real || begun.elapsed() < PATIENCE) {
            until = until.saturating_add(SLICE).min(end);
            self.machine.run(until);
        }
    }

    fn sample(&mut self, look: Look) -> Sample {
        self.grace_periods += look.grace_periods.0;
        self.scans += look.grace_periods.1;
        self.waited_ns.resize(look.functions.len(), 0);
        for (sum, func) in self.waited_ns.iter_mut().zip(&look.functions) {
            *sum += func.delays.iter().sum::<u64>();
        }
        let counters = self.counters(&look);
        let subject = Subject::Machine;
        let functions = look.functions.into_iter().zip(&self.waited_ns);
        let functions = functions.map(|(it, &waited_ns)| Function {
            domain: subject.word().into(),
            name: it.name,
            what: What::Code,
            queued: Some(it.queued),
            lazily: Some(it.lazily),
            executed: it.invoked,
            waited_ns: Some(waited_ns),
            held_bytes: Some(
                it.queued
                    .saturating_sub(it.invoked)
                    .saturating_mul(it.bytes),
            ),
            broke: Some(it.broke),
        });
        let mut threads: Vec<Thread> = look
            .tasks
            .into_iter()
            .map(|it| Thread {
                id: it.number as u32,
                name: it.name,
                sleeps: it.wakeups,
                cpu_ns: it.ran_ns,
            })
            .collect();
        // The same tasks at each reading: those that ran first, RCU's own among them.
        let more_threads = threads.len().saturating_sub(MOST_TASKS);
        threads.truncate(MOST_TASKS);
        Sample {
            subject,
            at: self.origin + Duration::from_nanos(look.at),
            functions: functions.collect(),
            counters,
            threads,
            more_threads,
            holdouts: look.in_the_way.into_iter().map(holdout).collect(),
        }
    }

    fn counters(&self, look: &Look) -> Vec<(String, u64)> {
        let all = [
            ("grace_periods", self.grace_periods),
            ("scans", self.scans),
            (SOFTIRQS, look.totals.softirqs),
            ("batches", look.totals.batches),
            ("ipis", look.totals.ipis),
            ("idle_ticks", look.totals.idle_ticks),
            ("busy_ticks", look.totals.busy_ticks),
            ("rcu_ns", look.totals.rcu_ns),
        ];
        all.map(|(name, n)| (name.to_owned(), n)).into()
    }
}

fn holdout(it: InTheWay) -> Holdout {
    match it {
        InTheWay::Cpu(cpu, runs) => Holdout::Cpu { cpu, runs },
        InTheWay::Preempted(name) => Holdout::Preempted { name },
    }
}

impl Source for Simulated {
    fn about(&self) -> String {
        let seconds = self.machine.now() as f64 / 1e9;
        format!(
            "{} simulated, at {seconds:.1} s, counted exactly",
            self.name
        )
    }

    fn read(&mut self) -> io::Result<Sample> {
        self.go_on();
        let look = self.machine.look();
        Ok(self.sample(look))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_sim::Workload;
    use quiescent_top::Interval;

    fn intervals(workload: &str, sets: &[(&str, &str)], n: usize) -> Vec<Interval> {
        let plan = Workload::named(workload).unwrap().plan(sets).unwrap();
        let step = Pace::Step(Duration::from_secs(1));
        let mut source = Simulated::new(workload, &plan, step);
        let mut before = source.read().unwrap();
        let next = |_| {
            let now = source.read().unwrap();
            let interval = Interval::between(&before, &now);
            before = now;
            interval
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn a_kernel_that_is_lazy_has_other_rates_than_one_that_is_not() {
        let rates = |rcu| {
            let all = intervals("local-video", &[("rcu", rcu)], 3);
            let last = all.last().unwrap();
            assert_eq!(last.length, Duration::from_secs(1));
            let lazy = last.functions.iter().filter_map(|it| it.lazy_pct);
            assert_eq!(lazy.fold(0.0, f64::max) > 0.0, rcu == "lazy");
            let queued: f64 = last.functions.iter().filter_map(|it| it.queued_per_s).sum();
            (queued, last.rate("grace_periods"), last.rate(SOFTIRQS))
        };
        let (default, lazy) = (rates("default"), rates("lazy"));
        assert!(default.0 > 100.0 && lazy.0 > 100.0);
        assert!(
            lazy.1 < default.1 && lazy.2 < default.2,
            "{default:?} {lazy:?}"
        );
    }
}

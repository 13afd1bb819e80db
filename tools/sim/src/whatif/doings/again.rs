//! The window of a trace again and again, for machines that need longer than it is.

use quiescent_kernel::CpuId;
use quiescent_trace::{Recorded, Window};

use super::{Doings, Run, Step};

impl Doings {
    /// The window so many times over: what lies in it happens again and again, a whole number of jiffies
    /// later each time.
    pub fn repeated(&self, recorded: &Recorded, times: u64) -> Doings {
        let period = period(recorded);
        let Window { start_ns, .. } = recorded.window;
        let end = start_ns + period;
        let mut all = self.clone();
        all.end = start_ns + times * period;
        for (life, from) in all.lives.iter_mut().zip(&self.lives) {
            life.runs.retain(|it| it.at < end);
            if let Some(run) = life.runs.iter_mut().rfind(|it| it.at < start_ns) {
                run.spans((start_ns, recorded.window.end_ns), times);
            }
            let again = |it: &&Run| (start_ns..end).contains(&it.at);
            for n in 1..times {
                let later = from
                    .runs
                    .iter()
                    .filter(again)
                    .map(|it| it.later(n * period));
                life.runs.extend(later);
            }
        }
        for all in [&mut all.ticks, &mut all.interrupts] {
            again(all, recorded, times);
        }
        all
    }
}

/// What happens on CPUs in the window happens so many times; what is behind it does not.
pub fn again(all: &mut Vec<(CpuId, u64)>, recorded: &Recorded, times: u64) {
    let (start, period) = (recorded.window.start_ns, period(recorded));
    all.retain(|it| it.1 < start + period);
    let inside: Vec<_> = all.iter().filter(|it| it.1 >= start).copied().collect();
    for n in 1..times {
        all.extend(inside.iter().map(|it| (it.0, it.1 + n * period)));
    }
}

/// How far apart two repetitions are: the window, in whole jiffies, rounded up. In nanoseconds.
pub fn period(recorded: &Recorded) -> u64 {
    let jiffy = 1_000_000_000 / u64::from(recorded.hz.max(1));
    let window = recorded.window.end_ns - recorded.window.start_ns;
    window.div_ceil(jiffy) * jiffy
}

impl Run {
    /// Of a run that covers the window: what it does there happens so many times.
    fn spans(&mut self, (start, end): (u64, u64), times: u64) {
        let (from, until) = (start - self.at, end - self.at);
        let mut now = 0;
        let mut inside = Vec::new();
        for step in &self.steps {
            match step {
                Step::Busy(ns) => {
                    let then = now + ns;
                    inside.push(Step::Busy(then.min(until).saturating_sub(now.max(from))));
                    now = then;
                }
                Step::Call { .. } if (from..until).contains(&now) => inside.push(step.clone()),
                Step::Call { .. } => {}
                Step::Wait { .. } => return,
            }
        }
        if now >= until {
            inside.retain(|it| *it != Step::Busy(0));
            for n in 1..times {
                let later = |step: &Step| match *step {
                    Step::Call { index, after } => Step::Call {
                        index,
                        after: after + n * (end - start),
                    },
                    _ => step.clone(),
                };
                self.steps.extend(inside.iter().map(later));
            }
        }
    }

    fn later(&self, by: u64) -> Run {
        let later = |step: &Step| match step {
            Step::Wait { what, until } => Step::Wait {
                what: *what,
                until: until.map(|it| it + by),
            },
            step => step.clone(),
        };
        Run {
            at: self.at + by,
            steps: self.steps.iter().map(later).collect(),
            ..*self
        }
    }
}

//! Runs scenarios, and names their cases.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::schedule::{Awake, Walk};
use crate::chance::Rng;
use crate::ends;

/// Executions of one case of *pct*: the first one only measures the length of the scenario.
const PCT_EXECUTIONS: usize = 6;
/// The number of changes of priority, plus one.
const PCT_DEPTH: usize = 6;
/// Stack of a model thread: enough for a panic with a backtrace.
const STACK_BYTES: usize = 512 * 1024;
/// An execution with more steps counts as endless.
const MAX_STEPS: usize = 3_000_000;

/// The way in which schedules are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At random at each step.
    Walk,
    /// By priorities.
    Pct,
}

/// One schedule, or a few: the same whenever it is run. Written `walk:17`, `pct:17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The way in which it is chosen.
    pub kind: Kind,
    /// The seed.
    pub seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Walk => "walk",
            Kind::Pct => "pct",
        };
        write!(f, "{kind}:{}", self.seed)
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Case, String> {
        let wrong = || format!("`{text}` names no schedule: write walk:SEED or pct:SEED");
        let (kind, seed) = text.split_once(':').ok_or_else(wrong)?;
        let kind = match kind {
            "walk" => Kind::Walk,
            "pct" => Kind::Pct,
            _ => return Err(wrong()),
        };
        let seed = seed.parse().map_err(|_| wrong())?;
        Ok(Case { kind, seed })
    }
}

/// The size of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Executions.
    pub executions: u64,
    /// The choices of the next thread, in all executions.
    pub steps: u64,
}

/// An execution failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The panic's message, or shuttle's about a deadlock or an execution without an end.
    pub message: String,
    /// The size of the run until then; equal for a run of the same case.
    pub report: Report,
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    // Without shuttle's own text, which has a letter for each of a hundred thousand steps; the case replaces
    // it.
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
        .ungraceful_shutdown_config
        .immediately_return_on_panic = true;
    config
}

/// Runs a scenario under the case's schedules.
///
/// # Errors
/// The first failure.
pub fn run(case: Case, scenario: impl Fn() + Send + Sync + 'static) -> Result<Report, Failure> {
    match case.kind {
        Kind::Walk => {
            // In half of the cases threads stop.
            let stop = [0, 0, 16, 96][Rng::new(!case.seed).below(4)];
            go(Awake::new(Walk::new(case.seed), case.seed, stop), scenario)
        }
        Kind::Pct => {
            let pct = PctScheduler::new_from_seed(case.seed, PCT_DEPTH, PCT_EXECUTIONS);
            go(Awake::new(pct, case.seed, 0), scenario)
        }
    }
}

fn go(
    scheduler: Awake<impl Scheduler + 'static>,
    scenario: impl Fn() + Send + Sync + 'static,
) -> Result<Report, Failure> {
    let steps = scheduler.steps.clone();
    let begun = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = begun.clone();
    let body = move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        scenario();
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config()).run(body)
    }));
    let report = Report {
        executions: begun.load(std::sync::atomic::Ordering::Relaxed),
        steps: steps.get(),
    };
    match outcome {
        Ok(_) => Ok(report),
        Err(payload) => {
            ends::carry_out(true);
            let message = crate::message(&*payload).to_string();
            Err(Failure { message, report })
        }
    }
}

//! The searches and their reports.

use std::fmt;
use std::rc::Rc;

use super::choice::{Choices, Policy};
use super::exec::Execution;
use super::random::Random;
use super::runtime::run;
use super::storage::Model;

/// The number of trace lines that are kept: the last ones.
const TRACE_LINES: usize = 400;
/// A long execution with more steps counts as a livelock.
const LONG_STEPS: u64 = 3_000_000;

/// Limits of a systematic search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How often a thread that could continue is made to wait.
    pub preemptions: u32,
    /// How often an access ignores an earlier store that is still in a buffer.
    pub flush_delays: u32,
    /// An execution with more steps counts as a livelock.
    pub max_steps: u64,
    /// After so many executions the search stops; it is not complete then.
    pub max_executions: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            preemptions: 2,
            flush_delays: 2,
            max_steps: 20_000,
            max_executions: 10_000_000,
        }
    }
}

/// A schedule that ends in an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error: a panic's message, a deadlock, a livelock.
    pub message: String,
    /// The choices, for [`replay`].
    pub schedule: String,
    /// The accesses, one a line; the last few hundred.
    pub trace: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\nschedule: {}\n{}",
            self.message, self.schedule, self.trace
        )
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a report may hold a failure"]
pub struct Report {
    /// The machine that was searched.
    pub model: Model,
    /// Executions run.
    pub executions: u64,
    /// Executions that turned out to equal another one and were not branched further.
    pub pruned: u64,
    /// Steps in all executions.
    pub steps: u64,
    /// The largest number of choices in one execution.
    pub max_depth: usize,
    /// Was everything within the bounds searched?
    pub complete: bool,
    /// The first failure.
    pub failure: Option<Failure>,
}

impl Report {
    /// Prints the report under `name`.
    ///
    /// # Panics
    /// With the schedule and its trace, if the report has a failure.
    pub fn clean(&self, name: &str) {
        println!("{name}: {self}");
        if let Some(failure) = &self.failure {
            panic!("{name}, {} executions: {failure}", self.executions);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (executions, pruned, machine) = (self.executions, self.pruned, self.model.name());
        let (steps, most) = (self.steps, self.max_depth);
        write!(
            f,
            "{executions} executions on {machine} ({pruned} pruned), "
        )?;
        write!(f, "{steps} steps, at most {most} choices; ")?;
        f.write_str(match self.complete {
            true => "complete within its bounds",
            false => "a sample",
        })
    }
}

/// Searches every schedule of `scenario` within `bounds`, up to the first failure.
///
/// The scenario runs once an execution and must do the same whenever the same choices are made: it must not
/// depend on a clock, on randomness or on an address. It starts threads with [`spawn`](super::spawn).
///
/// # Panics
/// If the scenario is not deterministic, or starts an exploration itself.
pub fn explore(model: Model, bounds: Bounds, scenario: impl Fn() + 'static) -> Report {
    systematic(model, bounds, true, Rc::new(scenario))
}

/// As [`explore`] without pruning: to test the pruning.
#[doc(hidden)]
pub fn explore_unpruned(model: Model, bounds: Bounds, scenario: impl Fn() + 'static) -> Report {
    systematic(model, bounds, false, Rc::new(scenario))
}

fn systematic(model: Model, bounds: Bounds, prunes: bool, scenario: Rc<dyn Fn()>) -> Report {
    let policy = Policy::Systematic {
        preemptions: bounds.preemptions,
        flush_delays: bounds.flush_delays,
    };
    let mut execution = Execution::new(model, policy, bounds.max_steps);
    execution.prunes = prunes;
    search(execution, bounds.max_executions, scenario)
}

/// Runs `executions` random schedules of `scenario`, up to the first failure. The same seed gives the same
/// schedules.
///
/// # Panics
/// As [`explore`].
pub fn random_walk(
    model: Model,
    seed: u64,
    executions: u64,
    max_steps: u64,
    scenario: impl Fn() + 'static,
) -> Report {
    let policy = Policy::Random(Random::new(seed));
    search(
        Execution::new(model, policy, max_steps),
        executions,
        Rc::new(scenario),
    )
}

/// Runs one random execution of a long scenario, with a clock; returns the number of its steps. The same seed
/// gives the same one.
///
/// Reading the clock takes 100 ns; otherwise no time passes while any thread can run. When none can, the
/// clock advances to the time-out of the first sleeper, or to the time of the timer. So time-outs fire in
/// both ways. Time-outs of a second and more do not fire: a lost wake-up is not hidden.
///
/// Half of the executions are walks, and in half of those a thread is stopped now and then, until no other
/// thread can run. The random numbers of the scenario ([`random`](super::random)) belong to the seed.
///
/// # Errors
/// The message of the failure: a panic, a deadlock, an execution of more than three million steps.
pub fn long(model: Model, seed: u64, scenario: impl Fn() + 'static) -> Result<u64, String> {
    let mut execution = Execution::new(model, Policy::Random(Random::long(seed)), LONG_STEPS);
    execution.timed = true;
    let scenario: Rc<dyn Fn()> = Rc::new(scenario);
    let mut execution = run(execution, &scenario);
    match execution.failure.take() {
        None => Ok(execution.steps),
        Some(failure) => Err(format!("{failure}, after {} steps", execution.steps)),
    }
}

/// Runs the one execution that a [`Failure::schedule`] describes, with a trace.
///
/// # Panics
/// If the text is not a schedule, or belongs to another scenario.
pub fn replay(schedule: &str, scenario: impl Fn() + 'static) -> Report {
    let scenario: Rc<dyn Fn()> = Rc::new(scenario);
    replay_traced(schedule, &scenario).0
}

fn replay_traced(schedule: &str, scenario: &Rc<dyn Fn()>) -> (Report, String) {
    let mut words = schedule.trim().splitn(3, ' ');
    let name = words.next().unwrap_or_default();
    let model = [Model::Sc, Model::Tso, Model::Pso]
        .into_iter()
        .find(|m| m.name() == name);
    let model = model.unwrap_or_else(|| panic!("schedule: `{name}` is not `sc`, `tso` or `pso`"));
    let limit = words.next().unwrap_or_default();
    let max_steps = limit.strip_prefix("limit:").and_then(|n| n.parse().ok());
    let max_steps = max_steps.unwrap_or_else(|| panic!("schedule: `{limit}` is not `limit:steps`"));
    let choices = Choices::read(words.next().unwrap_or_default());
    let choices = choices.unwrap_or_else(|error| panic!("schedule: {error}"));
    let mut execution = Execution::new(model, Policy::Replay(choices), max_steps);
    execution.trace = Some(Vec::new());
    let mut execution = run(execution, scenario);
    let mut report = Report::of(&execution, 1);
    let lines = execution.trace.take().unwrap_or_default();
    let from = lines.len().saturating_sub(TRACE_LINES);
    let before = if from > 0 {
        format!("({from} lines before these)\n")
    } else {
        String::new()
    };
    let trace = before + &lines[from..].join("\n");
    report.failure = execution.failure.take().map(|message| Failure {
        message,
        schedule: schedule.into(),
        trace: trace.clone(),
    });
    (report, trace)
}

fn search(mut execution: Execution, limit: u64, scenario: Rc<dyn Fn()>) -> Report {
    let mut report = Report::of(&execution, 0);
    while report.executions < limit {
        execution = run(execution, &scenario);
        report.executions += 1;
        report.pruned += u64::from(execution.pruned);
        report.steps += execution.steps;
        report.max_depth = report.max_depth.max(execution.choices.depth());
        if let Some(message) = execution.failure.take() {
            report.failure = Some(describe(message, &execution, &scenario));
            return report;
        }
        if execution.choices.is_systematic() && !execution.choices.advance() {
            report.complete = true;
            return report;
        }
    }
    report
}

/// Runs a failed execution again to get its trace.
fn describe(message: String, failed: &Execution, scenario: &Rc<dyn Fn()>) -> Failure {
    let (name, limit) = (failed.model.name(), failed.max_steps);
    let schedule = format!("{name} limit:{limit}{}", failed.choices.written());
    let (again, trace) = replay_traced(&schedule, scenario);
    let message = match again.failure {
        Some(failure) if failure.message == message => message,
        _ => format!("{message} (not again when replayed: it is not deterministic)"),
    };
    Failure {
        message,
        schedule,
        trace,
    }
}

impl Report {
    fn of(execution: &Execution, executions: u64) -> Report {
        Report {
            model: execution.model,
            executions,
            pruned: 0,
            steps: execution.steps,
            max_depth: execution.choices.depth(),
            complete: false,
            failure: None,
        }
    }
}

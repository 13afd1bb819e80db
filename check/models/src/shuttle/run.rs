//! Runs a model under one of shuttle's schedulers, which passes over sleepers.

use shuttle::current::TaskId;
use shuttle::scheduler::{Schedule, Scheduler, Task};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::{cells, sleep};
use crate::ends;

/// Stack of a model thread: enough for a panic with a backtrace.
const STACK_BYTES: usize = 512 * 1024;
/// An execution with more steps counts as endless.
const MAX_STEPS: usize = 3_000_000;

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    // Without shuttle's own text, which has a letter for each of a hundred thousand steps; the scheduler's
    // seed replaces it.
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
        .ungraceful_shutdown_config
        .immediately_return_on_panic = true;
    config
}

/// Runs a model under the scheduler's schedules; returns the number of executions.
///
/// # Panics
/// As the first execution that fails, or with shuttle's text about a deadlock or an execution without an end.
pub fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) -> usize {
    // What a failed execution has left: its threads are suspended, with references to the memory.
    ends::carry_out(true);
    sleep::passes_over_sleepers(true);
    let executions = Runner::new(Awake(scheduler), config()).run(model);
    sleep::passes_over_sleepers(false);
    executions
}

/// Forgets what the last execution on this OS thread has left. No thread of this one has called the library.
pub fn begin() {
    if !sleep::are_passed_over() {
        ends::carry_out(false);
        cells::reset();
        sleep::reset();
    }
}

/// A scheduler that passes over sleepers.
#[derive(Debug)]
struct Awake<S>(S);

impl<S: Scheduler> Scheduler for Awake<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        ends::carry_out(false);
        cells::reset();
        sleep::reset();
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        // A parked thread would wake up for no reason.
        let awake = |task: &&Task| !task.blocked() && !sleep::sleeps(task.id());
        let mut able: Vec<&Task> = runnable.iter().copied().filter(awake).collect();
        let idle = able.is_empty();
        if idle {
            let first = sleep::next()?;
            able.extend(runnable.iter().find(|task| task.id() == first));
        }
        let next = self.0.next_task(&able, current, yields)?;
        sleep::goes_on(next, idle);
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

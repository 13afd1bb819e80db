//! Schedulers: a random walk, and the treatment of sleepers that every scheduler shares.

use shuttle::current::TaskId;
use shuttle::scheduler::{Schedule, Scheduler, Task};

use super::{cells, sleep};
use crate::chance::Rng;
use crate::ends;

/// How often time may advance while a thread is stopped.
const JUMPS: u32 = 6;

/// One execution at random.
#[derive(Debug)]
pub(crate) struct Walk {
    rng: Rng,
    seed: u64,
    /// In 4096 choices, how many may pick any thread; the others keep the running one.
    switch: u64,
    done: bool,
}

impl Walk {
    pub(crate) fn new(seed: u64) -> Walk {
        let mut rng = Rng::new(seed);
        Walk {
            switch: [4096, 1024, 256, 64][rng.below(4)],
            rng,
            seed,
            done: false,
        }
    }
}

impl Scheduler for Walk {
    fn new_execution(&mut self) -> Option<Schedule> {
        let first = !std::mem::replace(&mut self.done, true);
        first.then(|| Schedule::new(self.seed))
    }

    fn next_task(
        &mut self,
        able: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        let stays = !yields && !self.rng.chance(self.switch, 4096);
        let current = current.filter(|&current| stays && able.iter().any(|t| t.id() == current));
        Some(current.unwrap_or_else(|| able[self.rng.below(able.len())].id()))
    }

    fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }
}

/// A thread that is stopped.
#[derive(Debug)]
struct Stopped {
    task: TaskId,
    jumps: u32,
}

/// A scheduler that passes over sleepers and, possibly, one stopped thread.
#[derive(Debug)]
pub(crate) struct Awake<S> {
    inner: S,
    rng: Rng,
    /// In 4096 · 16 choices, how often the running thread is stopped.
    stop: u64,
    stopped: Option<Stopped>,
    /// Choices made, in all executions.
    pub(crate) steps: std::rc::Rc<std::cell::Cell<u64>>,
}

impl<S: Scheduler> Awake<S> {
    pub(crate) fn new(inner: S, seed: u64, stop: u64) -> Awake<S> {
        Awake {
            inner,
            rng: Rng::new(!seed),
            stop,
            stopped: None,
            steps: std::rc::Rc::default(),
        }
    }

    /// The threads that can run; and whether they can only because time has to advance.
    fn able<'a>(&mut self, runnable: &[&'a Task]) -> (Vec<&'a Task>, bool) {
        // A parked thread would wake up for no reason.
        let awake = |task: &&&Task| !task.blocked() && !sleep::sleeps(task.id());
        let is_stopped = |task: &&&Task| self.stopped.as_ref().is_some_and(|s| s.task == task.id());
        let able: Vec<&Task> = (runnable.iter())
            .filter(|task| awake(task) && !is_stopped(task))
            .copied()
            .collect();
        if !able.is_empty() {
            return (able, false);
        }
        let by_id = |id| runnable.iter().find(|t| t.id() == id).copied();
        let stopped = (runnable.iter()).find(|task| awake(task)).copied();
        let sleeper = sleep::next(stopped.is_none()).and_then(by_id);
        match (stopped, sleeper, &mut self.stopped) {
            (Some(_), Some(sleeper), Some(stop)) if stop.jumps > 0 => {
                stop.jumps -= 1;
                (vec![sleeper], true)
            }
            (Some(stopped), ..) => {
                self.stopped = None;
                (vec![stopped], false)
            }
            (None, sleeper, _) => (sleeper.into_iter().collect(), true),
        }
    }
}

impl<S: Scheduler> Scheduler for Awake<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        ends::carry_out(false);
        cells::reset();
        sleep::reset();
        self.stopped = None;
        self.inner.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        self.steps.set(self.steps.get() + 1);
        if self.stopped.is_none() && self.stop > 0 && self.rng.chance(self.stop, 4096) {
            self.stopped = (current.filter(|_| self.rng.chance(256, 4096)))
                .map(|task| Stopped { task, jumps: JUMPS });
        }
        let (able, idle) = self.able(runnable);
        if able.is_empty() {
            return None;
        }
        let next = self.inner.next_task(&able, current, yields)?;
        sleep::goes_on(next, idle);
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

//! The actions of every thread but RCU's in a trace, as input for a machine.
//!
//! A thread's actions are a list of *runs*. A run begins with a wake-up, at an instant and on a CPU, and is a
//! list of steps: time on a CPU, a callback queued, a wait for a grace period. Time on a CPU is from
//! `sched_switch` to `sched_switch`, interrupts included. Where a thread runs without a traced wake-up, the
//! run begins there, and the wake-up is not counted. A wake-up of a thread that has not slept yet (its timer
//! expired while it was about to) begins no run, and is counted.
//!
//! **Waits** for grace periods, expedited ones and `rcu_barrier` (`waits`): how long one takes is not the
//! thread's doing, so its length is left out, and wake-ups in it begin no run. When it ended in the trace is
//! kept, for what the thread does later ([`Step::Wait`]). Callbacks that a wait queues are no steps: the
//! model's wait queues its own.
//!
//! **Ticks of others.** Where a timer of the wheel that is not RCU's was taken, idle CPUs had a tick for its
//! sake: all those that had one at that instant, since several may have set their clocks for it. They are
//! kept by CPU and jiffy. `process_timeout` is RCU's if the grace-period thread wakes up within 100 µs, and
//! `do_nocb_deferred_wakeup_timer` always is. A deferrable timer (its `baseclk` is behind) causes no tick
//! where RCU's own timer was taken at the same time. A tick that only RCU needed is not kept: the model has
//! to produce it.
//!
//! **Interrupts** that are neither and only end a halt (`interrupts`) are kept by CPU and time.
//!
//! Unknown: waits for anything except RCU. The wake-ups after them count as external.

mod again;
mod interrupts;
mod residents;
mod ticks;
mod waits;

pub use again::{again, period};
pub use quiescent_trace::Awaited;
pub use waits::{Driven, Waited};

use std::collections::HashMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Event, Record, Role, WaitFollow, role};

use interrupts::Halts;
use residents::Residents;
use ticks::{CLAIM, Instant, ONE_JIFFY};
pub(super) use waits::DRIVER;
use waits::is_models;

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many nanoseconds on a CPU.
    Busy(u64),
    /// It queues a callback.
    Call {
        /// Which: an index into [`Recorded::arrivals`](quiescent_trace::Recorded::arrivals).
        index: usize,
        /// So long after the run began, in nanoseconds.
        after: u64,
    },
    /// It waits for RCU; in the trace the wait ended at this instant, in nanoseconds.
    Wait {
        /// For what.
        what: Awaited,
        /// When it went on; none if the trace ends before.
        until: Option<u64>,
    },
}

/// The actions of a thread from one wake-up to its next sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it is woken, in nanoseconds of the trace.
    pub at: u64,
    /// Where.
    pub cpu: CpuId,
    /// So many of its wake-ups the trace counts: the first if it is a `sched_wakeup`, and those after it.
    pub counted: u32,
    /// A timer that may be deferred woke it: at the first tick of that CPU from then on, whenever that comes.
    pub deferred: bool,
    /// What it does then.
    pub steps: Vec<Step>,
}

impl Run {
    /// One without a wake-up in the trace, whose steps are to come.
    fn unseen(at: u64, cpu: CpuId) -> Run {
        Run {
            at,
            cpu,
            counted: 0,
            deferred: false,
            steps: Vec::new(),
        }
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its name, and its id.
    pub name: String,
    /// What it did, in order.
    pub runs: Vec<Run>,
}

/// The input from outside RCU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doings {
    /// Threads, in the order in which they are seen.
    pub lives: Vec<Life>,
    /// Ticks on idle CPUs at instants at which a timer was taken that is none of RCU's: the CPU, and when, in
    /// nanoseconds.
    pub ticks: Vec<(CpuId, u64)>,
    /// Interrupts that only ended a halt: the CPU, and when, in nanoseconds.
    pub interrupts: Vec<(CpuId, u64)>,
    /// The time of the last record, in nanoseconds.
    pub end: u64,
    /// Waits that were over before the trace was.
    pub waits: Vec<Waited>,
    /// When expedited grace periods ended, in nanoseconds.
    pub expedited: Vec<u64>,
    /// Where those were driven.
    pub driver: Driven,
    /// Callbacks by which waits for a grace period end.
    pub awakening: u64,
    /// Callbacks of barriers that were invoked.
    pub barrier_callbacks: u64,
    /// The trace has context switches: how long threads ran is known.
    pub switches: bool,
}

/// After this time without an event of its own a thread whose switches are not seen has slept, in
/// nanoseconds.
const ONE_WORK: u64 = 60_000;

/// The number of RCU's soft interrupt.
const RCU_SOFTIRQ: u32 = 9;

/// A thread that is seen first when it queues a callback has run for so long, in nanoseconds.
const LEAD: u64 = 15_000;

/// What is known of a thread now.
#[derive(Debug)]
struct Now {
    /// Its place among the lives.
    life: usize,
    /// Since when it runs, or its last step was.
    since: u64,
    running: bool,
    asleep: bool,
}

/// A CPU's tick that is under way: its jiffy began then, and the timer that it takes is late.
#[derive(Clone, Copy, Debug)]
struct Ticking {
    jiffy_began: u64,
    late: bool,
}

/// What is deferred is ripe so long before the tick that takes it, in nanoseconds.
const RIPE: u64 = 10_000;

/// Collects while another consumer reads: feed it every record, then finish.
#[derive(Debug, Default)]
pub struct Follow {
    known: HashMap<u32, Now>,
    out: Doings,
    callbacks: usize,
    ticking: HashMap<u32, Ticking>,
    instant: Instant,
    waits: WaitFollow<()>,
    /// Runs of drivers, and of `ksoftirqd` with RCU's soft interrupt: the life, and the run in it.
    driving: Vec<(usize, usize)>,
    halts: Halts,
    residents: Residents,
}

impl Follow {
    /// The next record of the trace, and its event.
    pub fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        self.out.end = self.out.end.max(record.time_ns);
        self.who_runs(record, event);
        self.ticks(record, event);
        self.wait_events(record, event);
        let alone = self.halts.see(record, event);
        self.out.interrupts.extend(alone);
        match *event {
            Event::Wakeup {
                task,
                pid,
                target,
                new,
            } if is_outside(task, pid) => self.woken(record, (task, pid), target, new),
            Event::Switch {
                prev,
                prev_pid,
                state,
                next,
                next_pid,
            } => {
                if is_outside(prev, prev_pid) {
                    self.leaves((prev, prev_pid), state, record);
                }
                if is_outside(next, next_pid) {
                    self.comes((next, next_pid), record);
                }
            }
            Event::Callback { function, .. } => {
                let index = self.callbacks;
                self.callbacks += 1;
                self.out.awakening += u64::from(function == "wakeme_after_rcu");
                // A wait queues these, as the model's will.
                if !matches!(function, "wakeme_after_rcu" | "rcu_barrier_callback") {
                    self.call(record, index);
                }
            }
            Event::Softirq { vec: RCU_SOFTIRQ } | Event::Invoke { .. }
                if record.task().starts_with("ksoftirqd/") =>
            {
                self.is_models_own(record);
            }
            Event::Kvfree { .. } => {
                self.call(record, self.callbacks);
                self.callbacks += 1;
            }
            _ => {}
        }
    }

    /// Ticks in progress, and their owners.
    fn ticks(&mut self, record: &Record<'_>, event: &Event<'_>) {
        let now = record.time_ns;
        if now > self.instant.at + ONE_JIFFY {
            self.instant.over(&mut self.out.ticks);
            self.instant.at = now;
        }
        match *event {
            Event::Tick { .. } => {
                let jiffy_began = now;
                let late = false;
                self.ticking
                    .insert(record.cpu, Ticking { jiffy_began, late });
                if record.pid == 0 {
                    self.instant.idle.push(record.cpu);
                }
            }
            Event::Wakeup { task, .. } if role(task) == Role::GracePeriods => {
                let claims = self.instant.timeout.take_if(|it| now <= *it + CLAIM);
                self.instant.rcu |= claims.is_some();
            }
            Event::IdleEntry { cpu, .. } | Event::IdleExit { cpu } => {
                self.ticking.remove(&cpu);
            }
            Event::Switch { .. } => {
                self.ticking.remove(&record.cpu);
            }
            Event::Timer {
                function,
                jiffies,
                base,
            } => {
                // The wheel of deferrable timers is not moved while its CPU idles: its clock is behind.
                let late = base.is_some_and(|it| it < jiffies);
                if let Some(tick) = self.ticking.get_mut(&record.cpu) {
                    tick.late = late;
                }
                match function {
                    "do_nocb_deferred_wakeup_timer" => self.instant.rcu = true,
                    _ if late => self.instant.late = true,
                    "process_timeout" => {
                        let earlier = self.instant.timeout.replace(now);
                        self.instant.outside |= earlier.is_some();
                    }
                    _ => self.instant.outside = true,
                }
            }
            _ => {}
        }
    }

    /// The thread, if it is known.
    fn of(&mut self, pid: u32) -> Option<(&mut Now, &mut Life)> {
        let now = self.known.get_mut(&pid)?;
        let life = self.out.lives.get_mut(now.life)?;
        Some((now, life))
    }

    /// The thread, known from now on.
    fn meet(&mut self, (name, pid): (&str, u32)) -> (&mut Now, &mut Life) {
        let lives = &mut self.out.lives;
        let now = self.known.entry(pid).or_insert_with(|| {
            lives.push(Life {
                name: format!("{name}-{pid}"),
                runs: Vec::new(),
            });
            Now {
                life: lives.len() - 1,
                since: 0,
                running: false,
                asleep: true,
            }
        });
        let life = &mut lives[now.life];
        (now, life)
    }

    fn woken(&mut self, record: &Record<'_>, who: (&str, u32), cpu: CpuId, new: bool) {
        let time = record.time_ns;
        // Woken by a tick: in the same interrupt, however long that took.
        let tick = self.ticking.get(&record.cpu).filter(|_| record.cpu == cpu);
        let interrupt = record.flags().softirq() || record.flags().hardirq();
        let tick = tick.filter(|_| interrupt).copied();
        let deferred = tick.is_some_and(|it| it.late);
        let at = match tick {
            Some(tick) if deferred => tick.jiffy_began.saturating_sub(RIPE),
            Some(tick) => tick.jiffy_began,
            None => time,
        };
        let waits = self.waits.waits(who.1);
        let (now, life) = self.meet(who);
        let asleep = std::mem::take(&mut now.asleep);
        if waits {
            return;
        }
        if !asleep {
            // A timer may expire before the thread that has set it is off its CPU.
            if let Some(run) = life.runs.last_mut().filter(|_| now.running) {
                run.counted += 1;
            }
            return;
        }
        now.since = time;
        life.runs.push(Run {
            counted: u32::from(!new),
            deferred,
            ..Run::unseen(at, cpu)
        });
    }

    fn comes(&mut self, who: (&str, u32), record: &Record<'_>) {
        let (time, cpu) = (record.time_ns, record.cpu);
        let waits = self.waits.waits(who.1);
        let (now, life) = self.meet(who);
        let asleep = std::mem::take(&mut now.asleep);
        if !waits && (asleep || life.runs.is_empty()) {
            life.runs.push(Run::unseen(time, cpu));
        }
        (now.since, now.running) = (time, true);
    }

    fn leaves(&mut self, (_, pid): (&str, u32), state: &str, record: &Record<'_>) {
        // From asking until it sleeps is a part of the wait.
        let waits = self.waits.waits(pid);
        let Some((now, life)) = self.of(pid) else {
            return;
        };
        if std::mem::take(&mut now.running) && !waits {
            busy(life, record.time_ns.saturating_sub(now.since));
        }
        now.asleep = !state.starts_with('R');
    }

    /// The task that runs queues this callback. What the idle loop and RCU's threads queue, and those who
    /// wait, belongs to a life of that CPU's interrupts.
    fn call(&mut self, record: &Record<'_>, index: usize) {
        let waits = self.waits.waits(record.pid);
        let interrupts = format!("interrupts/{}", record.cpu);
        let who = match is_outside(record.task(), record.pid) && !waits {
            true => (record.task(), record.pid),
            false => (interrupts.as_str(), u32::MAX - record.cpu),
        };
        self.step(record, who, |run| Step::Call {
            index,
            after: record.time_ns.saturating_sub(run.at),
        });
    }

    /// The thread does something, on the CPU of the record.
    fn step(&mut self, record: &Record<'_>, who: (&str, u32), step: impl FnOnce(&Run) -> Step) {
        let (time, cpu) = (record.time_ns, record.cpu);
        let (now, life) = self.meet(who);
        let goes_on = now.running || (!life.runs.is_empty() && time < now.since + ONE_WORK);
        if goes_on {
            busy(life, time.saturating_sub(now.since));
        } else {
            life.runs.push(Run {
                steps: vec![Step::Busy(LEAD.min(time))],
                ..Run::unseen(time.saturating_sub(LEAD), cpu)
            });
        }
        now.since = time;
        if let Some(run) = life.runs.last_mut() {
            run.steps.push(step(run));
        }
    }

    /// Callbacks that it has seen.
    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.callbacks as u64
    }

    /// What was collected. The jiffy of a tick began when all of them began: at a whole number of jiffies.
    pub fn finish(mut self, hz: u32) -> Doings {
        self.instant.over(&mut self.out.ticks);
        self.still_run();
        self.leave_out_models_own();
        let jiffy = 1_000_000_000 / u64::from(hz.max(1));
        for at in self.out.ticks.iter_mut().map(|it| &mut it.1) {
            *at -= *at % jiffy;
        }
        self.out
    }
}

fn last(life: &mut Life) -> Option<&mut Step> {
    life.runs.last_mut()?.steps.last_mut()
}

fn busy(life: &mut Life, ns: u64) {
    match last(life) {
        Some(Step::Busy(before)) => *before += ns,
        _ => {
            if let Some(run) = life.runs.last_mut().filter(|_| ns > 0) {
                run.steps.push(Step::Busy(ns));
            }
        }
    }
}

/// None of the threads that the model has itself, and not the idle loop.
fn is_outside(task: &str, pid: u32) -> bool {
    !is_models(task) && quiescent_trace::is_outside(task, pid)
}

impl Doings {
    /// Threads: all lives but those of interrupts.
    pub fn threads(&self) -> impl Iterator<Item = &Life> {
        self.lives
            .iter()
            .filter(|it| !it.name.starts_with(super::feed::INTERRUPTS))
    }

    /// What of `recorded` is a callback that no wait needs.
    pub fn calls(&self) -> usize {
        let runs = self.lives.iter().flat_map(|it| &it.runs);
        let steps = runs.flat_map(|it| &it.steps);
        steps.filter(|it| matches!(it, Step::Call { .. })).count()
    }
}

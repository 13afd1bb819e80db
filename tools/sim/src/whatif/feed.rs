//! A machine that executes the actions of a trace's threads.
//!
//! **After a wait.** A thread that waited for a grace period continues when the model's is over. All its
//! later actions are shifted by the difference between the two ends, so its own pauses keep their length, as
//! in a script that makes one call after another. A thread without waits acts at the recorded times. So the
//! callbacks of a waiting thread move with it; those of interrupts and of other threads stay. Where a pause
//! really ends with an external event (a key, a packet), the shift is wrong by the sum of the differences;
//! the number and length of waits are shown beside the figures.
//!
//! A thread that is late (its CPU was busy with others) skips a sleep that would have ended more than 100 µs
//! ago.

use std::cell::Cell;
use std::rc::Rc;

use quiescent_kernel::CpuId;
use quiescent_trace::Recorded;

use super::doings::{Awaited, DRIVER, Doings, Driven, Life, Run, Step, again, period};
use crate::input::op::{Op, Work};
use crate::input::options::Options;
use crate::kernel::machine::Machine;

/// Longer work of a thread is taken as user space, where it can be interrupted, in nanoseconds. A trace does
/// not tell; see [`Feed::in_kernel`].
const SHORT: u64 = 100_000;

/// A thread that is later than this skips its sleep, in nanoseconds.
const LATE: u64 = 100_000;

/// In the trace a thread is seen on its CPU when it is woken there; the model may wake it a little earlier.
const AHEAD: u64 = 100_000;

/// The name of an entry that is only interrupts; its wake-ups belong to no thread.
pub(super) const INTERRUPTS: &str = "interrupts/";

/// A call: function, lazy, whether threads can be woken.
type Call = (usize, bool, bool);

/// A thread that repeats its recorded actions.
struct Again {
    runs: std::vec::IntoIter<Run>,
    steps: std::iter::Peekable<std::vec::IntoIter<Step>>,
    calls: Rc<[Call]>,
    cpus: u32,
    /// How much later it is than in the trace, in nanoseconds; earlier below 0. [`FedMachine`] reads it at
    /// the end.
    shift: Rc<Cell<i64>>,
    /// When this run began in the trace, in nanoseconds.
    at: u64,
    /// It waits, and in the trace that ended then.
    waits: Option<u64>,
    /// The next run has been slept for.
    slept: Option<Run>,
    /// What a switch costs the machine, which the trace has in the time on a CPU.
    switch: u64,
    /// See [`Feed::in_kernel`].
    in_kernel: u64,
}

impl Again {
    fn run(&mut self, now: u64) -> Option<Op> {
        let run = self.runs.next()?;
        let at = run.at.saturating_add_signed(self.shift.get());
        if at + LATE < now {
            self.begins(run);
            return Some(Op::Kernel(0));
        }
        let cpu = run.cpu.min(self.cpus - 1);
        let deferred = run.deferred;
        self.slept = Some(run);
        Some(Op::SleepOn {
            until: at,
            cpu,
            deferred,
        })
    }
}

impl Again {
    fn begins(&mut self, run: Run) {
        self.at = run.at;
        self.steps = run.steps.into_iter().peekable();
    }

    /// How long it works of these nanoseconds. A callback goes in no later than it did in the run: what
    /// interrupts the thread there is in the trace's time, and the model adds its own.
    fn work(&mut self, ns: u64, now: u64) -> u64 {
        match self.steps.peek() {
            Some(Step::Call { after, .. }) => {
                let due = (self.at + after).saturating_add_signed(self.shift.get());
                ns.min(due.saturating_sub(now))
            }
            _ => ns.saturating_sub(self.switch),
        }
    }
}

impl Work for Again {
    fn next(&mut self, now: u64) -> Op {
        if let Some(until) = self.waits.take() {
            self.shift.set(now as i64 - until as i64);
        }
        if let Some(run) = self.slept.take() {
            self.begins(run);
        }
        loop {
            let Some(step) = self.steps.next() else {
                return self.run(now).unwrap_or(Op::Exit);
            };
            match step {
                Step::Busy(ns) => match self.work(ns, now) {
                    0 => continue,
                    ns if ns <= self.in_kernel => return Op::Kernel(ns),
                    ns => return Op::Compute(ns),
                },
                Step::Call { index, .. } => {
                    let Some(&(func, lazy, can_wake)) = self.calls.get(index) else {
                        continue;
                    };
                    return Op::Call {
                        func,
                        lazy,
                        can_wake,
                    };
                }
                Step::Wait { what, until } => {
                    self.waits = until;
                    return match what {
                        Awaited::GracePeriod => Op::Synchronize,
                        Awaited::Expedited => Op::SynchronizeExpedited,
                        Awaited::Callbacks => Op::Barrier,
                    };
                }
            }
        }
    }
}

/// A silence at the end of a trace that is so many times as long as the mean time between a thread's
/// wake-ups: the thread has ended, and lacks no input.
const ENDED: u64 = 10;

/// A thread of the machine.
struct Fed {
    name: String,
    /// How much later than in the trace it is.
    shift: Rc<Cell<i64>>,
    /// When it was woken last in the trace, from a sleep or a wait, and the mean time between its wake-ups,
    /// in nanoseconds.
    last: u64,
    between: u64,
}

/// A machine that has all of a trace before it.
pub struct FedMachine {
    /// Run it to [`end`].
    pub machine: Machine,
    threads: Vec<Fed>,
    /// When what it was fed with ends, and when the window does.
    ends: (u64, u64),
}

impl FedMachine {
    /// The thread that has reached the end of the trace first, and how long before the end of the window, in
    /// nanoseconds. Not a thread that had ended in the trace before.
    pub fn uncovered(&self) -> Option<(&str, u64)> {
        let (doings, window) = self.ends;
        let lacking = self.threads.iter().filter_map(|it| {
            let ends = doings.saturating_add_signed(it.shift.get());
            let lacks = window.saturating_sub(ends);
            let silent = doings.saturating_sub(it.last);
            let ended = silent > lacks || silent > ENDED * it.between;
            (lacks > 0 && !ended).then_some((it.name.as_str(), lacks))
        });
        lacking.max_by_key(|it| it.1)
    }
}

/// How a machine is fed: how often the window is lived through, and how often it is fed, since threads that
/// wait less with a change need more than they are looked at; and what is taken as work in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The run is so many windows long.
    pub times: u64,
    /// The input is. 1: the trace as it is, with what lies behind the window.
    pub fed: u64,
    /// Work of threads up to so long is in the kernel, where nothing interrupts it, in nanoseconds.
    pub in_kernel: u64,
}

/// The input is so many times as long as the run at most.
const MOST_FED: u64 = 8;

impl Feed {
    /// So many, with the usual input.
    pub fn of(times: u64) -> Feed {
        let times = times.max(1);
        let spare = if times > 1 { times.div_ceil(2) } else { 0 };
        Feed {
            times,
            fed: times.saturating_add(spare),
            in_kernel: SHORT,
        }
    }

    /// As much input as a thread needs that lacks it for this share of the run; none if that is too much.
    pub fn more(self, lacks: f64) -> Option<Feed> {
        let factor = 1.0 / (1.0 - lacks) + 0.5;
        let fed = (self.fed as f64 * factor).ceil() as u64;
        (fed <= self.times * MOST_FED).then_some(Feed { fed, ..self })
    }
}

/// More work of threads than this share of the window, in pieces that are neither short nor longer than a
/// jiffy, is worth a look at what follows if nothing interrupts it.
const LONG_WORK: f64 = 0.01;

/// With all work of up to a jiffy in the kernel, where nothing interrupts it; none if there is little.
pub(super) fn uninterrupted(recorded: &Recorded, doings: &Doings, feed: Feed) -> Option<Feed> {
    let jiffy = 1_000_000_000 / u64::from(recorded.hz.max(1));
    let window = recorded.window;
    let runs = doings.lives.iter().flat_map(|it| &it.runs);
    let steps = runs
        .filter(|it| window.contains(it.at))
        .flat_map(|it| &it.steps);
    let long = steps.filter_map(|it| match it {
        Step::Busy(ns) if (SHORT + 1..jiffy).contains(ns) => Some(*ns),
        _ => None,
    });
    let share = long.sum::<u64>() as f64 / 1e9 / window.seconds();
    (share > LONG_WORK).then_some(Feed {
        in_kernel: jiffy,
        ..feed
    })
}

/// A machine that has all of it before it.
pub fn machine(recorded: &Recorded, doings: &Doings, options: Options, feed: Feed) -> FedMachine {
    let Feed { times, fed, .. } = feed;
    let mut machine = Machine::new(options);
    place(&mut machine, recorded, Some(&doings.driver), times);
    let calls = recorded.arrivals.iter().map(|it| {
        let func = machine.func(&it.func);
        (func, it.may_be_lazy(), !it.irqs_off)
    });
    let calls: Rc<[Call]> = calls.collect();
    let repeated;
    let doings = match fed {
        0 | 1 => doings,
        _ => {
            repeated = doings.repeated(recorded, fed);
            &repeated
        }
    };
    let mut threads = Vec::new();
    for life in &doings.lives {
        threads.extend(spawn(&mut machine, recorded, life, &calls, feed.in_kernel));
    }
    machine.outside_ticks(&doings.ticks);
    machine.outside_interrupts(&doings.interrupts);
    let end = end(recorded, times);
    machine.window(recorded.window.start_ns, end);
    FedMachine {
        machine,
        threads,
        ends: (doings.end, end),
    }
}

/// The time at which a machine has replayed it, in nanoseconds.
pub fn end(recorded: &Recorded, times: u64) -> u64 {
    match times {
        0 | 1 => recorded.window.end_ns,
        _ => recorded.window.start_ns + times * period(recorded),
    }
}

/// RCU's threads are where they were, and who drives expedited grace periods.
pub(super) fn place(
    machine: &mut Machine,
    recorded: &Recorded,
    driver: Option<&Driven>,
    times: u64,
) {
    let threads = recorded.placements.iter().map(|(name, places)| {
        let places = places.iter().map(|it| (it.time_ns, it.cpu));
        (&**name, places.collect())
    });
    let driver = driver.map(|it| (DRIVER, it.clone()));
    for (name, places) in threads.chain(driver) {
        let known = places.into_iter();
        let known = known.map(|(at, cpu): (u64, CpuId)| (cpu, at.saturating_sub(AHEAD)));
        let mut all: Vec<(CpuId, u64)> = known.collect();
        if times > 1 {
            again(&mut all, recorded, times);
        }
        all.dedup_by_key(|it| it.0);
        machine.place(name, all.into_iter().map(|(cpu, at)| (at, cpu)).collect());
    }
}

/// The thread of a life, if there is anything in it.
fn spawn(
    machine: &mut Machine,
    recorded: &Recorded,
    life: &Life,
    calls: &Rc<[Call]>,
    in_kernel: u64,
) -> Option<Fed> {
    let first = life.runs.first()?;
    let (at, cpu) = (first.at, first.cpu.min(recorded.cpus - 1));
    let mut runs = life.runs.clone().into_iter();
    let shift = Rc::new(Cell::new(0));
    let work = Again {
        slept: runs.next(),
        runs,
        steps: Vec::new().into_iter().peekable(),
        at,
        calls: Rc::clone(calls),
        cpus: recorded.cpus,
        shift: Rc::clone(&shift),
        waits: None,
        switch: machine.options.costs.switch,
        in_kernel,
    };
    machine.spawn(&life.name, cpu, at, work);
    machine.defer(first.deferred);
    let steps = life.runs.iter().flat_map(|it| &it.steps);
    let waits = steps.filter_map(|it| match it {
        Step::Wait { until, .. } => *until,
        _ => None,
    });
    let wakes: Vec<u64> = waits.chain(life.runs.iter().map(|it| it.at)).collect();
    let last = wakes.iter().copied().max()?;
    Some(Fed {
        name: life.name.clone(),
        shift,
        last,
        between: last.saturating_sub(at) / wakes.len() as u64,
    })
}

//! A machine that executes the actions of a trace's threads.
//!
//! **After a wait.** A thread that waited for a grace period continues when the model's is over. All its
//! later actions are shifted by the difference between the two ends, so its own pauses keep their length, as
//! in a script that makes one call after another. A thread without waits acts at the recorded times. So the
//! callbacks of a waiting thread move with it; those of interrupts and of other threads stay. Where a pause
//! really ends with an external event (a key, a packet), the shift is wrong by the sum of the differences;
//! the number and length of waits are shown beside the figures.
//!
//! **The end.** A run is over when the last thread that waits has done what it did in its part of the trace
//! ([`FedMachine::end`]): a script whose waits get shorter finishes sooner, and rates are over that time.
//!
//! A thread that comes to the measured part of the trace too soon, since it waited less before, is held until
//! that begins.
//!
//! A thread that is late (its CPU was busy with others) skips a sleep that would have ended more than 100 µs
//! ago.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use quiescent_kernel::CpuId;
use quiescent_trace::{Arrival, Recorded};

use super::doings::{Awaited, DRIVER, Doings, Driven, Life, Run, Step, again, period};
use crate::input::op::{Op, Queued, Work};
use crate::input::options::Options;
use crate::kernel::machine::Machine;
use crate::load::settings;

/// Longer work of a thread is taken as user space, where it can be interrupted, in nanoseconds. A trace does
/// not tell; see [`Feed::in_kernel`].
const SHORT: u64 = 100_000;

/// A thread that is later than this skips its sleep, in nanoseconds.
const LATE: u64 = 100_000;

/// In the trace a thread is seen on its CPU when it is woken there; the model may wake it a little earlier.
const AHEAD: u64 = 100_000;

/// The name of an entry that is only interrupts; its wake-ups belong to no thread.
pub(super) const INTERRUPTS: &str = "interrupts/";

/// A thread that repeats its recorded actions.
struct Again {
    runs: std::vec::IntoIter<Run>,
    steps: std::iter::Peekable<std::vec::IntoIter<Step>>,
    calls: Rc<[Queued]>,
    cpus: u32,
    /// How much later it is than in the trace, in nanoseconds; earlier below 0. [`FedMachine`] reads it.
    shift: Rc<Cell<i64>>,
    /// When this run began in the trace, in nanoseconds.
    at: u64,
    /// When what is measured of the trace begins, until it has come there.
    begins: Option<u64>,
    /// It waits, and in the trace that ended then.
    waits: Option<u64>,
    /// The next run has been slept for.
    slept: Option<Run>,
    /// What a switch costs the machine, which the trace has in the time on a CPU.
    switch: u64,
    /// See [`Feed::in_kernel`].
    in_kernel: u64,
    /// From when on wake-ups are measured, and how many more the machine counts then than the trace has.
    uncounted: (u64, Rc<Cell<i64>>),
}

impl Again {
    fn run(&mut self, now: u64) -> Option<Op> {
        let run = self.runs.next()?;
        self.is_ahead(run.at);
        let at = run.at.saturating_add_signed(self.shift.get());
        if at + LATE < now {
            self.compare(0, &run, now);
            self.begins(run);
            return Some(Op::Kernel(0));
        }
        self.compare(1, &run, at);
        let cpu = run.cpu.min(self.cpus - 1);
        let deferred = run.deferred;
        self.slept = Some(run);
        Some(Op::SleepOn {
            until: at,
            cpu,
            deferred,
        })
    }

    /// Of the wake-ups of a run that begins then the machine counts so many.
    fn compare(&self, wakeups: i64, run: &Run, at: u64) {
        let (from, uncounted) = &self.uncounted;
        if at >= *from {
            uncounted.set(uncounted.get() + wakeups - i64::from(run.counted));
        }
    }

    /// Does it come to what is measured too soon, having waited less before? Then it is held until that
    /// begins.
    fn is_ahead(&mut self, at: u64) -> bool {
        let begins = self.begins.take_if(|it| *it <= at).is_some();
        let ahead = begins && self.shift.get() < 0;
        if ahead {
            self.shift.set(0);
        }
        ahead
    }

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
            if self.is_ahead(until) {
                return Op::SleepUntil(until);
            }
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
                    let Some(it) = self.calls.get(index) else {
                        continue;
                    };
                    return Op::Call(*it);
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

/// A thread of the machine that waits: what ends the measure.
struct Script {
    /// How much later than in the trace it is.
    shift: Rc<Cell<i64>>,
    /// When it did something last in what is measured of the trace, in nanoseconds.
    last: u64,
    /// How often it waited there.
    waits: usize,
}

/// A thread that waits less than this part as often as another does not decide.
const SHARE: usize = 10;

/// A run lasts so many times as long as its part of the trace at most.
const LONGEST: u64 = 8;

/// A machine that has all of a trace before it.
pub struct FedMachine {
    /// Run it to [`end`](FedMachine::end).
    pub machine: Machine,
    scripts: Vec<Script>,
    /// When what it was fed with ends.
    input: u64,
    /// What is measured of that: from when until when.
    measured: (u64, u64),
    /// Settings that change: when in the trace, the key, and the value.
    later: VecDeque<(u64, &'static str, String)>,
    /// Wake-ups of threads that the machine has counted and a trace would not have; below 0 if a trace would
    /// have more. (A thread that is late does not sleep.)
    pub uncounted: Rc<Cell<i64>>,
}

impl FedMachine {
    /// When it has lived through its part of the trace, as far as is known now: who waits less, or longer,
    /// than in the trace is through with it sooner, or later. The last of those decides.
    pub fn end(&self) -> u64 {
        let (from, until) = self.measured;
        let last = |it: &Script| it.last.saturating_add_signed(it.shift.get());
        let recorded = self.scripts.iter().map(|it| it.last).max();
        let now = self.scripts.iter().map(last).max();
        let Some((recorded, now)) = recorded.zip(now) else {
            return until;
        };
        let end = (until - recorded).saturating_add(now);
        end.clamp(from, from + LONGEST * (until - from))
    }

    /// Lets time pass until then. Settings change as late as those are that decide about the end.
    pub fn run(&mut self, until: u64) {
        while let Some((at, key, value)) = self.later.front() {
            let late = self.end() as i64 - self.measured.1 as i64;
            let at = at.saturating_add_signed(late);
            if at > until {
                break;
            }
            let mut options = self.machine.sys.options.clone();
            let changed = settings::apply(&mut options, &[(key, value)]);
            self.later.pop_front();
            self.machine.run(at.max(self.machine.now()));
            if changed.is_ok() {
                self.machine.change(options);
            }
        }
        self.machine.run(until);
    }

    /// How much of a run to this end has no input, in nanoseconds.
    pub fn uncovered(&self, end: u64) -> u64 {
        end.saturating_sub(self.input.max(self.measured.1))
    }
}

/// How a machine is fed: how often the window is lived through, and how often it is fed, since a run in which
/// threads wait longer needs more of what the others do; and what is taken as work in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The run is so many windows long.
    pub times: u64,
    /// The input is. 1: the trace as it is, with what lies behind the window.
    pub fed: u64,
    /// Work of threads up to so long is in the kernel, where nothing interrupts it, in nanoseconds.
    pub in_kernel: u64,
}

impl Feed {
    /// So many, with the usual input.
    pub fn of(times: u64) -> Feed {
        let times = times.max(1);
        Feed {
            times,
            fed: times,
            in_kernel: SHORT,
        }
    }

    /// With as much input as a run needs that is so many times as long as its part of the trace.
    pub fn longer(self, factor: f64) -> Feed {
        let fed = (self.times as f64 * factor).ceil() as u64 + 1;
        Feed { fed, ..self }
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

/// The callback of an arrival.
pub(super) fn call(machine: &mut Machine, it: &Arrival) -> Queued {
    Queued {
        func: machine.func(&it.func),
        lazy: it.may_be_lazy(),
        can_wake: !it.irqs_off,
    }
}

/// A machine that has all of it before it.
pub fn machine(recorded: &Recorded, doings: &Doings, options: Options, feed: Feed) -> FedMachine {
    let Feed { times, fed, .. } = feed;
    let later = repeated_changes(&options, recorded, fed);
    let mut machine = Machine::new(options);
    place(&mut machine, recorded, Some(&doings.driver), fed);
    let calls = recorded.arrivals.iter();
    let calls: Rc<[Queued]> = calls.map(|it| call(&mut machine, it)).collect();
    let repeated;
    let doings = match fed {
        0 | 1 => doings,
        _ => {
            repeated = doings.repeated(recorded, fed);
            &repeated
        }
    };
    let measured = (recorded.window.start_ns, end(recorded, times));
    let mut scripts = Vec::new();
    let uncounted = Rc::default();
    for life in &doings.lives {
        let shift = spawn(
            &mut machine,
            recorded,
            life,
            &calls,
            feed.in_kernel,
            &uncounted,
        );
        scripts.extend(shift.and_then(|it| Script::of(life, measured, it)));
    }
    let most = scripts.iter().map(|it| it.waits).max().unwrap_or(0);
    scripts.retain(|it| it.waits >= most / SHARE);
    machine.sys.outside_ticks(&doings.ticks);
    machine.sys.outside_interrupts(&doings.interrupts);
    FedMachine {
        machine,
        scripts,
        input: doings.end,
        measured,
        later,
        uncounted,
    }
}

/// The changes of a machine's settings, in each repetition of the window again, from its first settings on.
fn repeated_changes(
    options: &Options,
    recorded: &Recorded,
    times: u64,
) -> VecDeque<(u64, &'static str, String)> {
    let (start, period) = (recorded.window.start_ns, period(recorded));
    let mut first = options.clone();
    for (_, key, value) in options.later.iter().filter(|it| it.0 < start) {
        // They were settings of this machine.
        let _ = settings::apply(&mut first, &[(key, value)]);
    }
    let first = settings::listed(&first).into_iter();
    let first = first.filter(|it| options.later.iter().any(|later| later.1 == it.0));
    let first: Vec<_> = first.map(|it| (start, it.0, it.1)).collect();
    let mut all: VecDeque<_> = options.later.iter().cloned().collect();
    for n in 1..times {
        let again = first.iter().chain(&options.later);
        let again = again.filter(|it| (start..start + period).contains(&it.0));
        all.extend(again.map(|(at, key, value)| (at + n * period, *key, value.clone())));
    }
    all
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

impl Script {
    /// Of a thread, if it waits in this part of the trace.
    fn of(life: &Life, (from, until): (u64, u64), shift: Rc<Cell<i64>>) -> Option<Script> {
        let inside = |at: &u64| (from..until).contains(at);
        let steps = life.runs.iter().flat_map(|it| &it.steps);
        let waits = steps.filter_map(|it| match it {
            Step::Wait { until, .. } => until.filter(inside),
            _ => None,
        });
        let waits: Vec<u64> = waits.collect();
        let runs = life.runs.iter().map(|it| it.at).filter(inside).max();
        let last = waits.iter().copied().max()?;
        Some(Script {
            shift,
            last: runs.map_or(last, |it| it.max(last)),
            waits: waits.len(),
        })
    }
}

/// The thread of a life, if there is anything in it: how late it is.
fn spawn(
    machine: &mut Machine,
    recorded: &Recorded,
    life: &Life,
    calls: &Rc<[Queued]>,
    in_kernel: u64,
    uncounted: &Rc<Cell<i64>>,
) -> Option<Rc<Cell<i64>>> {
    let first = life.runs.first()?;
    let (at, cpu) = (first.at, first.cpu.min(recorded.cpus - 1));
    let mut runs = life.runs.clone().into_iter();
    let shift = Rc::new(Cell::new(0));
    let uncounted = match life.name.starts_with(INTERRUPTS) {
        true => Rc::default(), // their wake-ups belong to no thread
        false => Rc::clone(uncounted),
    };
    let work = Again {
        slept: runs.next(),
        runs,
        steps: Vec::new().into_iter().peekable(),
        at,
        calls: Rc::clone(calls),
        cpus: recorded.cpus,
        shift: Rc::clone(&shift),
        begins: Some(recorded.window.start_ns),
        waits: None,
        switch: machine.sys.options.costs.switch,
        in_kernel,
        uncounted: (recorded.window.start_ns, uncounted),
    };
    work.compare(1, first, at);
    machine.spawn(&life.name, cpu, at, work);
    machine.defer(first.deferred);
    Some(shift)
}

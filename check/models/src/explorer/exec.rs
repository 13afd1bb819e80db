//! One execution: threads, the running thread, and the end.
//!
//! Invariants. Exactly one thread is `current`, and only its fiber runs. A thread is switched away from only
//! at a *point* (before its next access), when it blocks, when it spins, or when it ends. Nothing here
//! depends on addresses or on time, except for equality of addresses, so the list of choices determines the
//! execution.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering::Relaxed};

use crate::CELLS;

use super::buffer::{Loc, StoreBuffer};
use super::choice::{Choices, Kind, Policy};
use super::events::Events;
use super::runtime::Fiber;
use super::storage::Model;

/// A thread's next operation, as far as other threads can notice it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load(Loc),
    Store(Loc),
    /// Includes lock and unlock.
    Modify(Loc),
    Fence,
    /// Any other operation.
    Other,
}

/// A thread's last operation on memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touch {
    Read(Loc),
    Write(Loc),
    /// Emptied the buffer of another thread.
    Drain(usize),
}

/// Why a thread cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    Lock(Loc),
    /// Sleeps on this address, for at most so many nanoseconds.
    Futex {
        address: usize,
        timeout_ns: Option<u64>,
    },
    /// Sleeps until the timer fires or the event is raised.
    Events,
    Join(usize),
    /// Sleeps until this time of a timed execution, or until the address is woken, if there is one.
    Timed {
        address: Option<usize>,
        until: u64,
    },
    Finished,
}

/// Whether the running fiber continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Go,
    /// This thread is suspended, and continues from here when it is current again.
    Suspend(usize),
}

/// The moment at which a thread began to spin.
#[derive(Clone, Copy, Debug)]
struct Spun {
    acts: u64,
    progress: u64,
}

pub(crate) struct Thread {
    pub(crate) state: State,
    pub(crate) buffer: StoreBuffer,
    /// Later stores wait for all stores before this number: the last release fence.
    pub(crate) fence_seq: u64,
    pub(crate) cells: [usize; CELLS],
    pub(crate) fiber: Option<Fiber>,
    spun: Option<Spun>,
    /// It was preempted before this operation, and no operation since has conflicted with it.
    preempted: Option<Op>,
    at: Option<&'static Location<'static>>,
}

/// The state of an execution; see the module's comment.
#[derive(Default)]
pub(crate) struct Execution {
    pub(crate) model: Model,
    pub(crate) choices: Choices,
    pub(crate) memory: Vec<u64>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) current: usize,
    /// The last store's number.
    pub(crate) seq: u64,
    /// Counts changes that a spinning thread could wait for.
    pub(crate) progress: u64,
    pub(crate) clock: u64,
    pub(crate) timeouts: bool,
    /// Sleepers wake up at their times: see [`long`](super::long).
    pub(crate) timed: bool,
    pub(crate) events: Events,
    /// No choices for now: the scenario sets up.
    pub(crate) held: bool,
    /// The number of points so far.
    pub(crate) steps: u64,
    /// The number of accesses so far: a spinner may preempt others again after another thread's access.
    pub(crate) acts: u64,
    pub(crate) max_steps: u64,
    pub(crate) over: bool,
    pub(crate) pruned: bool,
    /// Stop executions that equal others.
    pub(crate) prunes: bool,
    pub(crate) failure: Option<String>,
    pub(crate) trace: Option<Vec<String>>,
    epoch: u64,
    by_address: HashMap<usize, Loc>,
    candidates: Vec<usize>,
}

impl Execution {
    pub(crate) fn new(model: Model, policy: Policy, max_steps: u64) -> Execution {
        Execution {
            model,
            choices: Choices::new(policy),
            max_steps,
            prunes: true,
            ..Execution::default()
        }
    }

    /// Ready for the next execution.
    pub(crate) fn reset(&mut self) {
        static EPOCH: RealU64 = RealU64::new(0);
        self.epoch = EPOCH.fetch_add(1, Relaxed) + 1;
        self.choices.rewind();
        self.memory.clear();
        self.by_address.clear();
        self.threads.clear();
        (
            self.current,
            self.seq,
            self.progress,
            self.clock,
            self.steps,
        ) = (0, 0, 0, 0, 0);
        (self.timeouts, self.held, self.over, self.pruned) = (false, false, false, false);
        self.events = Events::default();
        self.events.timed = self.timed;
        self.failure = None;
    }

    pub(crate) fn add_thread(&mut self, fiber: Fiber) {
        self.threads.push(Thread {
            state: State::Runnable,
            buffer: StoreBuffer::default(),
            fence_seq: 0,
            cells: [0; CELLS],
            fiber: Some(fiber),
            spun: None,
            preempted: None,
            at: None,
        });
    }

    /// The location of an atomic in this execution. The atomic stores it, so that it follows moves. An atomic
    /// with a location of another execution (a static that several explorations use, possibly at once) is
    /// found by its address.
    pub(crate) fn locate(&mut self, place: &RealU64, initial: impl FnOnce() -> u64) -> Loc {
        let known = place.load(Relaxed);
        if known >> 32 == self.epoch {
            return known as Loc;
        }
        let address = std::ptr::from_ref(place).addr();
        let loc = match self.by_address.get(&address) {
            Some(&loc) if known != 0 => loc,
            _ => {
                self.memory.push(initial());
                let loc = Loc::try_from(self.memory.len() - 1).expect("fewer than 2^32 atomics");
                self.by_address.insert(address, loc);
                loc
            }
        };
        place.store(self.epoch << 32 | u64::from(loc), Relaxed);
        loc
    }

    /// The current thread is about to perform `op`: does it continue, or is it another thread's turn?
    pub(crate) fn point(&mut self, op: Op, at: &'static Location<'static>) -> Control {
        let me = self.current;
        self.threads[me].at = Some(at);
        if self.held {
            return Control::Go;
        }
        self.steps += 1;
        if self.steps > self.max_steps {
            let limit = self.max_steps;
            return self.fail(format!("livelock: {limit} steps and no end"));
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.push(me);
        let acts = self.acts;
        let may_run =
            |t: &Thread| t.state == State::Runnable && t.spun.is_none_or(|spun| acts > spun.acts);
        candidates
            .extend((0..self.threads.len()).filter(|&t| t != me && may_run(&self.threads[t])));
        if let Policy::Random(random) = &mut self.choices.policy {
            candidates.retain(|&t| t == me || random.stopped != Some(t));
            if candidates.len() > 1 && random.stops(me) {
                candidates.remove(0);
            }
        }
        let next = match candidates.len() {
            1 => candidates[0],
            _ => self.choices.choose_thread(Kind::Preempt, &candidates),
        };
        self.candidates = candidates;
        if next == me {
            return Control::Go;
        }
        self.threads[me].preempted = Some(op).filter(|op| !matches!(op, Op::Other));
        self.switch_to(next);
        Control::Suspend(me)
    }

    /// The current thread blocks.
    pub(crate) fn block(&mut self, state: State) -> Control {
        let me = self.current;
        self.threads[me].state = state;
        self.hand_over()
    }

    /// The current thread prefers that others run.
    pub(crate) fn spin(&mut self, at: &'static Location<'static>) -> Control {
        let me = self.current;
        self.steps += 1;
        if self.steps > self.max_steps {
            return self.point(Op::Other, at);
        }
        self.threads[me].at = Some(at);
        self.threads[me].spun = Some(Spun {
            acts: self.acts,
            progress: self.progress,
        });
        if let Policy::Random(random) = &mut self.choices.policy {
            random.demote(me);
        }
        // The thread that runs now runs because a spinner insisted: a preemption before that could not have
        // come one access later instead.
        self.notice_all();
        self.hand_over()
    }

    /// The current thread is done.
    pub(crate) fn finish(&mut self) {
        let me = self.current;
        self.threads[me].state = State::Finished;
        self.progress += 1;
        self.wake(|state| state == State::Join(me));
        self.note(|| "ends".into());
        let _ = self.hand_over();
    }

    /// Makes every thread in that state runnable.
    pub(crate) fn wake(&mut self, of: impl Fn(State) -> bool) {
        self.threads
            .iter_mut()
            .filter(|t| of(t.state))
            .for_each(|t| t.state = State::Runnable);
    }

    /// Another thread's turn.
    fn hand_over(&mut self) -> Control {
        let me = self.current;
        if let Policy::Random(random) = &mut self.choices.policy {
            random.stopped = random.stopped.filter(|&stopped| stopped != me);
        }
        match self.next_thread() {
            Some(next) if next == me => {
                self.threads[me].spun = None;
                return Control::Go;
            }
            Some(next) => self.switch_to(next),
            None if self.threads.iter().all(|t| t.state == State::Finished) => self.over = true,
            None => {
                let states = self.describe_threads();
                let _ = self.fail(format!("deadlock: {states}"));
            }
        }
        Control::Suspend(me)
    }

    /// The order in which threads run when the current one does not: in turn; those that spin in vain come
    /// last.
    fn next_thread(&mut self) -> Option<usize> {
        let fresh = |e: &Execution, t: usize| {
            let thread = &e.threads[t];
            thread.state == State::Runnable
                && thread.spun.is_none_or(|spun| e.progress > spun.progress)
        };
        if let Some(next) = self.choose_among(fresh) {
            return Some(next);
        }
        // Only spinners are left, so every buffered store must reach memory now.
        let before = self.progress;
        (0..self.threads.len()).for_each(|t| self.drain_other(t));
        if self.progress != before
            && let Some(next) = self.choose_among(fresh)
        {
            return Some(next);
        }
        if self.lets_stopped_go_on(true) {
            return self.next_thread();
        }
        let runnable = |e: &Execution, t: usize| e.threads[t].state == State::Runnable;
        let others = |e: &Execution, t: usize| t != e.current && runnable(e, t);
        if let Some(next) = self
            .choose_among(others)
            .or_else(|| self.choose_among(runnable))
        {
            return Some(next);
        }
        if self.timed {
            return self.next_sleeper();
        }
        let timed = |e: &Execution, t: usize| {
            e.timeouts
                && matches!(
                    e.threads[t].state,
                    State::Events
                        | State::Futex {
                            timeout_ns: Some(_),
                            ..
                        }
                )
        };
        let next = self.choose_among(timed)?;
        self.threads[next].state = State::Runnable;
        Some(next)
    }

    /// A stopped thread goes on, if other threads may `spin` until it has made a step, or if none can run.
    fn lets_stopped_go_on(&mut self, spin: bool) -> bool {
        let able = |t: usize| self.threads[t].state == State::Runnable;
        let spins = self
            .threads
            .iter()
            .any(|t| t.state == State::Runnable && t.spun.is_some());
        match &mut self.choices.policy {
            Policy::Random(random) if random.stopped.is_some_and(able) && (spins || !spin) => {
                random.stopped = None;
                true
            }
            _ => false,
        }
    }

    /// No thread can run, except a stopped one: the time of the first sleeper comes, or the stopped thread
    /// goes on.
    fn next_sleeper(&mut self) -> Option<usize> {
        let until = |t: &Thread| match t.state {
            State::Timed { until, .. } => Some(until),
            State::Events => self.events.deadline(),
            _ => None,
        };
        let sleepers = self.threads.iter().enumerate();
        let sleepers = sleepers.filter_map(|(t, thread)| Some((until(thread)?, t)));
        let first = sleepers
            .min()
            .filter(|&(until, _)| match &mut self.choices.policy {
                Policy::Random(random) if random.stopped.is_some() => {
                    until != u64::MAX && random.may_jump()
                }
                _ => true,
            });
        if first.is_none() && self.lets_stopped_go_on(false) {
            return self.next_thread();
        }
        let (until, next) = first?;
        match until {
            u64::MAX => self.threads[next].state = State::Runnable,
            _ => self.pass(until),
        }
        self.progress += 1;
        self.next_thread()
    }

    /// The clock is at this time, unless it is later: whatever waits for it goes on.
    pub(crate) fn pass(&mut self, ns: u64) {
        self.clock = self.clock.max(ns);
        let clock = self.clock;
        if self.timed {
            self.wake(|state| matches!(state, State::Timed { until, .. } if until <= clock));
            self.fire();
        }
    }

    fn choose_among(&mut self, wanted: impl Fn(&Execution, usize) -> bool) -> Option<usize> {
        let count = self.threads.len();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let in_turn = (1..=count).map(|i| (self.current + i) % count);
        candidates.extend(in_turn.filter(|&t| wanted(self, t)));
        if let Policy::Random(random) = &self.choices.policy {
            candidates.retain(|&t| random.stopped != Some(t));
        }
        let next = match candidates.len() {
            0 => None,
            1 => Some(candidates[0]),
            _ if self.held => Some(candidates[0]),
            _ => Some(self.choices.choose_thread(Kind::Switch, &candidates)),
        };
        self.candidates = candidates;
        next
    }

    fn switch_to(&mut self, next: usize) {
        self.current = next;
        let thread = &mut self.threads[next];
        thread.spun = None;
        if thread.preempted.take().is_some() && self.prunes && self.choices.is_systematic() {
            // Nothing happened that its next access could notice: see the first page of `explorer`.
            self.pruned = true;
            self.choices.freeze();
        }
    }

    /// The current thread touched memory: preemptions of other threads made a difference if this conflicts
    /// with their next operation.
    pub(crate) fn touch(&mut self, touch: Touch) {
        self.touch_by(self.current, touch);
    }

    pub(crate) fn touch_by(&mut self, by: usize, touch: Touch) {
        for t in (0..self.threads.len()).filter(|&t| t != by) {
            let preempted = self.threads[t].preempted;
            if preempted.is_some_and(|op| self.conflict(op, t, touch)) {
                self.threads[t].preempted = None;
            }
        }
    }

    /// Can the thread that did `touch` notice `op` of thread `owner`, or the other way round?
    fn conflict(&self, op: Op, owner: usize, touch: Touch) -> bool {
        let own_buffer = &self.threads[owner].buffer;
        let (loc, writes) = match touch {
            Touch::Drain(drained) => return matches!(op, Op::Store(_)) && drained == owner,
            Touch::Read(loc) => (loc, false),
            Touch::Write(loc) => (loc, true),
        };
        let concerns = |loc| match op {
            Op::Load(own) | Op::Store(own) => own == loc,
            Op::Modify(own) => own == loc || own_buffer.holds(loc),
            Op::Fence => own_buffer.holds(loc),
            Op::Other => true,
        };
        if concerns(loc) && (writes || !matches!(op, Op::Load(_))) {
            return true;
        }
        // It may flush stores of others, and every store that has to precede those.
        let others = self.threads.iter().enumerate().filter(|&(t, _)| t != owner);
        let buffers = others
            .map(|(_, thread)| &thread.buffer)
            .filter(|buffer| buffer.holds(loc));
        !matches!(op, Op::Store(_)) && buffers.into_iter().any(|buffer| buffer.any(concerns))
    }

    /// What happens now makes a difference for every preempted thread.
    pub(crate) fn notice_all(&mut self) {
        self.threads.iter_mut().for_each(|t| t.preempted = None);
    }

    /// Ends the execution with a failure.
    pub(crate) fn fail(&mut self, message: String) -> Control {
        self.over = true;
        self.failure.get_or_insert(message);
        Control::Suspend(self.current)
    }

    /// Adds a line about the current thread to the trace, if one is recorded.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let at = self.threads[self.current]
                .at
                .map_or_else(String::new, |at| format!("   {at}"));
            trace.push(format!("T{}: {}{at}", self.current, line()));
        }
    }

    fn describe_threads(&self) -> String {
        let one = |(t, thread): (usize, &Thread)| {
            let what = match thread.state {
                State::Runnable => "can run",
                State::Lock(_) => "waits for a lock",
                State::Futex { .. } => "sleeps on a futex",
                State::Events => "sleeps until the timer or the event",
                State::Join(_) => "joins another",
                State::Timed { .. } => "sleeps for a time",
                State::Finished => return format!("T{t} has ended"),
            };
            thread.at.map_or_else(
                || format!("T{t} {what}"),
                |at| format!("T{t} {what} at {at}"),
            )
        };
        self.threads
            .iter()
            .enumerate()
            .map(one)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

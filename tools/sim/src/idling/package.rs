//! The package: its state, and the cause that keeps it out of a deeper one.
//!
//! While any CPU is awake (it runs, or is waking up) the package is in state 0. When the last CPU goes idle,
//! it *settles*: from then on it goes down, step by step. It is in the deepest state
//! * that every CPU's own idle state allows,
//! * whose `timer` is no further than the next timer that any CPU has programmed, at the time when it
//!   settles,
//! * whose `dwell` has passed since then,
//! * and that the machine's devices allow (`package_limit`).
//!
//! The next CPU that wakes takes it up to state 0 at once, and pays its exit. Between settling and that
//! nothing can change: a CPU's state changes by waking only.
//!
//! All time in which the package is in no state, or in one less deep than a given state, is charged to one
//! cause, separately for each state:
//!
//! | cause | charged to |
//! |---|---|
//! | a CPU was awake | the wake-up of the CPU that has been awake longest (of several: the lowest number) |
//! | a CPU's idle state was too shallow | the wake-up that ended this idle time, or the governor: see below |
//! | a timer was near | the wake-up that ended the package's sleep |
//! | the package was entering the state | the wake-up that the last CPU to go idle was awake for |
//!
//! A CPU whose idle state is too shallow: if the idle time was long enough for a state that allows the
//! package's, the governor chose wrongly and is charged ([`Who::Governor`]). Of several such CPUs the one
//! with the shallowest state is charged, and of these the lowest number.
//!
//! So a state's charges and the time in it and deeper ones add up to the whole time, to the nanosecond. Time
//! without a cause at the end of the run is charged to [`Who::End`]. At boot all CPUs count as idle for an
//! unlimited time.

use std::collections::{BTreeMap, BTreeSet};

use quiescent_kernel::CpuId;

use super::table::PackageState;

/// What a wake-up was for, or what else was to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// This task wanted to run.
    Task(usize),
    /// The tick that runs because of callbacks.
    TickForCallbacks,
    /// The tick that the governor has kept, or that runs for another reason of its own.
    Tick,
    /// A clock that was set for timers which were stopped later.
    Clock,
    /// A check of callbacks (`RCU_FAST_NO_HZ`).
    Look,
    /// An interrupt of RCU's to a CPU.
    Interrupt,
    /// A CPU went offline or came online.
    Hotplug,
    /// The governor: it chose too shallow a state for the time.
    Governor,
    /// The run ended before the cause was known.
    End,
}

/// A cause: its kind and, where it is about callbacks, the function of the oldest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    pub who: Who,
    pub func: Option<usize>,
}

impl Cause {
    pub const fn of(who: Who) -> Cause {
        Cause { who, func: None }
    }
}

/// What has been found, in the window of the statistics. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    /// Time in each state.
    pub times: Vec<u64>,
    /// Times that it was in each.
    pub entries: Vec<u64>,
    /// Times that a wake-up found it in each.
    pub exits: Vec<u64>,
    /// Time that it was kept out of a state, or a deeper one, by cause.
    pub blocked: BTreeMap<(usize, Cause), u64>,
    /// Wake-ups that ended its rest, by cause.
    pub breaks: BTreeMap<Cause, u64>,
}

/// The part of time that counts: from, until.
pub(crate) type Window = (u64, u64);

/// How much of `from..to` counts.
pub(crate) fn within((start, end): Window, from: u64, to: u64) -> u64 {
    to.min(end).saturating_sub(from.max(start))
}

/// How it has settled.
#[derive(Clone, Copy, Debug)]
struct Settled {
    at: u64,
    /// It has never been otherwise.
    booted: bool,
    /// As deep as all CPUs allow.
    allowed: usize,
    /// And as deep as the next timer does.
    by_timer: usize,
}

/// The package.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// But for state 0; none below the machine's limit.
    states: Vec<PackageState>,
    /// CPUs that are awake, since when: the one that has been so longest first.
    awake: BTreeSet<(u64, CpuId)>,
    since: Vec<u64>,
    /// The others, with what they allow.
    idle: BTreeSet<(usize, CpuId)>,
    settled: Option<Settled>,
    /// Accounted until here.
    until: u64,
    /// Of each CPU why it woke last.
    causes: Vec<Cause>,
    /// The last one to go idle.
    last: Cause,
    /// By CPU and state, what its shallow state is to be blamed for.
    shallow: Vec<Vec<u64>>,
    /// By state, the same of a timer that was near.
    near: Vec<u64>,
    pub books: Books,
}

impl Package {
    /// Of so many CPUs, which have all been idle for ever.
    pub fn new(cpus: u32, states: &[PackageState], limit: usize) -> Package {
        let states = states[..limit.min(states.len())].to_vec();
        let slots = states.len() + 1;
        Package {
            awake: BTreeSet::new(),
            since: vec![0; cpus as usize],
            idle: (0..cpus).map(|cpu| (usize::MAX, cpu)).collect(),
            settled: Some(Settled {
                at: 0,
                booted: true,
                allowed: usize::MAX,
                by_timer: usize::MAX,
            }),
            until: 0,
            causes: vec![Cause::of(Who::End); cpus as usize],
            last: Cause::of(Who::End),
            shallow: vec![vec![0; slots]; cpus as usize],
            near: vec![0; slots],
            books: Books {
                times: vec![0; slots],
                entries: vec![0; slots],
                exits: vec![0; slots],
                ..Books::default()
            },
            states,
        }
    }

    /// The deepest state that there can be.
    pub fn deepest(&self) -> usize {
        self.states.len()
    }

    /// `cpu` goes idle and allows so much; the next timer of all is so far away.
    pub fn idles(&mut self, cpu: CpuId, allows: usize, now: u64, timer: u64, window: Window) {
        self.pass(now, window);
        self.awake.remove(&(self.since[cpu as usize], cpu));
        self.idle.insert((allows, cpu));
        self.since[cpu as usize] = now;
        if self.awake.is_empty() {
            let near = self.states.iter().take_while(|it| it.timer <= timer);
            self.last = self.causes[cpu as usize];
            self.settled = Some(Settled {
                at: now,
                booted: false,
                allowed: self.idle.first().map_or(0, |it| it.0),
                by_timer: near.count(),
            });
        }
    }

    /// `cpu`, which allowed so much, wakes. `worth` says from which idle time on its kind has a state that
    /// allows the package's. What the package's exit adds, in nanoseconds.
    pub fn wakes(
        &mut self,
        (cpu, allowed): (CpuId, usize),
        cause: Cause,
        now: u64,
        worth: impl Fn(usize) -> u64,
        window: Window,
    ) -> u64 {
        self.pass(now, window);
        let mut exit = 0;
        if let Some(settled) = self.settled.take() {
            let depth = self.depth(&settled, now);
            exit = depth
                .checked_sub(1)
                .map_or(0, |index| self.states[index].exit);
            if window.0 <= now && now < window.1 {
                self.books.exits[depth] += 1;
                for reached in 0..=depth {
                    let stayed = reached == depth
                        || self.enters(&settled, reached + 1) > self.enters(&settled, reached);
                    self.books.entries[reached] += u64::from(stayed);
                }
                *self.books.breaks.entry(cause).or_default() += 1;
            }
            let near = self.near.iter_mut().map(std::mem::take).collect();
            self.charge(near, |_| cause);
        }
        let idle = now - self.since[cpu as usize];
        let shallow = self.shallow[cpu as usize]
            .iter_mut()
            .map(std::mem::take)
            .collect();
        self.charge(shallow, |depth| match idle >= worth(depth) {
            true => Cause::of(Who::Governor),
            false => cause,
        });
        if !self.idle.remove(&(allowed, cpu)) {
            self.idle.remove(&(usize::MAX, cpu)); // since boot
        }
        self.awake.insert((now, cpu));
        self.since[cpu as usize] = now;
        self.causes[cpu as usize] = cause;
        exit
    }

    /// Accounts for the time until `now`, and closes what is open: the run is over.
    pub fn ends(&mut self, now: u64, window: Window) {
        self.pass(now, window);
        let near = std::mem::take(&mut self.near);
        self.charge(near, |_| Cause::of(Who::End));
        for shallow in std::mem::take(&mut self.shallow) {
            self.charge(shallow, |_| Cause::of(Who::End));
        }
    }

    fn charge(&mut self, times: Vec<u64>, cause: impl Fn(usize) -> Cause) {
        for (depth, time) in times.into_iter().enumerate().filter(|it| it.1 > 0) {
            *self.books.blocked.entry((depth, cause(depth))).or_default() += time;
        }
    }

    /// When it enters a state.
    fn enters(&self, settled: &Settled, depth: usize) -> u64 {
        match (settled.booted, depth) {
            (true, _) => 0,
            (false, 0) => settled.at,
            (false, depth) => settled.at + self.states[depth - 1].dwell,
        }
    }

    /// As deep as it gets.
    fn reach(&self, settled: &Settled) -> usize {
        self.states.len().min(settled.allowed).min(settled.by_timer)
    }

    /// Where it is.
    fn depth(&self, settled: &Settled, now: u64) -> usize {
        let there = |&depth: &usize| self.enters(settled, depth) <= now;
        (0..=self.reach(settled)).rev().find(there).unwrap_or(0)
    }

    /// Accounts for the time until `now`.
    fn pass(&mut self, now: u64, window: Window) {
        let from = std::mem::replace(&mut self.until, now);
        let Some(settled) = self.settled else {
            let time = within(window, from, now);
            let &(_, oldest) = self.awake.first().expect("a CPU is awake");
            let cause = self.causes[oldest as usize];
            self.spend(0, time, |_| Some(cause));
            return;
        };
        let reach = self.reach(&settled);
        let mut at = from;
        while at < now {
            let depth = self.depth(&settled, at);
            let next = (depth + 1..=reach).map(|it| self.enters(&settled, it));
            let end = next.filter(|&it| it > at).min().unwrap_or(now).min(now);
            let time = within(window, at, end);
            let last = self.last;
            let limiting = self.idle.first().map_or(0, |it| it.1) as usize;
            for deeper in depth + 1..=self.states.len() {
                if deeper > settled.allowed {
                    self.shallow[limiting][deeper] += time;
                } else if deeper > settled.by_timer {
                    self.near[deeper] += time;
                }
            }
            let open = settled.allowed.min(settled.by_timer);
            self.spend(depth, time, |deeper| (deeper <= open).then_some(last));
            at = end;
        }
    }

    /// Time in a state; each deeper one was kept from for the cause that is known.
    fn spend(&mut self, depth: usize, time: u64, cause: impl Fn(usize) -> Option<Cause>) {
        if time == 0 {
            return;
        }
        self.books.times[depth] += time;
        for deeper in depth + 1..=self.states.len() {
            if let Some(cause) = cause(deeper) {
                *self.books.blocked.entry((deeper, cause)).or_default() += time;
            }
        }
    }
}

#[cfg(test)]
mod tests;

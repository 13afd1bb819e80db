//! The time that each CPU's part of a trace covers, and rates over it.
//!
//! Each CPU writes to a buffer of its own. A flight recorder keeps the last events of each, so the part of a
//! busy CPU begins later than that of another; one that stops when it is full ends earlier. A CPU that is
//! idle writes nothing either, so silence alone is no loss. A part is shorter than the trace if
//!
//! * a trace.dat says that events were lost before the first;
//! * a mark of the kernel says that they may have been, and the first is a task's, which ran before;
//! * a thread is woken twice and has not been switched to in between, so that it ran on a CPU that wrote
//!   nothing meanwhile, and that CPU, which writes its switches, writes nothing before, or nothing after;
//! * its tick ran while a task did, the task is not seen to leave, and ticks are missing: 32 times as long as
//!   the longest interval of at least eight between two of them. A CPU that stops its tick says so, or has
//!   had long intervals before.
//!
//! A rate is the sum over CPUs of what a CPU wrote divided by the time that its part covers; by that of the
//! trace if the part has no length, as that of one record at the end.

use super::bounded::ByCpu;
use super::per_second;
use crate::{CpuSet, Record, Summary, Window};
use std::collections::BTreeMap;

/// Threads whose last wake-up is remembered: places by the lowest bits of their ids.
const WOKEN: usize = 256;

/// Intervals of ticks from which it is known that a CPU has one, and how many may be missing.
const TICKS: (u64, u64) = (8, 32);

/// CPUs of which a [`Tally`] keeps a number.
const CPUS_MOST: usize = 32;

/// What the records say about the parts.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) writers: CpuSet,
    cpus: ByCpu<Part>,
    /// The CPU and the time of the last record, and whether it has switched since another wrote: of seven
    /// records six are by the same CPU.
    writer: Option<u32>,
    time: u64,
    switched: bool,
    /// Threads that were woken and have not run since, and when.
    woken: Vec<(u32, u64)>,
    /// There are `sched_waking` events: those alone count.
    waking: bool,
}

#[derive(Debug, Default)]
struct Part {
    first: Option<u64>,
    /// The first event is a task's.
    busy: bool,
    last: u64,
    /// It writes switches.
    switches: bool,
    /// It wrote nothing where it had to: before its first event, or from then on.
    late: bool,
    missed: u64,
    /// The last tick, if a task has run since; the intervals of such ticks, and the longest.
    tick: Option<u64>,
    intervals: u64,
    longest: u64,
}

impl Parts {
    #[inline(always)]
    pub(super) fn note(&mut self, record: &Record<'_>) {
        if self.writer != Some(record.cpu) {
            self.changes(record.cpu, record.pid, record.time_ns);
        }
        self.time = record.time_ns;
    }

    /// Another CPU writes than before.
    #[inline(never)]
    fn changes(&mut self, writer: u32, pid: u32, time: u64) {
        self.settle();
        self.writer = Some(writer);
        if self.cpus.get(writer).is_none_or(|it| it.first.is_none()) {
            let part = self.cpus.row(writer);
            (part.first, part.busy) = (Some(time), pid != 0);
            self.writers.insert(writer);
        }
    }

    /// What the last records say of the CPU that wrote them.
    fn settle(&mut self) {
        if let Some(cpu) = self.writer {
            let part = self.cpus.row(cpu);
            part.last = self.time;
            part.switches |= std::mem::take(&mut self.switched);
        }
    }

    /// A switch from or to these.
    #[inline]
    pub(super) fn switched(&mut self, pids: [u32; 2]) {
        for pid in pids {
            match self.woken.get_mut(pid as usize % WOKEN) {
                Some(woken) if woken.0 == pid => woken.0 = 0,
                _ => {}
            }
        }
        self.switched = true;
    }

    /// A wake-up by `sched_wakeup`, or by `sched_waking`.
    pub(super) fn wakes(&mut self, pid: u32, target: u32, waking: bool) {
        if self.waking && !waking {
            return;
        }
        if self.waking != waking || self.woken.is_empty() {
            self.waking = waking;
            self.woken = vec![(0, 0); WOKEN];
        }
        let woken = &mut self.woken[pid as usize % WOKEN];
        let (before, since) = std::mem::replace(woken, (pid, self.time));
        if before == pid && Some(target) != self.writer && pid != 0 {
            let part = self.cpus.row(target);
            match part.first {
                None => part.late = true,
                Some(_) if part.last < since => part.missed = since,
                Some(_) => {}
            }
        }
    }

    /// A tick of a CPU that runs a task, or, not `busy`, the end of these: it is idle, or stops them.
    #[inline]
    pub(super) fn ticks(&mut self, cpu: u32, busy: bool) {
        let part = self.cpus.row(cpu);
        let before = std::mem::replace(&mut part.tick, busy.then_some(self.time));
        if let (Some(before), true) = (before, busy) {
            part.intervals += 1;
            part.longest = part.longest.max(self.time - before);
        }
    }

    /// Whether a CPU writes its switches, as far as it has been settled.
    pub(super) fn switches(&self, cpu: u32) -> bool {
        self.cpus.get(cpu).is_some_and(|it| it.switches)
    }

    /// The own time of each CPU in this window of the trace.
    pub(super) fn own(&mut self, window: Window, summary: &Summary) -> Own {
        self.settle();
        let mut cut = BTreeMap::new();
        for (cpu, part) in self.cpus.iter() {
            let Some(first) = part.first else { continue };
            let mut own = window;
            let said = summary.started.contains(cpu) || part.busy && summary.marked.contains(cpu);
            if said || part.late && part.switches {
                own.start_ns = own.start_ns.max(first);
            }
            let silence = summary.last_ns.unwrap_or(0).saturating_sub(part.last);
            let ticked = part.tick.is_some() && part.intervals >= TICKS.0;
            let lacks = ticked && silence > TICKS.1 * part.longest;
            if (part.missed > part.last || lacks) && part.switches {
                own.end_ns = own.end_ns.min(part.last);
            }
            if own != window {
                cut.insert(cpu, own);
            }
        }
        Own { window, cut }
    }
}

/// The window, and the part of it that each CPU's records cover.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) window: Window,
    /// CPUs whose part is shorter.
    pub(super) cut: BTreeMap<u32, Window>,
}

impl Own {
    pub(crate) fn of(&self, cpu: u32) -> Window {
        self.cut.get(&cpu).copied().unwrap_or(self.window)
    }

    /// Whether each CPU covers all of it.
    pub(super) fn is_whole(&self) -> bool {
        self.cut.is_empty()
    }

    /// The time that all CPUs cover.
    pub(super) fn common(&self) -> Window {
        let both = |a: Window, b: &Window| Window {
            start_ns: a.start_ns.max(b.start_ns),
            end_ns: a.end_ns.min(b.end_ns),
        };
        self.cut.values().fold(self.window, both)
    }

    /// The time of these CPUs together, ns.
    pub(crate) fn ns(&self, cpus: impl Iterator<Item = u32>) -> f64 {
        match self.cut.is_empty() {
            true => self.window.seconds() * 1e9 * cpus.count() as f64,
            false => cpus.map(|cpu| self.of(cpu).seconds() * 1e9).sum(),
        }
    }

    pub(crate) fn rate(&self, tally: &Tally) -> Option<f64> {
        if self.cut.is_empty() {
            return per_second(tally.n, self.window);
        }
        let known: u64 = tally.on.iter().map(|it| u64::from(it.1)).sum();
        let mut rate = per_second(tally.n - known, self.window)?;
        for (cpu, n) in &tally.on {
            let (n, own) = (u64::from(*n), self.of(u32::from(*cpu)));
            rate += per_second(n, own).or_else(|| per_second(n, self.window))?;
        }
        Some(rate)
    }
}

/// How often something was seen, and by which CPUs: of the first few that wrote it, the others together.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) n: u64,
    on: Vec<(u16, u32)>,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, cpu: u32) {
        self.add_n(cpu, 1);
    }

    pub(crate) fn add_n(&mut self, cpu: u32, n: u64) {
        self.n += n;
        let place = self.on.iter().position(|it| u32::from(it.0) == cpu);
        let (Ok(cpu), Ok(n)) = (u16::try_from(cpu), u32::try_from(n)) else {
            return;
        };
        match place {
            Some(at) => {
                let of = &mut self.on[at].1;
                *of = of.saturating_add(n);
            }
            None if self.on.len() < CPUS_MOST && n > 0 => self.on.push((cpu, n)),
            None => {}
        }
    }

    pub(crate) fn join(&mut self, other: &Tally) {
        let known: u64 = other.on.iter().map(|it| u64::from(it.1)).sum();
        self.n += other.n - known;
        for (cpu, n) in &other.on {
            self.add_n(u32::from(*cpu), u64::from(*n));
        }
    }
}

impl<'a> FromIterator<&'a Tally> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Tally>>(tallies: I) -> Self {
        let mut sum = Tally::default();
        tallies.into_iter().for_each(|it| sum.join(it));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_time_of_each_cpu() {
        let window = |start_ns, end_ns| Window { start_ns, end_ns };
        let whole = window(0, 4_000_000_000);
        let mut tally = Tally::default();
        tally.add_n(0, 8);
        tally.add_n(1, 3);
        let cut = [(1, window(1_000_000_000, 2_000_000_000))].into();
        let own = Own { window: whole, cut };
        assert_eq!((tally.n, own.rate(&tally)), (11, Some(5.0)));
        assert_eq!(own.common(), window(1_000_000_000, 2_000_000_000));
        assert_eq!(own.ns([0, 1].into_iter()), 5e9);
        let cut = [(1, window(4_000_000_000, 4_000_000_000))].into();
        assert_eq!(Own { window: whole, cut }.rate(&tally), Some(2.75));
        let cut = BTreeMap::new();
        assert_eq!(Own { window: whole, cut }.rate(&tally), Some(2.75));
        // CPUs beyond the bound share the whole time.
        (2..100).for_each(|cpu| tally.add(cpu));
        assert_eq!((tally.n, tally.on.len()), (109, CPUS_MOST));
        assert_eq!([&tally, &tally].into_iter().collect::<Tally>().n, 218);
    }
}

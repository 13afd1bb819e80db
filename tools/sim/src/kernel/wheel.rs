//! Timers of the wheel, and which CPU has to wake up for them.
//!
//! # When one fires
//! A timer of the wheel fires in a tick, never between two. One that was set in jiffy `J` for `d` jiffies
//! fires in jiffy `J + d + 1` if `d` is below 63, so that it is never early. From 63 on the wheel is coarser:
//! level `n` serves `63·8ⁿ⁻¹` jiffies and more in steps of `8ⁿ`, counted from jiffy 0, rounded up.
//!
//! # Who takes it
//! A CPU whose tick runs takes its own timers in its own ticks. The timers of all other CPUs are in one pool,
//! and one CPU takes what is due there:
//! * while any tick runs, the *migrator*: the first CPU with a running tick, and if its tick stops, the one
//!   with the lowest number among the others;
//! * when the last tick stops, the CPU on which it did: it sets its clock to the earliest timer of all. CPUs
//!   that stopped before it have set nothing.
//!
//! A clock that was set so is not stopped when another CPU wakes later; so two CPUs may tick at the same
//! instant. If the owner of a timer is one of them it takes the timer itself.
//!
//! # Who counts jiffies
//! One CPU counts them in its ticks, for all: the first to tick after the one before has stopped its tick. A
//! CPU whose tick is stopped counts those that have passed when it wakes up.
//!
//! # Without migration
//! Before Linux 6.9 a timer stayed on the CPU that it was given to when it was set: each CPU takes its own
//! timers, and one whose tick stops sets its clock to the earliest of them. (A CPU that set a timer while it
//! was idle could give it to a busy one. RCU's threads set theirs while they run, so that is left out.)
//!
//! These rules are read from traces of Linux 6.12. They have a large effect: the CPU that takes the
//! grace-period thread's timer decides whether that thread's CPU has a tick, and so whether a grace period
//! takes one wait or two.

use std::collections::{BTreeMap, BTreeSet};

use quiescent_kernel::CpuId;

/// What a timer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Wakes this task.
    Wake(usize),
    /// It is the timer of this offload group.
    Group(u32),
}

/// The jiffy in which a timer fires that was set in jiffy `now` for `delay` jiffies.
pub(crate) fn expiry(now: u64, delay: u64) -> u64 {
    let end = now.saturating_add(delay);
    let mut level = 0;
    while level < 8 && delay >= 63 << (3 * level) {
        level += 1;
    }
    let grain = 1u64 << (3 * level);
    (end / grain + 1).saturating_mul(grain)
}

/// All CPUs' timers, and the CPUs whose ticks run.
#[derive(Debug, Default)]
pub(crate) struct Wheel {
    /// Each timer's owner, and when it fires. Those whose owner's tick does not run are the pool.
    set: BTreeMap<Timer, (CpuId, u64)>,
    /// The CPUs whose ticks run.
    active: BTreeSet<CpuId>,
    migrator: Option<CpuId>,
    /// Each CPU takes its own timers only.
    local: bool,
    /// Who counts jiffies, and how many there were.
    counter: Option<CpuId>,
    counted: u64,
    /// Clocks of CPUs whose tick is stopped, by jiffy.
    clocks: BTreeSet<(u64, CpuId, For)>,
    /// External ticks of each CPU behind the first, which is among the clocks. A replay has them all from the
    /// beginning, and clocks are searched at each idle entry.
    outside: BTreeSet<(CpuId, u64)>,
}

/// The purpose of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum For {
    /// All CPUs' timers: taken by the CPU that stopped last.
    All,
    /// The CPU's own callbacks.
    Itself,
    /// An external timer, of which only its tick is known: it fires whatever the CPU does meanwhile.
    Outside,
}

impl Wheel {
    /// One on which CPUs take the timers of others, or not, after so many jiffies.
    pub fn new(migration: bool, jiffies: u64) -> Wheel {
        Wheel {
            local: !migration,
            counted: jiffies,
            ..Wheel::default()
        }
    }

    /// Sets a timer of `owner`, wherever it was set before.
    pub fn set(&mut self, timer: Timer, owner: CpuId, at: u64) {
        self.set.insert(timer, (owner, at));
        if self.local && !self.ticks(owner) {
            self.look_after_all(owner);
        }
    }

    /// It does not fire.
    pub fn stop(&mut self, timer: Timer) {
        self.set.remove(&timer);
    }

    /// The first timer of these owners.
    fn first(&self, of: impl Fn(CpuId) -> bool) -> Option<(u64, CpuId, Timer)> {
        let those = self.set.iter().filter(|it| of(it.1.0));
        those.map(|(&timer, &(owner, at))| (at, owner, timer)).min()
    }

    /// The first of the CPU's own ones, if its tick runs.
    fn own(&self, cpu: CpuId) -> Option<(u64, CpuId, Timer)> {
        self.first(|it| it == cpu).filter(|_| self.ticks(cpu))
    }

    /// The first one in the pool that may be this CPU's to take.
    fn pool(&self, cpu: CpuId) -> Option<(u64, CpuId, Timer)> {
        self.first(|it| !self.ticks(it) && (!self.local || it == cpu))
    }

    /// Does this CPU's tick run?
    pub fn ticks(&self, cpu: CpuId) -> bool {
        self.active.contains(&cpu)
    }

    /// Jiffies that have been counted.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// `cpu` takes a tick in this jiffy.
    pub fn counts(&mut self, cpu: CpuId, jiffy: u64) {
        if *self.counter.get_or_insert(cpu) == cpu {
            self.counted = jiffy;
        }
    }

    /// `cpu` does something in this jiffy.
    pub fn executes(&mut self, cpu: CpuId, jiffy: u64) {
        if !self.ticks(cpu) {
            self.counted = jiffy;
        }
    }

    /// CPUs whose ticks run.
    pub fn active(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.active.iter().copied()
    }

    /// The tick of `cpu` runs from now on.
    pub fn start_tick(&mut self, cpu: CpuId) {
        if !self.active.insert(cpu) {
            return;
        }
        self.migrator.get_or_insert(cpu);
        // Its clock has the tick to look after.
        self.clocks.retain(|it| it.1 != cpu || it.2 == For::Outside);
    }

    /// Its tick stops. If it was the last one, its clock is set to the earliest timer there is.
    pub fn stop_tick(&mut self, cpu: CpuId) {
        self.counter.take_if(|it| *it == cpu);
        if !self.active.remove(&cpu) {
            return;
        }
        if self.migrator == Some(cpu) {
            self.migrator = self.active.first().copied();
        }
        if self.active.is_empty() || self.local {
            self.look_after_all(cpu);
        }
    }

    /// No tick runs, and `cpu` is the last to have looked: it sets its clock. Without migration it does so
    /// for its own timers, although others tick.
    pub fn look_after_all(&mut self, cpu: CpuId) {
        if let Some((at, ..)) = self
            .pool(cpu)
            .filter(|_| self.local || self.active.is_empty())
        {
            self.clocks.insert((at, cpu, For::All));
        }
    }

    /// `gone` goes offline: its timers and clocks move to `heir`.
    pub fn migrate(&mut self, gone: CpuId, heir: CpuId) {
        self.stop_tick(gone);
        let timers = self.set.iter().filter(|it| it.1.0 == gone);
        let timers: Vec<_> = timers.map(|(&timer, &(_, at))| (at, timer)).collect();
        for (at, timer) in timers {
            self.set(timer, heir, at);
        }
        let clocks = self.clocks.iter().filter(|it| it.1 == gone);
        let clocks: Vec<_> = clocks.copied().collect();
        for it @ (at, _, whose) in clocks {
            self.clocks.remove(&it);
            if whose != For::Itself {
                self.clocks.insert((at, heir, whose));
            }
        }
        let those = self.outside.range((gone, 0)..=(gone, u64::MAX));
        for it in those.copied().collect::<Vec<_>>() {
            self.outside.remove(&it);
            self.ring_outside(heir, it.1);
        }
    }

    /// The next jiffy in which some CPU has a tick, or its clock goes off; `next` is the first that there can
    /// be.
    pub fn next_jiffy(&self, next: u64) -> Option<u64> {
        match self.active.is_empty() {
            true => self.clocks.first().map(|it| it.0.max(next)),
            false => Some(next),
        }
    }

    /// The jiffy for which the CPU has set its clock; a tick that runs comes in `next`.
    pub fn next_clock(&self, next: u64, cpu: CpuId) -> Option<u64> {
        let set = || self.clock(cpu).map(|at| at.max(next));
        self.ticks(cpu).then_some(next).or_else(set)
    }

    /// The jiffy for which the clock of `cpu` is set.
    fn clock(&self, cpu: CpuId) -> Option<u64> {
        self.clocks.iter().find(|it| it.1 == cpu).map(|it| it.0)
    }

    /// Sets the clock of `cpu`, whose tick is stopped, for its own purpose; or stops it.
    pub fn look_after_itself(&mut self, cpu: CpuId, at: Option<u64>) {
        self.clocks.retain(|it| (it.1, it.2) != (cpu, For::Itself));
        self.clocks.extend(at.map(|at| (at, cpu, For::Itself)));
    }

    /// `cpu` takes a tick in that jiffy, without a known cause.
    pub fn ring_outside(&mut self, cpu: CpuId, at: u64) {
        let mut set = self.clocks.iter();
        let set = set.find(|it| (it.1, it.2) == (cpu, For::Outside)).copied();
        if let Some(later) = set.filter(|it| at < it.0) {
            self.clocks.remove(&later);
            self.outside.insert((cpu, later.0));
        }
        match set {
            Some(it) if it.0 <= at => self.outside.insert((cpu, at)),
            _ => self.clocks.insert((at, cpu, For::Outside)),
        };
    }

    /// Removes the clocks that expire in jiffy `now`, and returns them with their purposes.
    pub fn ring(&mut self, now: u64) -> Vec<(CpuId, For)> {
        let mut rung = Vec::new();
        while let Some(&it) = self.clocks.first()
            && it.0 <= now
        {
            self.clocks.remove(&it);
            rung.push((it.1, it.2));
            let mut later = self.outside.range((it.1, 0)..=(it.1, u64::MAX));
            if let (For::Outside, Some(&next)) = (it.2, later.next()) {
                self.outside.remove(&next);
                self.clocks.insert((next.1, it.1, For::Outside));
            }
        }
        rung
    }

    /// When its own next timer is due.
    pub fn next_own(&self, cpu: CpuId) -> Option<u64> {
        self.own(cpu).map(|it| it.0)
    }

    /// The time at which its clock fires if its tick stops, or has stopped: it is set already, or will be for
    /// all CPUs' timers because its tick is the last one, or the clock that has just fired (`rung`) is set
    /// again.
    pub fn next_without_tick(&self, cpu: CpuId, rung: bool) -> Option<u64> {
        let alone = self.local || self.active.iter().all(|&it| it == cpu);
        let last = alone && (rung || self.ticks(cpu));
        let pool = self.pool(cpu).filter(|_| last).map(|it| it.0);
        let own = self.next_own(cpu).filter(|_| last);
        self.clock(cpu).into_iter().chain(pool).chain(own).min()
    }

    /// The timer that `cpu` takes first in its tick of jiffy `now`; `all`: its clock was set for all CPUs'
    /// timers.
    pub fn first_due(&self, cpu: CpuId, now: u64, all: bool) -> Option<Timer> {
        let own = self.own(cpu).filter(|it| it.0 <= now);
        let duty = all || (self.ticks(cpu) && self.has_duty(cpu));
        let pool = self.pool(cpu).filter(|it| duty && it.0 <= now);
        own.or(pool).map(|it| it.2)
    }

    /// Has `cpu`, in its tick of jiffy `now`, timers to take?
    pub fn has_due(&self, cpu: CpuId, now: u64) -> bool {
        let duty = self.has_duty(cpu);
        let takes = |owner| owner == cpu || (duty && !self.ticks(owner));
        let mut all = self.set.values();
        all.any(|&(owner, at)| at <= now && takes(owner))
    }

    fn has_duty(&self, cpu: CpuId) -> bool {
        match self.active.is_empty() {
            _ if self.local => false,
            true => true, // its clock has brought it here
            false => self.migrator == Some(cpu),
        }
    }

    /// Takes the next timer that `cpu` has to take in jiffy `now`. `ticking` says who else takes a tick at
    /// the same instant and has not had its turn: their own timers are left to them.
    pub fn take_due(
        &mut self,
        cpu: CpuId,
        now: u64,
        ticking: impl Fn(CpuId) -> bool,
    ) -> Option<Timer> {
        let due = |it: &(u64, CpuId, Timer)| it.0 <= now;
        let duty = self.has_duty(cpu);
        let mine = |it| !self.ticks(it) && (it == cpu || (duty && !ticking(it)));
        let timer = self.own(cpu).filter(due);
        let (.., timer) = timer.or_else(|| self.first(mine).filter(due))?;
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jiffy of the first clock that was set.
    fn clock(wheel: &Wheel) -> Option<u64> {
        wheel.clocks.first().map(|it| it.0)
    }

    #[test]
    fn a_timer_is_a_jiffy_late_and_far_ones_are_coarse() {
        assert_eq!(expiry(5020, 3), 5024);
        assert_eq!(expiry(0, 62), 63);
        assert_eq!(expiry(0, 63), 64, "steps of eight");
        assert_eq!(expiry(1, 63), 72);
        // As a trace shows it: armed at 22.146 for ten seconds, fired at 32.270 (HZ=1000).
        let base = 4_294_667_250;
        assert_eq!(expiry(base + 22_146, 10_000), base + 32_270);
    }

    #[test]
    fn the_last_to_stop_sets_its_clock_for_all() {
        let mut wheel = Wheel::default();
        wheel.start_tick(1);
        wheel.start_tick(0);
        wheel.set(Timer::Wake(7), 1, 30);
        wheel.stop_tick(1);
        assert_eq!(clock(&wheel), None, "CPU 0 looks after it");
        assert!(wheel.has_due(0, 30), "as the migrator");
        wheel.stop_tick(0);
        assert_eq!(clock(&wheel), Some(30));
        assert_eq!(wheel.ring(30), [(0, For::All)]);
        assert_eq!(wheel.take_due(0, 30, |cpu| cpu == 1), None, "its owner's");
        assert_eq!(wheel.take_due(1, 30, |_| false), Some(Timer::Wake(7)));
    }

    #[test]
    fn without_migration_each_cpu_sets_its_clock_for_its_own() {
        let mut wheel = Wheel::new(false, 0);
        wheel.start_tick(1);
        wheel.start_tick(0);
        wheel.set(Timer::Wake(7), 1, 30);
        wheel.set(Timer::Wake(8), 0, 20);
        wheel.stop_tick(1);
        assert_eq!(clock(&wheel), Some(30), "although CPU 0 ticks");
        assert!(!wheel.has_due(0, 10) && wheel.has_due(0, 20));
        assert_eq!(wheel.take_due(0, 30, |_| false), Some(Timer::Wake(8)));
        assert_eq!(wheel.take_due(0, 30, |_| false), None, "CPU 1's");
        wheel.stop_tick(0);
        assert_eq!(wheel.ring(30), [(1, For::All)], "CPU 0 has none");
        assert_eq!(wheel.take_due(1, 30, |_| true), Some(Timer::Wake(7)));
        wheel.set(Timer::Group(0), 2, 40);
        assert_eq!(wheel.ring(40), [(2, For::All)], "set while it idles");
    }

    #[test]
    fn one_cpu_counts_jiffies_until_its_tick_stops() {
        let mut wheel = Wheel::new(true, 10);
        wheel.start_tick(1);
        wheel.start_tick(0);
        wheel.counts(1, 11);
        wheel.counts(0, 12);
        assert_eq!(
            wheel.counted(),
            11,
            "CPU 0 ticks before CPU 1, which counts"
        );
        wheel.counts(1, 12);
        assert_eq!(wheel.counted(), 12);
        wheel.stop_tick(1);
        wheel.counts(0, 13);
        assert_eq!(wheel.counted(), 13, "the next one to tick");
        wheel.executes(0, 14);
        assert_eq!(wheel.counted(), 13);
        wheel.executes(1, 14);
        assert_eq!(wheel.counted(), 14, "its tick is stopped: it looks itself");
    }

    #[test]
    fn what_a_cpu_leaves_is_its_heirs() {
        for heir_ticks in [false, true] {
            let mut wheel = Wheel::default();
            wheel.start_tick(1);
            wheel.set(Timer::Wake(7), 1, 30);
            if heir_ticks {
                wheel.start_tick(0);
            }
            wheel.migrate(1, 0);
            assert!(!wheel.ticks(1));
            assert_eq!(clock(&wheel), (!heir_ticks).then_some(30));
            assert_eq!(
                wheel.ring(30),
                [(0, For::All); 1][..usize::from(!heir_ticks)]
            );
            assert_eq!(wheel.take_due(0, 30, |_| true), Some(Timer::Wake(7)));
        }
    }

    #[test]
    fn the_migrator_is_the_first_and_then_the_lowest() {
        let mut wheel = Wheel::default();
        for cpu in [3, 2, 5] {
            wheel.start_tick(cpu);
        }
        assert_eq!(wheel.migrator, Some(3));
        wheel.stop_tick(3);
        assert_eq!(wheel.migrator, Some(2));
        wheel.stop_tick(5);
        assert_eq!(wheel.migrator, Some(2));
    }

    #[test]
    fn a_clock_that_was_set_rings_although_others_woke() {
        let mut wheel = Wheel::default();
        wheel.start_tick(1);
        wheel.set(Timer::Wake(0), 1, 24);
        wheel.stop_tick(1);
        wheel.start_tick(6);
        wheel.stop_tick(6);
        assert_eq!(wheel.ring(24), [(1, For::All), (6, For::All)]);
        wheel.start_tick(1);
        wheel.set(Timer::Wake(0), 1, 40);
        wheel.stop_tick(1);
        wheel.start_tick(1);
        assert_eq!(clock(&wheel), None, "but not on a CPU that itself woke");
        wheel.stop(Timer::Wake(0));
        wheel.stop_tick(1);
        assert_eq!(clock(&wheel), None);
    }

    #[test]
    fn a_clock_for_something_outside_rings_whatever_its_cpu_does() {
        let mut wheel = Wheel::default();
        wheel.ring_outside(1, 20);
        wheel.start_tick(1);
        wheel.stop_tick(1);
        wheel.look_after_itself(1, None);
        assert_eq!(wheel.next_jiffy(7), Some(20));
        assert_eq!(wheel.ring(20), [(1, For::Outside)]);
        // Only the first of a CPU is searched for at each idle entry.
        for at in [40, 30, 50, 30] {
            wheel.ring_outside(1, at);
        }
        wheel.ring_outside(2, 45);
        assert_eq!((clock(&wheel), wheel.clocks.len()), (Some(30), 2));
        wheel.migrate(1, 3);
        let of = |cpu| (cpu, For::Outside);
        for (now, rung) in [
            (30, vec![of(3)]),
            (44, vec![of(3)]),
            (60, vec![of(2), of(3)]),
        ] {
            let mut all = wheel.ring(now);
            all.dedup();
            assert_eq!(all, rung, "{now}");
        }
    }

    #[test]
    fn a_jiffy_is_looked_for_only_where_a_cpu_ticks_or_has_a_clock() {
        let mut wheel = Wheel::default();
        assert_eq!(wheel.next_jiffy(7), None);
        wheel.look_after_itself(2, Some(20));
        wheel.look_after_itself(2, Some(12));
        assert_eq!(wheel.next_jiffy(7), Some(12), "the last one counts");
        assert_eq!(wheel.next_jiffy(15), Some(15), "late, but not in the past");
        wheel.start_tick(1);
        assert_eq!(wheel.next_jiffy(7), Some(7));
        wheel.stop_tick(1);
        assert_eq!(wheel.ring(12), [(2, For::Itself)]);
        assert_eq!(wheel.next_jiffy(13), None);
    }
}

//! The grace period: request → start → fence → scans and waits → end.
//!
//! A host keeps one [`Global`] a domain, under one lock. Calls come in three kinds:
//!
//! * **Requests**: [`wait_for_gp`](Global::wait_for_gp), [`start_poll`](Global::start_poll).
//! * **Driving**: [`step`](Global::step), [`fenced`](Global::fenced), [`flagged`](Global::flagged),
//!   [`grow`](Global::grow), and the role ([`driver`](crate::driver)). Or a request and its whole grace
//!   period in one call, if only the caller takes part: [`sole_gp`](Global::sole_gp).
//! * **Queries**: [`published`](Global::published), [`holdouts`](Global::holdouts), …
//!
//! One grace period at a time, back to back if more are requested. [`Global::step`] stops after a number of
//! leaves, in a state in which any other call may be made: so a long grace period never holds the host's lock
//! for long. Time ([`Now`]) must never run backwards; the engine uses the later of the given time and the
//! last known one. Same inputs give the same outputs: the engine uses no clock, no randomness and no address.
//!
//! # Scans
//! A scan reads every CPU that still owes a quiescent state. The **first** one visits the CPUs that are
//! present: one that is outside owes nothing (one observation suffices); the stamps of the others are kept.
//! **Later** scans credit a CPU that is outside *or* whose stamp has changed. The stamp alone would wait for
//! ever for a reader that left and stayed out; being outside alone would wait for ever for a reader that is
//! inside at every scan, section after section.
//!
//! # Correctness
//! Let R be a section that is open when the grace period starts, on CPU c.
//! 1. `gp_seq` starts, then the fence: after it, every store that opened a section before the start is
//!    visible to the scan, and every section that opens later sees the updates made before the start.
//! 2. Arrivals are read after that: c is in the first scan, or it arrived after the query, with a full fence
//!    before its first section, and then R is not older than the start.
//! 3. c is credited only by (a) a scan that found it outside, (b) a later scan that found its stamp changed
//!    since the first, both after the fence; (c) its absence at a later scan. Each proves that R has ended.
//! 4. The grace period ends only when no CPU owes.
//!
//! Where the driver is the only participant, program order replaces the fence. A count of one is not enough:
//! the participant has to be the driver. `sole_gp` makes the changes of the steps, in their order, but for
//! one: readers are observed before the number starts, not after. The caller's own section cannot change
//! meanwhile; and a thread that registers after [`Host::present`] was asked has executed a full fence since,
//! and sees everything that precedes the call, as a thread that registers during the steps does.
//!
//! # Between scans
//! ```text
//! scan → spin, scan … → flag holdouts → spin, scan … → flag, arm → fence → scan → flag, arm → sleep
//!        (Before)                       (After)         (Arming)   (Fence) (Armed)            (Asleep)
//! ```
//!
//! *No lost wake-up.* The driver sleeps only if (1) a fence was issued after the last flag that was newly
//! set, (2) a scan after that fence still found holdouts, and (3) a last check found all their flags still
//! set, with the sleeper already declared (`arm`). A reader that ends its section stores its word, then loads
//! its flag. If it missed the flag, that load came before the fence, so the scan sees the word. If it saw the
//! flag it clears it with a locked instruction before it reads the sleeper's word: either (3) sees the flag
//! cleared, or the reader sees the sleeper. A handler inside lock or unlock may clear a flag and then have
//! its interrupted code's stale store hide the change of generation; therefore (3) reads the flags and not
//! only the words.

use crate::config::{Config, Pace, Readers};
use crate::global::{Counts, Global, Interest, Pacing, Phase, Reports, Wait, WorkerTimer};
use crate::host::{CpuId, FenceCause, Host, LeafId, Next, Now, Pos};
use crate::leaves::{Bits, Leaves, OutOfMemory};
use crate::seq::Seq;
use crate::waiters::Waiters;

impl Global {
    // Requests.

    /// A caller that waits for a grace period: its position. A full fence precedes the call.
    #[inline]
    pub fn wait_for_gp(&mut self, expedited: bool) -> Pos {
        self.request();
        self.waiters.push(expedited)
    }

    /// The cookie for a full grace period from now, which is requested. A full fence precedes the call.
    pub fn start_poll(&mut self) -> Seq {
        self.request();
        self.gp_seq.snap()
    }

    /// Requests a grace period that starts from now on.
    pub(crate) fn request(&mut self) {
        let wanted = self.gp_seq.snap();
        if !self.needed.ge(wanted) {
            self.needed = wanted;
        }
    }

    /// Has a grace period to be started?
    fn wanted(&self) -> bool {
        !self.gp_seq.ge(self.needed)
    }

    /// Is this grace period requested, or in flight?
    pub fn is_coming(&self, stamp: Seq) -> bool {
        self.gp_seq.started(stamp) || self.needed.ge(stamp)
    }

    /// A `synchronize` caller on `cpu`, if that CPU takes part: a full grace period, if the caller is alone
    /// and outside. False: it is not, or a grace period is in flight, or a caller waits; nothing has
    /// happened. Same fence rule as [`wait_for_gp`](Global::wait_for_gp).
    pub fn sole_gp(&mut self, cpu: Option<CpuId>, host: &impl Host) -> bool {
        let free = self.phase == Phase::Idle && !self.is_driven() && !self.waiters.any_waiting();
        let passes = free && self.is_alone(cpu, host) && self.is_outside(cpu, host);
        if passes {
            let _ = self.waiters.push(false);
            self.begin();
            self.counts.steps += 1;
            self.counts.sole += 1;
            self.counts.leaves_scanned += 1;
            self.conclude();
        }
        passes
    }

    // Driving.

    /// Does the next pieces of the grace period, `most` at most, until the driver has something else to do.
    /// Only the driver calls this.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step(&mut self, now: Now, host: &impl Host, most: u32) -> Next {
        assert!(self.is_driven(), "step without try_drive");
        self.now.ns = self.now.ns.max(now.ns);
        for _ in 0..most {
            self.counts.steps += 1;
            let next = match self.phase {
                Phase::Idle => self.start(host),
                Phase::Fence => Next::Fence(FenceCause::GpStart),
                Phase::Scan(leaf) => self.scan(leaf, host),
                Phase::Wait(wait) => self.wait(wait),
            };
            // An end is published before another start.
            if !matches!(next, Next::Again) || self.phase == Phase::Idle {
                return next;
            }
        }
        Next::Again
    }

    /// The fence requested by [`Next::Fence`] has been issued, beginning after that answer.
    pub fn fenced(&mut self) -> Next {
        self.role.returned();
        match self.phase {
            Phase::Fence => self.phase = Phase::Scan(0),
            Phase::Wait(Wait::Fence) => self.phase = Phase::Wait(Wait::Armed),
            _ => {} // no grace period waits for this fence: no effect
        }
        Next::Again
    }

    /// [`Next::FlagHoldouts`] has been done: this number of flags were clear and are set now.
    pub fn flagged(&mut self, newly: u32) -> Next {
        self.pacing.fence_owed |= newly > 0;
        match self.phase {
            Phase::Wait(Wait::Flag) => {
                self.pacing.stage = Wait::After;
                self.pacing.spins = 0;
                self.spin(Wait::After)
            }
            Phase::Wait(Wait::Arming) if self.pacing.fence_owed => {
                self.pacing.fence_owed = false;
                self.phase = Phase::Wait(Wait::Fence);
                Next::Fence(FenceCause::Flag)
            }
            Phase::Wait(Wait::Arming) => {
                self.phase = Phase::Wait(Wait::Asleep);
                Next::Sleep(self.next_report())
            }
            _ => Next::Again,
        }
    }

    /// Replaces the leaves by more of them, between grace periods.
    ///
    /// # Errors
    /// Gives the new ones back if a grace period is in flight or they are not more. The old ones come back in
    /// `Ok`, so that they can be freed with no lock held.
    pub fn grow(&mut self, leaves: Leaves) -> Result<Leaves, Leaves> {
        if self.phase != Phase::Idle || leaves.cpus() <= self.cpus() {
            return Err(leaves);
        }
        Ok(core::mem::replace(&mut self.leaves, leaves))
    }

    /// Leaves for [`grow`](Global::grow). Call it with no lock held.
    ///
    /// # Errors
    /// No memory.
    pub fn new_leaves(config: &Config, cpus: u32) -> Result<Leaves, OutOfMemory> {
        Leaves::new(cpus, config.leaf)
    }

    // The pieces.

    /// Start: the sequence number, before any reader is looked at.
    fn start(&mut self, host: &impl Host) -> Next {
        if !self.wanted() {
            return Next::Done;
        }
        let cpus = host.cpus().max(1);
        if cpus > self.cpus() {
            return Next::Grow(cpus);
        }
        self.begin();
        if self.is_alone(self.role.driver.and_then(|driver| driver.cpu), host) {
            self.counts.sole += 1;
            self.phase = Phase::Scan(0);
            return Next::Again;
        }
        self.phase = Phase::Fence;
        Next::Fence(FenceCause::GpStart)
    }

    /// The number starts, and the requests are taken that it serves.
    fn begin(&mut self) {
        self.reports = Reports::NONE;
        // The segment is closed before gp_seq starts: see `waiters`.
        self.waiters.close();
        self.gp_seq = self.gp_seq.start();
        self.pacing = Pacing::of(self.waiters.expedited());
        self.counts.scans += 1;
    }

    /// Does no CPU but this one take part? Two [counts](crate::indexed) are in no leaf for a host whose
    /// caller is the only one that has used them.
    fn is_alone(&self, own: Option<CpuId>, host: &impl Host) -> bool {
        let width = self.config.leaf;
        let leaves = host.cpus().div_ceil(width);
        let mut from = 0;
        while let Some(leaf) = crate::leaves::first(from, leaves, |group| host.occupied(group)) {
            let present = host.present(leaf);
            let others = match own {
                Some(cpu) if (cpu / width) as LeafId == leaf => present & !(1 << (cpu % width)),
                _ => present,
            };
            if others != 0 {
                return false;
            }
            if present == 0 {
                host.vacated(leaf);
            }
            from = leaf + 1;
        }
        true
    }

    /// Is the only participant outside: this CPU, or both counts?
    fn is_outside(&self, own: Option<CpuId>, host: &impl Host) -> bool {
        match self.config.readers {
            Readers::Cpus => own.is_none_or(|cpu| host.observe(cpu).outside),
            Readers::Indexed => {
                (0..crate::indexed::COUNTS).all(|count| host.observe(count).outside)
            }
        }
    }

    fn begin_scan(&mut self) {
        self.phase = Phase::Scan(0);
        self.pacing.is_first_scan = false;
        self.counts.scans += 1;
        self.notice_stall();
    }

    /// The next leaf of a scan, from `from` on.
    fn scan(&mut self, from: LeafId, host: &impl Host) -> Next {
        let leaf = match (self.pacing.is_first_scan, self.config.readers) {
            (false, _) => self.leaves.owing_from(from),
            (true, Readers::Cpus) => self.leaves.occupied_from(from, host),
            (true, Readers::Indexed) => (from == 0).then_some(0), // both counts always take part
        };
        let Some(leaf) = leaf else {
            return self.scanned(host);
        };
        let owes = match self.pacing.is_first_scan {
            true => self.look_first(leaf, host),
            false => self.look_again(leaf, host),
        };
        self.leaves.set_owed(leaf, owes);
        self.phase = Phase::Scan(leaf + 1);
        Next::Again
    }

    /// The first scan: the CPUs of a leaf that are inside.
    fn look_first(&mut self, leaf: LeafId, host: &impl Host) -> u64 {
        let present = host.present(leaf);
        if present == 0 {
            host.vacated(leaf);
            return 0;
        }
        self.counts.leaves_scanned += 1;
        let (lowest, stamps) = (self.leaves.lowest(leaf), self.leaves.stamps(leaf));
        let mut owes = 0;
        for bit in Bits(present) {
            let seen = host.observe(lowest + bit);
            if !seen.outside {
                stamps[bit as usize] = seen.stamp;
                owes |= 1 << bit;
            }
        }
        owes
    }

    /// A later scan: the CPUs of a leaf that are inside since the first one. One that is absent owes nothing:
    /// its state would never change.
    fn look_again(&mut self, leaf: LeafId, host: &impl Host) -> u64 {
        self.counts.leaves_scanned += 1;
        let (lowest, owed) = (self.leaves.lowest(leaf), self.leaves.owed(leaf));
        let stamps = self.leaves.stamps(leaf);
        let mut owes = 0;
        for bit in Bits(owed) {
            let seen = host.observe(lowest + bit);
            if !seen.outside && seen.stamp == stamps[bit as usize] {
                owes |= 1 << bit;
            }
        }
        owes & host.present(leaf)
    }

    /// A scan has visited every leaf.
    fn scanned(&mut self, host: &impl Host) -> Next {
        if self.leaves.owing_from(0).is_none() {
            return self.end();
        }
        if self.turn_over() {
            host.join(self.joined);
            self.begin_scan();
            return Next::Again;
        }
        let next = self.pace();
        if self.takes_report() {
            Next::Report
        } else {
            next
        }
    }

    /// The end, which satisfies waiters and polls.
    fn end(&mut self) -> Next {
        self.conclude();
        let is_content = match self.role.driver.map(|driver| driver.interest) {
            Some(Interest::Waiter(ticket)) => ticket < self.waiters.done(),
            _ => true,
        };
        match (is_content, self.wanted()) {
            (false, true) => Next::Again,
            (true, _) => self.hand_over_or_done(),
            (false, false) => Next::Done,
        }
    }

    /// The number ends, and the waiters that it serves are satisfied.
    fn conclude(&mut self) {
        self.gp_seq = self.gp_seq.end();
        self.counts.grace_periods += 1;
        self.phase = Phase::Idle;
        if !self.wanted() {
            self.needed = self.gp_seq; // it must not fall behind by half the space of numbers
        }
        self.waiters.finish();
    }

    pub(crate) fn hand_over_or_done(&self) -> Next {
        match self.waiters.any_waiting() {
            true => Next::HandOver,
            false => Next::Done,
        }
    }

    // Waiting for holdouts.

    /// The stages after a scan that found holdouts.
    fn pace(&mut self) -> Next {
        let Pace {
            spins_before_flag,
            spins_after_flag,
            expedited_factor,
            ..
        } = self.config.pace;
        let factor = match self.pacing.expedited {
            true => u32::from(expedited_factor.max(1)),
            false => 1,
        };
        let may_spin = |spins: u16| self.pacing.spins < u32::from(spins) * factor;
        let is_poller = self.is_driven_for(Interest::Poller);
        match self.pacing.stage {
            stage if self.is_driven_for(Interest::Passing) => {
                self.blocked();
                self.phase = Phase::Wait(stage);
                self.hand_over_or_done()
            }
            Wait::Before if may_spin(spins_before_flag) => self.spin(Wait::Before),
            Wait::Before => self.flag(),
            // A poller sets the flags again, each time: a handler may have cleared one under a section whose
            // change of generation its interrupted code then hid.
            Wait::After | Wait::Armed if is_poller => self.flag(),
            Wait::After if may_spin(spins_after_flag) => self.spin(Wait::After),
            _ => {
                self.blocked();
                self.pacing.stage = Wait::Armed;
                self.phase = Phase::Wait(Wait::Arming);
                Next::FlagHoldouts { arm: true }
            }
        }
    }

    /// Holdouts are flagged once a few scans have found them.
    fn flag(&mut self) -> Next {
        self.blocked();
        self.phase = Phase::Wait(Wait::Flag);
        Next::FlagHoldouts { arm: false }
    }

    /// Spins in `stage`; a poller leaves once the holdouts are flagged.
    fn spin(&mut self, stage: Wait) -> Next {
        self.phase = Phase::Wait(stage);
        if self.is_driven_for(Interest::Poller) && stage == Wait::After {
            return self.hand_over_or_done();
        }
        self.pacing.spins += 1;
        Next::Spin(u32::from(self.config.pace.spin))
    }

    /// The driver returns from a wait, or another one continues there.
    fn wait(&mut self, wait: Wait) -> Next {
        let is_passing = self.is_driven_for(Interest::Passing);
        // Such a driver will not sleep: it scans once, and keeps the stage.
        let only_looks = is_passing || (wait != Wait::Flag && self.is_driven_for(Interest::Poller));
        match wait {
            // A new driver repeats the old one's pending action.
            Wait::Flag if !only_looks => return Next::FlagHoldouts { arm: false },
            Wait::Arming if !only_looks => return Next::FlagHoldouts { arm: true },
            Wait::Fence if !only_looks => return Next::Fence(FenceCause::Flag),
            // The next driver issues the fence.
            Wait::Fence => self.pacing.fence_owed = true,
            _ => {}
        }
        self.begin_scan();
        Next::Again
    }

    // Queries.

    /// The waiter positions.
    #[inline]
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// The phase, for diagnosis and checkers.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts from zero, for another owner.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// The number of CPUs that there is room for.
    pub fn cpus(&self) -> u32 {
        self.leaves.cpus()
    }

    /// The CPUs that still owe a quiescent state; empty unless the grace period is waiting or scanning. Of
    /// two [counts](crate::indexed) only the one that is being waited for.
    pub fn holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let counted = self.config.readers == Readers::Indexed;
        let all = self.leaves.holdouts();
        all.filter(move |&cpu| !counted || cpu != self.joined)
    }

    /// The number for polls without the lock: after each call that changes it the host publishes it with a
    /// release store, before it drops the lock.
    #[inline]
    pub fn published(&self) -> Seq {
        self.gp_seq
    }

    /// Is a grace period in progress or requested?
    pub fn busy(&self) -> bool {
        self.phase != Phase::Idle || self.wanted()
    }

    // Forks.

    /// In the child of a fork: the driver and the waiters were other threads, which the child does not have.
    ///
    /// A grace period in progress stays in its phase. Its next driver continues it, as after any driver that
    /// left; participants of the parent are seen outside, or absent. Requests and cookies stay valid. The
    /// timer is not set: the next caller that queues sets it. Counts start at 0 again, and so does the time
    /// after which a stall is reported.
    pub fn forked(&mut self) {
        self.role.driver = None;
        self.waiters.forked();
        self.timer = WorkerTimer::new();
        self.reports = Reports::NONE;
        self.budget.forked();
        self.overflow_on_duty = false;
        self.counts = Counts::NONE;
    }
}

#[cfg(test)]
mod tests;

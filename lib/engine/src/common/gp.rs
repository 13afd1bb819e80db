//! The grace period: request → start → initialisation → waiting and scans → cleanup.
//!
//! One grace period at a time, back to back if more are requested. Each [`Global::step`] does one bounded
//! piece (one node, one leaf of a scan) and leaves the engine in a state in which any other call may be made.
//! So a long grace period never holds the host's lock for long, and a checker can interleave any other call.
//!
//! # Correctness
//! Let R be a section that is open when the grace period starts, on CPU c.
//! 1. `gp_seq` starts, then the fence: after it, every store that opened a section before the start
//!    is visible to the scan, and every section that opens later sees the updates made before the
//!    start.
//! 2. Arrivals are read after the start: c is in the masks, or it arrived after the query, with a full fence
//!    before its first section, and then R is not older than the start.
//! 3. c's bit is cleared only by (a) a scan that found it outside, (b) a second scan that found its stamp
//!    changed since the first, both after the fence; (c) its own report noted under this number; (d) its
//!    departure; (e) the early report of the driver's own CPU, which checks whether it is outside. Each
//!    proves that R has ended. A section whose task was preempted in it leaves the CPU and is held by its
//!    leaf (`blocked`).
//! 4. Cleanup begins only when the root is finished.
//!
//! # No unnecessary waits
//! No step waits without a holdout: a root mask that empties during initialisation leads directly to cleanup,
//! and a driver that is the only participant needs no fence at all, nor the role ([`sole`](super::sole)).

use crate::common::config::Readers;
use crate::common::fqs::Wait;
use crate::common::global::{Global, Interest, Phase};
use crate::common::host::{Effects, FenceCause, Host, LeafId, Next, Now, Pos};
use crate::common::leaves::Leaves;

impl Global {
    /// Does the next piece of the grace period. Only the driver calls this.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step(&mut self, now: Now, host: &impl Host) -> Effects {
        assert!(self.driver.is_some(), "step without try_drive");
        self.now.ns = self.now.ns.max(now.ns);
        self.counts.steps += 1;
        match self.phase {
            Phase::Idle => self.start(host),
            Phase::Fence => Effects::only(Next::Fence(FenceCause::GpStart)),
            Phase::Start(leaf) => self.start_leaf(leaf, host),
            Phase::Wait(wait) => self.wait(wait),
            Phase::Scan(leaf) => self.scan(leaf, host),
            Phase::End => self.end(),
        }
    }

    /// The fence requested by [`Next::Fence`] has been issued, beginning after that answer.
    pub fn fenced(&mut self) -> Next {
        self.lost_in_row = 0; // a driver has returned in time
        match self.phase {
            Phase::Fence => self.phase = Phase::Start(0),
            Phase::Wait(Wait::Fence) => self.phase = Phase::Wait(Wait::Armed),
            _ => {} // no grace period waits for this fence: no effect
        }
        Next::Again
    }

    /// Start: the sequence number, before initialisation.
    fn start(&mut self, host: &impl Host) -> Effects {
        if !self.wanted() {
            return Effects::only(Next::Done);
        }
        let cpus = host.cpus().max(1);
        if cpus > self.cpus() {
            return Effects::only(Next::Grow(cpus));
        }
        self.begin();
        let publish = Some(self.published());
        let next = if self.sole(host) {
            self.counts.sole += 1;
            self.phase = Phase::Start(0);
            Next::Again
        } else {
            self.phase = Phase::Fence;
            Next::Fence(FenceCause::GpStart)
        };
        Effects {
            publish,
            ..Effects::only(next)
        }
    }

    /// The number starts, and the requests are taken that it serves.
    pub(crate) fn begin(&mut self) {
        self.stall = crate::common::stall::StallState::new();
        // The segment is closed before gp_seq starts: see `waiters`.
        self.waiters.close();
        self.gp_seq = self.gp_seq.start();
        self.fqs.gp_started(self.waiters.expedited());
    }

    /// Is the driver the only participant? Then program order replaces the fence. A count of one is not
    /// enough: the participant has to be the driver.
    fn sole(&self, host: &impl Host) -> bool {
        let own = self.driver.and_then(|d| d.cpu);
        let Some(leaves) = &self.leaves else {
            return false;
        };
        let own = own.map(|cpu| leaves.place_of(cpu));
        let next = |from| leaves.occupied_from(from, host);
        core::iter::successors(next(0), |&leaf| next(leaf + 1)).all(|leaf| {
            let own = own.map_or(0, |(own, bit)| if own == leaf { bit } else { 0 });
            host.present(leaf) & !own == 0
        })
    }

    /// The readers of one leaf that take part: the first leaf from `from` on that may have some.
    fn start_leaf(&mut self, from: LeafId, host: &impl Host) -> Effects {
        let leaves = self.leaves.as_mut().expect("a grace period has leaves");
        let leaf = match self.config.readers {
            Readers::Cpus => leaves.occupied_from(from, host),
            Readers::Indexed => (from == 0).then_some(0), // both counts always take part
        };
        let Some(leaf) = leaf else {
            return self.begin_wait(true);
        };
        let present = host.present(leaf);
        leaves.set_owed(leaf, present);
        self.phase = Phase::Start(leaf + 1);
        Effects {
            vacated: (present == 0).then_some(leaf),
            ..Effects::only(Next::Again)
        }
    }

    /// The end, which satisfies waiters and polls.
    fn end(&mut self) -> Effects {
        let satisfied = self.conclude();
        Effects {
            publish: Some(self.published()),
            waiters_until: satisfied,
            ..Effects::only(self.after_end())
        }
    }

    /// The global number, the recheck of requests, the waiters.
    pub(crate) fn conclude(&mut self) -> Option<Pos> {
        self.gp_seq = self.gp_seq.end();
        self.counts.grace_periods += 1;
        self.phase = Phase::Idle;
        if !self.wanted() {
            self.needed = self.gp_seq; // it must not fall behind by half the space of numbers
        }
        self.waiters.finish()
    }

    fn after_end(&self) -> Next {
        let content = match self.driver.expect("the driver is at work").interest {
            Interest::Waiter(ticket) => ticket < self.waiters.done(),
            Interest::Poller | Interest::Passing => true,
        };
        match (content, self.wanted()) {
            (false, true) => Next::Again,
            (true, _) if self.waiters.any_waiting() => Next::HandOver,
            _ => Next::Done,
        }
    }

    /// The pause before the next scan, if there is one.
    pub(crate) fn begin_wait(&mut self, first: bool) -> Effects {
        if self.all_quiescent() {
            self.phase = Phase::End;
            return Effects::only(Next::Again);
        }
        if first {
            self.begin_scan();
            return Effects::only(Next::Again);
        }
        let stall = self.stalled_readers();
        Effects {
            stall,
            ..self.pace_after_scan()
        }
    }

    pub(crate) fn all_quiescent(&self) -> bool {
        self.leaves().owing_from(0).is_none()
    }

    pub(crate) fn leaves(&self) -> &Leaves {
        self.leaves.as_ref().expect("a grace period has leaves")
    }
}

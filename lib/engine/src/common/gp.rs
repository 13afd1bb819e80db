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

use crate::common::fqs::Wait;
use crate::common::global::{Global, Interest, Phase};
use crate::common::host::{Effects, FenceCause, Host, Next, Now, Pos};
use crate::common::tree::Bits;

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
            Phase::Hotplug(leaf) => self.hotplug(leaf, host),
            Phase::Init(node) => self.init(node, host),
            Phase::Wait(wait) => self.wait(wait),
            Phase::Scan(leaf) => self.scan(leaf, host),
            Phase::Cleanup(node) => self.cleanup(node),
            Phase::End => self.end(),
        }
    }

    /// The fence requested by [`Next::Fence`] has been issued, beginning after that answer.
    pub fn fenced(&mut self) -> Next {
        self.lost_in_row = 0; // a driver has returned in time
        match self.phase {
            Phase::Fence => self.phase = Phase::Hotplug(0),
            Phase::Wait(Wait::Fence) => self.phase = Phase::Wait(Wait::Armed),
            _ => {} // no grace period waits for this fence: no effect
        }
        Next::Again
    }

    /// Start: the sequence number, before initialisation.
    fn start(&mut self, host: &impl Host) -> Effects {
        if !self.wanted {
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
            self.phase = Phase::Hotplug(0);
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
        self.wanted = false;
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
        let Some(tree) = &self.tree else { return false };
        let next = |from| tree.occupied_from(from, host);
        core::iter::successors(next(0), |&leaf| next(leaf + 1)).all(|leaf| {
            let own_bit = match own.and_then(|cpu| tree.place_of(cpu)) {
                Some((own_leaf, bit)) if own_leaf == leaf => 1u64 << bit,
                _ => 0,
            };
            host.present(leaf) & !own_bit == 0
        })
    }

    /// Initialisation, hotplug, one leaf: the first from `from` on that may have changed.
    fn hotplug(&mut self, from: usize, host: &impl Host) -> Effects {
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let changed = match tree.sparse {
            true => tree.occupied_from(from, host),
            false => Some(from),
        };
        let Some(leaf) = changed else {
            return self.init(0, host);
        };
        tree.apply_hotplug(leaf, host.present(leaf));
        let vacated = (!tree.takes_part(tree.leaf_node(leaf))).then_some(leaf);
        self.phase = if leaf + 1 < tree.leaves() {
            Phase::Hotplug(leaf + 1)
        } else {
            Phase::Init(0)
        };
        Effects {
            vacated,
            ..Effects::only(Next::Again)
        }
    }

    /// Initialisation of one node; after the last node, the end of initialisation.
    fn init(&mut self, node: usize, host: &impl Host) -> Effects {
        let seq = self.gp_seq;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        tree.init_node(node, seq);
        if tree.is_leaf(node) {
            // A CPU that left since the visit of its leaf will not report: it is reported here.
            let leaf = node - tree.geometry().first_leaf();
            let gone = tree.nodes[node].qsmask & !host.present(leaf);
            tree.report(node, gone, seq);
        }
        let next = tree.after(node);
        let publish = (node == 0).then(|| self.published());
        if let Some(next) = next {
            self.phase = Phase::Init(next);
            return Effects {
                publish,
                ..Effects::only(Next::Again)
            };
        }
        Effects {
            publish,
            ..self.begin_wait(true)
        }
    }

    /// All CPUs are quiescent: continue with cleanup.
    pub(crate) fn begin_cleanup(&mut self) -> Next {
        self.phase = Phase::Cleanup(0);
        Next::Again
    }

    /// Cleanup of one node. The root is first: from then on polls return true.
    fn cleanup(&mut self, node: usize) -> Effects {
        let new = self.gp_seq.end();
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        self.wanted |= tree.clean_node(node, new);
        self.phase = match tree.after(node) {
            Some(next) => Phase::Cleanup(next),
            None => Phase::End,
        };
        Effects {
            publish: (node == 0).then(|| self.published()),
            ..Effects::only(Next::Again)
        }
    }

    /// The end of cleanup.
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
        let root = self.tree.as_ref().expect("a grace period has a tree").nodes[0];
        self.wanted |= !self.gp_seq.ge(root.gp_seq_needed);
        self.waiters.finish()
    }

    fn after_end(&self) -> Next {
        let content = match self.driver.expect("the driver is at work").interest {
            Interest::Waiter(ticket) => ticket < self.waiters.done(),
            Interest::Poller | Interest::Passing => true,
        };
        match (content, self.wanted) {
            (false, true) => Next::Again,
            (true, _) if self.waiters.any_waiting() => Next::HandOver,
            _ => Next::Done,
        }
    }

    /// The pause before the next scan, if there is one.
    pub(crate) fn begin_wait(&mut self, first: bool) -> Effects {
        if self.all_quiescent() {
            return Effects::only(self.begin_cleanup());
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
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        tree.all_quiescent()
    }

    /// For scans: the bits of one leaf that still owe.
    pub(crate) fn owed(&self, leaf: usize) -> (u32, Bits) {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        let node = tree.leaf_node(leaf);
        (tree.nodes[node].lo, Bits(tree.nodes[node].qsmask))
    }
}

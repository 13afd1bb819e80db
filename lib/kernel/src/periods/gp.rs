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
//! No step waits without a holdout: a root mask that empties during initialisation leads directly to cleanup.

use crate::periods::config::EarlyQs;
use crate::periods::event::{Event, GpEvent};
use crate::periods::global::{Global, Phase};
use crate::periods::host::{Effects, Host, Next, Now, Published};
use crate::periods::parts::{GpEnd, gp_queue};
use crate::periods::polled::GpKind;
use crate::periods::waiters::{Closed, Satisfied};

impl Global {
    /// Does the next piece of the grace period. Only the driver calls this.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step(&mut self, now: Now, host: &impl Host) -> Effects {
        assert!(self.driver.is_some(), "step without try_drive");
        self.now.ns = self.now.ns.max(now.ns);
        self.now.jiffies = self.now.jiffies.max(now.jiffies);
        self.counts.steps += 1;
        match self.phase {
            Phase::Idle => self.start(host),
            Phase::Fence => Effects::only(Next::Fence),
            Phase::Hotplug(leaf) => self.hotplug(leaf, host),
            Phase::Init(node) => self.init(node, host),
            Phase::Wait => self.wait(host),
            Phase::Scan(leaf) => self.scan(leaf, host),
            Phase::Cleanup(node) => self.cleanup(node, host),
            Phase::End => self.end(host),
        }
    }

    /// The fence requested by [`Next::Fence`] has been issued, beginning after that answer.
    pub fn fenced(&mut self) -> Next {
        if self.phase == Phase::Fence {
            self.phase = Phase::Hotplug(0);
        } // else no grace period waits for this fence: no effect
        Next::Again
    }

    /// Start: the sequence number, before initialisation.
    fn start(&mut self, host: &impl Host) -> Effects {
        if !self.wanted {
            self.trace_gp(GpEvent::Reqwait, host);
            return Effects::only(Next::Done);
        }
        let cpus = host.cpus().max(1);
        if cpus > self.cpus() {
            if self.exp_in_flight() {
                // The expedited grace period uses this tree; it will end soon.
                return Effects::only(Next::Sleep(1));
            }
            return Effects::only(Next::Grow(cpus));
        }
        self.begin(host);
        self.phase = Phase::Fence;
        Effects {
            publish: Some(self.published()),
            ..Effects::only(Next::Fence)
        }
    }

    /// The number starts, and the requests are taken that it serves.
    fn begin(&mut self, host: &impl Host) {
        self.wanted = false;
        self.force = false;
        self.urgency_gp_started();
        self.stall_gp_started();
        // The segment is closed before gp_seq starts: see `waiters`.
        let closed = self.waiters.close(self.config.wait_markers);
        self.gp_seq = self.gp_seq.start();
        self.trace_gp(GpEvent::Start, host);
        self.polled.started(GpKind::Normal);
        self.fqs.gp_started();
        if closed == Closed::NoMarker {
            let _ = self.request(0, host);
        }
    }

    /// Initialisation, hotplug, one leaf.
    fn hotplug(&mut self, leaf: usize, host: &impl Host) -> Effects {
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        tree.apply_hotplug(leaf, host.present(leaf));
        self.phase = if leaf + 1 < tree.leaves() {
            Phase::Hotplug(leaf + 1)
        } else {
            Phase::Init(0)
        };
        Effects::only(Next::Again)
    }

    /// Initialisation of one node; after the last node, the end of initialisation.
    fn init(&mut self, node: usize, host: &impl Host) -> Effects {
        let seq = self.gp_seq;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        tree.init_node(node, seq, host);
        if tree.is_leaf(node) {
            // A CPU that left since the visit of its leaf will not report: it is reported here.
            let leaf = node - tree.geometry().first_leaf();
            let gone = tree.nodes[node].qsmask & !host.present(leaf);
            tree.report(node, gone, seq, host);
            // A leaf kept for its preempted readers has no CPU to report for it if these have left, too.
            if tree.nodes[node].wait_blkd_tasks && tree.nodes[node].finished() {
                tree.report_readers(node, host);
            }
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
        if self.config.early_qs == EarlyQs::Init {
            self.report_own(host);
        }
        Effects {
            publish,
            ..self.begin_wait(true, host)
        }
    }

    /// The early report: the CPU that runs this is quiescent, unless the driver is inside a section.
    pub(crate) fn report_own(&mut self, host: &impl Host) {
        let Some(cpu) = self.driver.and_then(|d| d.cpu) else {
            return;
        };
        if !host.own_quiescent(cpu) {
            return;
        }
        let seq = self.gp_seq;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        if let Some((leaf, bit)) = tree.place_of(cpu) {
            tree.report(tree.leaf_node(leaf), 1 << bit, seq, host);
        }
    }

    /// All CPUs are quiescent: continue with cleanup.
    pub(crate) fn begin_cleanup(&mut self) -> Next {
        self.polled.ended(GpKind::Normal);
        self.phase = Phase::Cleanup(0);
        Next::Again
    }

    /// Cleanup of one node. The root is first: from then on polls return true.
    fn cleanup(&mut self, node: usize, host: &impl Host) -> Effects {
        let new = self.gp_seq.end();
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        self.wanted |= tree.clean_node(node, new, host);
        self.phase = match tree.after(node) {
            Some(next) => Phase::Cleanup(next),
            None => Phase::End,
        };
        if tree.is_leaf(node) {
            tree.recheck_overload(node, &self.config.limits, host);
        }
        let gp_end = tree.is_leaf(node).then(|| GpEnd {
            leaf: node - tree.geometry().first_leaf(),
            queue: gp_queue(new),
        });
        let publish: Option<Published> = (node == 0).then(|| self.published());
        Effects {
            publish,
            gp_end,
            ..Effects::only(Next::Again)
        }
    }

    /// The end of cleanup.
    fn end(&mut self, host: &impl Host) -> Effects {
        let satisfied = self.conclude(host);
        Effects {
            publish: Some(self.published()),
            waiters_until: satisfied.map(|s| s.direct_until),
            deferred_until: satisfied.and_then(|s| s.deferred_until),
            ..Effects::only(Next::Again)
        }
    }

    /// The global number, the recheck of requests, the waiters.
    fn conclude(&mut self, host: &impl Host) -> Option<Satisfied> {
        self.trace_gp(GpEvent::End, host);
        self.gp_seq = self.gp_seq.end();
        self.counts.grace_periods += 1;
        self.phase = Phase::Idle;
        self.force = false;
        let root = self.tree.as_ref().expect("a grace period has a tree").nodes[0];
        self.wanted |= !self.gp_seq.ge(root.gp_seq_needed);
        if self.wanted {
            self.trace_gp(GpEvent::Newreq, host);
        }
        let satisfied = self.waiters.finish(self.config.direct_wakes_max);
        if let Some(s) = satisfied {
            host.trace(&Event::SrNormal {
                waiter: s.deferred_until.unwrap_or(s.direct_until),
                event: crate::periods::event::SrEvent::Complete,
            });
        }
        satisfied
    }

    pub(crate) fn trace_gp(&self, event: GpEvent, host: &impl Host) {
        host.trace(&Event::GracePeriod {
            gp_seq: self.gp_seq,
            event,
        });
    }

    /// The pause before the next scan, if there is one.
    pub(crate) fn begin_wait(&mut self, first: bool, host: &impl Host) -> Effects {
        self.trace_gp(GpEvent::Fqswait, host); // also without holdouts, as a kernel does
        if self.all_quiescent() {
            return Effects::only(self.begin_cleanup());
        }
        let ticks = self.paced(match first {
            true => self.config.first_fqs,
            false => self.config.next_fqs.max(1),
        });
        self.wait_begins(ticks);
        self.phase = Phase::Wait;
        Effects::only(if ticks == 0 || self.urgency.scan_now {
            Next::Again
        } else {
            Next::Sleep(ticks)
        })
    }

    pub(crate) fn all_quiescent(&self) -> bool {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        tree.all_quiescent()
    }
}

#[cfg(test)]
pub(crate) mod tests;

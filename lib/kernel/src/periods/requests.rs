//! Requests to one CPU: those that it has, and those that the age of the grace period adds.
//!
//! A [`Stage`] is the same for all CPUs of a scan step; a [`Record`] is a CPU's. [`Tree::press`] combines
//! them for one leaf: it removes the requests of credited CPUs, and adds requests to the others.

use crate::periods::host::{CpuId, Host, LeafId, Nudge};
use crate::periods::tree::{Tree, bits};
use quiescent_engine::seq::Seq;

/// A scan's record of its requests to one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub urgent: bool,
    pub heavy: bool,
    pub forced_tick: bool,
    pub sent_for: Option<u64>,
    pub irq_pending: bool,
    pub irq_work: Option<Seq>,
    cpu_time: Option<Seq>,
}

impl Record {
    /// The CPU owes nothing any more. True if its forced tick can stop.
    pub fn forget(&mut self) -> bool {
        self.urgent = false;
        self.heavy = false;
        core::mem::take(&mut self.forced_tick)
    }
}

/// The age of a grace period; the same for all CPUs of a scan.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    pub gp_seq: Seq,
    pub now: u64,
    pub age: u64,
    pub sched_qs: u64,
    /// Half of the stall time is over.
    pub late: bool,
    pub overloaded: bool,
    pub irq_work: bool,
    pub cpu_time: bool,
}

impl Stage {
    /// Makes requests to the CPU of `bit`, which the second scan found unchanged.
    pub fn ask(&self, it: &mut Record, nohz_full: bool, bit: u64, nudge: &mut Nudge) {
        let before = *it;
        let sent_before = |ticks| {
            it.sent_for
                .is_none_or(|at| self.now > at.saturating_add(ticks))
        };
        let (soon, later) = (
            sent_before(self.sched_qs),
            sent_before(self.sched_qs.saturating_mul(3)),
        );
        if self.age > self.sched_qs {
            it.urgent = true;
        }
        if self.age > self.sched_qs.saturating_mul(2) || self.late || self.overloaded {
            it.heavy = true;
            it.urgent = true;
        }
        let stuck = nohz_full && (later || self.overloaded);
        it.urgent |= stuck;
        if stuck || (self.late && soon) {
            it.sent_for = Some(self.now);
            nudge.resched |= bit;
        }
        if self.late && self.irq_work && !it.irq_pending && it.irq_work != Some(self.gp_seq) {
            it.irq_pending = true;
            it.irq_work = Some(self.gp_seq);
            nudge.irq_work |= bit;
        }
        if self.late && self.cpu_time && it.cpu_time != Some(self.gp_seq) {
            it.cpu_time = Some(self.gp_seq);
            nudge.cpu_time |= bit;
        }
        let newly = |now: bool, before: bool| if now && !before { bit } else { 0 };
        nudge.urgent |= newly(it.urgent, before.urgent);
        nudge.heavy |= newly(it.heavy, before.heavy);
    }
}

impl Tree {
    /// Takes over the records of an older, smaller tree.
    pub(crate) fn inherit(&mut self, old: &Tree) {
        for (new, old) in self.asked.iter_mut().zip(&old.asked) {
            *new = *old;
        }
        for leaf in 0..old.leaves() {
            let node = &old.nodes[old.leaf_node(leaf)];
            for bit in bits(node.overloaded) {
                self.set_overloaded(node.lo + bit, true);
            }
        }
    }

    /// Does this CPU owe a quiescent state, as far as its leaf knows?
    pub(crate) fn owes(&self, cpu: CpuId) -> bool {
        self.place_of(cpu)
            .is_some_and(|(leaf, bit)| self.nodes[self.leaf_node(leaf)].qsmask & 1 << bit != 0)
    }

    /// These CPUs of a leaf owe nothing any more: their requests are removed.
    pub(crate) fn ease(&mut self, lo: CpuId, credited: u64, nudge: &mut Nudge) {
        if self.asked.is_empty() {
            return;
        }
        for bit in bits(credited) {
            if self.asked[(lo + bit) as usize].forget() {
                nudge.stop_tick |= 1 << bit;
            }
        }
    }

    /// Makes requests to those holdouts of a leaf that the second scan found unchanged, and removes those of
    /// credited CPUs.
    pub(crate) fn press(
        &mut self,
        leaf: LeafId,
        credited: u64,
        held: u64,
        stage: Option<Stage>,
        host: &impl Host,
    ) -> Option<Nudge> {
        let lo = self.nodes[self.leaf_node(leaf)].lo;
        let mut nudge = Nudge {
            lo,
            ..Nudge::default()
        };
        self.ease(lo, credited, &mut nudge);
        if let Some(stage) = stage {
            for bit in bits(held) {
                let cpu = lo + bit;
                let nohz_full = host.nohz_full(cpu);
                if let Some(record) = self.asked.get_mut(cpu as usize) {
                    stage.ask(record, nohz_full, 1 << bit, &mut nudge);
                }
            }
        }
        nudge.some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::periods::geometry::GeometryParams;

    struct Quiet;

    impl Host for Quiet {
        crate::periods::host::asked_by_the_driver_only!();
    }

    fn stage(age: u64) -> Stage {
        Stage {
            gp_seq: Seq::ZERO,
            now: 1000,
            age,
            sched_qs: 100,
            late: false,
            overloaded: false,
            irq_work: false,
            cpu_time: false,
        }
    }

    #[test]
    fn a_holdout_is_asked_after_the_time_and_more_after_twice_that() {
        for (age, urgent, heavy) in [
            (100, false, false),
            (101, true, false),
            (200, true, false),
            (201, true, true),
        ] {
            let (mut record, mut nudge) = (Record::default(), Nudge::default());
            stage(age).ask(&mut record, false, 1, &mut nudge);
            assert_eq!((record.urgent, record.heavy), (urgent, heavy), "{age}");
            let newly = (u64::from(urgent), u64::from(heavy));
            assert_eq!((nudge.urgent, nudge.heavy), newly, "{age}");
        }
    }

    #[test]
    fn what_is_asked_of_a_leaf_is_counted_from_its_lowest_cpu_and_nothing_is_nothing() {
        let geometry = GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        };
        let mut tree = Tree::new(4, geometry).expect("four CPUs fit");
        tree.keep_asked().expect("memory");
        assert_eq!(tree.press(1, 0, 0b11, Some(stage(1)), &Quiet), None);
        let nudge = tree.press(1, 0, 0b10, Some(stage(101)), &Quiet);
        let expected = Nudge {
            lo: 2,
            urgent: 0b10,
            ..Nudge::default()
        };
        assert_eq!(nudge, Some(expected));
        assert!(tree.asked[3].urgent && !tree.asked[2].urgent);
    }
}

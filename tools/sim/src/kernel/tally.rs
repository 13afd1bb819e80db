//! How much a run has tested: grace periods that the oracle checked, and the states that the machine was in.
//!
//! A grace period is *looked at*: when it begins, the number of the next section is noted; when it ends, the
//! oracle checks that no older section is open. A grace period that begins while a section is open is
//! *spanned*: only such a one could have been too short. These two counts are always kept.
//!
//! *States* and *trace points* are counted on request ([`Machine::keep_tally`](crate::Machine::keep_tally)).
//! A state is a hash of everything in the machine that does not grow without bound: phases, holdouts, open
//! sections, which lists have callbacks. Two different runs can reach the same states; but when further runs
//! of a kind reach no new ones, there have been enough runs of that kind.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use quiescent_kernel::Phase;

use crate::kernel::state::{Machine, Rcu, Tally};
use crate::record::oracle::Oracle;
use crate::record::points::Point;

impl Tally {
    /// A grace period begins, expedited or not.
    pub fn starts(&mut self, expedited: bool, oracle: &Oracle) {
        self.under_way[usize::from(expedited)] = Some(oracle.since());
        self.spanned += u64::from(oracle.is_open());
    }

    /// The end of a grace period: it counts as checked.
    pub fn ends(&mut self, expedited: bool, oracle: &mut Oracle) {
        if let Some(since) = self.under_way[usize::from(expedited)].take() {
            oracle.waited(since);
            self.looked += 1;
        }
    }

    /// A step was made: what state is this?
    pub fn step(&mut self, rcu: &Rcu, oracle: &Oracle) {
        if !self.on {
            return;
        }
        let global = &rcu.global;
        let mut hash = DefaultHasher::new(); // of fixed keys: the same in each run
        match global.phase() {
            Phase::Wait => "wait".hash(&mut hash),
            Phase::Idle => "idle".hash(&mut hash),
            phase => phase.hash(&mut hash),
        }
        let few = |n: usize| n.min(3);
        let holdouts = global
            .holdouts()
            .fold(0u64, |all, cpu| all | 1 << (cpu % 64));
        holdouts.hash(&mut hash);
        global.exp_phase().hash(&mut hash);
        few(global.blocked_readers().count()).hash(&mut hash);
        few(global.queued_readers().count()).hash(&mut hash);
        oracle.is_open().hash(&mut hash);
        (global.busy(), global.may_be_lazy()).hash(&mut hash);
        let lists = |it: &quiescent_kernel::Cpu| {
            let list = it.list();
            (list.ready() > 0, list.pending(), it.is_offloaded())
        };
        for cpu in &rcu.cpus {
            lists(cpu).hash(&mut hash);
        }
        self.states.insert(hash.finish());
    }
}

impl Machine {
    /// Counts states and trace points from now on. That takes time.
    pub fn keep_tally(&mut self) {
        self.sys.tally.on = true;
        self.rcu.notes().count_points();
    }

    /// What the run has done, by name; `torture/metrics.txt` says what each is.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let (stats, tally) = (&self.sys.stats, &self.sys.tally);
        let invoked = stats.funcs.iter().map(|func| func.invoked);
        let scans = stats.grace_periods.iter().map(|gp| u64::from(gp.scans));
        let srcu = self.srcu.shown().unwrap_or_default();
        let tasks = self.sys.tasks.iter();
        let ksoftirqd = tasks.filter(|it| it.name.starts_with("ksoftirqd"));
        BTreeMap::from([
            ("grace_periods", stats.grace_periods.len() as u64),
            ("expedited", self.rcu.global.counts().expedited),
            ("looked_at", tally.looked),
            ("spanned", tally.spanned),
            ("scans", scans.sum()),
            ("calls", stats.calls.len() as u64),
            ("latched", self.sys.tally.latched),
            ("callbacks", invoked.sum()),
            ("barriers", self.barrier.engine.seq().ctr()),
            ("srcu_grace_periods", srcu.grace_periods.len() as u64),
            ("srcu_spanned", srcu.spanned),
            ("srcu_turns", srcu.turns),
            ("srcu_calls", srcu.calls.len() as u64),
            ("srcu_reader_wakeups", srcu.reader_wakeups),
            ("preempted_readers", self.sys.tally.preempted),
            ("departures", self.sys.tally.departures),
            ("toggles", tally.toggles),
            ("shrunk", tally.shrunk),
            ("ksoftirqd_wakeups", ksoftirqd.map(|it| it.wakeups).sum()),
            (
                "faults",
                self.sys.faulty.as_ref().map_or(0, |it| it.happened),
            ),
            ("events", self.events),
            ("virtual_ms", self.sys.now / 1_000_000),
        ])
    }

    /// The states it was in, by a hash, if they are counted.
    pub fn states(&self) -> &BTreeSet<u64> {
        &self.sys.tally.states
    }

    /// The engine's trace points that were reached, if they are counted.
    pub fn reached(&self) -> BTreeSet<Point> {
        self.rcu.notes().points()
    }
}

//! The domain: its counts, what it owes, and its oracle.

use std::cell::Cell;
use std::collections::VecDeque;

use quiescent_engine::indexed::{BOTH, COUNTS};
use quiescent_engine::{
    Config, CpuId, Global, Host, Interest, LeafId, Next, Pace, Phase, Pos, Seen, Seq,
};

use crate::kernel::cpu::Callback;
use crate::record::oracle::Oracle;
use crate::record::stats::{GracePeriod, SrcuStats};

/// A domain.
#[derive(Debug)]
pub(crate) struct Srcu {
    pub(in crate::kernel) global: Global,
    pub(super) counts: Counts,
    /// Its task, from its first use on.
    pub(super) worker: Option<usize>,
    /// What the worker does next.
    pub(super) next: Next,
    /// It sleeps, or is about to, until a section of a flagged count ends.
    pub(super) armed: bool,
    pub(super) waiters: VecDeque<(Pos, usize)>,
    pub(super) callbacks: VecDeque<(Seq, Callback)>,
    pub(in crate::kernel) oracle: Oracle,
    /// When the grace period under way began, the first section that it need not wait for, and the scans
    /// before.
    pub(super) since: (u64, u64, u64),
    /// Grace periods that began while a section was open.
    pub(super) spanned: u64,
    pub(super) stats: SrcuStats,
}

/// The counts of sections.
#[derive(Debug)]
pub(super) struct Counts {
    /// By CPU, of each count.
    pub(super) locks: Vec<[u64; 2]>,
    pub(super) unlocks: Vec<[u64; 2]>,
    /// The unlocks, added up for the scan under way.
    pub(super) ended: Option<[u64; 2]>,
    /// The worker waits for this count.
    pub(super) flags: [Cell<bool>; 2],
}

pub(super) fn sum(all: &[[u64; 2]], count: usize) -> u64 {
    all.iter().fold(0, |sum, it| sum.wrapping_add(it[count]))
}

impl Counts {
    /// So many CPUs are counted on: a machine that does not use the domain has no memory for them.
    pub(super) fn have(&mut self, cpus: u32) {
        self.locks.resize(cpus as usize, [0; 2]);
        self.unlocks.resize(cpus as usize, [0; 2]);
    }

    pub(super) fn add_up_unlocks(&self) -> [u64; 2] {
        [0, 1].map(|count| sum(&self.unlocks, count))
    }
}

impl Host for Counts {
    fn cpus(&self) -> u32 {
        COUNTS
    }

    fn observe(&self, count: CpuId) -> Seen {
        let count = count as usize;
        let ended = self.ended.expect("added up before the scan")[count];
        let outside = ended == sum(&self.locks, count);
        if outside {
            self.flags[count].set(false); // no section is left that would wake the worker
        }
        Seen { outside, stamp: 0 }
    }

    fn present(&self, _: LeafId) -> u64 {
        BOTH
    }
}

impl Srcu {
    pub(in crate::kernel) fn new() -> Srcu {
        let config = Config {
            pace: Pace {
                spin: 1,
                spins_before_flag: 1,
                spins_after_flag: 0,
                expedited_factor: 1,
                stall_ns: 0,
            },
            takeover_after_ns: u64::MAX,
            ..Config::sleepable()
        };
        let mut global = Global::new(config);
        let leaves = Global::new_leaves(&config, COUNTS).expect("it has two participants");
        assert!(global.grow(leaves).is_ok(), "the first ones");
        assert!(
            global.try_drive(None, Interest::Waiter(Pos::MAX)),
            "it drives for ever"
        );
        Srcu {
            global,
            counts: Counts {
                locks: Vec::new(),
                unlocks: Vec::new(),
                ended: None,
                flags: Default::default(),
            },
            worker: None,
            next: Next::Again,
            armed: false,
            waiters: VecDeque::new(),
            callbacks: VecDeque::new(),
            oracle: Oracle::default(),
            since: (0, 0, 0),
            spanned: 0,
            stats: SrcuStats::default(),
        }
    }

    pub(super) fn scans(&self) -> bool {
        matches!(self.global.phase(), Phase::Scan(_))
    }

    /// Sets the flags of the counts that are waited for; how many were clear.
    pub(super) fn flag(&mut self, arm: bool) -> Next {
        self.armed |= arm;
        let mut newly = 0;
        for count in self.global.holdouts() {
            newly += u32::from(!self.counts.flags[count as usize].replace(true));
        }
        self.global.flagged(newly)
    }

    /// A section of this count has ended on `cpu`. Is the worker to be woken?
    pub(super) fn leave(&mut self, cpu: CpuId, count: CpuId) -> bool {
        self.counts.unlocks[cpu as usize][count as usize] += 1;
        self.counts.flags[count as usize].replace(false) && std::mem::take(&mut self.armed)
    }

    /// Notes that a grace period has begun, or ended, in a step from this phase and number of scans; true
    /// if one has ended.
    pub(super) fn note_edges(
        &mut self,
        (before, scans): (Phase, u64),
        now: u64,
        counts: bool,
    ) -> bool {
        let idle = |phase| phase == Phase::Idle;
        let (was_idle, is_idle) = (idle(before), idle(self.global.phase()));
        let over = is_idle && !was_idle;
        if over {
            let (start, since, scans_before) = self.since;
            self.oracle.waited(since);
            if counts {
                self.stats.grace_periods.push(GracePeriod {
                    start,
                    end: now,
                    scans: (self.global.counts().scans - scans_before) as u32,
                    ..GracePeriod::default()
                });
            }
        }
        if was_idle && !is_idle {
            self.since = (now, self.oracle.since(), scans);
            self.spanned += u64::from(self.oracle.is_open());
        }
        over
    }

    /// The next callback whose grace period is over.
    pub(super) fn ready(&mut self) -> Option<Callback> {
        let &(cookie, _) = self.callbacks.front()?;
        self.global.published().done_exact(cookie).then(|| {
            let (_, callback) = self.callbacks.pop_front().expect("there is one");
            self.oracle.invoked(callback.number, callback.since);
            callback
        })
    }
}

//! The domain: its counts, what it owes, and its oracle.

use std::cell::Cell;
use std::collections::VecDeque;

use quiescent_kernel::event::{Event, GpEvent};
use quiescent_kernel::indexed::{BOTH, COUNTS};
use quiescent_kernel::{
    Config, CpuId, FullCookie, Global, Host, Interest, LeafId, Next, Pace, Phase, Pos, Seen,
};

use crate::kernel::cpu::Callback;
use crate::record::oracle::Oracle;
use crate::record::stats::{GracePeriod, SrcuStats};

/// A domain.
#[derive(Debug)]
pub(crate) struct Srcu {
    pub(super) global: Global,
    pub(super) counts: Counts,
    pub(super) worker: usize,
    /// What the worker does next.
    pub(super) next: Next,
    /// It sleeps, or is about to, until a section of a flagged count ends.
    pub(super) armed: bool,
    pub(super) waiters: VecDeque<(Pos, usize)>,
    pub(super) callbacks: VecDeque<(FullCookie, Callback)>,
    pub(super) oracle: Oracle,
    /// When the grace period under way began, and the first section that it need not wait for.
    pub(super) since: (u64, u64),
    /// Grace periods that began while a section was open.
    pub(super) spanned: u64,
    pub(super) stats: SrcuStats,
}

/// The counts of sections, and what the engine's events have shown.
#[derive(Debug)]
pub(super) struct Counts {
    /// By CPU, of each count.
    pub(super) locks: Vec<[u64; 2]>,
    pub(super) unlocks: Vec<[u64; 2]>,
    /// The unlocks, added up for the scan under way.
    pub(super) ended: Option<[u64; 2]>,
    /// The worker waits for this count.
    pub(super) flags: [Cell<bool>; 2],
    pub(super) started: Cell<bool>,
    pub(super) over: Cell<bool>,
    pub(super) scans: Cell<u32>,
}

pub(super) fn sum(all: &[[u64; 2]], count: usize) -> u64 {
    all.iter().fold(0, |sum, it| sum.wrapping_add(it[count]))
}

impl Counts {
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

    fn own_quiescent(&self, _: CpuId) -> bool {
        false
    }

    fn trace(&self, event: &Event) {
        let Event::GracePeriod { event, .. } = event else {
            return;
        };
        match event {
            GpEvent::Start => {
                self.started.set(true);
                self.scans.set(0);
            }
            GpEvent::Fqsstart => self.scans.set(self.scans.get() + 1),
            GpEvent::End => self.over.set(true),
            _ => {}
        }
    }
}

impl Srcu {
    pub(super) fn new(cpus: u32, worker: usize) -> Srcu {
        let config = Config {
            pace: Pace::Direct {
                spin: 1,
                spins_before_flag: 1,
                spins_after_flag: 0,
                expedited_factor: 1,
                stall_ns: 0,
            },
            takeover_after_ns: None,
            ..Config::sleepable()
        };
        let mut global = Global::new(config);
        let tree = Global::new_tree(&config, COUNTS).expect("it has two participants");
        assert!(global.grow(tree).is_ok(), "the first tree");
        assert!(global.try_drive(None, Interest::GpThread));
        Srcu {
            global,
            counts: Counts {
                locks: vec![[0; 2]; cpus as usize],
                unlocks: vec![[0; 2]; cpus as usize],
                ended: None,
                flags: Default::default(),
                started: Cell::new(false),
                over: Cell::new(false),
                scans: Cell::new(0),
            },
            worker,
            next: Next::Again,
            armed: false,
            waiters: VecDeque::new(),
            callbacks: VecDeque::new(),
            oracle: Oracle::default(),
            since: (0, 0),
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

    /// Notes that grace periods have begun, or ended; true if one has ended.
    pub(super) fn note_edges(&mut self, now: u64, counts: bool) -> bool {
        let over = self.counts.over.take();
        if over {
            let (start, since) = self.since;
            self.oracle.waited(since);
            if counts {
                self.stats.grace_periods.push(GracePeriod {
                    start,
                    end: now,
                    scans: self.counts.scans.get(),
                    holdouts: Vec::new(),
                });
            }
        }
        if self.counts.started.take() {
            self.since = (now, self.oracle.since());
            self.spanned += u64::from(self.oracle.is_open());
        }
        over
    }

    /// The next callback whose grace period is over.
    pub(super) fn ready(&mut self) -> Option<Callback> {
        let &(cookie, _) = self.callbacks.front()?;
        self.global.poll(cookie).then(|| {
            let (_, callback) = self.callbacks.pop_front().expect("there is one");
            self.oracle.invoked(callback.number, callback.since);
            callback
        })
    }
}

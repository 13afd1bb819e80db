//! Actions of the tasks of a torture case: any action at any time, or mostly one kind.
//!
//! An actor's actions are drawn from its own seed, so removing one actor leaves those of the others as they
//! were.

use std::cell::Cell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::base::chance::Chance;
use crate::input::op::{Op, Queued, SrcuOp, Work};

/// What an actor mostly does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Anything at any time: sections, waits, callbacks in bursts, barriers, CPUs that go and come and change
    /// sides.
    Anything,
    /// Sections, one after the other, nested, long and short, asleep in them or computing. It is over when
    /// all updaters are.
    Reader,
    /// Waits for grace periods of both kinds, one after the other, and a callback now and then.
    Updater,
    /// Sections of SRCU, nested, asleep in them, on any CPU from each wake-up on. It is over when all
    /// updaters are.
    SrcuReader,
    /// Waits for grace periods of SRCU, and queues callbacks there; a wait for a plain one now and then.
    SrcuUpdater,
}

impl Role {
    /// Do readers go on until it is over?
    pub(super) fn updates(self) -> bool {
        matches!(self, Role::Updater | Role::SrcuUpdater)
    }

    fn reads(self) -> bool {
        matches!(self, Role::Reader | Role::SrcuReader)
    }

    pub(super) fn is_srcu(self) -> bool {
        matches!(self, Role::SrcuReader | Role::SrcuUpdater)
    }
}

/// A task of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// What it does.
    pub role: Role,
    /// Where it starts.
    pub cpu: u32,
    /// When, in nanoseconds.
    pub start: u64,
    /// Of its deeds.
    pub seed: u64,
    /// How many those are.
    pub deeds: u64,
    /// CPUs below this it may take offline, bring back, offload and take back.
    pub plugs: u32,
}

/// An actor at work.
pub(super) struct Acting {
    actor: Actor,
    chance: Chance,
    left: u64,
    /// Updaters that are not over.
    updaters: Rc<Cell<usize>>,
    depth: u64,
    /// Callbacks that follow the last one at once.
    burst: u64,
    /// The longest that it computes or sleeps at once, in nanoseconds.
    long: u64,
}

impl Acting {
    pub fn new(actor: Actor, updaters: &Rc<Cell<usize>>) -> Acting {
        let mut chance = Chance::new(actor.seed);
        let long = match actor.role {
            Role::Reader => [200_000, 2_000_000][chance.below(2) as usize],
            _ => [50_000, 2_000_000, 20_000_000][chance.below(3) as usize],
        };
        Acting {
            left: actor.deeds,
            updaters: updaters.clone(),
            depth: 0,
            burst: 0,
            long,
            actor,
            chance,
        }
    }

    fn outside(&mut self, now: u64) -> Op {
        match self.chance.below(16) {
            0 | 1 => self.sleeps(now),
            2 => Op::Synchronize,
            3 => Op::SynchronizeExpedited,
            4 if self.chance.below(2) == 0 => Op::Barrier,
            5 if self.chance.below(4) == 0 => Op::Shrink(1 + self.chance.below(50)),
            _ => self.anywhere(now),
        }
    }

    fn anywhere(&mut self, now: u64) -> Op {
        match self.chance.below(16) {
            0..=4 => self.locks(),
            5..=9 if self.depth > 0 => self.unlocks(),
            10 => Op::Compute(self.chance.below(self.long)),
            11 => Op::Kernel(self.chance.below(50_000)),
            // As where sections can sleep.
            12 if self.chance.below(4) == 0 => self.sleeps(now),
            13 if self.actor.plugs > 0 => self.plugs(),
            14 if self.chance.below(8) == 0 => {
                self.burst = self.chance.below(300);
                self.calls()
            }
            _ => self.calls(),
        }
    }

    fn reads(&mut self, now: u64) -> Op {
        match self.chance.below(8) {
            0..=4 if self.depth == 0 => self.locks(),
            5 if self.chance.below(4) == 0 => self.sleeps(now),
            0 if self.depth < 3 => self.locks(),
            1 | 2 if self.depth > 0 => self.unlocks(),
            _ => Op::Compute(self.chance.below(self.long)),
        }
    }

    fn updates(&mut self) -> Op {
        match self.chance.below(8) {
            0..=2 => Op::SynchronizeExpedited,
            3 => self.calls(),
            _ => Op::Synchronize,
        }
    }

    fn reads_srcu(&mut self, now: u64) -> Op {
        match self.chance.below(8) {
            0..=2 if self.depth < 3 => {
                self.depth += 1;
                Op::Srcu(SrcuOp::Lock)
            }
            3 | 4 if self.depth > 0 => {
                self.depth -= 1;
                Op::Srcu(SrcuOp::Unlock)
            }
            5 => self.sleeps(now),
            6 => Op::Srcu(SrcuOp::Call(0)),
            _ => Op::Compute(self.chance.below(self.long)),
        }
    }

    fn updates_srcu(&mut self, now: u64) -> Op {
        match self.chance.below(8) {
            0..=3 => Op::Srcu(SrcuOp::Synchronize),
            4 | 5 => Op::Srcu(SrcuOp::Call(0)),
            6 => Op::Synchronize,
            _ => self.sleeps(now),
        }
    }

    fn locks(&mut self) -> Op {
        self.depth += 1;
        Op::Lock
    }

    fn unlocks(&mut self) -> Op {
        self.depth -= 1;
        Op::Unlock
    }

    fn sleeps(&mut self, now: u64) -> Op {
        Op::SleepUntil(now + self.chance.below(self.long))
    }

    fn plugs(&mut self) -> Op {
        let cpu = self.chance.below(self.actor.plugs.into()) as u32;
        match self.chance.below(8) {
            0 | 1 => Op::Offline(cpu),
            2 | 3 => Op::Online(cpu),
            4 | 5 => Op::Offload(cpu),
            _ => Op::Deoffload(cpu),
        }
    }

    fn calls(&mut self) -> Op {
        Op::Call(Queued {
            func: 0,
            lazy: self.chance.below(2) == 0,
            can_wake: self.chance.below(4) > 0,
        })
    }
}

impl Work for Acting {
    fn next(&mut self, now: u64) -> Op {
        if let Some(left) = self.burst.checked_sub(1) {
            self.burst = left;
            return self.calls();
        }
        let alone = self.actor.role.reads() && self.updaters.get() == 0;
        let Some(left) = self.left.checked_sub(1).filter(|_| !alone) else {
            if self.actor.role.updates() {
                self.updaters.set(self.updaters.get() - 1);
            }
            return Op::Exit; // in the middle of a section, as like as not
        };
        self.left = left;
        match self.actor.role {
            Role::Anything if self.depth > 0 => self.anywhere(now),
            Role::Anything => self.outside(now),
            Role::Reader => self.reads(now),
            Role::Updater => self.updates(),
            Role::SrcuReader => self.reads_srcu(now),
            Role::SrcuUpdater => self.updates_srcu(now),
        }
    }
}

//! Offload groups: members, leader, and the state of the group's thread.
//!
//! CPUs are divided into ranges of one *stride*; the first CPU of a range is its *leader*, whose record has
//! the kernel's state of the group and whose number names the thread (`rcuog/4`). The leader need not be
//! offloaded itself. Members are visited in CPU order; one that comes back at run time goes to the tail.
//!
//! # Invariants
//! * A CPU is a member once or not at all, and exactly while it is offloaded.
//! * A pass visits every CPU that is a member from the pass's beginning to its end, once.
//! * Room for all CPUs of the range is allocated when the group is made: nothing is allocated later, under a
//!   lock.

use alloc::vec::Vec;

use super::GroupId;
use super::pass::{Pass, Rest};
use super::wake::WakeLevel;
use crate::periods::host::CpuId;

/// CPUs a group: the requested number, or the number of CPUs divided by its whole square root.
pub fn stride(cpus: u32, asked: Option<u32>) -> u32 {
    match asked {
        Some(stride @ 1..) => stride,
        _ => (cpus / cpus.isqrt().max(1)).max(1),
    }
}

/// The group of a CPU.
pub fn group_of(cpu: CpuId, stride: u32) -> GroupId {
    cpu / stride
}

/// The first CPU of a group's range.
pub fn leader_of(group: GroupId, stride: u32) -> CpuId {
    group * stride
}

/// An offload group and its thread rcuog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    pub(super) id: GroupId,
    pub(super) leader: CpuId,
    pub(super) members: Vec<CpuId>,
    /// rcuog has begun a pass since it was last woken (`nocb_gp_sleep`): a caller with news must wake it.
    pub(super) sleep: bool,
    pub(super) level: WakeLevel,
    /// The time of a deferred wake-up.
    pub(super) defer_at: Option<u64>,
    /// The time at which the oldest lazy callback of the group is due
    /// ([`Policy::Quiescent`](super::Policy::Quiescent)).
    pub(super) lazy_at: Option<u64>,
    /// That time has come: the next pass flushes the group.
    pub(super) lazy_due: bool,
    /// The time to which the timer is set.
    pub(super) timer: Option<u64>,
    pub(super) pass: Option<Pass>,
    /// The rest of rcuog.
    pub(super) rest: Option<Rest>,
}

impl Group {
    /// A group without members, whose rcuog rests.
    pub fn new(id: GroupId, stride: u32) -> Group {
        Group {
            id,
            leader: leader_of(id, stride),
            members: Vec::with_capacity(stride as usize),
            sleep: true,
            level: WakeLevel::Not,
            defer_at: None,
            lazy_at: None,
            lazy_due: false,
            timer: None,
            pass: None,
            rest: Some(Rest::Unbounded),
        }
    }

    /// Its number.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Its leader.
    pub fn leader(&self) -> CpuId {
        self.leader
    }

    /// The offloaded CPUs that it serves, in the order of visits.
    pub fn members(&self) -> &[CpuId] {
        &self.members
    }

    /// Adds a member at the tail.
    pub(super) fn join(&mut self, cpu: CpuId) {
        assert!(
            !self.members.contains(&cpu),
            "CPU {cpu} joins group {} twice",
            self.id
        );
        self.members.push(cpu);
    }

    /// Removes a member. A pass in progress continues with the members behind it.
    pub(super) fn part(&mut self, cpu: CpuId) {
        let Some(at) = self.members.iter().position(|&member| member == cpu) else {
            return;
        };
        self.members.remove(at);
        if let Some(pass) = self.pass.as_mut().filter(|pass| at < pass.at) {
            pass.at -= 1;
        }
    }
}

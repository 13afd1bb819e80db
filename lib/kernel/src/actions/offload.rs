//! Callback offloading: threads serve a kernel's callbacks in place of the CPU that queued them.
//!
//! An offloaded CPU (`rcu_nocbs`) only queues. CPUs form [groups](Group); each group has a thread `rcuog`
//! that stamps, advances and waits for grace periods on behalf of its members, and each CPU has a thread
//! `rcuop` that invokes. The CPU itself needs no tick for callbacks, and is not woken for them. In addition,
//! callbacks without a waiter may be *lazy*: hidden for up to ten seconds, so that one grace period serves
//! many.
//!
//! ```text
//!  call_rcu ──► bypass ──flush──► NEXT ─► NEXT_READY ─► WAIT ─► DONE ──► rcuop invokes
//!      └─────── direct ─────────►   └──── rcuog stamps, requests, advances ────┘
//! ```
//!
//! | file | decides |
//! |---|---|
//! | `groups` | the members and the leader of a group |
//! | `bypass` | hidden callbacks, their limits of age and number; the rate of direct queueing |
//! | `enqueue` | the list for a new callback, and the thread to notify |
//! | `wake` | levels of deferred wake-ups; the group's timer |
//! | `pass` | one pass of rcuog over all members, one member a step; its rest after that |
//! | `invoke` | rcuop, and the invoker when a CPU is offloaded or de-offloaded in the middle of a batch |
//! | `lazy` | the conditions of laziness, hurrying, the shrinker |
//! | `toggle` | offloading and de-offloading at run time |
//! | `moving` | the barrier's visit, and the callbacks of a CPU that has gone |
//!
//! # Two policies
//! [`Policy::Kernel612`] is Linux 6.12, with its oddities. [`Policy::Quiescent`] keeps the guarantee (a lazy
//! callback's grace period is requested when its flush time comes) with fewer parts:
//!
//! * **No second list.** The bypass exists because a CPU and rcuog contend for one lock. Here a lazy callback
//!   is in the main list, without a requested grace period. A *flush* requests it.
//! * **A grace period with another cause serves lazy callbacks, too.** Each gets its stamp when it is queued:
//!   [`Seq::snap`](crate::seq::Seq::snap) of that moment, which any later grace period reaches. (In the first
//!   design initialisation read the ends of queues before the start; a stamp at queueing time is equivalent,
//!   earlier, and costs the grace period nothing.) They are invoked when their rcuop runs for another reason,
//!   or when their time comes, and then need no grace period. No thread is woken for them before.
//! * **The group's deadline is the earliest of its members'**, and an expired deadline flushes the whole
//!   group: one wake-up and one grace period, whatever the number of lists.
//!
//! # Positions
//! A host of the kernel's shape has two FIFOs for a CPU, the list's and the bypass. Positions do not change
//! with a flush: the bypass continues where the list ends, because callbacks are never queued directly while
//! the bypass is not empty. [`Queued::flushed`] and similar fields give the number that moves to the end of
//! NEXT.
//!
//! # Locks
//! A `Cpu` (`nocb_lock`) before [`Global`](crate::Global), and both before the [`Group`] (`nocb_gp_lock`).
//! Every call that takes two of them holds both.
//!
//! # Invariants
//! * Order of invocation is order of queueing, for each CPU, whatever is toggled meanwhile.
//! * While rcuog rests without a bound, no member has a callback with a waiter; and if callbacks are hidden,
//!   the group's timer is set.
//! * At most one batch of a CPU is out: the invoker may change, but only between batches.

mod bypass;
mod enqueue;
mod groups;
mod invoke;
mod lazy;
mod moving;
mod pass;
mod toggle;
mod wake;

pub use crate::periods::config::{Offload, Policy};
pub use crate::periods::parts::{GpEnd, GroupId, Member};
pub use enqueue::{Call, Place, Queued};
pub use groups::{Group, group_of, leader_of, stride};
pub use invoke::AfterBatch;
pub use lazy::{Flushed, Shrink, Shrinkable, shrinkable};
pub use moving::{Entrained, TakenOver};
pub use pass::{Rest, Rested, Visited};
pub use toggle::{Refused, Toggled};
pub use wake::WakeLevel;

use crate::periods::host::CpuId;

/// The action for the group's timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Nothing.
    #[default]
    Keep,
    /// It fires when the tick counter shows this; its earlier time is forgotten.
    Set(u64),
    /// It does not fire.
    Stop,
}

/// The threads to wake, and the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "callbacks stay where they are unless their threads are woken"]
pub struct Todo {
    /// Wake this group's rcuog.
    pub rcuog: Option<GroupId>,
    /// Wake this CPU's rcuop.
    pub rcuop: Option<CpuId>,
    /// Raise the soft interrupt on this CPU, wherever this is decided.
    pub core: Option<CpuId>,
    /// Wake the grace-period thread.
    pub gp: bool,
    /// For the timer of the group that the call was about.
    pub timer: Timer,
}

impl Todo {
    /// Both; `later` decides about the timer.
    pub(crate) fn and(self, later: Todo) -> Todo {
        Todo {
            rcuog: self.rcuog.or(later.rcuog),
            rcuop: self.rcuop.or(later.rcuop),
            core: self.core.or(later.core),
            gp: self.gp | later.gp,
            timer: match later.timer {
                Timer::Keep => self.timer,
                timer => timer,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_that_either_wants_happens() {
        for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
            let todo = |gp| Todo {
                gp,
                ..Todo::default()
            };
            assert_eq!(todo(first).and(todo(second)).gp, first || second);
        }
    }

    #[test]
    fn of_two_timers_the_later_word_counts_unless_it_says_nothing() {
        let todo = |timer| Todo {
            timer,
            ..Todo::default()
        };
        let all = [Timer::Keep, Timer::Stop, Timer::Set(7)];
        for first in all {
            for second in all {
                let both = todo(first).and(todo(second)).timer;
                let wanted = if second == Timer::Keep { first } else { second };
                assert_eq!(both, wanted, "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn the_kernels_policy_offloads_no_online_cpu() {
        assert!(Offload::quiescent(1000).online_toggle);
        assert!(!Offload::kernel_6_12(1000).online_toggle);
    }
}

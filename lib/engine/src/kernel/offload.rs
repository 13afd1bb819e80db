//! Callback offloading: a kernel's callbacks looked after by threads, and not by the CPU that queued them.
//!
//! An offloaded CPU (`rcu_nocbs`) only queues. CPUs form [groups](Group); each group has a thread `rcuog` that
//! stamps, advances and waits for grace periods on behalf of its members, and each CPU a thread `rcuop` that
//! invokes. The CPU itself needs no tick for callbacks, and is not woken for them. On top of that, callbacks
//! that nobody waits for may be *lazy*: hidden for up to ten seconds, so that one grace period serves many.
//!
//! ```text
//!  call_rcu ──► bypass ──flush──► NEXT ─► NEXT_READY ─► WAIT ─► DONE ──► rcuop invokes
//!      └─────── direct ─────────►   └──── rcuog stamps, asks, advances ────┘
//! ```
//!
//! | file | decides |
//! |---|---|
//! | `groups` | who belongs to which group, and who leads |
//! | `bypass` | what is hidden, and when that is too old or too much; how many may be queued directly |
//! | `enqueue` | where a new callback goes, and who has to know |
//! | `wake` | levels of wake-ups that are put off; the group's timer |
//! | `pass` | one look of rcuog at all members, one member a step; how it rests after that |
//! | `invoke` | rcuop, and who invokes when a CPU has changed sides in the middle of a batch |
//! | `lazy` | what counts as lazy, hurrying, the shrinker |
//! | `toggle` | offloading and de-offloading at run time |
//! | `moving` | the barrier's visit, and the callbacks of a CPU that has gone |
//!
//! # Two policies
//! [`Policy::Kernel612`] is Linux 6.12, oddities included. [`Policy::Quiescent`] keeps the promise (a lazy callback
//! is under way when its flush time comes) and needs less for it:
//!
//! * **No second list.** The bypass exists because a CPU and rcuog contend for one lock. A lazy callback is in
//!   the main list here, but nobody has asked for its grace period. A *flush* is that somebody does.
//! * **A grace period that happens anyway serves lazy callbacks too.** Each gets its stamp when it is queued:
//!   [`Seq::snap`](crate::seq::Seq::snap) of that moment, which whatever grace period comes by will reach. (The design had
//!   initialisation read the ends of queues before the start; a stamp taken at once says the same earlier,
//!   and costs the grace period nothing.) They are invoked when their rcuop runs for another reason, or when
//!   their time comes, and then no grace period is left to wait for. Nobody is woken for them before.
//! * **The group's deadline is the earliest of its members'**, and whoever is late flushes the whole group: one
//!   wake-up and one grace period, whatever the number of lists.
//!
//! # Positions
//! A host of the kernel's shape has two FIFOs for a CPU, the list's and the bypass. Positions do not change
//! with a flush: the bypass goes on where the list ends, since callbacks are never queued directly while
//! something is in the bypass. [`Queued::flushed`] and its like say by value how many move to the end of NEXT.
//!
//! # Locks
//! A `Cpu` (`nocb_lock`) before [`Global`](crate::Global), and both before the [`Group`] (`nocb_gp_lock`). Every call
//! that takes two of them holds both.
//!
//! # Invariants
//! * Order of invocation is order of queueing, for each CPU, whatever is toggled meanwhile.
//! * While rcuog rests without a bound, no member has anything that somebody waits for; and if something is
//!   hidden, the group's timer is set.
//! * At most one batch of a CPU is out: who invokes may change, but only between batches.

mod bypass;
mod enqueue;
mod groups;
mod invoke;
mod lazy;
mod moving;
mod pass;
mod toggle;
mod wake;

pub use crate::common::config::{Offload, Policy};
pub use crate::common::parts::kernel::{GpEnd, GroupId, Member};
pub use enqueue::{Call, Place, Queued};
pub use groups::{Group, group_of, leader_of, stride};
pub use invoke::AfterBatch;
pub use lazy::{Flushed, Shrink, Shrinkable, shrinkable};
pub use moving::{Entrained, TakenOver};
pub use pass::{Rest, Rested, Visited};
pub use toggle::{Refused, Toggled};
pub use wake::Level;

use crate::common::host::CpuId;

/// What is to be done to the group's timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Nothing.
    #[default]
    Keep,
    /// It fires when the tick counter shows this; what it was set to before is forgotten.
    Set(u64),
    /// It does not fire.
    Stop,
}

/// Who has to be woken, and what has to be set.
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
    /// Both; what `later` says of the timer counts.
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
    fn the_kernels_policy_offloads_nobody_who_is_online() {
        assert!(Offload::quiescent(1000).online_toggle);
        assert!(!Offload::kernel_6_12(1000).online_toggle);
    }
}

//! Coverage marks: the events that a search has reached. An expected mark that is not reached fails the run,
//! because a search proves nothing about states that it does not reach.

use std::cell::Cell;
use std::fmt;

macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Something that happened in a search.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mark {
            $($(#[$doc])* $name,)+
        }

        impl Mark {
            pub const ALL: &[Mark] = &[$(Mark::$name,)+];
        }
    };
}

marks! {
    Idle,
    Fence,
    Hotplug,
    InitInner,
    InitLeaf,
    Wait,
    ScanFirst,
    ScanLater,
    CleanupInner,
    CleanupLeaf,
    End,
    /// A scan credited a CPU that it found outside.
    CreditOutside,
    /// A later scan credited a CPU that was inside, because its stamp had changed.
    CreditChanged,
    /// The driver's CPU was reported early.
    EarlyReport,
    /// The driver's CPU was inside a section and was not reported.
    OwnRefused,
    /// A CPU's own report counted.
    OwnReport,
    /// A report noted under an older grace period was ignored.
    LateReport,
    /// A departing CPU was reported while it was a holdout.
    DepartedCounted,
    /// A departing CPU was reported before its leaf was set up: ignored.
    DepartedEarly,
    /// A reader was preempted and blocks the grace period in flight.
    PreemptedOlder,
    /// A reader was preempted and does not block the grace period in flight.
    PreemptedNewer,
    /// A reader was preempted with no grace period in flight.
    PreemptedIdle,
    /// A node had only preempted readers left to wait for.
    OnlyReaders,
    /// The last preempted reader of a node left, and that was reported up the tree.
    ReaderLast,
    /// The last preempted reader left before its leaf without CPUs was set up.
    InitDeserted,
    /// A grace period waited for a reader of a leaf without CPUs.
    WaitBlkdTasks,
    /// An expedited grace period began without a climb through the funnel.
    ExpFast,
    /// A caller reached the root of the funnel.
    ExpContend,
    /// A caller found another caller ahead of it.
    ExpSleep,
    /// A caller found its cookie done: in the funnel, or when it had the role.
    ExpServed,
    ExpBeginServed,
    /// An expedited grace period began while a normal one was in flight.
    ExpOverlap,
    /// An expedited grace period began while the waiters of the previous one were being woken, and had to
    /// wait for that.
    ExpDuringWakes,
    ExpEndWaits,
    /// The second scan saved an interrupt.
    ExpSecondLook,
    ExpAsk,
    /// A refused interrupt was sent again.
    ExpAgain,
    /// An interrupt was refused because the CPU had left.
    ExpGone,
    /// The interrupt found the CPU outside, in a section, or reported already.
    ExpOutside,
    ExpHint,
    ExpLate,
    /// A flagged CPU switched to another task.
    ExpSwitch,
    /// Only preempted readers blocked the grace period, and the last of them left.
    ExpReaders,
    ExpReaderLast,
    /// The last CPU that was waited for departed.
    ExpDeparted,
    /// A cookie was satisfied by an expedited grace period before a normal one.
    ExpCookie,
    /// A CPU left between the visit of its leaf and the set-up of the leaf.
    InitGone,
    /// A leaf below the root had no participants.
    LeafEmpty,
    /// A CPU arrived in the middle of a grace period.
    ArrivedInGp,
    /// A grace period ended without a scan.
    NoScan,
    StrayWake,
    ResumeFence,
    ResumeHotplug,
    ResumeInit,
    ResumeWait,
    ResumeScan,
    ResumeCleanup,
    ResumeEnd,
    /// No marker was free for a segment of waiters.
    NoMarker,
    /// Waiters were left to the work item.
    Deferred,
    Prestarted,
    Startedleaf,
    Startedleafroot,
    Startedroot,
    CleanupMore,
    /// A grace period ended and another one was requested at once.
    BackToBack,
    /// A step with nothing to do.
    NothingWanted,
    /// A cookie was taken while a grace period was in flight.
    CookieInFlight,
    /// A cookie was found satisfied.
    CookieDone,
}

/// A set of marks.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks(u128);

impl Marks {
    pub fn of(marks: &[Mark]) -> Marks {
        Marks(marks.iter().fold(0, |set, &mark| set | 1 << mark as u32))
    }

    pub fn has(self, mark: Mark) -> bool {
        self.0 & 1 << mark as u32 != 0
    }

    pub fn union(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    pub fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Mark::ALL
            .iter()
            .filter(|&&mark| self.has(mark))
            .map(|mark| format!("{mark:?}"))
            .collect();
        f.write_str(&names.join(" "))
    }
}

/// A cell that collects marks behind shared references.
#[derive(Default)]
pub struct Pad(Cell<Marks>);

impl Pad {
    pub fn set(&self, mark: Mark) {
        self.0.set(self.0.get().union(Marks::of(&[mark])));
    }

    pub fn set_if(&self, mark: Mark, happened: bool) {
        if happened {
            self.set(mark);
        }
    }

    pub fn get(&self) -> Marks {
        self.0.get()
    }
}

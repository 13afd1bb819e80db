//! Coverage marks: the states that a search has reached. One that is expected and not reached fails the run,
//! because a search proves nothing about states that it does not reach.

use std::cell::Cell;
use std::fmt;

macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Something that happened.
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
    WaitTicks,
    WaitBefore,
    WaitFlag,
    WaitAfter,
    WaitArming,
    WaitFence,
    WaitArmed,
    WaitAsleep,
    ScanFirst,
    ScanLater,
    CleanupInner,
    CleanupLeaf,
    End,
    /// A scan credited a CPU that it saw outside.
    CreditOutside,
    /// A later scan credited a CPU inside, since its stamp had changed.
    CreditChanged,
    /// The driver's CPU was reported early.
    EarlyReport,
    /// The driver was inside a section and was not reported.
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
    /// One was preempted and does not.
    PreemptedNewer,
    /// One was preempted with no grace period in flight.
    PreemptedIdle,
    /// A node had nothing but preempted readers left to wait for.
    OnlyReaders,
    /// The last of them left, and that was carried up the tree.
    ReaderLast,
    /// It left before its deserted leaf was set up.
    InitDeserted,
    /// A grace period waited for a reader of a leaf without CPUs.
    WaitBlkdTasks,
    /// An expedited grace period was begun without a climb.
    ExpFast,
    /// A caller got to the root of the funnel.
    ExpContend,
    /// A caller found another caller ahead of it.
    ExpSleep,
    /// A caller found its cookie done: in the funnel, or with the role in its hands.
    ExpServed,
    ExpBeginServed,
    /// One began while a normal grace period was in flight.
    ExpOverlap,
    /// One began while the waiters of the last were being woken, and had to wait for that.
    ExpDuringWakes,
    ExpEndWaits,
    /// The second scan saved an interrupt.
    ExpSecondLook,
    ExpAsk,
    /// A refused interrupt was sent again.
    ExpAgain,
    /// It was refused since the CPU had gone.
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
    /// The last CPU waited for departed.
    ExpDeparted,
    /// A cookie was done by an expedited grace period before a normal one.
    ExpCookie,
    /// A CPU left between the visit of its leaf and the setting up of it.
    InitGone,
    /// A leaf below the root had no participants.
    LeafEmpty,
    /// A CPU arrived in the middle of a grace period.
    ArrivedInGp,
    /// A grace period ended without a scan.
    NoScan,
    /// The driver was the only participant: no fence.
    Sole,
    /// It could have passed its grace period in one call.
    InOneCall,
    /// There was no participant.
    Nobody,
    Grow,
    /// Flags were newly set just before sleeping: another fence.
    Reflag,
    Slept,
    Woken,
    StrayWake,
    /// A poller left because holdouts were flagged.
    PollerLeft,
    HandOver,
    /// The role was taken from a driver that did not run; from one that a reader had woken; from one that was
    /// about to leave.
    TakenOver,
    TakenOverWoken,
    TakenOverAtTheEnd,
    /// The driver slept, as it was told to.
    TakeoverRefused,
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
    /// A grace period ended and another one was wanted at once.
    BackToBack,
    /// A step with nothing to do.
    NothingWanted,
    /// A cookie was taken while a grace period was in flight.
    CookieInFlight,
    /// A cookie was found done.
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

/// Where marks are collected from behind shared references.
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

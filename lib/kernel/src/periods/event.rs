//! Trace events, under the kernel's names and in its text format.
//!
//! The same tools read a simulated run and a recorded one, so the text of an event is exactly what the kernel
//! prints after `event_name: `. Fields that the engine cannot know (the flavour's name) are passed in when
//! the text is produced.
//!
//! Sequence numbers are printed signed, masks in hexadecimal without a prefix. An [`Event`] is a small `Copy`
//! value: making one costs little, and a host that does not trace drops it.

use core::fmt;

use quiescent_engine::seq::Seq;

/// An enumeration whose members have the names that traces print.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$doc])* $member,)+
        }

        impl $name {
            /// All members.
            pub const ALL: &[$name] = &[$($name::$member,)+];

            /// As traces print it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$member => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names! {
    /// The stages of a normal grace period.
    GpEvent {
        /// A request set the flag for a needed grace period.
        Newreq = "newreq",
        /// The grace period started.
        Start = "start",
        /// The grace period ended.
        End = "end",
        /// The grace-period thread begins to wait for a request.
        Reqwait = "reqwait",
        /// It was woken without a request.
        Reqwaitsig = "reqwaitsig",
        /// It begins to wait for the next force-quiescent-state scan.
        Fqswait = "fqswait",
        /// It was woken from that wait without a reason.
        Fqswaitsig = "fqswaitsig",
        /// A scan begins.
        Fqsstart = "fqsstart",
        /// A scan ends.
        Fqsend = "fqsend",
        /// A CPU notices that a grace period started.
        Cpustart = "cpustart",
        /// A CPU notices that one ended.
        Cpuend = "cpuend",
        /// A CPU notes a quiescent state.
        Cpuqs = "cpuqs",
        /// A CPU comes online.
        Cpuonl = "cpuonl",
        /// A CPU goes offline.
        Cpuofl = "cpuofl",
        /// A CPU goes offline while its leaf still has preempted readers.
        CpuoflBgp = "cpuofl-bgp",
        /// Callbacks were stamped and moved to the segment `WAIT`.
        AccWaitCb = "AccWaitCB",
        /// Callbacks were stamped and moved to the segment `NEXT_READY`.
        AccReadyCb = "AccReadyCB",
    }
}

names! {
    /// The position and the result of a request in the funnel.
    FutureEvent {
        /// The request starts at a leaf.
        Startleaf = "Startleaf",
        /// An earlier request covers it, or that grace period has begun.
        Prestarted = "Prestarted",
        /// A grace period is in progress; its end will check the request.
        Startedleaf = "Startedleaf",
        /// A grace period is in progress, which was noticed at the root.
        Startedleafroot = "Startedleafroot",
        /// It reached an idle root: the grace-period thread has to be woken.
        Startedroot = "Startedroot",
        /// It reached the root before there was a grace-period thread.
        NoGpKthread = "NoGPkthread",
        /// At the end of a grace period no further one is requested at this node.
        Cleanup = "Cleanup",
        /// At the end of a grace period another one is requested at this node.
        CleanupMore = "CleanupMore",
        /// An offload thread begins to wait for a grace period.
        StartWait = "StartWait",
        /// The wait of an offload thread has ended.
        EndWait = "EndWait",
    }
}

names! {
    /// The result of a scan.
    FqsEvent {
        /// The CPU is, or was since the last scan, in an extended quiescent state.
        Dti = "dti",
    }
}

names! {
    /// The stages of an expedited grace period.
    ExpEvent {
        /// A caller took its cookie.
        Snap = "snap",
        /// The grace period started.
        Start = "start",
        /// The tree's expedited masks are set up.
        Reset = "reset",
        /// CPUs to be interrupted are being selected.
        Select = "select",
        /// CPUs to be interrupted are being selected, offline CPUs included.
        Selectofl = "selectofl",
        /// The wait for the interrupted CPUs begins.
        Startwait = "startwait",
        /// The grace period ended.
        End = "end",
        /// Its waiters are being woken.
        Endwake = "endwake",
        /// A caller found its cookie done.
        Done = "done",
    }
}

names! {
    /// How a request for an expedited grace period climbs the tree.
    ExpFunnelEvent {
        /// The climb continues at the parent.
        Nxtlvl = "nxtlvl",
        /// Another caller is ahead: this one waits here.
        Wait = "wait",
    }
}

names! {
    /// The stages of a `synchronize_rcu` caller that is woken straight from the grace period.
    SrEvent {
        /// The caller begins to wait.
        Request = "request",
        /// The caller is woken.
        Complete = "complete",
    }
}

names! {
    /// RCU's uses of processor time.
    UtilizationEvent {
        /// The tick's work begins.
        StartTick = "Start scheduler-tick",
        /// The tick's work is done.
        EndTick = "End scheduler-tick",
        /// The soft interrupt begins.
        StartCore = "Start RCU core",
        /// The soft interrupt is done.
        EndCore = "End RCU core",
        /// The context switch's work begins.
        StartContextSwitch = "Start context switch",
        /// The context switch's work is done.
        EndContextSwitch = "End context switch",
        /// The per-CPU thread runs.
        StartCpuKthread = "Start CPU kthread@rcu_run",
        /// The per-CPU thread has nothing left to do.
        EndCpuKthreadWait = "End CPU kthread@rcu_wait",
        /// The per-CPU thread yields the processor.
        EndCpuKthreadYield = "End CPU kthread@rcu_yield",
    }
}

names! {
    /// The side that noticed a stall.
    StallEvent {
        /// A CPU that is not a holdout, or a driver.
        StallDetected = "StallDetected",
        /// A holdout.
        SelfDetected = "SelfDetected",
        /// The driver of an expedited grace period.
        ExpeditedStall = "ExpeditedStall",
    }
}

pub mod callbacks;
pub mod nocb;

pub use callbacks::{CallbackEvent, SegcbEvent};
pub use nocb::NocbEvent;

/// One trace event.
///
/// # Example
/// ```
/// use quiescent_kernel::event::{Event, GpEvent};
/// use quiescent_kernel::seq::Seq;
///
/// let event = Event::GracePeriod { gp_seq: Seq::INITIAL, event: GpEvent::Newreq };
/// assert_eq!(event.name(), "rcu_grace_period");
/// assert_eq!(event.text("rcu_preempt").to_string(), "rcu_preempt -1200 newreq");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// `rcu_grace_period`
    GracePeriod {
        /// The grace-period number at that time.
        gp_seq: Seq,
        /// The stage.
        event: GpEvent,
    },
    /// `rcu_future_grace_period`
    FutureGracePeriod {
        /// The node's number.
        gp_seq: Seq,
        /// The requested number.
        wanted: Seq,
        /// The node's level, 0 for the root.
        level: u8,
        /// Its first CPU.
        lo: u32,
        /// Its last CPU.
        hi: u32,
        /// The result of the request there.
        event: FutureEvent,
    },
    /// `rcu_grace_period_init`: one a node and grace period.
    GracePeriodInit {
        /// The grace period.
        gp_seq: Seq,
        /// The node's level, 0 for the root.
        level: u8,
        /// Its first CPU.
        lo: u32,
        /// Its last CPU.
        hi: u32,
        /// The CPUs that owe a quiescent state there.
        qsmask: u64,
    },
    /// `rcu_quiescent_state_report`
    QuiescentStateReport {
        /// The grace period.
        gp_seq: Seq,
        /// The reported CPUs.
        mask: u64,
        /// The remaining mask.
        qsmask: u64,
        /// The node's level, 0 for the root.
        level: u8,
        /// Its first CPU.
        lo: u32,
        /// Its last CPU.
        hi: u32,
        /// Preempted readers block the node as well.
        gp_tasks: bool,
    },
    /// `rcu_fqs`: a scan credits a CPU.
    Fqs {
        /// The grace period.
        gp_seq: Seq,
        /// The CPU.
        cpu: u32,
        /// The result of the scan.
        event: FqsEvent,
    },
    /// `rcu_exp_grace_period`
    ExpGracePeriod {
        /// The expedited sequence.
        gp_seq: Seq,
        /// The stage.
        event: ExpEvent,
    },
    /// `rcu_exp_funnel_lock`
    ExpFunnelLock {
        /// The node's level, 0 for the root.
        level: u8,
        /// Its first CPU.
        lo: u32,
        /// Its last CPU.
        hi: u32,
        /// The direction of the climb.
        event: ExpFunnelEvent,
    },
    /// `rcu_preempt_task`: a task is switched out in a section.
    PreemptTask {
        /// The grace period that the task blocks.
        gp_seq: Seq,
        /// The task.
        pid: u32,
    },
    /// `rcu_unlock_preempted_task`: its section has ended.
    UnlockPreemptedTask {
        /// Its leaf's number.
        gp_seq: Seq,
        /// The task.
        pid: u32,
    },
    /// `rcu_sr_normal`
    SrNormal {
        /// The waiter: a kernel prints its address; here it is its position in the host's queue.
        waiter: u64,
        /// The stage.
        event: SrEvent,
    },
    /// `rcu_utilization`
    Utilization {
        /// The beginning or the end.
        event: UtilizationEvent,
    },
    /// `rcu_stall_warning`
    StallWarning {
        /// The side that noticed the stall.
        event: StallEvent,
    },
    /// Callbacks were queued, stamped or invoked.
    Callbacks(CallbackEvent),
    /// `rcu_nocb_wake`
    NocbWake {
        /// The CPU of the event, or the leader of the group whose thread causes it.
        cpu: u32,
        /// The kind of the event.
        event: NocbEvent,
    },
}

impl Event {
    /// The kernel's name of the event.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::GracePeriod { .. } => "rcu_grace_period",
            Event::FutureGracePeriod { .. } => "rcu_future_grace_period",
            Event::GracePeriodInit { .. } => "rcu_grace_period_init",
            Event::QuiescentStateReport { .. } => "rcu_quiescent_state_report",
            Event::Fqs { .. } => "rcu_fqs",
            Event::ExpGracePeriod { .. } => "rcu_exp_grace_period",
            Event::ExpFunnelLock { .. } => "rcu_exp_funnel_lock",
            Event::PreemptTask { .. } => "rcu_preempt_task",
            Event::UnlockPreemptedTask { .. } => "rcu_unlock_preempted_task",
            Event::SrNormal { .. } => "rcu_sr_normal",
            Event::Utilization { .. } => "rcu_utilization",
            Event::StallWarning { .. } => "rcu_stall_warning",
            Event::Callbacks(event) => event.name(),
            Event::NocbWake { .. } => "rcu_nocb_wake",
        }
    }

    /// The event's fields as the kernel prints them, for a flavour of RCU (`rcu_preempt`, `rcu_sched`).
    /// `rcu_utilization` does not contain the flavour.
    pub fn text(&self, flavor: &str) -> impl fmt::Display {
        Text {
            event: *self,
            flavor,
        }
    }
}

struct Text<'a> {
    event: Event,
    flavor: &'a str,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavor = self.flavor;
        match self.event {
            Event::GracePeriod { gp_seq, event } => write!(f, "{flavor} {gp_seq} {event}"),
            Event::FutureGracePeriod {
                gp_seq,
                wanted,
                level,
                lo,
                hi,
                event,
            } => write!(f, "{flavor} {gp_seq} {wanted} {level} {lo} {hi} {event}"),
            Event::GracePeriodInit {
                gp_seq,
                level,
                lo,
                hi,
                qsmask,
            } => write!(f, "{flavor} {gp_seq} {level} {lo} {hi} {qsmask:x}"),
            Event::QuiescentStateReport {
                gp_seq,
                mask,
                qsmask,
                level,
                lo,
                hi,
                gp_tasks,
            } => {
                let tasks = u8::from(gp_tasks);
                write!(
                    f,
                    "{flavor} {gp_seq} {mask:x}>{qsmask:x} {level} {lo} {hi} {tasks}"
                )
            }
            Event::Fqs { gp_seq, cpu, event } => write!(f, "{flavor} {gp_seq} {cpu} {event}"),
            Event::ExpGracePeriod { gp_seq, event } => write!(f, "{flavor} {gp_seq} {event}"),
            Event::ExpFunnelLock {
                level,
                lo,
                hi,
                event,
            } => write!(f, "{flavor} {level} {lo} {hi} {event}"),
            Event::PreemptTask { gp_seq, pid } | Event::UnlockPreemptedTask { gp_seq, pid } => {
                write!(f, "{flavor} {gp_seq} {pid}")
            }
            // `%p` pads an address to the width of the word.
            Event::SrNormal { waiter, event } => {
                write!(f, "{flavor} rhp=0x{waiter:016x} event={event}")
            }
            Event::Utilization { event } => write!(f, "{event}"),
            Event::StallWarning { event } => write!(f, "{flavor} {event}"),
            Event::Callbacks(event) => event.write(flavor, f),
            Event::NocbWake { cpu, event } => write!(f, "{flavor} {cpu} {event}"),
        }
    }
}

#[cfg(test)]
mod tests;

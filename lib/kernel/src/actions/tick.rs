//! The scheduling-clock tick: the causes of a CPU's pass.
//!
//! Without a tick, RCU does nothing on a CPU. With one, the tick notes a quiescent state if it interrupted no
//! reader, forwards a scan's requests, and raises the soft interrupt if there is work ([`Cpu::tick`]). The
//! soft interrupt is [`Cpu::core`] with a batch.
//!
//! # Causes (`rcu_pending`, [`Cpu::pending`])
//! In this order, and the first that applies decides:
//!
//! 1. a wake-up of an offload thread was deferred → yes;
//! 2. a `nohz_full` CPU, interrupted in user space or idle or by a grace period younger than the *patience* →
//!    no, unless the grace period is older than a second;
//! 3. a quiescent state was noted that a grace period in progress waits for → yes, report it;
//! 4. callbacks are ready, and this CPU invokes them → yes;
//! 5. no grace period is in progress, and callbacks have no stamp → yes, a grace period must be requested;
//! 6. the CPU has not noticed its leaf's number, or its own number is too old to compare → yes.
//!
//! The second rule keeps a CPU undisturbed although it has work. It comes after the first because an
//! undelivered wake-up would be lost.
//!
//! # Invariants
//! * A tick inside a section notes nothing. A tick that interrupts a preemptible kernel's idle loop does not
//!   either, since the loop runs with preemption disabled: scans credit idle CPUs.
//! * *urgent* is consumed by every tick; it makes a CPU reschedule unless the tick interrupted idle or user
//!   space, which are quiescent states of their own.
//!
//! # No forgotten work
//! Changes made elsewhere (an edge of a grace period) are point 6, the CPU's own actions (a note, a callback)
//! are 3 to 5, and both stay true until the soft interrupt has served them.

use crate::actions::report::trace;
pub use crate::periods::config::TickSettings as Settings;
use crate::periods::cpu::Cpu;
use crate::periods::event::UtilizationEvent;
use crate::periods::global::{Global, Phase};
use crate::periods::host::{Host, Now};
use crate::periods::stall::Stall;

/// The interrupted context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interrupted {
    /// The kernel.
    #[default]
    Kernel,
    /// The idle loop, and no other interrupt within it.
    Idle,
    /// User space.
    User,
}

/// The state in which the tick finds the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct At {
    /// The time.
    pub now: Now,
    /// The interrupted context.
    pub from: Interrupted,
    /// Preemption or bottom halves are disabled. In a kernel that cannot be preempted that is a section.
    pub held: bool,
    /// Sections that the interrupted task is in (preemptible).
    pub depth: u32,
    /// That task has a quiescent state to report that its unlock deferred (preemptible).
    pub deferred_qs: bool,
    /// This CPU runs without a tick where it can, and its callbacks are offloaded.
    pub nohz_full: bool,
    /// A wake-up of this CPU's offload thread was deferred, and is due.
    pub deferred_wake: bool,
}

/// The reason for raising the soft interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// An offload thread has to be woken.
    DeferredWake,
    /// A quiescent state has to be reported.
    Report,
    /// Callbacks are ready.
    Invoke,
    /// Callbacks need a grace period that has not been requested.
    Request,
    /// A grace period has begun or ended.
    Edge,
}

/// The result of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "the next tick does not repeat these requests"]
pub struct Ticked {
    /// Make the interrupted task reschedule (`need_resched`).
    pub resched: bool,
    /// Report the interrupted task's deferred quiescent state.
    pub report_deferred: bool,
    /// Have the interrupted task's unlock report.
    pub ask_unlock: bool,
    /// Raise the soft interrupt, or wake the CPU's thread.
    pub core: Option<Pending>,
    /// It is a quiescent state of Tasks RCU.
    pub tasks_qs: bool,
    /// The grace period has stalled, and this CPU has to report it.
    pub stall: Option<Stall>,
    /// A grace period was requested long ago and has not started, and this CPU has to report it.
    pub start_stall: bool,
}

impl Cpu {
    /// A tick on this CPU.
    pub fn tick(&mut self, global: &mut Global, at: At, host: &impl Host) -> Ticked {
        trace(UtilizationEvent::StartTick, host);
        self.qs.ticks = self.qs.ticks.saturating_add(1);
        let mut ticked = Ticked {
            tasks_qs: at.from != Interrupted::Kernel,
            ..Ticked::default()
        };
        let record = global.record_mut(self.id);
        if record.is_some_and(|record| core::mem::take(&mut record.urgent)) {
            ticked.resched = at.from == Interrupted::Kernel;
        }
        self.tick_in_section(global, at, &mut ticked, host);
        ticked.stall = global.claim_stall(self.id, at.now, host);
        ticked.start_stall = global.claim_start_stall(at.now);
        ticked.core = self.pending(global, at);
        trace(UtilizationEvent::EndTick, host);
        ticked
    }

    /// The part that depends on the kind of sections.
    fn tick_in_section(&mut self, global: &Global, at: At, ticked: &mut Ticked, host: &impl Host) {
        if !global.config.tick.preemptible {
            if at.from != Interrupted::Kernel || !at.held {
                self.note_qs(host);
            }
            return;
        }
        if at.depth == 0 && !at.held && at.from != Interrupted::Idle {
            if at.deferred_qs {
                ticked.report_deferred = true;
            } else {
                self.note_qs(host);
            }
            return;
        }
        ticked.resched |= at.deferred_qs;
        // The task has an unlock ahead: once the grace period is a second old, the unlock is requested to
        // report.
        let old = global.gp_ticks(at.now) > global.hz();
        ticked.ask_unlock = at.depth > 0 && self.qs.needed && self.qs.missing && old;
    }

    /// Has the soft interrupt work to do (`rcu_pending`)? The first reason of the list [above](self).
    pub fn pending(&self, global: &Global, at: At) -> Option<Pending> {
        if at.deferred_wake {
            return Some(Pending::DeferredWake);
        }
        let in_flight = global.gp_seq.state() != 0;
        if at.nohz_full {
            let age = global.gp_ticks(at.now);
            let patient = in_flight && age < global.config.tick.patience;
            let young = !in_flight || age < global.hz();
            if (at.from != Interrupted::Kernel || patient) && young {
                return None;
            }
        }
        if self.qs.noted() && in_flight {
            return Some(Pending::Report);
        }
        self.callbacks_pending(global)
    }

    /// The reasons about callbacks, and edges.
    pub(crate) fn callbacks_pending(&self, global: &Global) -> Option<Pending> {
        let list = &self.list;
        if !self.offloaded && list.ready() > 0 {
            return Some(Pending::Invoke);
        }
        if global.gp_seq.state() == 0 && !self.offloaded && list.unstamped() > 0 {
            return Some(Pending::Request);
        }
        (self.leaf(global).gp_seq != self.gp_seq || self.gpwrap).then_some(Pending::Edge)
    }

    /// An interrupt enters the kernel on this CPU, which had no tick. True if the tick has to be switched on
    /// until this CPU has reported: a scan has requested hurry, and the CPU would make no pass otherwise.
    /// Only for `nohz_full` CPUs.
    pub fn irq_enter(&self, global: &mut Global) -> bool {
        let Some(record) = global.record_mut(self.id) else {
            return false;
        };
        let force = record.urgent && !record.forced_tick;
        record.forced_tick |= force;
        force
    }

    /// The soft interrupt has ended, with its batch.
    pub fn core_done(&self, host: &impl Host) {
        trace(UtilizationEvent::EndCore, host);
    }
}

impl Global {
    /// Is every CPU interrupted now, so that its soft interrupt looks for the edge of the grace period? Asked
    /// after the step that began in phase `before`: yes after the initialisation and after the end, of strict
    /// grace periods ([`Settings::strict`]).
    pub fn pokes_all(&self, before: Phase) -> bool {
        let edge = match before {
            Phase::Init(_) => !matches!(self.phase, Phase::Init(_)),
            Phase::End => true,
            _ => false,
        };
        self.config.tick.strict && edge
    }

    /// Ticks a second; a grace period without an age is never that old.
    fn hz(&self) -> u64 {
        self.config
            .escalation
            .map_or(u64::MAX, |escalation| u64::from(escalation.hz))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_given_in_milliseconds() {
        let ticks = |ms, hz| Settings::kernel_6_12().patience_ms(ms, hz).patience;
        assert_eq!(ticks(0, 1000), 0);
        assert_eq!((ticks(10, 100), ticks(11, 100)), (1, 2), "rounded up");
        assert_eq!(ticks(60_000, 250), 1250, "5 s at most");
    }

    #[derive(Default)]
    struct Heard(core::cell::RefCell<alloc::vec::Vec<UtilizationEvent>>);

    impl Host for Heard {
        crate::periods::host::asked_by_the_driver_only!();

        fn trace(&self, event: &crate::periods::event::Event) {
            if let crate::periods::event::Event::Utilization { event } = *event {
                self.0.borrow_mut().push(event);
            }
        }
    }

    #[test]
    fn the_end_of_the_soft_interrupt_is_traced() {
        let heard = Heard::default();
        Cpu::new(0).core_done(&heard);
        assert_eq!(heard.0.take(), [UtilizationEvent::EndCore]);
    }
}

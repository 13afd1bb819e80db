//! What a CPU itself knows of the quiescent state that it owes, and its report.
//!
//! *Noting* is local and cheap: a flag goes down, under the number that this CPU has noticed. *Reporting*
//! takes the leaf's lock, walks up the tree, and may come much later, when that grace period is long over
//! (behaviour §3.5).
//!
//! ```text
//!    note_gp_changes ── a grace period began, my bit is set ──▶ needed, missing
//!    note_qs         ── tick, context switch, cond_resched  ──▶ needed
//!    report_qs       ── under the leaf's lock               ──▶ –
//! ```
//!
//! # Invariants
//! * `needed` is set by the notice of a grace period and cleared by the notice of its end, by the report,
//!   or by the notice that somebody else has credited this CPU.
//! * `missing` goes down only by noting, and up with every notice of a new grace period and with every
//!   report that is refused.
//!
//! # Why a report never counts for the wrong grace period
//! A quiescent state noted before grace period g began proves nothing about g. It was noted under this
//! CPU's own number. If the leaf shows another one, or this CPU's number is too old to be compared, the
//! report is refused and has to be noted again, after the CPU has noticed g. If both are the same, the
//! noting came after the notice of g, which is after g's start (behaviour O10).
//!
//! # Why callbacks are stamped before the report
//! This grace period cannot end before the report. So the next one starts after everything queued here by
//! now, and does for all of it; after the report that would no longer be known.

use crate::common::cpu::Cpu;
use crate::common::event::{Event, GpEvent, UtilizationEvent};
use crate::common::global::Global;
use crate::common::host::Host;
pub use crate::common::parts::kernel::Qs;

/// What became of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a report that wakes nobody may leave a grace period waiting for its timer"]
pub struct Reported {
    /// It was made, and counted.
    pub counted: bool,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
    /// The tick forced on this CPU is no longer needed.
    pub stop_tick: bool,
}

/// How a CPU answers a scan that asked it to hurry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a momentary quiescent state that is not made is never seen"]
pub struct Answer {
    /// Go through a momentary extended quiescent state, now
    /// ([`Watching::momentary_eqs`](crate::watching::Watching::momentary_eqs)).
    pub momentary_eqs: bool,
    /// A quiescent state was noted.
    pub noted: bool,
}

impl Cpu {
    /// What it owes, as far as it knows.
    pub fn qs(&self) -> Qs {
        self.qs
    }

    /// It comes online: it knows what its leaf shows, and owes nothing. Only from the next grace period on
    /// is it waited for (behaviour §7.8), so it must not report for this one.
    pub fn online(&mut self, global: &Global, host: &impl Host) {
        let leaf = self.leaf(global);
        self.gp_seq = leaf.gp_seq;
        self.gp_seq_needed = leaf.needed;
        self.gpwrap = false;
        self.qs = Qs::new();
        host.trace(&Event::GracePeriod {
            gp_seq: leaf.gp_seq,
            event: GpEvent::Cpuonl,
        });
    }

    /// Notes a quiescent state (`rcu_qs`). True if one was missing.
    pub fn note_qs(&mut self, host: &impl Host) -> bool {
        let missing = core::mem::take(&mut self.qs.missing);
        if missing {
            host.trace(&Event::GracePeriod {
                gp_seq: self.gp_seq,
                event: GpEvent::Cpuqs,
            });
        }
        missing
    }

    /// Reports what was noted, if the grace period in flight waits for it
    /// (`rcu_check_quiescent_state`). It notices edges first.
    pub fn check_qs(&mut self, global: &mut Global, host: &impl Host) -> Reported {
        let noticed = self.note_gp_changes(global, host);
        let mut reported = Reported::default();
        if self.qs.noted() {
            reported = self.report_qs(global, host);
        }
        reported.wake_gp |= noticed.wake_gp;
        reported
    }

    /// Reports a quiescent state of this CPU, on this CPU (`rcu_report_qs_rdp`). Refused, and to be noted
    /// again, if none was noted or it was noted under another number than the leaf's.
    pub fn report_qs(&mut self, global: &mut Global, host: &impl Host) -> Reported {
        let leaf = self.leaf(global);
        if self.qs.missing || self.gp_seq != leaf.gp_seq || self.gpwrap {
            self.qs.missing = true;
            return Reported::default();
        }
        self.qs.needed = false;
        if !leaf.owes {
            return Reported::default(); // somebody was faster: a scan
        }
        let asked = !self.offloaded && self.stamp(global, host);
        let effects = global.report_qs(self.id, leaf.gp_seq, host);
        Reported {
            counted: true,
            wake_gp: asked | effects.wake_gp,
            stop_tick: effects.nudge.is_some_and(|nudge| nudge.stop_tick != 0),
        }
    }

    /// A context switch, outside every section of this CPU: a quiescent state. Where a kernel cannot be
    /// preempted it also answers what a scan has asked; a preemptible one has put the reader that is
    /// switched out on its leaf's list before.
    pub fn context_switch(&mut self, global: &mut Global, host: &impl Host) -> Answer {
        trace(UtilizationEvent::StartContextSwitch, host);
        let momentary_eqs = !global.config.tick.preemptible && self.answer(global) == Some(true);
        let noted = self.note_qs(host);
        trace(UtilizationEvent::EndContextSwitch, host);
        Answer {
            momentary_eqs,
            noted,
        }
    }

    /// `cond_resched` of a kernel that cannot be preempted, outside every section. It does something only
    /// if a scan has asked; in a preemptible kernel it is none of RCU's business.
    pub fn cond_resched(&mut self, global: &mut Global, host: &impl Host) -> Answer {
        if global.config.tick.preemptible {
            return Answer::default();
        }
        match self.answer(global) {
            None => Answer::default(),
            Some(momentary_eqs) => Answer {
                momentary_eqs,
                noted: self.note_qs(host),
            },
        }
    }

    /// Consumes what a scan has asked; was it asked for a heavy quiescent state?
    fn answer(&self, global: &mut Global) -> Option<bool> {
        let record = global.record_mut(self.id)?;
        if !core::mem::take(&mut record.urgent) {
            return None;
        }
        Some(core::mem::take(&mut record.heavy))
    }
}

pub(crate) fn trace(event: UtilizationEvent, host: &impl Host) {
    host.trace(&Event::Utilization { event });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::gp::tests::{There, engine, until_waiting};

    #[test]
    fn a_number_too_old_to_be_compared_reports_nothing() {
        let (mut engine, host) = (engine(), There::new([3, 0]));
        let _ = engine.start_poll(0, &host);
        until_waiting(&mut engine, &host);
        let (engine, mut cpu) = (&mut engine, Cpu::new(1));
        let _ = cpu.core(engine, &host);
        // It noted a quiescent state, slept through half of all numbers, and its number is the leaf's again.
        assert!(cpu.note_qs(&host));
        cpu.gpwrap = true;
        assert!(!cpu.report_qs(engine, &host).counted);
        assert!(cpu.qs.missing && engine.owes(1));
        // What it noticed is forgotten as well.
        cpu.qs.missing = false;
        assert!(!cpu.check_qs(engine, &host).counted);
        assert!(!cpu.gpwrap && cpu.qs.needed && cpu.qs.missing);
        assert!(cpu.note_qs(&host) && cpu.check_qs(engine, &host).counted);
        assert!(!engine.owes(1));
    }
}

//! A CPU's own state of the quiescent state that it owes, and its report.
//!
//! *Noting* is local and cheap: it clears a flag, under the number that this CPU has noticed. *Reporting*
//! takes the leaf's lock, walks up the tree, and may come much later, after the end of that grace period.
//!
//! ```text
//!    note_gp_changes ── a grace period began, my bit is set ──▶ needed, missing
//!    note_qs         ── tick, context switch, cond_resched  ──▶ needed
//!    report_qs       ── under the leaf's lock               ──▶ –
//! ```
//!
//! # Invariants
//! * `needed` is set by the notice of a grace period and cleared by the notice of its end, by the report, or
//!   by the notice that this CPU has been credited by another call.
//! * `missing` is cleared only by noting, and set by every notice of a new grace period and every refused
//!   report.
//!
//! # Correctness of a report
//! A quiescent state noted before grace period g began proves nothing about g. It was noted under this
//! CPU's own number. If the leaf shows another one, or this CPU's number is too old to be compared, the
//! report is refused and has to be noted again, after the CPU has noticed g. If both are the same, the
//! noting came after the notice of g, which is after g's start.
//!
//! # Stamps before the report
//! This grace period cannot end before the report. So the next one starts after everything queued here by
//! now, and covers all of it; after the report that would not be certain.

use crate::periods::cpu::Cpu;
use crate::periods::event::{Event, GpEvent, UtilizationEvent};
use crate::periods::global::Global;
use crate::periods::host::Host;
pub use crate::periods::parts::Qs;

/// The result of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "without the wake-up a grace period may have to wait for its timer"]
pub struct QsReported {
    /// The report was made, and counted.
    pub counted: bool,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
    /// The tick forced on this CPU is no longer needed.
    pub stop_tick: bool,
}

/// A CPU's answer to a scan that requested hurry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a scan can only see a momentary quiescent state that is made"]
pub struct HurryAnswer {
    /// Go through a momentary extended quiescent state, now
    /// ([`Watching::momentary_eqs`](crate::watching::Watching::momentary_eqs)).
    pub momentary_eqs: bool,
    /// A quiescent state was noted.
    pub noted: bool,
}

impl Cpu {
    /// The quiescent state that it owes, as far as it has noticed.
    pub fn qs(&self) -> Qs {
        self.qs
    }

    /// It comes online: it has noticed its leaf's number, and owes nothing. Grace periods wait for it only
    /// from the next one on, so it must not report for this one.
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

    /// Reports the noted quiescent state, if the grace period in progress waits for it
    /// (`rcu_check_quiescent_state`). It notices edges first.
    pub fn check_qs(&mut self, global: &mut Global, host: &impl Host) -> QsReported {
        let noticed = self.note_gp_changes(global, host);
        let mut reported = QsReported::default();
        if self.qs.noted() {
            reported = self.report_qs(global, host);
        }
        reported.wake_gp |= noticed.wake_gp;
        reported
    }

    /// Reports a quiescent state of this CPU, on this CPU (`rcu_report_qs_rdp`). Refused, and to be noted
    /// again, if none was noted or it was noted under another number than the leaf's.
    pub fn report_qs(&mut self, global: &mut Global, host: &impl Host) -> QsReported {
        let leaf = self.leaf(global);
        if self.qs.missing || self.gp_seq != leaf.gp_seq || self.gpwrap {
            self.qs.missing = true;
            return QsReported::default();
        }
        self.qs.needed = false;
        if !leaf.owes {
            return QsReported::default(); // a scan was faster
        }
        let asked = !self.offloaded && self.stamp(global, host);
        let effects = global.report_qs(self.id, leaf.gp_seq, host);
        QsReported {
            counted: true,
            wake_gp: asked | effects.wake_gp,
            stop_tick: effects.nudge.is_some_and(|nudge| nudge.stop_tick != 0),
        }
    }

    /// A context switch, outside every section of this CPU: a quiescent state. In a kernel that cannot be
    /// preempted it also answers a scan's requests; a preemptible one has put the switched-out reader on its
    /// leaf's list before.
    pub fn context_switch(&mut self, global: &mut Global, host: &impl Host) -> HurryAnswer {
        trace(UtilizationEvent::StartContextSwitch, host);
        let momentary_eqs = !global.config.tick.preemptible && self.answer(global) == Some(true);
        let noted = self.note_qs(host);
        trace(UtilizationEvent::EndContextSwitch, host);
        HurryAnswer {
            momentary_eqs,
            noted,
        }
    }

    /// `cond_resched` of a kernel that cannot be preempted, outside every section. It acts only on a scan's
    /// request; in a preemptible kernel it does nothing for RCU.
    pub fn cond_resched(&mut self, global: &mut Global, host: &impl Host) -> HurryAnswer {
        if global.config.tick.preemptible {
            return HurryAnswer::default();
        }
        match self.answer(global) {
            None => HurryAnswer::default(),
            Some(momentary_eqs) => HurryAnswer {
                momentary_eqs,
                noted: self.note_qs(host),
            },
        }
    }

    /// Consumes a scan's requests; was a heavy quiescent state requested?
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
    use crate::periods::gp::tests::{There, engine, until_waiting};

    #[test]
    fn a_number_too_old_to_be_compared_reports_nothing() {
        let (mut engine, host) = (engine(), There::new([3, 0]));
        let _ = engine.start_poll(0, &host);
        until_waiting(&mut engine, &host);
        let (engine, mut cpu) = (&mut engine, Cpu::new(1));
        let _ = cpu.core(engine, &host);
        // It noted a quiescent state, slept through half of all numbers, and its number equals the leaf's
        // again.
        assert!(cpu.note_qs(&host));
        cpu.gpwrap = true;
        assert!(!cpu.report_qs(engine, &host).counted);
        assert!(cpu.qs.missing && engine.owes(1));
        // The noticed numbers are dropped as well.
        cpu.qs.missing = false;
        assert!(!cpu.check_qs(engine, &host).counted);
        assert!(!cpu.gpwrap && cpu.qs.needed && cpu.qs.missing);
        assert!(cpu.note_qs(&host) && cpu.check_qs(engine, &host).counted);
        assert!(!engine.owes(1));
    }
}

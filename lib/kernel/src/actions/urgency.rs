//! Urgency: pressure of a grace period on a CPU that does not answer.
//!
//! A kernel's grace-period thread cannot make a CPU quiescent. It makes requests, stronger ones as the grace
//! period gets older; later scans ([`Global::step`]) make them, CPU by CPU, to the holdouts. With `w` =
//! [`Global::jiffies_to_sched_qs`]:
//!
//! | older than | request |
//! |---|---|
//! | `w` | *urgent*: the next tick, `cond_resched` or context switch answers |
//! | `2w`, or half the stall time, or overload | *heavy* as well: a momentary extended quiescent state |
//! | (a `nohz_full` CPU) `3w` since the last interrupt, or overload | urgent, and a rescheduling interrupt |
//! | half the stall time | the interrupt, every `w`; one work and one CPU-time reading a grace period |
//!
//! The engine stores the requests and returns the interrupts to send ([`Nudge`], by value, a leaf at a time);
//! a host that keeps copies for lock-free reads writes *heavy* before *urgent*.
//!
//! # Overload
//! A CPU that owes too many callbacks has a bit in its leaf. A scan notes whether it has found such a bit and
//! acts on the note of the scan *before* it: waits shrink to a third, and the first wait, as well as the one
//! after the first scan, is skipped.
//!
//! # Invariants
//! * Heavy implies urgent, until urgent is consumed.
//! * A CPU that owes nothing has no requests: a credit, a report and a departure all remove them. So there
//!   are no requests between grace periods.
//! * An interrupt work is sent once a grace period, and not while an older one is unanswered.
//!
//! # Correctness
//! No request credits a CPU. A request that comes too late, twice or never costs only time; so an error here
//! never makes a grace period too short.

pub use crate::periods::config::Escalation;
use crate::periods::config::{Config, EarlyQs};
use crate::periods::global::{Global, Phase};
pub use crate::periods::host::Nudge;
use crate::periods::host::{CpuId, Effects, Next, Now};

use crate::periods::requests::{Record, Stage};

/// Requests to a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asked {
    /// `rcu_urgent_qs`.
    pub urgent: bool,
    /// `rcu_need_heavy_qs`.
    pub heavy: bool,
    /// The tick of a `nohz_full` CPU was switched on for it.
    pub forced_tick: bool,
    /// The tick of the last interrupt to it.
    pub sent_for: Option<u64>,
    /// Has an interrupt work of this grace period run? `None` if none was sent.
    pub takes_interrupts: Option<bool>,
}

/// Ages of the grace period in progress, in ticks, for stall reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Age {
    /// Since its start.
    pub ticks: u64,
    /// Scans begun in it.
    pub scans: u64,
    /// Until interrupts are sent to holdouts; 0 if they are being sent.
    pub until_resched: u64,
    /// Until the next report of a stall; 0 if it is due.
    pub until_stall: u64,
    /// The grace-period thread should have run by now, and has not.
    pub thread_overdue: bool,
    /// Callbacks overload: waits are short.
    pub overloaded: bool,
}

impl Global {
    /// Sets both waits of a kernel between scans (`jiffies_till_first_fqs`, `jiffies_till_next_fqs`), which
    /// are limited to 0 or 1 tick at least and a second at most.
    pub fn set_fqs_waits(&mut self, first: u64, next: u64) {
        let most = self.config.escalation.map_or(u64::MAX, |e| u64::from(e.hz));
        self.config.first_fqs = first.min(most);
        self.config.next_fqs = next.min(most).max(1);
    }

    /// Changes when the CPU of the grace-period thread reports, from the next grace period on.
    pub fn set_early_qs(&mut self, early_qs: EarlyQs) {
        self.config.early_qs = early_qs;
    }

    /// Ticks after which a holdout is requested to hurry (`jiffies_to_sched_qs`); `None` if the host makes no
    /// requests.
    pub fn jiffies_to_sched_qs(&self) -> Option<u64> {
        let Config {
            first_fqs,
            next_fqs,
            ..
        } = self.config;
        let escalation = self.config.escalation?;
        Some(escalation.sched_qs(first_fqs, next_fqs, self.cpus()))
    }

    /// The age of the grace period in flight. `None` without one, and for hosts without
    /// [escalation](Escalation).
    pub fn age(&self, now: Now) -> Option<Age> {
        if self.gp_seq.state() == 0 || self.config.escalation.is_none() {
            return None;
        }
        let it = &self.urgency;
        let waits = matches!(self.phase, Phase::Wait);
        Some(Age {
            ticks: now.jiffies.saturating_sub(it.started),
            scans: self.counts.scans - it.scans_before,
            until_resched: it.resched_at.saturating_sub(now.jiffies),
            until_stall: self.stall_at().saturating_sub(now.jiffies),
            thread_overdue: waits && now.jiffies > it.kick_at,
            overloaded: it.overloaded,
        })
    }

    /// The requests to `cpu`.
    pub fn asked(&self, cpu: CpuId) -> Asked {
        let Some(it) = self.record(cpu) else {
            return Asked::default();
        };
        let this_gp = it.irq_work == Some(self.gp_seq);
        Asked {
            urgent: it.urgent,
            heavy: it.heavy,
            forced_tick: it.forced_tick,
            sent_for: it.sent_for,
            takes_interrupts: this_gp.then_some(!it.irq_pending),
        }
    }

    /// The interrupt work queued for [`Nudge::irq_work`] has run on `cpu`.
    pub fn irq_work_ran(&mut self, cpu: CpuId) {
        if let Some(it) = self.record_mut(cpu) {
            it.irq_pending = false;
        }
    }

    /// Requests a scan now, if a grace period is in progress (`rcu_force_quiescent_state`).
    pub fn force_qs(&mut self) -> Effects {
        let newly = self.gp_seq.state() != 0 && !self.force;
        self.force |= newly;
        Effects {
            wake_gp: newly,
            ..Effects::only(Next::Done)
        }
    }

    /// At the start of a grace period.
    pub(crate) fn urgency_gp_started(&mut self) {
        let now = self.now.jiffies;
        let it = &mut self.urgency;
        it.scan_now = it.overloaded;
        let Some(escalation) = self.config.escalation else {
            return;
        };
        it.started = now;
        it.resched_at = now.saturating_add(escalation.stall / 2);
        it.scans_before = self.counts.scans;
    }

    /// The length of a wait of this number of ticks. Overload makes it shorter.
    pub(crate) fn paced(&self, ticks: u64) -> u64 {
        if self.urgency.overloaded {
            (ticks.saturating_add(2) / 3).max(1)
        } else {
            ticks
        }
    }

    /// A wait of this number of ticks begins: sets the time of the scan, and the time at which the thread is
    /// overdue.
    pub(crate) fn wait_begins(&mut self, ticks: u64) {
        self.fqs.force_at = self.now.jiffies.saturating_add(ticks);
        if self.config.escalation.is_some() {
            let slack = if ticks == 0 {
                2
            } else {
                ticks.saturating_mul(3)
            };
            self.urgency.kick_at = self.now.jiffies.saturating_add(slack);
        }
    }

    /// The stage of the grace period, if there are requests to make.
    pub(crate) fn stage(&self) -> Option<Stage> {
        let escalation = self.config.escalation?;
        let sched_qs = self.jiffies_to_sched_qs()?;
        let now = self.now.jiffies;
        Some(Stage {
            gp_seq: self.gp_seq,
            now,
            age: now.saturating_sub(self.urgency.started),
            sched_qs,
            late: now > self.urgency.resched_at,
            overloaded: self.urgency.overloaded,
            irq_work: escalation.irq_work,
            cpu_time: escalation.cpu_time,
        })
    }

    /// Age in ticks of the grace period in flight; 0 for hosts without escalation.
    pub(crate) fn gp_ticks(&self, now: Now) -> u64 {
        self.age(now).map_or(0, |age| age.ticks)
    }

    /// Does the grace period wait for this CPU, as far as its leaf knows?
    pub(crate) fn owes(&self, cpu: CpuId) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.owes(cpu))
    }

    pub(crate) fn record(&self, cpu: CpuId) -> Option<&Record> {
        self.tree.as_ref()?.asked.get(cpu as usize)
    }

    pub(crate) fn record_mut(&mut self, cpu: CpuId) -> Option<&mut Record> {
        self.tree.as_mut()?.asked.get_mut(cpu as usize)
    }
}

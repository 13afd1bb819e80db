//! Time that idle CPUs lost, by what took it.
//!
//! An interruption of an idle CPU lies between the first event on it after an idle entry (`cpu_idle` with a
//! state) and its next idle entry: interrupts, soft interrupts and tasks, with what the kernel needs to go
//! there and back. It has one cause, the first of these that is traced after the idle entry: a thread that is
//! woken to run there (`sched_wakeup`, also by another CPU), or RCU's soft interrupt. Without these a tick,
//! without a tick `other`. RCU's threads stand by kind, with the sum of RCU at the end; all other threads are
//! `a task`. What is lost is awake time; a deeper state that was missed is not in it.
//!
//! Interruptions count if they start and end in the window; CPUs without `cpu_idle` have none. Filters select
//! the CPU and, by the thread that was woken, the interruption.

use super::Seen;
use super::bounded::{ByCpu, named};
use super::chains::RCU_SOFTIRQ;
use super::findings::{Findings, Table, count, ms, us};
use super::idle::share;
use super::own::{Own, Tally};
use crate::base::map::Map;
use crate::base::names::key;
use crate::{Event, Filter, Role, role};
use std::borrow::Cow;

/// Follows interruptions through a trace.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    cpus: ByCpu<AwakeCpu>,
    causes: Map<Cow<'static, str>, LostTime>,
    /// As the first record brought it: it is the same for all.
    filter: Option<Filter>,
}

/// A CPU since its last idle entry.
#[derive(Debug, Default)]
struct AwakeCpu {
    entry: Option<u64>,
    started: Option<(u64, bool)>,
    cause: Option<Cow<'static, str>>,
    ticked: bool,
    /// The filter selects what was woken; without a filter everything.
    wanted: bool,
}

/// Interruptions of one cause.
#[derive(Debug, Default, Clone)]
struct LostTime {
    n: Tally,
    rcu: bool,
    lost: u64,
    before: u64,
}

impl LostTime {
    fn join(&mut self, other: &LostTime) {
        self.n.join(&other.n);
        self.lost += other.lost;
        self.before += other.before;
    }
}

impl Lost {
    pub(crate) fn reset(&mut self) {
        self.causes.clear();
        for cpu in self.cpus.values_mut() {
            if let Some((_, inside)) = &mut cpu.started {
                *inside = false;
            }
        }
    }

    /// Whether the filter shows a CPU.
    pub(crate) fn wants(&self, cpu: u32) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.cpu(cpu))
    }

    #[inline(always)]
    pub(crate) fn see(&mut self, seen: &Seen<'_>) {
        self.filter.get_or_insert_with(|| seen.filter.clone());
        let record = seen.record;
        if let Event::IdleEntry { cpu, .. } = *seen.event {
            self.entered(seen, cpu);
            return;
        }
        if let Some(cpu) = self.awake(record.cpu) {
            cpu.started.get_or_insert((record.time_ns, seen.inside));
            match *seen.event {
                Event::Softirq { vec: RCU_SOFTIRQ } => {
                    cpu.cause.get_or_insert("RCU softirq".into());
                }
                Event::Tick { .. } => cpu.ticked = true,
                _ => {}
            }
        }
        if let Event::Wakeup {
            task, pid, target, ..
        } = *seen.event
            && let Some(cpu) = self.awake(target).filter(|cpu| cpu.cause.is_none())
        {
            cpu.cause = Some(match role(task) {
                Role::Other => "a task".into(),
                _ => key(task).into(),
            });
            cpu.wanted = seen.filter.thread(task, pid);
        }
    }

    /// A CPU that was idle before.
    fn awake(&mut self, cpu: u32) -> Option<&mut AwakeCpu> {
        self.cpus.get_mut(cpu).filter(|cpu| cpu.entry.is_some())
    }

    fn entered(&mut self, seen: &Seen<'_>, number: u32) {
        let now = seen.record.time_ns;
        let cpu = self.cpus.row(number);
        let before = std::mem::take(cpu);
        cpu.entry = Some(now);
        cpu.wanted = seen.filter.threads.is_empty();
        let (Some(entry), Some((started, true))) = (before.entry, before.started) else {
            return;
        };
        if !seen.inside || !before.wanted || !seen.filter.cpu(number) {
            return;
        }
        let unnamed = if before.ticked { "tick" } else { "other" };
        let cause = before.cause.unwrap_or(unnamed.into());
        let rcu = cause.starts_with("rcu") || cause.starts_with("RCU");
        let of = named(&mut self.causes, cause);
        of.n.add(number);
        of.rcu = rcu;
        of.lost += now.saturating_sub(started);
        of.before += started.saturating_sub(entry);
    }

    /// The table; the CPUs with `cpu_idle` have `ns` together.
    pub(crate) fn finish(&self, findings: &mut Findings, own: &Own, ns: f64) {
        let title = "Time that idle CPUs lost, by what took it";
        let mut table = Table::new(title, "lost ", &["cause"]);
        let mut add = |name: &str, of: &LostTime| {
            let mean = |sum: u64| (of.n.n > 0).then(|| sum as f64 / of.n.n as f64);
            let (rate, part) = (own.rate(&of.n), share(of.lost, ns));
            let before = ms(mean(of.before));
            let figures = [
                ("times", "interruptions", "count", count(of.n.n)),
                ("per s", "interruptions_per_s", "1/s", rate),
                ("lost ms", "lost_ms", "ms", ms(Some(of.lost as f64))),
                ("avg us", "lost_us_avg", "us", us(mean(of.lost))),
                ("%", "lost_pct", "%", part),
                ("idle before ms", "idle_before_ms_avg", "ms", before),
            ];
            table.add(&[name], &figures);
        };
        let (mut rcu, mut all) = (LostTime::default(), LostTime::default());
        let mut rows: Vec<(&Cow<'_, str>, &LostTime)> = self.causes.iter().collect();
        rows.sort_by_key(|(name, of)| (std::cmp::Reverse(of.n.n), *name));
        for (name, of) in rows {
            add(name, of);
            all.join(of);
            if of.rcu {
                rcu.join(of);
            }
        }
        if all.n.n > 0 {
            add("(RCU)", &rcu);
            add("(all)", &all);
            findings.tables.push(table);
        }
    }
}

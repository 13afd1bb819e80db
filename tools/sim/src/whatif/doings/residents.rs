//! Threads that run where the trace has no context switch to them: tasks that compute from before the trace's
//! first record on, or to its end.
//!
//! Every record names the task that runs on its CPU, in interrupts too: a CPU that computes all the time
//! shows it in each tick. The task of a CPU's first record runs there without a switch before, so it has run
//! since the trace began. The task that a CPU's last switch has come to runs until the trace ends.
//!
//! Without any `sched_switch` in the trace only a task that all of a CPU's records name, and that does
//! nothing else, is taken to run there all the time.

use std::collections::HashMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Event, Record};

use super::{Follow, Run, busy, is_outside};

/// A task that runs on a CPU.
type Running = (CpuId, String, u32);

/// Who runs on each CPU.
#[derive(Debug, Default)]
pub(super) struct Residents {
    /// The time of the trace's first record, in nanoseconds.
    began: Option<u64>,
    /// By CPU, the task that runs.
    now: HashMap<CpuId, u32>,
    /// Tasks that ran on their CPU in its first record, until it is known whether the trace has switches.
    first: Vec<Running>,
}

impl Follow {
    /// The task that the record shows on its CPU.
    pub(super) fn who_runs(&mut self, record: &Record<'_>, event: &Event<'_>) {
        let (it, cpu) = (&mut self.residents, record.cpu);
        it.began.get_or_insert(record.time_ns);
        let known = *it.now.entry(cpu).or_insert_with(|| {
            if is_outside(record.task(), record.pid) {
                it.first.push((cpu, record.task().to_owned(), record.pid));
            }
            record.pid
        });
        if let Event::Switch { next_pid, .. } = *event {
            self.out.switches = true;
            self.residents.now.insert(cpu, next_pid);
        } else if known != record.pid && !self.out.switches {
            self.residents.first.retain(|it| it.0 != cpu);
        }
        if self.out.switches {
            for running in std::mem::take(&mut self.residents.first) {
                self.ran_before(running);
            }
        }
    }

    /// The task has run on its CPU since the trace began.
    fn ran_before(&mut self, (cpu, name, pid): Running) {
        let began = self.residents.began.unwrap_or(0);
        let waits = self.waits.waits(pid);
        let (now, life) = self.meet((&name, pid));
        if waits || now.running {
            return;
        }
        if life.runs.is_empty() {
            now.since = began;
            life.runs.push(Run::unseen(began, cpu));
        }
        (now.running, now.asleep) = (true, false);
    }

    /// The trace has ended: who runs on a CPU has run until then.
    pub(super) fn still_run(&mut self) {
        for running in std::mem::take(&mut self.residents.first) {
            if self.of(running.2).is_none() {
                self.ran_before(running);
            }
        }
        let end = self.out.end;
        for pid in std::mem::take(&mut self.residents.now).into_values() {
            let waits = self.waits.waits(pid);
            let Some((now, life)) = self.of(pid) else {
                continue;
            };
            if std::mem::take(&mut now.running) && !waits {
                busy(life, end.saturating_sub(now.since));
            }
        }
    }
}

//! System calls that queue callbacks: which call each callback comes from.
//!
//! A callback outlives the call that queued it by milliseconds or seconds, runs in another context, and
//! contains no reference to the call. The machine knows the call: a task reports when it enters and leaves a
//! system call, and what it queues in between is noted in the call's record ([`SysCall`]), when it is queued
//! and when it is invoked.
//!
//! A reader of a trace has the task's `sys_enter` and `sys_exit`, the `rcu_callback` between them, and the
//! `rcu_invoke_callback` of the same address ([`join`]). An experiment checks that both ways find the same
//! call (`experiments::run`).
//!
//! # Invariants
//! A task is in one call at most. Calls are numbered as they are entered, all of them, so that a number is a
//! call's identity for the whole run; records are kept of those that were entered within the window of the
//! statistics.

use quiescent_kernel::CpuId;

use crate::input::op::SysCallName;
use crate::kernel::cpu::Whose;
use crate::kernel::state::{Act, Rcu, SysCalls, System};
use crate::record::notes::What;
use crate::record::syscalls::{Owed, SysCall};

/// What entering a call costs, and leaving it, in nanoseconds. Assumed; it decides order within an instant
/// only.
const COST: u64 = 100;

impl SysCalls {
    /// A task enters a system call.
    ///
    /// # Panics
    /// If it is in one: the workload is wrong.
    pub fn enter(
        &mut self,
        sys: &System,
        rcu: &Rcu,
        cpu: CpuId,
        task: usize,
        (name, argument): (SysCallName, u64),
    ) -> Act {
        let (number, counts) = (self.count, sys.counts());
        self.count += 1;
        let record = counts.then_some(self.records.len());
        let before = self.inside.insert(task, (name, record));
        assert!(
            before.is_none(),
            "task {:?} is in a call already",
            sys.tasks[task].name
        );
        if counts {
            self.records.push(SysCall {
                number,
                name,
                argument,
                task,
                cpu,
                entered: sys.now,
                left: None,
                callbacks: Vec::new(),
            });
        }
        rcu.notes().say(What::SysEnter(name, argument));
        Act::Busy(COST)
    }

    /// It leaves the call that it is in.
    ///
    /// # Panics
    /// If it is in none: the workload is wrong.
    pub fn leave(&mut self, sys: &System, rcu: &Rcu, task: usize) -> Act {
        let inside = self.inside.remove(&task);
        let Some((name, record)) = inside else {
            panic!("task {:?} is in no call", sys.tasks[task].name);
        };
        if let Some(record) = record {
            self.records[record].left = Some(sys.now);
        }
        rcu.notes().say(What::SysExit(name));
        Act::Busy(COST)
    }

    /// The task that runs on `cpu` queues a callback of this function: it is noted in the task's call, if
    /// that has a record.
    pub fn owes(&mut self, sys: &System, cpu: CpuId, func: usize) -> Option<Whose> {
        let task = sys.cores[cpu as usize].current?;
        let record = self.inside.get(&task)?.1?;
        let callbacks = &mut self.records[record].callbacks;
        callbacks.push(Owed {
            func,
            queued: sys.now,
            invoked: None,
        });
        Some(Whose {
            call: record as u32,
            index: callbacks.len() as u32 - 1,
        })
    }

    /// That callback has been invoked.
    pub fn repaid(&mut self, now: u64, whose: Option<Whose>) {
        if let Some(Whose { call, index }) = whose {
            let call = &mut self.records[call as usize];
            call.callbacks[index as usize].invoked = Some(now);
        }
    }
}

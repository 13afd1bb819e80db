//! A view of a running machine.

use crate::kernel::state::Machine;
use crate::record::look::{InTheWay, Look, MOST, TaskLook};
use crate::record::stats::Func;

impl Machine {
    /// What there is to be seen now. The delays of callbacks, grace periods and calls that are kept one by
    /// one are gone from the machine then.
    ///
    /// ```
    /// use quiescent_sim::Workload;
    ///
    /// let mut machine = Workload::named("churn")?.plan(&[])?.machine();
    /// machine.window(0, u64::MAX);
    /// machine.run(1_000_000_000);
    /// let first = machine.look();
    /// machine.run(2_000_000_000);
    /// let second = machine.look();
    /// assert!(second.functions[0].queued > first.functions[0].queued);
    /// # Ok::<(), quiescent_sim::Error>(())
    /// ```
    pub fn look(&mut self) -> Look {
        self.sys.stats.calls.clear();
        let periods = std::mem::take(&mut self.sys.stats.grace_periods);
        let tasks = self.sys.tasks.iter().enumerate();
        let tasks = tasks.map(|(number, it)| TaskLook {
            number,
            name: it.name.clone(),
            wakeups: it.wakeups,
            ran_ns: it.ran_ns,
        });
        let mut tasks: Vec<TaskLook> = tasks.collect();
        for core in &self.sys.cores {
            if let Some(task) = core.current {
                tasks[task].ran_ns += self.sys.now - core.runs_since;
            }
        }
        let scans = periods.iter().map(|it| u64::from(it.scans)).sum();
        let functions = self.sys.stats.funcs.iter_mut().map(|it| {
            let delays = std::mem::take(&mut it.delays);
            let it = it.clone();
            Func { delays, ..it }
        });
        Look {
            at: self.sys.now,
            tasks,
            grace_periods: (periods.len() as u64, scans),
            functions: functions.collect(),
            in_the_way: self.in_the_way(),
            totals: self.sys.stats.totals,
        }
    }

    fn in_the_way(&self) -> Vec<InTheWay> {
        let global = &self.rcu.global;
        let name = |task: usize| self.sys.tasks[task].name.clone();
        let cpus = global.holdouts().map(|cpu| {
            let runs = self.sys.cores[cpu as usize].current;
            InTheWay::Cpu(cpu, runs.map(name))
        });
        let readers = global.blocked_readers();
        let readers = readers.map(|task| InTheWay::Preempted(name(task as usize)));
        cpus.chain(readers).take(MOST).collect()
    }
}

//! Tasks that run, from each wake-up on, on any of some CPUs, chosen by chance.
//!
//! A scheduler that looks for an idle CPU spreads one thread's callbacks over the lists of many CPUs, and so
//! the work of RCU's threads. Which CPU the scheduler prefers is not modelled: each is equally likely, and a
//! wake-up on another CPU costs an interrupt there. RCU's own threads stay on their CPU, or move by `moves`.

use quiescent_kernel::CpuId;
use std::sync::Arc;

use crate::base::chance::Chance;
use crate::kernel::state::Machine;
use crate::kernel::task::Roaming;

impl Roaming {
    /// Where it runs from this wake-up on.
    pub fn next(&mut self) -> Option<CpuId> {
        let which = self.chance.below(self.cpus.len() as u64);
        self.cpus.get(which as usize).copied()
    }
}

impl Machine {
    /// The task that was spawned last runs, from each wake-up on, on one of these CPUs.
    ///
    /// ```
    /// use quiescent_sim::chance::Chance;
    /// use quiescent_sim::{Machine, Options, Steps, Time};
    ///
    /// let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    /// let chance = Chance::new(1);
    /// let turn = |it: Steps| it.run(Time::of(50_000)).sleep(Time::of(5_000_000));
    /// let work = Steps::default().repeat(None, turn);
    /// machine.spawn_endless("daemon", 1, 0, work);
    /// machine.roam(vec![1, 2, 3], chance);
    /// machine.keep_trace();
    /// machine.run(100_000_000);
    /// let mut text = Vec::new();
    /// machine.write_trace(&mut text)?;
    /// let text = String::from_utf8_lossy(&text);
    /// let wakes = text.lines().filter(|it| it.contains("sched_wakeup: comm=daemon"));
    /// let mut targets: Vec<&str> = wakes.filter_map(|it| it.rsplit('=').next()).collect();
    /// targets.sort_unstable();
    /// targets.dedup();
    /// assert_eq!(targets, ["001", "002", "003"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn roam(&mut self, cpus: impl Into<Arc<[CpuId]>>, chance: Chance) {
        let cpus = cpus.into();
        if let Some(task) = self.tasks.last_mut() {
            task.roaming = Some(Roaming { cpus, chance });
        }
    }
}

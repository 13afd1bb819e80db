//! Unfinished work, in words, for a machine that does not come to rest.

use quiescent_kernel::Phase;
use quiescent_kernel::exp::ExpPhase;

use crate::kernel::state::Machine;
use crate::kernel::task::{Kind, State, Waits};

/// More of a kind than this are counted, and not listed.
const MOST: usize = 8;

impl Machine {
    /// The machine's unfinished work, a line each: grace periods with their holdouts, callbacks with their
    /// CPUs, tasks that wait, wake-ups that a fault has held up. Empty if everything is done.
    ///
    /// ```
    /// use quiescent_sim::{Steps, Machine, Options};
    ///
    /// let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    /// machine.spawn("caller", 1, 0, Steps::caller(1, 0));
    /// machine.run(2_000_000);
    /// assert!(machine.pending().iter().any(|it| it.contains("caller waits")));
    /// machine.run(1_000_000_000);
    /// assert!(machine.pending().is_empty());
    /// ```
    pub fn pending(&self) -> Vec<String> {
        let mut lines = self.pending_normal();
        let stuck = self.rcu.latch_is_stuck();
        lines.extend(stuck.then(|| {
            "the latch of synchronize_rcu is set, and no caller is left to open it".to_owned()
        }));
        lines.extend(self.pending_expedited());
        lines.extend(self.pending_callbacks());
        lines.extend(self.pending_tasks());
        lines.extend(self.srcu.pending(&self.sys));
        if let Some(it) = &self.sys.faulty {
            let names = it.lost.iter().map(|&it| &*self.sys.tasks[it].name);
            lines.extend(names.map(|it| format!("{it}: its wake-up was lost (a fault)")));
            let cpus = it.lost_interrupts.iter();
            lines.extend(cpus.map(|it| format!("CPU {it}: an interrupt was lost (a fault)")));
        }
        lines
    }

    fn pending_normal(&self) -> Vec<String> {
        let global = &self.rcu.global;
        let phase = global.phase();
        if phase == Phase::Idle {
            let wanted = global.busy().then(|| {
                let thread = &self.sys.tasks[self.rcu.gp_thread];
                format!(
                    "a grace period is asked for and has not begun: rcu_preempt is {}",
                    state(thread.state)
                )
            });
            return wanted.into_iter().collect();
        }
        let scans = self.rcu.observed.scans.get();
        let mut lines = vec![format!(
            "a grace period is under way: {phase:?}, {scans} scans"
        )];
        let holdouts = global.holdouts().map(|cpu| {
            let core = &self.sys.cores[cpu as usize];
            let what = match core.current {
                Some(task) => format!("runs {}", self.sys.tasks[task].name),
                None if !core.online => "is offline".into(),
                None => "idles".into(),
            };
            format!("  CPU {cpu} has not passed through a quiescent state: it {what}")
        });
        lines.extend(holdouts.take(MOST));
        let readers = global.blocked_readers().map(|task| {
            let name = &self.sys.tasks[task as usize].name;
            format!("  {name} was switched out in a section")
        });
        lines.extend(readers.take(MOST));
        lines
    }

    fn pending_expedited(&self) -> Option<String> {
        let phase = self.rcu.global.exp_phase();
        (phase != ExpPhase::Idle).then(|| {
            let worker = &self.sys.tasks[self.rcu.exp_worker];
            let is = state(worker.state);
            format!("an expedited grace period is under way: {phase:?}; its worker is {is}")
        })
    }

    fn pending_callbacks(&self) -> Vec<String> {
        let owing = self.sys.cores.iter().enumerate();
        let owing = owing.filter(|it| !it.1.fifo.is_empty());
        owing
            .take(MOST)
            .map(|(cpu, core)| {
                let list = self.rcu.cpus[cpu].list();
                let (n, ready) = (core.fifo.len(), list.ready());
                let who = match self.rcu.rcuops[cpu] {
                    Some(thread) if self.rcu.cpus[cpu].is_offloaded() => {
                        let is = state(self.sys.tasks[thread].state);
                        format!("rcuop/{cpu}, which is {is}")
                    }
                    _ => "its soft interrupt".into(),
                };
                format!("CPU {cpu} owes {n} callbacks, {ready} of them ready for {who}")
            })
            .collect()
    }

    fn pending_tasks(&self) -> Vec<String> {
        let working = self.sys.tasks.iter();
        let working = working.filter(|it| matches!(it.kind, Kind::Work(_)));
        working
            .filter_map(|it| {
                let Some(Waits::ForGp { start, .. }) = it.waits else {
                    return None;
                };
                let inside = match it.sections.depth {
                    0 => "",
                    _ => ", in a section: it waits for itself",
                };
                let ms = (self.sys.now - start) / 1_000_000;
                Some(format!(
                    "{} waits for a grace period since {ms} ms{inside}",
                    it.name
                ))
            })
            .take(MOST)
            .chain(self.barrier.pending(&self.sys))
            .collect()
    }
}

pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Sleeping => "asleep",
        State::Awake => "awake",
        State::Over => "gone",
    }
}

//! Where RCU's threads run in a replay.
//!
//! A scheduler chooses their CPUs, and ticks and idle entries depend on them: the CPU of the grace-period
//! thread takes its timer, and each thread that wakes elsewhere ends another CPU's halt. A change may make
//! the scheduler choose otherwise, so a prediction is made for several placements.

use quiescent_engine::CpuId;

use super::Trace;
use crate::input::options::Options;
use crate::kernel::machine::Machine;

/// Where RCU's threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Where they ran in the trace; those that it lacks, where the model has them begin.
    Recorded,
    /// The grace-period thread on this CPU all the time, the others as recorded.
    GpThread(CpuId),
    /// `rcuog` and `rcuop` of all CPUs on this one, the grace-period thread as recorded.
    Offload(CpuId),
    /// All of them on this CPU.
    Together(CpuId),
    /// `rcuog` and `rcuop` on the CPU whose callbacks they are for, the grace-period thread as recorded.
    AtHome,
}

impl Placement {
    /// Places the threads of a machine so, from the beginning on.
    pub(super) fn apply(self, machine: &mut Machine, cpus: u32) {
        let (gp, offload): (Option<CpuId>, Option<Option<CpuId>>) = match self {
            Placement::Recorded => (None, None),
            Placement::GpThread(cpu) => (Some(cpu), None),
            Placement::Offload(cpu) => (None, Some(Some(cpu))),
            Placement::Together(cpu) => (Some(cpu), Some(Some(cpu))),
            Placement::AtHome => (None, Some(None)),
        };
        if let Some(cpu) = gp {
            for name in ["rcu_preempt", "rcu_sched"] {
                machine.place(name, vec![(0, cpu)]);
            }
        }
        let Some(there) = offload else {
            return;
        };
        for whose in 0..cpus {
            let cpu = there.unwrap_or(whose);
            for name in ["rcuog", "rcuop"] {
                machine.place(&format!("{name}/{whose}"), vec![(0, cpu)]);
            }
        }
    }
}

impl Trace {
    /// Other placements, for a look at how much depends on it: the CPU where `rcuog` begins, the one on which
    /// most callbacks are queued, and one that is neither; where callbacks are offloaded, with the threads of
    /// offloading there as well.
    pub fn placements(&self, options: &Options) -> Vec<Placement> {
        let mut queued = vec![0u64; self.recorded.cpus as usize];
        for arrival in self.recorded.in_window() {
            if let Some(count) = queued.get_mut(arrival.cpu as usize) {
                *count += 1;
            }
        }
        let busiest = (0..self.recorded.cpus).max_by_key(|&it| queued[it as usize]);
        let mut places: Vec<CpuId> = std::iter::once(options.gp_cpu).chain(busiest).collect();
        let neither = (0..self.recorded.cpus).rfind(|it| !places.contains(it));
        places.extend(neither);
        places.dedup();
        let gp_thread = places.iter().map(|&cpu| Placement::GpThread(cpu));
        let mut all: Vec<Placement> = gp_thread.collect();
        if !options.offloaded().is_empty() {
            all.extend(places.iter().map(|&cpu| Placement::Offload(cpu)));
            all.extend(places.iter().map(|&cpu| Placement::Together(cpu)));
            all.push(Placement::AtHome);
        }
        all
    }
}

//! Where RCU's threads run in a replay.
//!
//! A scheduler chooses their CPUs, and ticks and idle entries depend on them: the CPU of the grace-period
//! thread takes its timer, and each thread that wakes elsewhere ends another CPU's halt. A change may make
//! the scheduler choose otherwise, so a prediction is made for several placements.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Role, role};

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
    /// the grace-period thread was recorded, the one on which most callbacks are queued, and one that is none
    /// of these; where callbacks are offloaded, with the threads of offloading there as well.
    pub fn placements(&self, options: &Options) -> Vec<Placement> {
        let mut queued = vec![0u64; self.recorded.cpus as usize];
        for arrival in self.recorded.in_window() {
            if let Some(count) = queued.get_mut(arrival.cpu as usize) {
                *count += 1;
            }
        }
        let busiest = (0..self.recorded.cpus).max_by_key(|&it| queued[it as usize]);
        let mut places = vec![options.gp_cpu];
        for cpu in self.gp_thread().into_iter().chain(busiest) {
            if !places.contains(&cpu) {
                places.push(cpu);
            }
        }
        let none = (0..self.recorded.cpus).rfind(|it| !places.contains(it));
        places.extend(none);
        let gp_thread = places.iter().map(|&cpu| Placement::GpThread(cpu));
        let mut all: Vec<Placement> = gp_thread.collect();
        if !options.offloaded().is_empty() {
            all.extend(places.iter().map(|&cpu| Placement::Offload(cpu)));
            all.extend(places.iter().map(|&cpu| Placement::Together(cpu)));
            all.push(Placement::AtHome);
        }
        all
    }

    /// The CPU on which the grace-period thread was for the largest part of the window.
    fn gp_thread(&self) -> Option<CpuId> {
        let window = self.recorded.window;
        let mut there: BTreeMap<CpuId, u64> = BTreeMap::new();
        let threads = self.recorded.placements.iter();
        for (_, places) in threads.filter(|it| role(it.0) == Role::GracePeriods) {
            for (n, place) in places.iter().enumerate() {
                let until = places.get(n + 1).map_or(window.end_ns, |it| it.time_ns);
                let from = place.time_ns.max(window.start_ns);
                *there.entry(place.cpu).or_default() +=
                    until.min(window.end_ns).saturating_sub(from);
            }
        }
        there.into_iter().max_by_key(|it| it.1).map(|it| it.0)
    }
}

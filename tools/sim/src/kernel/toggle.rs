//! Offloading a CPU's callbacks, and taking them back, at run time; and the shrinker, when memory runs low.
//!
//! The engine does both ([`quiescent_kernel::offload`]): the machine calls it for a task, and wakes the
//! threads that it names. A CPU that was not in `nocbs` at boot has no threads, and is refused. An online CPU
//! is refused too, unless `online_toggle` is set. A CPU of `nohz_full` is never taken back.

use crate::kernel::state::{Act, Rcu, System};
use quiescent_kernel::CpuId;
use quiescent_kernel::offload::{Shrink, Shrinkable, shrinkable};

impl Rcu {
    pub fn toggle(&mut self, sys: &mut System, cpu: CpuId, whose: CpuId, offload: bool) -> Act {
        let (tick, online) = (sys.jiffies(), sys.is_online(whose));
        let (global, cpus, groups, view) = self.parts();
        let it = &mut cpus[whose as usize];
        if let Some(id) = it.member().group() {
            let group = groups[id as usize].as_mut().expect("it has members");
            let toggled = match offload {
                true => it.offload(online, group, global, &view),
                false => it.deoffload(online, tick, group, global, &view),
            };
            if let Ok(toggled) = toggled {
                sys.tally.toggles += 1;
                self.carry_out(sys, cpu, Some(id), toggled.todo);
            }
        }
        Act::Busy(sys.options.costs.work)
    }

    /// Memory runs low if callbacks hold more than `above` bytes: then the shrinker is asked for `lazy`
    /// callbacks.
    pub fn reclaim(&mut self, sys: &mut System, cpu: CpuId, above: u64, lazy: u64) -> Act {
        match sys.stats.held.now.1 > above {
            true => self.shrink(sys, cpu, lazy),
            false => Act::Busy(sys.options.costs.callback),
        }
    }

    /// The shrinker, asked for `lazy` callbacks.
    pub fn shrink(&mut self, sys: &mut System, cpu: CpuId, lazy: u64) -> Act {
        let tick = sys.jiffies();
        let mut shrink = Shrink::new(lazy);
        if shrinkable(Some(&self.cpus)) == Shrinkable::Empty {
            return Act::Busy(sys.options.costs.callback);
        }
        for whose in 0..sys.options.cpus {
            let (global, cpus, groups, view) = self.parts();
            let it = &mut cpus[whose as usize];
            let Some(id) = it.member().group() else {
                continue;
            };
            let group = groups[id as usize].as_mut().expect("it has members");
            let flushed = shrink.visit(it, tick, group, global, &view);
            self.carry_out(sys, cpu, Some(id), flushed.todo);
        }
        sys.tally.shrunk += shrink.result().unwrap_or(0);
        Act::Busy(sys.options.costs.work)
    }
}

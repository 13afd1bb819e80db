//! Where RCU's threads run in a replay.
//!
//! A scheduler chooses their CPUs, and ticks and idle entries depend on them: the CPU of the grace-period
//! thread takes its timer, and each thread that wakes elsewhere ends another CPU's halt. A change may make
//! the scheduler choose otherwise, so a prediction is made for several placements.
//!
//! **A boot draws them anew.** In the recordings a thread that wakes up runs where it ran last, but for 18 of
//! 22 000 wake-ups; now and then one that has to wait for its CPU is moved to one that begins to idle. So it
//! stays for long where the boot has left it. That is one sample, and a change that needs a boot has another,
//! of all CPUs: if most of these are used by none of the others, it is most likely on one of them.

use std::collections::BTreeSet;

use quiescent_kernel::CpuId;
use quiescent_trace::{Placed, Role, role};

use super::Trace;
use super::doubts::FEW;
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
    /// The grace-period thread on this CPU, or as recorded; the others where the model has them begin.
    Booted(Option<CpuId>),
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
            Placement::Booted(gp) => (gp, None),
        };
        if let Some(cpu) = gp {
            machine.place("rcu_preempt", vec![(0, cpu)]);
        }
        let moves = offload.is_some() || matches!(self, Placement::Booted(_));
        for whose in (0..cpus).filter(|_| moves) {
            let there = offload.map(|it| (0, it.unwrap_or(whose)));
            for name in ["rcuog", "rcuop"] {
                machine.place(&format!("{name}/{whose}"), there.into_iter().collect());
            }
        }
    }
}

impl Trace {
    /// Where a boot most likely puts them, if the change needs one: the kernel's command line says who is
    /// offloaded, and laziness. None if they move so often that the record is a fair sample.
    pub(super) fn booted(&self, [before, after]: &[Options; 2]) -> Option<Placement> {
        let boots = before.offloaded() != after.offloaded() || before.lazy != after.lazy;
        if !boots || self.gp_places().len() as u64 >= FEW {
            return None;
        }
        let used = self.used(after);
        let free = (0..after.cpus).rfind(|it| !used.contains(it));
        let shares = self.gp_thread().is_some_and(|it| used.contains(&it));
        let moves = shares && 2 * used.len() < after.cpus as usize;
        Some(Placement::Booted(free.filter(|_| moves)))
    }

    /// CPUs that others use: where `rcuog` begins, and where most callbacks are queued.
    fn used(&self, options: &Options) -> BTreeSet<CpuId> {
        let mut queued = vec![0u64; self.recorded.cpus as usize];
        for arrival in self.recorded.in_window() {
            if let Some(count) = queued.get_mut(arrival.cpu as usize) {
                *count += 1;
            }
        }
        let busiest = (0..self.recorded.cpus).max_by_key(|&it| queued[it as usize]);
        busiest.into_iter().chain([options.gp_cpu]).collect()
    }

    /// Other placements, for a look at how much depends on it: the CPU where `rcuog` begins, the one on which
    /// the grace-period thread was recorded, the one on which most callbacks are queued, and one that is none
    /// of these; where callbacks are offloaded, with the threads of offloading there as well.
    pub fn placements(&self, options: &Options) -> Vec<Placement> {
        let mut places = Vec::from_iter(self.used(options));
        places.extend(self.gp_thread().filter(|it| !places.contains(it)));
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

    /// Where the grace-period thread was.
    fn gp_places(&self) -> &[Placed] {
        let mut threads = self.recorded.placements.iter();
        let found = threads.find(|it| role(it.0) == Role::GracePeriods);
        found.map_or(&[], |it| it.1)
    }

    /// The CPU on which it was for the longest time at a stretch, in the window.
    fn gp_thread(&self) -> Option<CpuId> {
        let (places, window) = (self.gp_places(), self.recorded.window);
        let stay = |n: &usize| {
            let until = places.get(n + 1).map_or(u64::MAX, |it| it.time_ns);
            let from = places[*n].time_ns.max(window.start_ns);
            until.min(window.end_ns).saturating_sub(from)
        };
        (0..places.len()).max_by_key(stay).map(|n| places[n].cpu)
    }
}

//! Tasks that run, from each wake-up on, on any of some CPUs, chosen by chance.
//!
//! A scheduler that looks for an idle CPU spreads one thread's callbacks over the lists of many CPUs, and so
//! the work of RCU's threads. Which CPU the scheduler prefers is not modelled: each is equally likely, and a
//! wake-up on another CPU costs an interrupt there. RCU's own threads stay on their CPU, or move by `moves`.

use crate::kernel::task::Roaming;
use quiescent_kernel::CpuId;

impl Roaming {
    /// Where it runs from this wake-up on.
    pub fn next(&mut self) -> Option<CpuId> {
        let which = self.chance.below(self.cpus.len() as u64);
        self.cpus.get(which as usize).copied()
    }
}

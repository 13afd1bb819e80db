//! Machines that cannot be, machines that do not fit into memory, and settings that have no effect.

use crate::Error;
use crate::cpu::Core;
use crate::options::{MachineKind, Options, Smp};
use quiescent_engine::geometry::{Geometry, GeometryError};
use quiescent_engine::watching::Watching;

/// CPUs that a machine has at most.
pub const MOST_CPUS: u32 = 1 << 20;

/// Ticks a second, at most.
pub(super) const MOST_HZ: u32 = 10_000;

/// Bytes that an idle CPU takes: its own state, the engine's, and its share of the tree. Threads of offloaded callbacks come on top.
/// A test counts what a machine really allocates and holds it against this.
pub const fn bytes_per_cpu() -> usize {
    size_of::<Core>()
        + size_of::<quiescent_engine::Cpu>()
        + size_of::<Watching>()
        + crate::stats::BYTES_PER_CPU
        + SHARE
}

/// Its share of what is kept for all: nodes of the tree, scans' snapshots, the map of leaves and threads.
const SHARE: usize = 128;

/// Why so many CPUs are refused.
pub(super) fn too_many(cpus: u64) -> String {
    let mib = u128::from(cpus) * bytes_per_cpu() as u128 / (1 << 20);
    format!(
        "`cpus={cpus}`: idle, they would need about {mib} MiB of memory ({} bytes each); give 1 to {MOST_CPUS}",
        bytes_per_cpu()
    )
}

/// Can there be such a machine?
pub(super) fn check(options: &Options) -> Result<(), Error> {
    let machine = |why: String| Err(Error::Machine(why));
    let Options { cpus, hz, .. } = *options;
    if cpus == 0 {
        return machine("`cpus=0`: a machine has at least one CPU".into());
    }
    if cpus > MOST_CPUS {
        return machine(too_many(cpus.into()));
    }
    if !(1..=MOST_HZ).contains(&hz) {
        return machine(format!("`hz={hz}`: give 1 to {MOST_HZ} ticks a second"));
    }
    let outside = options.nocbs.iter().find(|&&it| it >= cpus);
    if let Some(cpu) = outside {
        return machine(format!(
            "`rcu_nocbs`: there is no CPU {cpu}: the last one is {}",
            cpus - 1
        ));
    }
    if let Some(cpu) = options.nohz_full.iter().find(|&&it| it >= cpus) {
        return machine(format!(
            "`nohz_full`: there is no CPU {cpu}: the last one is {}",
            cpus - 1
        ));
    }
    if options.nohz_full.contains(&options.gp_cpu) {
        return machine(format!(
            "`gp_cpu={}` is in `nohz_full`: RCU's threads run on the other CPUs; leave it out, or give gp_cpu another one",
            options.gp_cpu
        ));
    }
    if options.gp_cpu >= cpus {
        return machine(format!(
            "`gp_cpu={}`: there is no such CPU: the last one is {}",
            options.gp_cpu,
            cpus - 1
        ));
    }
    match Geometry::new(cpus, options.config().geometry) {
        Ok(tree) if tree.leaves() <= 1 << 16 => Ok(()),
        Ok(_) => machine(format!(
            "`rcu_fanout_leaf={}`: {cpus} CPUs would have more than 65536 leaves; give a larger one",
            options.leaf_fanout
        )),
        Err(GeometryError::TooManyCpus { capacity, .. }) => machine(format!(
            "`cpus={cpus}`: four levels of the tree hold {capacity} CPUs with rcu_fanout_leaf={} and rcu_fanout={}; give larger ones",
            options.leaf_fanout, options.fanout
        )),
        Err(_) => machine("`rcu_fanout_leaf` and `rcu_fanout` take 2 to 64".into()),
    }
}

/// What was asked for and does nothing, in words.
pub fn warnings(options: &Options) -> Vec<String> {
    let mut said = super::threads::warnings(options);
    if options.kind == MachineKind::Threads {
        return said;
    }
    let mut warn = |text: &str| said.push(text.to_owned());
    let those = options.offloaded();
    let offloaded = !those.is_empty();
    if options.lazy && !offloaded {
        warn(
            "rcu_lazy=1 does nothing: only offloaded callbacks can be lazy, and rcu_nocbs=none; set rcu_nocbs as well",
        );
    } else if options.lazy && those.len() < options.cpus as usize {
        warn("rcu_lazy=1: callbacks of CPUs that are not in rcu_nocbs are never lazy");
    }
    let default = Options::kernel_6_12(options.cpus, options.hz);
    if options.lazy_flush_ms != default.lazy_flush_ms && !options.lazy {
        warn("lazy_flush does nothing: nothing is lazy with rcu_lazy=0");
    }
    if options.policy != default.policy && !offloaded {
        warn("policy does nothing: it is about offloaded callbacks, and rcu_nocbs=none");
    }
    if options.patience_ms > 0 && options.nohz_full.is_empty() {
        warn(
            "nohz_full_patience_delay does nothing: it is about CPUs of nohz_full, and there are none",
        );
    }
    if options.frozen_permille > 0 && options.smp == Smp::Parallel {
        warn("frozen does nothing with smp=parallel: a CPU that executes is not held up by others");
    }
    if options.frozen_permille > 0 && options.smp == Smp::Serial {
        warn("frozen is a FITTED number: figures that depend on it are no predictions");
    }
    if options.costs.ipi != default.costs.ipi && options.smp == Smp::Serial {
        warn(
            "cost.ipi_ns does nothing with smp=serial: an interrupt is taken when the executing CPU halts",
        );
    }
    said
}

//! Impossible machines, machines that do not fit into memory, and settings without effect.

use crate::base::error::Error;
use crate::idling::Setup;
use crate::input::options::{IdleLoop, Options, Smp};
use crate::kernel::cpu::Core;
use quiescent_kernel::CpuId;
use quiescent_kernel::geometry::{Geometry, GeometryError};
use quiescent_kernel::watching::Watching;

/// CPUs that a machine has at most.
pub const MOST_CPUS: u32 = 1 << 20;

/// Ticks a second, at most.
pub(super) const MOST_HZ: u32 = 10_000;

/// Bytes that an idle CPU takes: its own state, the engine's, and its share of the tree. Threads of offloaded
/// callbacks come on top. A test counts what a machine really allocates and compares it with this.
pub const fn bytes_per_cpu() -> usize {
    size_of::<Core>()
        + size_of::<quiescent_kernel::Cpu>()
        + size_of::<Watching>()
        + crate::record::stats::BYTES_PER_CPU
        + SHARE
}

/// Its share of what is kept for all: nodes of the tree, scans' snapshots, the map of leaves and threads.
const SHARE: usize = 128;

/// Why so many CPUs are refused.
pub(super) fn too_many(cpus: u64) -> String {
    let mib = u128::from(cpus) * bytes_per_cpu() as u128 / (1 << 20);
    format!(
        "`cpus={cpus}`: idle, they would need about {mib} MiB of memory ({} bytes each); give 1 to \
         {MOST_CPUS}",
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
    let lists = [
        ("rcu_nocbs", &options.nocbs),
        ("nohz_full", &options.nohz_full),
        ("rcu_cpus", &options.rcu_cpus),
    ];
    for (key, list) in lists {
        if let Some(cpu) = list.iter().find(|&&it| it >= cpus) {
            let last = cpus - 1;
            let why = format!("`{key}`: there is no CPU {cpu}: the last one is {last}");
            return machine(why);
        }
    }
    let both = |it: &&CpuId| options.nohz_full.contains(it);
    if let Some(cpu) = options.rcu_cpus.iter().find(both) {
        return machine(format!(
            "`rcu_cpus`: CPU {cpu} is in `nohz_full`, and RCU's threads run on the other CPUs; leave it out"
        ));
    }
    if !options.nohz && !options.nohz_full.is_empty() {
        return machine("`nohz_full`: with nohz=0 no tick stops; leave one of them out".into());
    }
    if options.nohz_full.contains(&options.gp_cpu) {
        return machine(format!(
            "`gp_cpu={}` is in `nohz_full`: RCU's threads run on the other CPUs; leave it out, or give \
             gp_cpu another one",
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
    idle(options).map_err(Error::Machine)?;
    match Geometry::new(cpus, options.config().geometry) {
        Ok(tree) if tree.leaves() <= 1 << 16 => Ok(()),
        Ok(_) => machine(format!(
            "`rcu_fanout_leaf={}`: {cpus} CPUs would have more than 65536 leaves; give a larger one",
            options.leaf_fanout
        )),
        Err(GeometryError::TooManyCpus { capacity, .. }) => machine(format!(
            "`cpus={cpus}`: four levels of the tree hold {capacity} CPUs with rcu_fanout_leaf={} and \
             rcu_fanout={}; give larger ones",
            options.leaf_fanout, options.fanout
        )),
        Err(_) => machine("`rcu_fanout_leaf` and `rcu_fanout` take 2 to 64".into()),
    }
}

/// Can there be such idle states?
fn idle(options: &Options) -> Result<(), String> {
    let Setup {
        table: Some(table),
        package_limit,
        power,
        ..
    } = &options.idle
    else {
        return Ok(());
    };
    let name = &table.name;
    if options.smp == Smp::Serial {
        return Err(format!(
            "`idle_table={name}`: smp=serial is a virtual machine, whose CPUs have no idle states; set \
             smp=parallel"
        ));
    }
    if options.idle_loop == IdleLoop::Retain {
        return Err(format!(
            "`idle_table={name}`: idle_loop=retain is that of a kernel without idle states; set \
             idle_loop=classic"
        ));
    }
    if let Some(limit) = package_limit
        && table.depth_of(limit).is_none()
    {
        return Err(format!(
            "`package_limit={limit}`: the package of `idle_table={name}` has no such state; give `none` or \
             one of {}",
            table.package_names().join(", ")
        ));
    }
    power.as_ref().map_or(Ok(()), |it| it.fits(table))
}

/// Settings without effect, in words.
pub fn warnings(options: &Options) -> Vec<String> {
    let mut said = super::releases::warnings(options);
    let mut warn = |text: &str| said.push(text.to_owned());
    let those = options.offloaded();
    let offloaded = !those.is_empty();
    // A version's default asks for nothing: it is on where there are callbacks that can be lazy.
    let asked = options.lazy && options.kernel.is_none();
    if asked && !offloaded {
        warn(
            "rcu_lazy=1 does nothing: only offloaded callbacks can be lazy, and rcu_nocbs=none; set \
             rcu_nocbs as well",
        );
    } else if options.lazy && offloaded && those.len() < options.cpus as usize {
        warn("rcu_lazy=1: callbacks of CPUs that are not in rcu_nocbs are never lazy");
    }
    let default = Options::kernel_6_12(options.cpus, options.hz);
    if options.lazy_flush_ms != default.lazy_flush_ms && !options.lazy {
        warn("lazy_flush does nothing: nothing is lazy with rcu_lazy=0");
    }
    if options.wake_latch.is_some() && !options.wake_from_gp {
        warn(
            "wake_from_gp_latch does nothing: no caller is woken so with rcu_normal_wake_from_gp=0",
        );
    }
    if options.policy != default.policy && !offloaded {
        warn("policy does nothing: it is about offloaded callbacks, and rcu_nocbs=none");
    }
    if options.nocb_poll && !offloaded {
        warn("rcu_nocb_poll does nothing: it is about offloaded callbacks, and rcu_nocbs=none");
    }
    if !options.nohz && options.idle_rule != default.idle_rule {
        warn("fast_no_hz does nothing: with nohz=0 no tick stops");
    }
    if options.none_offloaded && !options.nohz_full.is_empty() {
        warn(
            "rcu_nocbs=none with nohz_full: a kernel offloads callbacks of CPUs of nohz_full always; here \
             they stay, and keep the tick on",
        );
    }
    let hz = u64::from(options.hz);
    if [options.first_fqs, options.next_fqs]
        .iter()
        .flatten()
        .any(|&it| it > hz)
    {
        warn("jiffies_till_first_fqs and jiffies_till_next_fqs are limited to HZ, as in a kernel");
    }
    if options.patience_ms > 0 && options.nohz_full.is_empty() {
        warn(
            "nohz_full_patience_delay does nothing: it is about CPUs of nohz_full, and there are none",
        );
    }
    if options.idle.table.is_none() && options.idle != default.idle {
        warn(
            "governor, cpu_dma_latency, package_limit and power do nothing: the machine has no idle states \
             with idle_table=none",
        );
    }
    for it in options.idle.power.iter().filter(|it| !it.fitted.is_empty()) {
        let name = &it.name;
        said.push(format!(
            "power={name} is a FITTED profile: the watts of what it was fitted to are no prediction"
        ));
    }
    said.extend(of_smp(options, &default).map(str::to_owned));
    said
}

/// Those of settings that depend on whether CPUs execute at the same time.
fn of_smp(options: &Options, default: &Options) -> impl Iterator<Item = &'static str> {
    let serial = options.smp == Smp::Serial;
    let locks = |it: &Options| (it.costs.lock, it.costs.line);
    let all = [
        (
            !serial && options.clock_early_ppm != 0,
            "clock_early_ppm does nothing with smp=parallel: CPUs take their ticks at the same time",
        ),
        (
            serial && options.costs.ipi != default.costs.ipi,
            "cost.ipi_ns does nothing with smp=serial: an interrupt is taken when the executing CPU halts",
        ),
        (
            serial && locks(options) != locks(default),
            "cost.lock_ns and cost.line_ns do nothing with smp=serial: its CPUs run in turn",
        ),
    ];
    all.into_iter().filter(|it| it.0).map(|it| it.1)
}

//! Ticks on `nohz_full` CPUs, and their causes. Machines without such CPUs have no such figures.

use super::Figures;
use crate::record::stats::Stats;

pub(super) fn add(it: &mut Figures, stats: &Stats) {
    let Some(full) = stats.full else {
        return;
    };
    let per_s = |count: u64| count as f64 / stats.seconds();
    it.run("nohz_full_ticks_per_s", "1/s", per_s(full.ticks));
    it.run("nohz_full_ticks_sched", "ticks", full.sched as f64);
    it.run("nohz_full_ticks_rcu", "ticks", full.rcu as f64);
    it.run("nohz_full_ticks_rcu_exp", "ticks", full.rcu_exp as f64);
}

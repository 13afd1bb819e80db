//! How often idle CPUs checked callbacks that they owed: the effect of `RCU_FAST_NO_HZ`.
//!
//! A machine on which no idle CPU ever owed any has no such figures.

use super::Figures;
use crate::record::stats::Stats;

pub(super) fn add(it: &mut Figures, stats: &Stats) {
    let (Some((least, _)), Some((most, _))) =
        (stats.looks.first_key_value(), stats.looks.last_key_value())
    else {
        return;
    };
    let times: u64 = stats.looks.values().sum();
    it.run("idle_looks_per_s", "1/s", times as f64 / stats.seconds());
    it.run("idle_look_ticks_min", "ticks", *least as f64);
    it.run("idle_look_ticks_max", "ticks", *most as f64);
}

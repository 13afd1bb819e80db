//! `RCU_FAST_NO_HZ`: an idle CPU with callbacks sleeps without a tick, and looks at a time.

use quiescent_kernel::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_sim::{Arrivals, Churn, Machine, Options, Queued, Stats};

const SECOND: u64 = 1_000_000_000;

/// A callback on CPU 1 ten times a second, or every twenty seconds, and nothing else.
fn run(idle_rule: IdleRule, lazy: bool) -> Stats {
    often(idle_rule, lazy, 100_123_457, 100)
}

fn seldom(idle_rule: IdleRule, lazy: bool) -> Stats {
    often(idle_rule, lazy, 20 * SECOND, 5)
}

fn often(idle_rule: IdleRule, lazy: bool, every: u64, times: u64) -> Stats {
    let mut machine = Machine::new(Options {
        idle_rule,
        ..Options::kernel_6_12(4, 1000)
    });
    let func = machine.func("callback");
    let arrivals = (1..=times).map(|i| Arrivals {
        at: i * every,
        calls: vec![Queued::of(func).lazy(lazy)],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.run(times * every + 20 * SECOND);
    assert_eq!(
        (machine.owed(), machine.too_early()),
        (0, 0),
        "{idle_rule:?}"
    );
    machine.stats()
}

fn mean_delay(stats: &Stats) -> u64 {
    let delays = &stats.funcs[0].delays;
    delays.iter().sum::<u64>() / delays.len() as u64
}

#[test]
fn it_saves_ticks() {
    let tick = run(IdleRule::Tick, false);
    let fast = run(IdleRule::FastNoHz(FastNoHz::v5_10(1000)), false);
    // With its tick a CPU takes one every jiffy until the callback is done; now a few for each callback.
    let (before, after) = (tick.totals.idle_ticks, fast.totals.idle_ticks);
    assert!(before > 900 && after * 2 < before, "{before} {after}");
    // The grace period is asked for as the CPU goes to sleep, and not by its next tick.
    assert!(mean_delay(&fast) < mean_delay(&tick) + 8_000_000);
    let worst = fast.funcs[0].delays.iter().max();
    assert!(worst < Some(&30_000_000), "{worst:?}: a few looks at most");
}

#[test]
fn a_cpu_looks_on_multiples_of_four_ticks() {
    let fast = run(IdleRule::FastNoHz(FastNoHz::v5_10(1000)), false);
    // It was queued at a known time; it is invoked in a tick that is one of those.
    let start = Options::kernel_6_12(4, 1000).jiffies % 4;
    let on_time = fast.funcs[0]
        .delays
        .iter()
        .enumerate()
        .filter(|(i, delay)| {
            let queued = (*i as u64 + 1) * 100_123_457;
            let jiffy = (queued + *delay) / 1_000_000;
            (jiffy + start).is_multiple_of(4)
        });
    let on_time = on_time.count();
    assert!(on_time > 90, "{on_time} of 100");
}

#[test]
fn lazy_ones_wait_for_seconds_in_old_kernels_only() {
    let old = seldom(IdleRule::FastNoHz(FastNoHz::v5_6(1000)), true);
    let new = seldom(IdleRule::FastNoHz(FastNoHz::v5_10(1000)), true);
    let urgent = seldom(IdleRule::FastNoHz(FastNoHz::v5_6(1000)), false);
    assert!(mean_delay(&old) > 5 * SECOND, "{}", mean_delay(&old));
    assert!(mean_delay(&new) < SECOND / 20, "{}", mean_delay(&new));
    assert!(mean_delay(&urgent) < SECOND / 20, "no callback is lazy");
    // Whatever wakes the CPU up lets it look: callbacks that come often wait for each other only.
    let often = run(IdleRule::FastNoHz(FastNoHz::v5_6(1000)), true);
    assert!(mean_delay(&often) < SECOND / 2, "{}", mean_delay(&often));
    let sooner = run(IdleRule::FastNoHz(FastNoHz::v5_10(1000)), true);
    assert!(mean_delay(&often) > 5 * mean_delay(&sooner));
}

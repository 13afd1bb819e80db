//! The strongest test of the engine there is: whole machines, of random shape and under random load, on which nothing may
//! come too early and nothing may be left behind.
//!
//! The oracle is the machine's own ([`Machine::too_early`]): no callback is invoked, and no wait is over, before every
//! section that was open at its beginning has ended; no barrier is over before every callback that was queued has been invoked.
//! `QUIESCENT_SEARCH=deep` tries more machines.

#[path = "oracle/random.rs"]
mod random;

use quiescent_sim::chance::Chance;
use quiescent_sim::{Machine, Stats};
use random::Anything;

/// What a run is to have come across, over all seeds.
#[derive(Debug, Default)]
struct Seen {
    calls: u64,
    callbacks: u64,
    holdouts: u64,
    preempted: u64,
    grace_periods: u64,
    expedited: u64,
    departures: u64,
    barriers: u64,
    by_thread: u64,
    by_work_item: u64,
}

fn run(seed: u64) -> (Stats, Seen) {
    let mut chance = Chance::new(seed);
    let options = random::machine(&mut chance);
    let mut machine = Machine::new(options.clone());
    machine.func("callback");
    let plugs = options.cpus * chance.below(2) as u32;
    for task in 0..2 + chance.below(2 * u64::from(options.cpus)) {
        let cpu = chance.below(u64::from(options.cpus)) as u32;
        let work = Anything::new(chance.next(), 60 + chance.below(100), plugs);
        machine.spawn(&format!("task{task}"), cpu, chance.below(5_000_000), work);
    }
    let over = machine.run_tasks(300_000_000_000);
    assert!(over, "seed {seed}: somebody waits for ever: {options:?}");
    // Lazy callbacks have their time, and a grace period after it.
    machine.run(machine.now() + 30_000_000_000);
    assert_eq!(machine.too_early(), 0, "seed {seed}: {options:?}");
    let left = machine.owed();
    assert_eq!(left, 0, "seed {seed}: callbacks are left: {options:?}");
    assert!(machine.is_quiet(), "seed {seed}: work for nobody");
    let stats = machine.stats();
    let gps = &stats.grace_periods;
    let seen = Seen {
        calls: stats.calls.len() as u64,
        callbacks: stats.funcs.iter().map(|func| func.invoked).sum(),
        holdouts: gps.iter().map(|gp| gp.holdouts.len() as u64).sum(),
        preempted: machine.preempted(),
        grace_periods: gps.len() as u64,
        expedited: machine.expedited(),
        departures: machine.departures(),
        barriers: machine.barriers(),
        by_thread: stats.wakeups_of("ksoftirqd"),
        by_work_item: stats.wakeups_of("kworker/rcu") - stats.wakeups_of("kworker/rcu_exp"),
    };
    (stats, seen)
}

#[test]
fn nothing_comes_too_early_and_nothing_is_left_behind() {
    let mut all = Seen::default();
    let deep = std::env::var("QUIESCENT_SEARCH").is_ok_and(|it| it == "deep");
    for seed in 0..if deep { 20_000 } else { 1_000 } {
        let (_, seen) = run(seed);
        all.calls += seen.calls;
        all.callbacks += seen.callbacks;
        all.holdouts += seen.holdouts;
        all.preempted += seen.preempted;
        all.grace_periods += seen.grace_periods;
        all.expedited += seen.expedited;
        all.departures += seen.departures;
        all.barriers += seen.barriers;
        all.by_thread += seen.by_thread;
        all.by_work_item += seen.by_work_item;
    }
    println!("{all:?}");
    assert!(all.callbacks > 50_000 && all.calls > 5_000, "{all:?}");
    assert!(all.grace_periods > 3_000 && all.expedited > 1_000);
    assert!(all.departures > 1_000 && all.barriers > 1_000, "{all:?}");
    assert!(all.by_thread > 100 && all.by_work_item > 5, "{all:?}");
    assert!(all.preempted > 1_000 && all.holdouts > 1_000, "{all:?}");
}

#[test]
fn a_run_is_the_same_again() {
    for seed in [3, 17] {
        assert_eq!(run(seed).0, run(seed).0);
    }
}

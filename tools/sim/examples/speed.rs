//! How fast the model is on this machine: `cargo run --release --example speed -p quiescent-sim`.

use std::time::Instant;

use quiescent_sim::{Arrivals, Churn, Machine, Options, Queued, Steps};

const SECOND: u64 = 1_000_000_000;

fn main() {
    for (cpus, offloaded) in [(64, false), (4096, false), (4096, true)] {
        trickle(cpus, offloaded);
    }
    calls();
}

/// One CPU of many queues 100 callbacks a second; all others idle.
fn trickle(cpus: u32, offloaded: bool) {
    const SECONDS: u64 = 20;
    let begun = Instant::now();
    let mut machine = Machine::new(Options {
        nocbs: (0..cpus).filter(|_| offloaded).collect(),
        ..Options::kernel_6_12(cpus, 1000)
    });
    let func = machine.func("callback");
    let arrivals = (1..100 * SECONDS).map(|i| Arrivals {
        at: i * 10_012_345,
        calls: vec![Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.run(SECONDS * SECOND);
    let wall = begun.elapsed().as_secs_f64();
    let stats = machine.stats();
    println!(
        "{cpus} CPUs, one queues 100/s, offloaded: {offloaded}: {:.0} times as fast as real time, {} grace \
         periods, {} events/s",
        SECONDS as f64 / wall,
        stats.grace_periods.len(),
        machine.events() / SECONDS,
    );
}

/// A thousand calls of `synchronize_rcu` on 32 CPUs.
fn calls() {
    let begun = Instant::now();
    let mut machine = Machine::new(Options::kernel_6_12(32, 1000));
    machine.spawn("caller", 1, 0, Steps::caller(1000, 0));
    assert!(machine.run_tasks(100 * SECOND));
    let wall = begun.elapsed().as_secs_f64();
    println!("1000 calls on 32 CPUs: {:.4} s", wall);
}

//! CPUs that execute one at a time, as an emulator's: when they hand over, and what that does to waits.

use std::collections::BTreeMap;

use quiescent_sim::whatif::{self, doings::Awaited};
use quiescent_sim::{Arrivals, Churn, IdleLoop, Machine, Options, Smp};
use quiescent_trace::{Options as Known, open};

use crate::common::MS;

/// The ticks of one jiffy, in order: the CPU, and whether another CPU's line comes next.
fn ticks(text: &str) -> Vec<Vec<(u32, bool)>> {
    let of = |line: &str| {
        let cpu = line.split(['[', ']']).nth(1)?.parse::<u32>().ok()?;
        let time = line
            .split_whitespace()
            .find_map(|it| it.strip_suffix(':')?.parse::<f64>().ok())?;
        Some((
            cpu,
            (time * 250.0).round() as u64,
            line.contains("hrtimer_expire_entry"),
        ))
    };
    // These are between a tick and what its handler does next.
    let lines = text.lines().filter(|it| !it.contains("rcu_utilization"));
    let lines: Vec<_> = lines.filter_map(of).collect();
    let mut all: BTreeMap<u64, Vec<(u32, bool)>> = BTreeMap::new();
    for pair in lines.windows(2).filter(|it| it[0].2) {
        let ((cpu, jiffy, _), next) = (pair[0], pair[1]);
        let leaves = next.0 != cpu && next.1 == jiffy;
        all.entry(jiffy).or_default().push((cpu, leaves));
    }
    all.into_values().collect()
}

/// CPUs with callbacks, whose ticks run although they idle.
fn ticking() -> String {
    let mut machine = Machine::new(Options {
        smp: Smp::Serial,
        idle_loop: IdleLoop::Retain,
        ..Options::kernel_6_12(4, 250)
    });
    machine.func("f");
    machine.keep_trace();
    for cpu in 0..4 {
        let at = |n: u64| (13 * n + 3 * u64::from(cpu)) * MS + MS / 2;
        let arrivals = (0..400).map(|n| Arrivals {
            at: at(n),
            calls: vec![(0, false, true)],
        });
        machine.spawn("queues", cpu, 0, Churn::new(arrivals.collect()));
    }
    machine.run(5_000 * MS);
    let mut text = Vec::new();
    machine.write_trace(&mut text).expect("memory");
    String::from_utf8(text).expect("text")
}

#[test]
fn the_first_cpu_of_a_tick_hands_over_the_second_in_half_of_the_cases_the_third_in_a_third() {
    let all = ticks(&ticking());
    let whole: Vec<_> = all.iter().filter(|it| it.len() == 4).collect();
    assert!(whole.len() > 500, "{}", whole.len());
    for (place, share) in [
        (0, 0.95..=1.0),
        (1, 0.43..=0.57),
        (2, 0.27..=0.4),
        (3, 0.18..=0.32),
    ] {
        let left = whole.iter().filter(|it| it[place].1).count() as f64 / whole.len() as f64;
        assert!(share.contains(&left), "place {place}: {left}");
    }
    for it in &whole {
        let turns = it.windows(2).all(|two| two[1].0 == (two[0].0 + 1) % 4);
        assert!(turns, "the next higher number follows: {it:?}");
    }
    // In the recordings each begins, too.
    for cpu in 0..4 {
        let first = whole.iter().filter(|it| it[0].0 == cpu).count();
        assert!(
            first * 10 > whole.len(),
            "CPU {cpu} begins {first} of {}",
            whole.len()
        );
    }
}

#[test]
fn a_stock_kernel_s_waits_in_an_emulator_are_those_of_its_recording() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/deb-612-psock.txt.xz"
    );
    let trace = whatif::read(path, open(path).unwrap(), Known::default()).unwrap();
    let machine = trace.options();
    assert_eq!(
        (machine.smp, machine.idle_loop),
        (Smp::Serial, IdleLoop::Retain)
    );
    let (calls, recorded) = trace.waits(Awaited::GracePeriod);
    assert_eq!(calls, 80);
    let model = |options: &Options| {
        let stats = trace.run(options, 1, || false).expect("it is not stopped");
        let waits = stats
            .calls
            .iter()
            .map(|it| (it.end - it.start) as f64 / MS as f64);
        waits.sum::<f64>() / stats.calls.len() as f64
    };
    let serial = model(&machine);
    assert!(
        (serial / recorded - 1.0).abs() < 0.05,
        "{recorded} {serial}"
    );
    // A wait is a tick longer where the CPU that takes the timer ticks before that which counts jiffies, and
    // there are more of them where a scan finds a CPU in its handler.
    let parallel = model(&Options {
        smp: Smp::Parallel,
        ..machine
    });
    assert!(parallel < 0.75 * recorded, "{recorded} {parallel}");
}

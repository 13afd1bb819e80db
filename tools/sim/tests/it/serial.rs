//! CPUs that execute one at a time, as an emulator's: when they hand over, and what that does to waits.

use std::collections::BTreeMap;

use quiescent_sim::whatif::{self, doings::Awaited};
use quiescent_sim::{IdleLoop, Machine, Options, Smp};
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

/// CPUs whose ticks never stop, and nothing else.
fn ticking() -> String {
    let mut machine = Machine::new(Options {
        smp: Smp::Serial,
        nohz: false,
        ..Options::kernel_6_12(4, 250)
    });
    machine.keep_trace();
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

/// A recording of waits on a stock kernel: the mean, in ms, and the model's on this machine.
fn waits(name: &str, calls: usize, change: impl Fn(Options) -> Options) -> (f64, f64) {
    let path = format!(
        "{}/../../data/traces/{name}.txt.xz",
        env!("CARGO_MANIFEST_DIR")
    );
    let trace = whatif::read(&path, open(&path).unwrap(), Known::default()).unwrap();
    let machine = trace.options();
    assert_eq!(machine.smp, Smp::Serial);
    let (counted, recorded) = trace.waits(Awaited::GracePeriod);
    assert_eq!(counted, calls);
    let stats = trace.run(&change(machine), 1, || false);
    let stats = stats.expect("it is not stopped");
    let waits = stats.calls.iter().map(|it| it.end - it.start);
    let model = waits.sum::<u64>() as f64 / MS as f64 / stats.calls.len() as f64;
    (recorded, model)
}

#[test]
fn a_stock_kernel_s_waits_in_an_emulator_are_those_of_its_recording() {
    let retains = |machine: Options| {
        assert_eq!(machine.idle_loop, IdleLoop::Retain);
        machine
    };
    let (recorded, serial) = waits("deb-612-psock", 80, retains);
    assert!(
        (serial / recorded - 1.0).abs() < 0.05,
        "{recorded} {serial}"
    );
    // A wait is a tick longer where the CPU that takes the timer ticks before that which counts jiffies, and
    // there are more of them where a scan finds a CPU in its handler.
    let (_, parallel) = waits("deb-612-psock", 80, |machine| Options {
        smp: Smp::Parallel,
        ..machine
    });
    assert!(parallel < 0.75 * recorded, "{recorded} {parallel}");
}

#[test]
fn waits_beside_a_program_that_computes_take_the_ticks_that_it_executes() {
    // The recorder computes. Were the others first whenever they have work, this would be 11 % too short.
    let (recorded, serial) = waits("probes-618-waits", 30, |machine| machine);
    assert!(
        (serial / recorded - 1.0).abs() < 0.05,
        "{recorded} {serial}"
    );
}

/// Ticks of two CPUs, 4 ms apart; CPU 1 has set its clock again before each, and begins so many of a hundred.
fn begins(share: u64) -> String {
    let mut text = String::new();
    let mut line = |us: u64, cpu: u32, function: &str| {
        let at = us as f64 / 1e6;
        text += &format!(
            "<idle>-0 [00{cpu}] d.h1. {at:.6}: hrtimer_expire_entry: hrtimer=ff function={function} now=0\n"
        );
    };
    for jiffy in 1..400 {
        let tick = 4000 * jiffy;
        line(tick - 1500, 1, "hrtimer_wakeup");
        let first = u32::from(jiffy % 100 < share);
        line(tick + 1, first, "tick_nohz_handler");
        line(tick + 4, 1 - first, "tick_nohz_handler");
    }
    text
}

#[test]
fn how_early_clocks_are_is_read_off_who_begins_a_tick() {
    let known = Known {
        hz: Some(250),
        ..Known::default()
    };
    for (share, least, most) in [(50, -1, 1), (94, 9, 13), (98, 25, 40), (30, -3, -1)] {
        let trace = whatif::read("text", begins(share).as_bytes(), known).unwrap();
        let ppm = trace.inferred.clock_early_ppm.expect("ticks enough");
        assert!((least..=most).contains(&ppm), "{share} %: {ppm}");
    }
}

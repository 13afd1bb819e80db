//! Machines of every shape: sizes that fill leaves of the tree and sizes that do not, tick rates, idle loops,
//! rates of callbacks.
//!
//! Nothing may come too early, and nothing may be left behind; and a call takes as many ticks as the
//! mechanism says: a wait of `j` jiffies is `j + 1` ticks, one wait or two, and two ticks more where a
//! callback wakes the caller.

use quiescent_kernel::EarlyQs;
use quiescent_sim::{IdleLoop, Machine, Options, Steps, Workload};

const CPUS: [u32; 11] = [2, 3, 5, 7, 16, 17, 33, 64, 100, 128, 257];
const HZ: [u32; 4] = [100, 250, 300, 1000];

/// The kernel's own wait between scans, in jiffies.
fn jiffies(cpus: u32, hz: u32) -> u64 {
    1 + u64::from(hz > 250) + u64::from(hz > 500) + u64::from(cpus / 256)
}

/// Ticks that each call takes, but for the first, which is not in step.
fn ticks(options: &Options, cpu: u32) -> Vec<u64> {
    let mut machine = Machine::new(options.clone());
    machine.spawn("caller", cpu, options.jiffy_ns() / 2, Steps::caller(9, 0));
    assert!(machine.run_tasks(10_000_000_000), "{options:?}");
    assert_eq!((machine.too_early(), machine.owed()), (0, 0));
    let calls = machine.stats().calls;
    let jiffy = options.jiffy_ns();
    let ticks = |ns: u64| (ns + jiffy / 2) / jiffy;
    let latencies = calls[1..].iter();
    latencies.map(|it| ticks(it.end - it.start)).collect()
}

#[test]
fn a_call_takes_the_ticks_that_the_mechanism_says_on_machines_of_every_size() {
    for cpus in CPUS {
        for hz in HZ {
            let wait = jiffies(cpus, hz) + 1;
            for (early_qs, wake_from_gp, idle_loop, cpu, waits) in [
                (EarlyQs::Off, false, IdleLoop::Classic, 1, 2),
                (EarlyQs::Off, false, IdleLoop::Classic, 0, 1),
                (EarlyQs::Off, false, IdleLoop::Retain, 1, 1),
                (EarlyQs::Init, false, IdleLoop::Classic, 1, 1),
                (EarlyQs::Off, true, IdleLoop::Classic, 1, 1),
                (EarlyQs::Init, true, IdleLoop::Retain, cpus - 1, 1),
            ] {
                let options = Options {
                    early_qs,
                    wake_from_gp,
                    idle_loop,
                    ..Options::kernel_6_12(cpus, hz)
                };
                let callback = if wake_from_gp { 0 } else { 2 };
                let expected = waits * wait + callback;
                let found = ticks(&options, cpu);
                let case = format!("{cpus} CPUs, HZ={hz}, {early_qs:?}, {idle_loop:?}, on {cpu}");
                assert!(
                    found.iter().all(|&it| it == expected),
                    "{case}: {found:?}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn one_cpu_reports_itself_and_waits_for_no_other() {
    for hz in HZ {
        let early = Options {
            early_qs: EarlyQs::Init,
            ..Options::kernel_6_12(1, hz)
        };
        // A tick to start the grace period, which is over at once, and one to invoke the callback.
        assert!(
            ticks(&early, 0).iter().all(|&it| it <= 2),
            "{:?}",
            ticks(&early, 0)
        );
        // Otherwise its next tick reports it, and that ends the grace period at once: no scan, whatever the
        // jiffies.
        let late = ticks(&Options::kernel_6_12(1, hz), 0);
        assert!(late.iter().all(|&it| it == 3), "{late:?}");
    }
}

#[test]
fn more_callbacks_make_more_grace_periods_until_they_are_back_to_back() {
    for (cpus, nocbs, idle_loop) in [
        ("3", "none", "classic"),
        ("17", "all", "classic"),
        ("33", "none", "retain"),
        ("100", "0-50", "retain"),
        ("257", "all", "retain"),
    ] {
        for hz in ["100", "250", "300", "1000"] {
            let of = |rate: &str| {
                let sets = [
                    ("cpus", cpus),
                    ("hz", hz),
                    ("rcu_nocbs", nocbs),
                    ("idle_loop", idle_loop),
                    ("rate", rate),
                    ("gp_cpu", "0"),
                ];
                let mut plan = Workload::named("churn").unwrap().plan(&sets).unwrap();
                plan.length = 4_000_000_000;
                let mut machine = plan.machine();
                assert!(plan.run_on(&mut machine, || false));
                assert_eq!(machine.too_early(), 0);
                let stats = machine.stats();
                let wait = jiffies(plan.options.cpus, plan.options.hz) + 1;
                let most = stats.seconds() * f64::from(plan.options.hz) / (wait - 1) as f64;
                let periods = stats.grace_periods.len() as f64;
                assert!(periods <= most, "{periods} grace periods, {most} fit");
                let delays = stats.funcs.iter().flat_map(|it| it.delays.iter());
                let longest = *delays.max().expect("some were invoked");
                // The rest of one grace period and a whole one, of two waits each, and the ticks around them.
                let ticks = longest / plan.options.jiffy_ns();
                assert!(ticks <= 5 * wait + 4, "{ticks} ticks, a wait is {wait}");
                periods
            };
            let counts = ["1", "10", "100", "1000"].map(of);
            let case = format!("{cpus} CPUs, rcu_nocbs={nocbs}, HZ={hz}: {counts:?}");
            // Where they are back to back each begins in step with the tick, and takes all of its ticks.
            assert!(counts.is_sorted_by(|a, b| *a <= 1.1 * b), "{case}");
            assert!(counts[3] > 2.0 * counts[0], "{case}");
        }
    }
}

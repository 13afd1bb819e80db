//! Expedited grace periods: microseconds on an idle machine, beside normal ones, and as the options
//! prescribe.

use quiescent_sim::{Hog, IdleLoop, Machine, Op, Options, Smp, Stats, Steps, Work, settings};

/// Calls of one kind, a given number of them, with a pause after each.
struct Waits {
    kind: Op,
    calls: u64,
    pause: u64,
    pauses: bool,
}

impl Waits {
    fn new(kind: Op, calls: u64, pause: u64) -> Waits {
        Waits {
            kind,
            calls,
            pause,
            pauses: false,
        }
    }
}

impl Work for Waits {
    fn next(&mut self, now: u64) -> Op {
        if std::mem::take(&mut self.pauses) {
            return Op::SleepUntil(now + self.pause);
        }
        self.pauses = true;
        match self.calls.checked_sub(1) {
            Some(left) => self.calls = left,
            None => return Op::Exit,
        }
        self.kind.clone()
    }
}

fn latencies(stats: &Stats) -> impl Iterator<Item = u64> + '_ {
    stats.calls.iter().map(|call| call.end - call.start)
}

fn run(options: &Options, callers: &[(u32, Op)]) -> Stats {
    let mut machine = Machine::new(options.clone());
    for (cpu, kind) in callers {
        let waits = Waits::new(kind.clone(), 50, 300_000);
        machine.spawn("caller", *cpu, 500_000, waits);
    }
    assert!(machine.run_tasks(20_000_000_000), "a task waits for ever");
    machine.stats()
}

#[test]
fn on_an_idle_machine_a_call_takes_microseconds() {
    for cpus in [8, 17, 32, 64] {
        for smp in [Smp::Serial, Smp::Parallel] {
            let options = Options {
                smp,
                ..Options::kernel_6_12(cpus, 1000)
            };
            let stats = run(&options, &[(1, Op::SynchronizeExpedited)]);
            assert_eq!(stats.calls.len(), 50);
            let worst = latencies(&stats).max().expect("there are some");
            assert!(worst < 100_000, "{worst} ns on {cpus} CPUs, {smp:?}");
            assert!(
                stats.grace_periods.is_empty(),
                "no task wanted a normal one"
            );
        }
    }
}

#[test]
fn busy_cpus_are_interrupted_and_answer() {
    let mut machine = Machine::new(Options::kernel_6_12(16, 1000));
    for cpu in 2..16 {
        machine.spawn("hog", cpu, 0, Hog);
    }
    let waits = Waits::new(Op::SynchronizeExpedited, 50, 300_000);
    machine.spawn("caller", 1, 500_000, waits);
    machine.run(1_000_000_000);
    let stats = machine.stats();
    assert_eq!(stats.calls.len(), 50);
    assert!(latencies(&stats).all(|it| it < 200_000));
    // A CPU that is interrupted delays a grace period no longer than that.
    assert!(stats.totals.ipis >= 50 * 14, "{}", stats.totals.ipis);
}

#[test]
fn callers_of_both_kinds_are_served_together() {
    for smp in [Smp::Serial, Smp::Parallel] {
        let options = Options {
            smp,
            leaf_fanout: 4,
            ..Options::kernel_6_12(12, 1000)
        };
        let kinds = [Op::SynchronizeExpedited, Op::Synchronize];
        let callers: Vec<_> = (0..12)
            .map(|cpu| (cpu, kinds[usize::from(cpu % 3 == 0)].clone()))
            .collect();
        let stats = run(&options, &callers);
        assert_eq!(stats.calls.len(), 600);
        let quick = latencies(&stats).filter(|&it| it < 500_000).count();
        assert_eq!(quick, 400, "the expedited ones, and no others");
        assert!(!stats.grace_periods.is_empty());
    }
}

#[test]
fn the_options_have_the_last_word() {
    let mean = |expedited, normal, kind: Op| {
        let options = Options {
            first_fqs: Some(32),
            next_fqs: Some(32),
            expedited,
            normal,
            ..Options::kernel_6_12(8, 1000)
        };
        let stats = run(&options, &[(1, kind)]);
        latencies(&stats).sum::<u64>() / stats.calls.len() as u64
    };
    let (quick, slow) = (1_000_000, 30_000_000);
    assert!(mean(true, false, Op::Synchronize) < quick, "as tab-switch");
    assert!(mean(false, false, Op::Synchronize) > slow);
    assert!(mean(false, false, Op::SynchronizeExpedited) < quick);
    assert!(mean(false, true, Op::SynchronizeExpedited) > slow);
    assert!(mean(true, true, Op::Synchronize) > slow, "normal wins");
}

#[test]
fn a_caller_of_normal_ones_gets_what_was_there_before() {
    let mut machine = Machine::new(Options::kernel_6_12(8, 1000));
    machine.spawn("caller", 1, 500_000, Steps::caller(20, 0));
    assert!(machine.run_tasks(1_000_000_000));
    assert_eq!(machine.stats().wakeups_of("kworker/rcu_exp"), 0);
}

/// The mean of 50 calls, in nanoseconds, on two CPUs: one has the caller, the other the worker that drives
/// expedited grace periods. Each goes idle while the other one works.
fn across(idle_loop: IdleLoop, smp: Smp, sets: &[(&str, &str)]) -> u64 {
    let mut options = Options {
        idle_loop,
        smp,
        ..Options::kernel_6_12(2, 1000)
    };
    settings::apply(&mut options, sets).unwrap();
    let mut machine = Machine::new(options);
    machine.place("kworker/rcu_exp", vec![(0, 0)]);
    let waits = Waits::new(Op::SynchronizeExpedited, 50, 300_000);
    machine.spawn("caller", 1, 500_000, waits);
    assert!(machine.run_tasks(20_000_000_000), "a task waits for ever");
    let stats = machine.stats();
    latencies(&stats).sum::<u64>() / stats.calls.len() as u64
}

#[test]
fn an_idle_loop_that_looks_whether_the_tick_can_stop_makes_expedited_waits_longer() {
    // Where one CPU executes at a time, the caller's CPU goes idle before the worker runs, and the worker's
    // before the caller does.
    let [classic, retain] =
        [IdleLoop::Classic, IdleLoop::Retain].map(|it| across(it, Smp::Serial, &[]));
    let longer = classic.saturating_sub(retain);
    // A few of the fifty calls have a tick in between.
    assert!(
        (1_800..=2_300).contains(&longer),
        "{classic} and {retain} ns"
    );
}

#[test]
fn an_idle_state_that_takes_long_to_leave_makes_expedited_waits_longer() {
    let with = |governor| {
        let sets = [("idle_table", "alder-lake"), ("governor", governor)];
        across(IdleLoop::Classic, Smp::Parallel, &sets)
    };
    let [shallowest, deepest] = ["shallowest", "deepest"].map(with);
    // C1 takes 1 us to leave and C10 680; the worker's CPU leaves one, and then the caller's does.
    let longer = deepest.saturating_sub(shallowest);
    assert!(
        (1_300_000..1_400_000).contains(&longer),
        "{shallowest} and {deepest} ns"
    );
}

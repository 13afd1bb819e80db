//! What a change of the policy, or of the load, changes.

use super::*;
use crate::base::chance::Chance;
use crate::{Op, Options, Queued, Stats, Steps, Time, Workload};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A producer that hands over so many a second for ever.
fn producer(machine: &mut Threads, verb: Verb, bytes: u64, rate: u64) {
    let func = machine.func("block", bytes, verb);
    let every = Time::of(SECOND / rate);
    let work = Steps::default().repeat(None, |it| it.due(every, u64::MAX).call(0));
    let work = work.of(vec![Queued::of(func)], Chance::new(1));
    machine.spawn_endless("producer", 0, true, work);
}

/// A reader whose sections last so long, one every second.
fn reader(machine: &mut Threads, start: u64, inside: u64) {
    let work = Steps::default().repeat(None, |it| {
        let it = it.op(Op::Lock).sleep(Time::of(inside));
        it.op(Op::Unlock).sleep(Time::of(SECOND))
    });
    machine.spawn_endless("reader", start, true, work);
}

fn caller(machine: &mut Threads, name: &str, start: u64, calls: u64) {
    let call = |it: Steps| it.op(Op::Synchronize).sleep(Time::of(1000));
    let work = Steps::default().repeat(Some(calls), call);
    machine.spawn(name, start, true, work);
}

fn machine(change: impl FnOnce(&mut Options)) -> Threads {
    let mut options = Options::threads(1000);
    change(&mut options);
    Threads::new(options)
}

/// The worker's wake-ups under a trickle.
fn wakeups(verb: Verb, rate: u64, seconds: u64, change: impl FnOnce(&mut Options)) -> f64 {
    let mut it = machine(change);
    producer(&mut it, verb, 96, rate);
    it.run(seconds * SECOND);
    assert_eq!(it.too_early(), 0);
    it.stats().wakeups_of("quiescent") as f64
}

#[test]
fn half_the_flush_time_is_twice_the_wake_ups() {
    let prompt = |ms: u64| wakeups(Verb::Call, 1000, 10, |it| it.threads.prompt_ns = ms * MS);
    let ratio = prompt(25) / prompt(50);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
    let lazy = |ms| wakeups(Verb::Retire, 100, 330, |it| it.lazy_flush_ms = ms);
    let ratio = lazy(5_000) / lazy(10_000);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}

#[test]
fn a_thread_that_retires_alone_needs_neither_a_wake_up_nor_a_fence() {
    let mut it = machine(|_| ());
    producer(&mut it, Verb::Retire, 96, 10_000);
    it.run(9 * SECOND);
    let counted = it.counted();
    assert!(counted.grace_periods > 10 && counted.sole == counted.grace_periods);
    assert_eq!(
        (counted.fences(), it.stats().wakeups_of("quiescent")),
        (0, 0)
    );
    // With another thread registered each of them takes one; no thread is woken.
    let mut it = machine(|_| ());
    producer(&mut it, Verb::Retire, 96, 10_000);
    reader(&mut it, 0, 1000);
    it.run(9 * SECOND);
    let counted = it.counted();
    assert_eq!(counted.fences(), counted.fences_gp);
    assert!(counted.fences_gp > 10 && counted.sole == 0, "{counted:?}");
    assert_eq!(it.stats().wakeups_of("quiescent"), 0);
}

/// Fences between retiring at this rate (a second), alone with a reader, by the rule of `engine::batch`.
fn fences_at(rate: u64, fence: u64, seconds: f64) -> f64 {
    let (least, most) = (2048.0, 8192.0);
    let (mut batch, mut now, mut count) = (least, 0.0, 0.0);
    while now < seconds * 1e9 {
        let since = batch * 1e9 / rate as f64;
        now += since;
        count += 1.0;
        let often = since - (fence as f64) < 50.0 * fence as f64;
        batch = if often { batch * 1.25 } else { batch * 0.875 };
        batch = f64::clamp(batch, least, most);
    }
    count
}

/// Where a thread is seldom on a processor every question times out, and the batch follows the fence's price.
#[test]
fn the_batch_follows_what_fences_cost() {
    for (rate, price) in [
        (1_000_000, 2000),
        (1_000_000, 15_000),
        (2_000_000, 15_000),
        (5_000_000, 15_000),
        (5_000_000, 100_000),
    ] {
        let mut it = machine(|it| it.threads.prices.fence = price);
        producer(&mut it, Verb::Retire, 96, rate);
        reader(&mut it, 0, 1000);
        it.run(SECOND / 4);
        let counted = it.counted();
        assert_eq!(it.too_early(), 0);
        assert_eq!(counted.fences(), counted.grace_periods, "{counted:?}");
        let expected = fences_at(rate, price, 0.25);
        let ratio = counted.fences() as f64 / expected;
        assert!(
            (0.95..1.05).contains(&ratio),
            "{rate} {price}: {expected} {counted:?}"
        );
        let issued = counted.fences_issued + counted.fences_answered;
        assert_eq!(issued, counted.fences(), "{counted:?}");
        let timed_out = counted.fences_asked - counted.fences_answered;
        assert!(timed_out <= 6 + counted.fences() / 60, "{counted:?}");
    }
}

/// A producer that retires one after so many nanoseconds of other work, and never sleeps.
fn busy_producer(machine: &mut Threads, between: u64) {
    let func = machine.func("block", 96, Verb::Retire);
    let work = Steps::default().repeat(None, |it| it.call(0).kernel(between));
    let work = work.of(vec![Queued::of(func)], Chance::new(1));
    machine.spawn_endless("producer", 0, true, work);
}

/// Threads that retire and read answer in time: no grace period but the first few needs a process-wide fence.
#[test]
fn threads_that_come_by_are_not_interrupted() {
    let mut it = machine(|it| it.threads.prices.fence = 15_000);
    busy_producer(&mut it, 500);
    busy_producer(&mut it, 503);
    it.run(SECOND / 4);
    let counted = it.counted();
    assert_eq!(it.too_early(), 0);
    // Each fills its batch of 2048 at about the same time; one grace period is for both, or each has its own.
    let each = 2_000_000 / 4 / 2048;
    assert!(
        (each..=2 * each + 1).contains(&counted.fences()),
        "{counted:?}"
    );
    assert!(
        counted.fences_issued * 20 <= counted.fences(),
        "{counted:?}"
    );
    assert!(
        counted.fences_answered * 20 >= counted.fences() * 19,
        "{counted:?}"
    );
}

#[test]
fn who_hands_reclaiming_over_pays_a_wake_up_a_batch() {
    let mut it = machine(|it| it.threads.offload = true);
    producer(&mut it, Verb::Retire, 96, 10_000);
    it.run(9 * SECOND);
    let counted = it.counted();
    assert!(
        counted.woken_kick >= counted.grace_periods - 1,
        "{counted:?}"
    );
    assert!(counted.grace_periods > 10 && counted.sole == 0);
    assert_eq!(it.too_early(), 0);
}

#[test]
fn a_sleeping_reader_holds_up_who_waits_and_wakes_the_driver() {
    let mut it = machine(|_| ());
    reader(&mut it, SECOND, 7 * SECOND);
    caller(&mut it, "caller", 2 * SECOND, 1);
    assert!(it.run_tasks(60 * SECOND));
    let (stats, counted) = (it.stats(), it.counted());
    let end = stats.calls[0].end;
    assert!((8 * SECOND..8 * SECOND + MS).contains(&end), "{end}");
    assert_eq!((counted.sleeps, counted.reader_wakeups), (1, 1));
    assert_eq!((counted.fences_gp, counted.fences_flag), (1, 1));
    assert_eq!(stats.grace_periods[0].holdouts.len(), 1);
    assert_eq!(counted.stalls, 0);
}

#[test]
fn a_reader_that_stays_is_reported_and_waited_for() {
    let mut it = machine(|it| it.threads.stall_ns = SECOND);
    reader(&mut it, 0, 30 * SECOND);
    caller(&mut it, "caller", MS, 1);
    assert!(it.run_tasks(60 * SECOND));
    assert!(it.counted().stalls >= 3, "{:?}", it.counted());
    assert!(it.now() > 30 * SECOND);
    assert_eq!(it.too_early(), 0);
}

#[test]
fn near_the_budget_grace_periods_do_not_wait_for_a_batch() {
    let most = |callbacks| {
        let mut it = machine(|it| it.threads.budget_callbacks = callbacks);
        producer(&mut it, Verb::Retire, 96, 1000);
        it.run(8 * SECOND);
        (it.stats().held.most.0, it.counted())
    };
    let (far, counted) = most(1 << 20);
    assert_eq!(
        counted.flushes[quiescent_engine::credit::Cause::Budget as usize],
        0
    );
    let (near, counted) = most(400);
    assert!(near <= 400 && far > 1500, "{near} {far}");
    assert!(counted.flushes[quiescent_engine::credit::Cause::Budget as usize] > 0);
}

#[test]
fn behind_a_stalled_reader_the_budget_is_passed_and_the_program_notified() {
    let mut it = machine(|it| it.threads.budget_callbacks = 1000);
    reader(&mut it, 0, 20 * SECOND);
    producer(&mut it, Verb::Retire, 96, 1000);
    it.run(15 * SECOND);
    let counted = it.counted();
    assert!(
        counted.over_budget == 1 && it.owed() > 10_000,
        "{counted:?}"
    );
    it.run(20 * SECOND + SECOND / 2);
    assert!(it.owed() < 2000, "{}", it.owed());
    assert_eq!(it.too_early(), 0);
}

#[test]
fn callers_share_grace_periods_and_pass_the_role_on() {
    let mut it = machine(|it| it.threads.prices.fence = 100_000);
    for n in 0..20 {
        caller(&mut it, &format!("caller/{n}"), n, 50);
    }
    assert!(it.run_tasks(60 * SECOND));
    let counted = it.counted();
    assert_eq!(it.stats().calls.len(), 1000);
    assert!(counted.grace_periods < 500, "{counted:?}");
    assert!(counted.hand_overs > 20, "{counted:?}");
    assert_eq!((it.too_early(), counted.takeovers), (0, 0));
}

#[test]
fn a_driver_that_does_not_come_back_loses_its_role() {
    // Every fence lasts longer than a waiter's patience, so the next driver would lose the role in the same
    // way; but each has longer.
    let mut it = machine(|it| it.threads.prices.fence = 150 * MS);
    for n in 0..2 {
        caller(&mut it, &format!("caller/{n}"), n, 2);
    }
    it.run(2 * SECOND);
    assert!(it.counted().takeovers > 0, "{:?}", it.counted());
    assert!(it.run_tasks(10 * SECOND), "{:?}", it.counted());
    assert_eq!(it.too_early(), 0);
}

fn waiters(sets: &[(&str, &str)]) -> Stats {
    let plan = Workload::named("waiters").unwrap().plan(sets).unwrap();
    plan.run(|| false).expect("no caller stops the plan")
}

#[test]
fn alone_no_fence_and_one_a_grace_period_beside_others() {
    for (others, fences) in [
        (&[][..], 0),
        (&[("sleepers", "1")], 1),
        (&[("sleepers", "100")], 1),
        (&[("readers", "1")], 1),
    ] {
        let stats = waiters(others);
        let counted = stats.counted.expect("a machine of threads");
        assert_eq!(
            counted.fences(),
            fences * counted.grace_periods,
            "{others:?}"
        );
        assert_eq!(stats.calls.len(), 1000);
        assert_eq!((stats.early, counted.sleeps), (0, 0));
    }
}

#[test]
fn who_ends_leaves_what_is_queued_to_the_worker_and_the_slot_to_the_next() {
    let mut it = machine(|_| ());
    let func = it.func("block", 96, Verb::Retire);
    let list = |_| crate::Op::Call {
        func,
        lazy: true,
        can_wake: true,
    };
    for n in 0..3 {
        let ops: Vec<crate::Op> = (0..5).map(list).collect();
        it.spawn("passing", n * MS, true, Ops(ops.into_iter()));
    }
    it.run(SECOND);
    let (registered, queues) = it.machine.enter(|| it.world.process.sizes());
    assert_eq!((it.owed(), registered, queues), (15, 0, 1));
    assert!(it.run_out(12 * SECOND));
    it.run(20 * SECOND);
    assert!(it.is_quiet() && it.too_early() == 0);
    assert_eq!(it.stats().wakeups_of("quiescent"), 1);
}

#[test]
fn more_threads_than_there_are_stacks_for_are_refused() {
    let plan = |sleepers| {
        let workload = Workload::named("waiters").unwrap();
        workload.plan(&[("sleepers", sleepers)])
    };
    assert!(plan("9000").is_ok());
    let refused = plan("10000").unwrap_err().to_string();
    assert!(refused.contains("10001 threads"), "{refused}");
}

#[test]
fn a_machine_that_is_dropped_in_the_middle_leaves_the_others_alone() {
    let mut stays = machine(|_| ());
    producer(&mut stays, Verb::Call, 96, 1000);
    for ms in [1, 7, 50, 990] {
        let mut goes = machine(|it| it.seed = ms);
        producer(&mut goes, Verb::Retire, 96, 10_000);
        reader(&mut goes, 0, 100 * MS);
        caller(&mut goes, "caller", 0, 1000);
        goes.run(ms * MS);
        stays.run(stays.now() + ms * MS);
        drop(goes);
    }
    stays.run(2 * SECOND);
    assert!(stays.counted().grace_periods > 30 && stays.too_early() == 0);
}

/// A list of things.
struct Ops(std::vec::IntoIter<crate::Op>);

impl crate::Work for Ops {
    fn next(&mut self, _: u64) -> crate::Op {
        self.0.next().unwrap_or(crate::Op::Exit)
    }
}

#[test]
fn a_seed_is_a_run() {
    let of = |seed: &str| {
        let sets = [
            ("seed", seed),
            ("vary", "1"),
            ("verb", "call"),
            ("readers", "2"),
        ];
        let plan = Workload::named("trickle").unwrap().plan(&sets).unwrap();
        plan.run(|| false).expect("no caller stops the plan")
    };
    assert_eq!(of("5"), of("5"));
    assert_ne!(of("5"), of("6"));
}

#[test]
fn verbs_have_names() {
    assert_eq!(Verb::named("call_hurry"), Ok(Verb::CallHurry));
    assert_eq!(Verb::named("retrie"), Err("retire".into()));
    for (index, name) in Verb::NAMES.into_iter().enumerate() {
        assert_eq!(Verb::named(name), Ok(Verb::at(index)));
    }
}

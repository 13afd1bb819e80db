//! What a machine takes: memory for each CPU, counted by an allocator, and events for what happens, not for
//! each CPU and tick.

mod counting;

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use counting::{Counting, LIVE, MOST};
use quiescent_sim::{Arrivals, Churn, Machine, Options, Queued, Steps, settings};

const SECOND: u64 = 1_000_000_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: memory that another one takes meanwhile would count.
static TURN: Mutex<()> = Mutex::new(());

fn held() -> isize {
    LIVE.load(Ordering::Relaxed) as isize
}

fn options(cpus: u32, offloaded: bool) -> Options {
    Options {
        nocbs: (0..cpus).filter(|_| offloaded).collect(),
        ..Options::kernel_6_12(cpus, 1000)
    }
}

/// Bytes that a machine holds, its engine included, after a few grace periods.
fn bytes(cpus: u32, offloaded: bool) -> isize {
    let options = options(cpus, offloaded);
    let before = held();
    let mut machine = Machine::new(options);
    machine.spawn("caller", 1, 0, Steps::caller(3, 0));
    assert!(machine.run_tasks(SECOND));
    held() - before
}

/// Events a second on a machine of which one CPU queues a hundred callbacks a second.
fn events(cpus: u32, offloaded: bool) -> u64 {
    let mut machine = Machine::new(Options {
        first_fqs: Some(3),
        next_fqs: Some(3),
        ..options(cpus, offloaded)
    });
    let func = machine.func("callback");
    let arrivals = (1..200).map(|i| Arrivals {
        at: i * 10_012_345,
        calls: vec![Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.run(2 * SECOND);
    machine.events() / 2
}

#[test]
fn an_idle_cpu_takes_little_memory_and_no_events() {
    let _turn = TURN.lock().unwrap_or_else(|it| it.into_inner());
    for offloaded in [false, true] {
        let each = (bytes(8192, offloaded) - bytes(4096, offloaded)) / 4096;
        println!("offloaded: {offloaded}: {each} bytes for each CPU");
        assert!(each <= 4096, "{each} bytes, offloaded: {offloaded}");
        assert!(each > 500, "{each} bytes: what is a CPU then?");
        let (few, many) = (events(16, offloaded), events(4096, offloaded));
        println!("{few} events/s on 16 CPUs, {many} on 4096");
        // At most as many again, and that is 256 times as many CPUs.
        assert!(many < 2 * few, "{few} on 16 CPUs, {many} on 4096");
    }
    an_hour_of_idling();
}

/// A machine on which nothing happens.
fn an_hour_of_idling() {
    let mut machine = Machine::new(options(4096, true));
    machine.run(SECOND);
    let booted = machine.events();
    machine.run(3600 * SECOND);
    assert_eq!(machine.events(), booted, "an hour without an event");
}

/// The most that a machine takes while it is built and some grace periods pass.
fn taken(cpus: u32) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut machine = Machine::new(Options::kernel_6_12(cpus, 1000));
    machine.spawn("caller", cpus - 1, 0, Steps::caller(5, 0));
    assert!(machine.run_tasks(10 * SECOND));
    drop(machine);
    MOST.load(Ordering::Relaxed) - before
}

#[test]
fn an_idle_cpu_takes_what_settings_say() {
    let _turn = TURN.lock().unwrap_or_else(|it| it.into_inner());
    let said = settings::bytes_per_cpu();
    assert!(said <= 4096, "{said}");
    let (small, large) = (taken(1024), taken(17 * 1024));
    let counted = (large - small) / (16 * 1024);
    assert!(counted <= said, "{counted} bytes counted, {said} said");
    assert!(
        counted * 3 >= said * 2,
        "{counted} bytes counted, {said} said"
    );
}

//! Dwell, timers, limits, and who is to blame, on times made by hand.

use super::*;

const ALL: Window = (0, u64::MAX);

fn states() -> Vec<PackageState> {
    let state = |name: &str, dwell, exit, timer| PackageState {
        name: name.into(),
        dwell,
        exit,
        timer,
    };
    vec![
        state("PC2", 0, 0, 0),
        state("PC6", 100, 7, 500),
        state("PC8", 300, 20, 1000),
    ]
}

fn task(number: usize) -> Cause {
    Cause::of(Who::Task(number))
}

/// From when on a state is worth it: for the package's state 1, 2, 3.
fn worth(depth: usize) -> u64 {
    [0, 50, 400, 800][depth]
}

/// Two CPUs, both woken at 1000 by tasks 0 and 1, and asleep again from 1010 and 1020.
fn two(limit: usize, allows: [usize; 2], timer: u64) -> Package {
    let mut it = Package::new(2, &states(), limit);
    for cpu in [0, 1] {
        let exit = it.wakes((cpu, 3), task(cpu as usize), 1000, worth, ALL);
        let deepest = states()[..limit].last().map_or(0, |it| it.exit);
        assert_eq!(
            exit,
            if cpu == 0 { deepest } else { 0 },
            "the first one pays"
        );
    }
    it.idles(0, allows[0], 1010, timer, ALL);
    it.idles(1, allows[1], 1020, timer, ALL);
    it
}

fn blocked(it: &Package, depth: usize) -> Vec<(Who, u64)> {
    let those = it.books.blocked.iter().filter(|it| it.0.0 == depth);
    those.map(|((_, cause), time)| (cause.who, *time)).collect()
}

/// Each state's charges, and the time in it and deeper ones, are all there is.
fn adds_up(it: &Package, all: u64) {
    assert_eq!(it.books.times.iter().sum::<u64>(), all);
    for depth in 1..=it.deepest() {
        let inside: u64 = it.books.times[depth..].iter().sum();
        let charged: u64 = blocked(it, depth).iter().map(|it| it.1).sum();
        assert_eq!(inside + charged, all, "state {depth}");
    }
}

#[test]
fn it_goes_down_step_by_step() {
    let mut it = two(3, [3, 3], 5000);
    let exit = it.wakes((0, 3), task(0), 2020, worth, ALL);
    assert_eq!(exit, 20);
    // 0 to 1000 since boot; then 20 awake, 100 PC2, 200 PC6, the rest PC8.
    assert_eq!(it.books.times, [20, 100, 200, 1000 + 700]);
    assert_eq!(it.books.entries, [0, 1, 1, 2]);
    assert_eq!(it.books.exits, [0, 0, 0, 2]);
    adds_up(&it, 2020);
}

#[test]
fn a_wake_up_on_its_way_down_finds_it_less_deep() {
    let mut it = two(3, [3, 3], 5000);
    assert_eq!(it.wakes((1, 3), task(0), 1130, worth, ALL), 7);
    assert_eq!(it.books.exits, [0, 0, 1, 1]);
    adds_up(&it, 1130);
}

#[test]
fn dwell_is_charged_to_the_cpu_that_was_awake_last() {
    let mut it = two(3, [3, 3], 5000);
    it.ends(3000, ALL);
    // CPU 0 was awake for task 0 from 1000 to 1010, and went first; then CPU 1 for task 1, and 300 of dwell.
    assert_eq!(
        blocked(&it, 3),
        [(Who::Task(0), 10), (Who::Task(1), 10 + 300)]
    );
    assert_eq!(blocked(&it, 1), [(Who::Task(0), 10), (Who::Task(1), 10)]);
    adds_up(&it, 3000);
}

#[test]
fn a_shallow_state_is_charged_to_what_ended_it_if_that_came_soon() {
    let mut it = two(3, [3, 1], 5000);
    // 700 after it went idle: worth PC6's states, not PC8's.
    it.wakes((1, 1), task(7), 1720, worth, ALL);
    assert_eq!(it.books.times, [20, 700, 0, 1000]);
    assert!(blocked(&it, 3).contains(&(Who::Task(7), 700)));
    assert!(blocked(&it, 2).contains(&(Who::Governor, 700)));
    adds_up(&it, 1720);
}

#[test]
fn a_shallow_state_counts_until_its_own_cpu_wakes() {
    let mut it = two(3, [3, 1], 5000);
    it.wakes((0, 3), task(7), 1720, worth, ALL);
    it.idles(0, 3, 1730, 5000, ALL);
    assert!(!blocked(&it, 3).iter().any(|it| it.0 == Who::Governor));
    it.wakes((1, 1), task(8), 1830, worth, ALL);
    // 700 and 100 of it, idle for 810 in all: PC8 had been worth it.
    assert!(blocked(&it, 3).contains(&(Who::Governor, 800)));
    adds_up(&it, 1830);
}

#[test]
fn a_timer_that_is_near_keeps_it_up() {
    let mut it = two(3, [3, 3], 700);
    it.wakes((0, 3), task(5), 1720, worth, ALL);
    assert_eq!(it.books.times, [20, 100, 600, 1000]);
    assert!(blocked(&it, 3).contains(&(Who::Task(5), 700)));
    adds_up(&it, 1720);
}

#[test]
fn devices_may_keep_it_up_and_no_cpu_is_blamed_for_that() {
    let mut it = two(1, [3, 3], 5000);
    it.ends(2000, ALL);
    assert_eq!(it.books.times, [20, 1980]);
    adds_up(&it, 2000);
}

#[test]
fn what_is_open_at_the_end_is_said_to_be() {
    let mut it = two(3, [0, 3], 5000);
    it.ends(3000, ALL);
    assert!(blocked(&it, 1).contains(&(Who::End, 1980)));
    adds_up(&it, 3000);
}

#[test]
fn only_the_window_counts() {
    let window = (1005, 1500);
    let mut it = Package::new(1, &states(), 3);
    it.wakes((0, 3), task(0), 1000, worth, window);
    it.idles(0, 3, 1010, 5000, window);
    it.wakes((0, 3), task(1), 2000, worth, window);
    it.ends(2500, window);
    assert_eq!(it.books.times, [5, 100, 200, 190]);
    assert_eq!(it.books.exits, [0; 4], "both wake-ups are outside");
    adds_up(&it, 495);
}

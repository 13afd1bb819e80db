//! A scenario that leaves nothing behind, run twice in one machine: what the second run does is what the
//! first one did, later by the time of one.
//!
//! Compared is all that a kernel would trace, in order and with its times; numbers of tasks, grace periods
//! and callbacks grow and are left out. A run begins at a multiple of what the wheel rounds to.

use quiescent_sim::{Machine, Op, Options, Queued, SrcuOp, Work, settings};

const MS: u64 = 1_000_000;

/// The time of a run: a multiple of 8⁴ jiffies, and longer than lazy callbacks wait.
const ROUND: u64 = 16_384 * MS;

/// What a task does, one after the other; times of sleeps are those of the run.
struct List(u64, std::vec::IntoIter<Op>);

impl Work for List {
    fn next(&mut self, _: u64) -> Op {
        match self.1.next() {
            Some(Op::SleepUntil(at)) => Op::SleepUntil(self.0 + at),
            op => op.unwrap_or(Op::Exit),
        }
    }
}

/// Every kind of wait, sections that are preempted and asleep, callbacks of all kinds, and a flood of them.
fn tasks() -> [(&'static str, u32, Vec<Op>); 4] {
    let call = |lazy| Op::Call(Queued::of(0).lazy(lazy));
    let mut frees = vec![call(true); 3];
    frees.extend([Op::SleepUntil(30 * MS), call(false), Op::Barrier]);
    frees.extend(vec![call(true); 700]);
    frees.extend([Op::SleepUntil(90 * MS), Op::Srcu(SrcuOp::Call(0))]);
    let waits = vec![
        Op::Synchronize,
        Op::SynchronizeExpedited,
        Op::SleepUntil(50 * MS),
        Op::Srcu(SrcuOp::Synchronize),
        Op::Barrier,
        Op::Synchronize,
    ];
    let reads = vec![
        Op::Lock,
        Op::Compute(7 * MS),
        Op::SleepUntil(20 * MS),
        Op::Unlock,
        Op::Srcu(SrcuOp::Lock),
        Op::SleepUntil(60 * MS),
        Op::Srcu(SrcuOp::Unlock),
    ];
    let computes = vec![Op::Compute(12 * MS), Op::Lock, Op::Kernel(MS), Op::Unlock];
    [
        ("frees", 1, frees),
        ("waits", 2, waits),
        ("reads", 2, reads),
        ("computes", 1, computes),
    ]
}

/// A line of a trace without the numbers that grow, its time counted from `from` on.
fn said(line: &str, from: u64) -> Option<(u64, String)> {
    let (who, event) = line.split_once(": ")?;
    let event = event.split(" gp_seq:").next()?;
    // What a CPU has still to note of the last grace period: in a machine that has booted there was none.
    if event.ends_with("cpuend") || event.ends_with("cpustart") {
        return None;
    }
    let (place, time) = who.rsplit_once(' ')?;
    let us: u64 = time.replace('.', "").parse().ok()?;
    let (task, place) = place.rsplit_once('-')?;
    let place = place.trim_start_matches(|it: char| it.is_ascii_digit());
    let grows = ["pid=", "rhp=", "now=", "baseclk="];
    let number = |it: &str| {
        it.trim_start_matches('-')
            .chars()
            .all(|it| it.is_ascii_digit())
    };
    let words = event
        .split(' ')
        .filter(|it| !number(it) && !grows.iter().any(|key| it.contains(key)));
    let words: Vec<&str> = words.collect();
    let at = us.checked_sub(from / 1000)?;
    Some((
        at,
        format!("{} {} {}", task.trim(), place.trim(), words.join(" ")),
    ))
}

/// What happens in runs of the scenario, one after the other.
fn rounds(sets: &[(&str, &str)]) -> [Vec<(u64, String)>; 3] {
    let mut options = Options::kernel_6_12(4, 1000);
    settings::apply(&mut options, sets).unwrap();
    let mut machine = Machine::new(options);
    machine.func("f");
    machine.keep_trace();
    let begins = [ROUND, 2 * ROUND, 3 * ROUND];
    for begin in begins {
        machine.run(begin);
        for (name, cpu, ops) in tasks() {
            machine.spawn(name, cpu, begin + MS, List(begin, ops.into_iter()));
        }
    }
    machine.run(4 * ROUND);
    assert_eq!((machine.owed(), machine.too_early()), (0, 0), "{sets:?}");
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    begins.map(|begin| {
        let lines = text.lines().filter_map(|it| said(it, begin));
        lines.filter(|it| it.0 < ROUND / 1000).collect()
    })
}

fn same(sets: &[(&str, &str)], first: &[(u64, String)], second: &[(u64, String)]) {
    assert!(first.len() > 2000, "{sets:?}: {} lines", first.len());
    for (n, (first, second)) in first.iter().zip(second).enumerate() {
        assert_eq!(first, second, "{sets:?}: line {n}");
    }
    assert_eq!(first.len(), second.len(), "{sets:?}");
}

#[test]
fn the_second_run_is_the_first_one_again() {
    let machines: [&[(&str, &str)]; 3] = [
        &[],
        &[("idle_loop", "retain"), ("early_qs", "init")],
        &[("preempt", "0"), ("rcu_normal_wake_from_gp", "1")],
    ];
    for sets in machines {
        let [first, second, third] = rounds(sets);
        same(sets, &first, &second);
        same(sets, &second, &third);
    }
}

/// An offloaded CPU remembers how many callbacks it has queued in one jiffy, as a kernel's does: in the first
/// run there is nothing to remember.
#[test]
fn of_offloaded_callbacks_the_third_run_is_the_second_one_again() {
    let machines: [&[(&str, &str)]; 3] = [
        &[("rcu", "offload")],
        &[("rcu", "lazy"), ("idle_loop", "retain")],
        &[("nohz_full", "2"), ("timer_migration", "0")],
    ];
    for sets in machines {
        let [_, second, third] = rounds(sets);
        same(sets, &second, &third);
    }
}

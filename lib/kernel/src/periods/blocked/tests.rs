//! Unlocks that delay nothing, and trees that change under queued readers.

use super::*;
use crate::periods::config::Config;
use crate::periods::geometry::GeometryParams;
use crate::periods::global::Phase;
use crate::periods::host::{LeafId, Now, Seen};

/// Four CPUs in two leaves: inside at every scan.
struct Inside;

impl Host for Inside {
    fn cpus(&self) -> u32 {
        4
    }
    fn observe(&self, _: CpuId) -> Seen {
        Seen {
            outside: false,
            stamp: 1,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        0b11
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        false
    }
}

fn geometry(leaf_fanout: u32) -> GeometryParams {
    GeometryParams {
        leaf_fanout,
        inner_fanout: 2,
        exact: true,
    }
}

fn engine() -> Global {
    let config = Config {
        geometry: geometry(2),
        ..Config::kernel_6_12(4, 1000)
    };
    let mut engine = Global::new(config);
    let tree = Global::new_tree(&config, 4).expect("four CPUs fit");
    assert!(engine.grow(tree).is_ok());
    let tasks = Tasks::new(8).expect("eight tasks fit");
    assert!(engine.grow_tasks(tasks).is_ok());
    engine
}

/// The task was preempted on this CPU.
fn preempted(engine: &mut Global, cpu: CpuId, task: TaskId) {
    let _ = engine.context_switch(cpu, Some(task), &Inside);
}

fn unlock(engine: &mut Global, task: TaskId) -> Effects {
    match engine.read_unlock(0, Some(task), Disabled::Nothing, &Inside) {
        Unlocked::Done(effects) => effects,
        later => panic!("nothing is disabled: {later:?}"),
    }
}

/// A grace period of each kind that waits for its holdouts.
fn both_in_flight(engine: &mut Global) {
    let _ = engine.start_poll(0, &Inside);
    assert!(engine.try_drive(None));
    while engine.phase != Phase::Wait {
        if let Next::Fence = engine.step(Now::default(), &Inside).next {
            let _ = engine.fenced();
        }
    }
    let cookie = engine.exp_snap(&Inside);
    assert_eq!(
        engine.exp_climb(0, cookie, &Inside),
        crate::periods::exp::Climb::Begin
    );
    assert_eq!(
        engine.exp_begin(cookie, &Inside),
        crate::periods::exp::ExpBegin::Begun
    );
    while engine.exp_phase() != crate::periods::exp::ExpPhase::Wait {
        match engine.exp_step(None, Now::default(), &Inside).next {
            crate::periods::exp::ExpNext::Fence => engine.exp_fenced(&Inside),
            crate::periods::exp::ExpNext::Ask { .. } => {
                assert!(!engine.exp_asked(0, &Inside).stalled)
            }
            _ => {}
        }
    }
}

#[test]
fn an_unlock_that_delays_no_grace_period_wakes_no_thread() {
    let mut engine = engine();
    preempted(&mut engine, 1, 5);
    let effects = unlock(&mut engine, 5);
    assert!(!effects.wake_gp && !effects.wake_exp && !engine.force);
}

#[test]
fn the_last_one_in_the_way_wakes_both_threads_and_is_looked_at_without_a_wait() {
    // Whose reader is the last: with CPUs that owe, with another reader behind, or alone.
    let mut engine = engine();
    for (cpu, task) in [(0, 0), (1, 1), (2, 2)] {
        preempted(&mut engine, cpu, task);
    }
    both_in_flight(&mut engine);
    let woken = |effects: Effects| (effects.wake_gp, effects.wake_exp);
    assert_eq!(
        woken(unlock(&mut engine, 0)),
        (false, false),
        "1 is behind it"
    );
    assert_eq!(
        woken(unlock(&mut engine, 1)),
        (false, false),
        "CPUs 0 and 1 owe"
    );
    let seq = engine.gp_seq;
    for cpu in 0..4 {
        let _ = engine.report_qs(cpu, seq, &Inside);
        let _ = engine.report_exp_cpu(cpu);
    }
    assert!(!engine.force, "a reader is in the way");
    assert_eq!(woken(unlock(&mut engine, 2)), (true, true));
    assert!(engine.force);
}

#[test]
fn the_last_report_is_looked_at_without_a_wait() {
    let mut engine = engine();
    both_in_flight(&mut engine);
    let seq = engine.gp_seq;
    for cpu in 0..4 {
        let last = engine.report_qs(cpu, seq, &Inside).wake_gp;
        assert_eq!((last, engine.force), (cpu == 3, cpu == 3));
    }
}

#[test]
fn a_tree_without_the_leaf_of_a_queued_reader_is_refused() {
    for (queued, fits) in [(false, true), (true, false)] {
        let mut engine = engine();
        if queued {
            preempted(&mut engine, 3, 1); // in the second leaf
        }
        let tree = Tree::new(5, geometry(16)).expect("five CPUs fit");
        assert_eq!(tree.leaves(), 1);
        assert_eq!(engine.grow(tree).is_ok(), fits);
    }
}

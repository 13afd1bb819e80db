//! Cases that the test host cannot produce: calls out of order, and reports that overtake the set-up.

use super::*;
use crate::periods::config::Config;
use crate::periods::geometry::GeometryParams;
use crate::periods::host::{Now, Seen};
use crate::periods::tree::bits;

/// Seven CPUs, awake and outside, in three levels.
struct Awake;

impl Host for Awake {
    const TRACES: bool = false;
    fn cpus(&self) -> u32 {
        7
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
        true
    }
}

fn engine() -> Global {
    let geometry = GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: true,
    };
    let mut engine = Global::new(Config {
        geometry,
        ..Config::kernel_6_12(7, 1000)
    });
    let tree = Global::new_tree(engine.config(), 7).expect("a small tree");
    assert!(engine.grow(tree).is_ok());
    engine
}

/// A grace period that has issued its fence.
fn fenced() -> Global {
    let mut engine = engine();
    let cookie = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(0, cookie, &Awake), Climb::Begin);
    assert_eq!(engine.exp_begin(cookie, &Awake), ExpBegin::Begun);
    assert_eq!(step(&mut engine), ExpNext::Fence);
    engine.exp_fenced(&Awake);
    engine
}

fn step(engine: &mut Global) -> ExpNext {
    let next = engine.exp_step(None, Now::default(), &Awake).next;
    engine.check_expedited();
    next
}

#[test]
fn a_report_that_overtakes_the_setting_up_is_not_lost_and_not_counted_twice() {
    // CPU 6 is alone in its leaf, which is set up first; it departs after so many nodes.
    for nodes in 0..=7 {
        let mut engine = fenced();
        for _ in 0..nodes {
            assert_eq!(step(&mut engine), ExpNext::Again);
        }
        let effects = engine.departed(6, &Awake);
        engine.check_expedited();
        assert!(!effects.wake_exp, "six others owe");
        for _ in 0..60 {
            if engine.exp_phase() == ExpPhase::Wait {
                break;
            }
            if let ExpNext::Ask { lo, .. } = step(&mut engine) {
                // CPU 6 reported before its leaf was set up, or not: now it is gone.
                let _ = engine.exp_asked(0, &Awake);
                assert!(lo < 6 || nodes == 0, "after {nodes} nodes");
            }
        }
        let mut woken = false;
        for cpu in 0..7 {
            woken |= engine.exp_interrupt(cpu, Interrupted::Quiescent).wake_exp;
            engine.check_expedited();
        }
        assert!(woken, "after {nodes} nodes");
        assert_eq!(step(&mut engine), ExpNext::Done, "after {nodes} nodes");
    }
}

#[test]
fn every_cpu_is_asked_once_and_the_last_report_wakes_the_driver() {
    let mut engine = fenced();
    let mut asked = alloc::vec::Vec::new();
    for _ in 0..60 {
        if engine.exp_phase() == ExpPhase::Wait {
            break;
        }
        if let ExpNext::Ask { lo, cpus } = step(&mut engine) {
            asked.extend(bits(cpus).map(|bit| lo + bit));
            let _ = engine.exp_asked(0, &Awake);
        }
    }
    assert_eq!(asked, [0, 1, 2, 3, 4, 5, 6]);
    for cpu in 0..7 {
        let handled = engine.exp_interrupt(cpu, Interrupted::Section);
        assert!(handled.hint && !handled.wake_exp);
    }
    for cpu in 0..7 {
        let effects = engine.context_switch(cpu, None, &Awake);
        assert_eq!(effects.wake_exp, cpu == 6);
    }
    assert_eq!(step(&mut engine), ExpNext::Done);
}

#[test]
fn asking_is_repeated_until_the_host_has_answered() {
    let mut engine = fenced();
    let asks = |next| matches!(next, ExpNext::Ask { .. });
    assert!((0..60).any(|_| asks(step(&mut engine))));
    assert!(asks(step(&mut engine)));
    assert!(asks(step(&mut engine)));
    assert_eq!(engine.exp_asked(0b11, &Awake).next, ExpNext::Sleep(Some(1)));
    assert!(asks(step(&mut engine)), "they are there: asked again");
}

#[test]
fn without_a_tree_everybody_contends_and_the_start_wants_one() {
    let mut engine = Global::new(Config::kernel_6_12(7, 1000));
    let cookie = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(0, cookie, &Awake), Climb::Begin);
    assert_eq!(engine.exp_climb(0, cookie, &Awake), Climb::Contend);
    assert!(!engine.exp_lock());
    assert_eq!(engine.exp_begin(cookie, &Awake), ExpBegin::Grow(7));
    let tree = Global::new_tree(engine.config(), 7).expect("a small tree");
    assert!(engine.grow(tree).is_ok());
    assert_eq!(engine.exp_begin(cookie, &Awake), ExpBegin::Begun);
}

#[test]
fn the_generations_that_are_live_at_once_have_different_queues() {
    let mut seq = Seq::from_raw(quiescent_engine::seq::Word::MAX - 40).end();
    for _ in 0..30 {
        let next = seq.start().end();
        let after = next.start().end();
        let queues = [seq, next, after].map(queue_of);
        assert!(queues[0] != queues[1] && queues[1] != queues[2] && queues[0] != queues[2]);
        seq = next;
    }
}

#[test]
#[should_panic(expected = "exp_begin without the role")]
fn a_start_needs_the_role() {
    let mut engine = engine();
    let cookie = engine.exp_snap(&Awake);
    let _ = engine.exp_begin(cookie, &Awake);
}

#[test]
#[should_panic(expected = "exp_release without the role")]
fn the_role_is_kept_until_the_end() {
    fenced().exp_release();
}

#[test]
#[should_panic(expected = "no CPU was to be asked")]
fn an_answer_needs_a_question() {
    let _ = fenced().exp_asked(0, &Awake);
}

/// Two CPUs a leaf; these bits of each leaf are there, and these are seen outside.
struct Some2 {
    present: u64,
    outside: u64,
}

impl Host for Some2 {
    const TRACES: bool = false;
    fn cpus(&self) -> u32 {
        7
    }
    fn observe(&self, cpu: CpuId) -> Seen {
        Seen {
            outside: self.outside & 1 << (cpu % 2) != 0,
            stamp: 1,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        self.present
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        true
    }
}

#[test]
fn the_first_look_leaves_those_who_are_there_and_inside() {
    for (present, outside, left) in [
        (0b11, 0b00, 0b11),
        (0b11, 0b01, 0b10),
        (0b11, 0b10, 0b01),
        (0b11, 0b11, 0b00),
        (0b01, 0b00, 0b01),
        (0b10, 0b00, 0b10),
        (0b10, 0b10, 0b00),
        (0b00, 0b00, 0b00),
    ] {
        let mut engine = fenced();
        while !matches!(engine.exp.phase, ExpPhase::Select(0)) {
            let _ = step(&mut engine);
        }
        let host = Some2 { present, outside };
        let next = engine.exp_step(None, Now::default(), &host).next;
        let asks = ExpPhase::Ask {
            leaf: 0,
            cpus: left,
        };
        let case = (present, outside);
        assert_eq!((next, engine.exp.phase), (ExpNext::Again, asks), "{case:?}");
    }
}

#[test]
fn who_is_in_no_leaf_climbs_from_the_first() {
    let mut engine = engine();
    let leaves = engine.tree().expect("there is one").leaves();
    engine.exp.held = true;
    let cookie = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(leaves, cookie, &Awake), Climb::Contend);
    assert!(matches!(
        engine.exp_climb(0, cookie, &Awake),
        Climb::Wait { .. }
    ));
    assert!(engine.start_poll_expedited(leaves).queue_work);
    assert!(
        !engine.start_poll_expedited(0).queue_work,
        "it is the same leaf's"
    );
}

#[test]
fn a_role_that_is_free_is_not_taken_past_a_caller_ahead() {
    let mut engine = engine();
    engine.exp.held = true;
    let cookie = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(0, cookie, &Awake), Climb::Contend);
    engine.exp_release(); // the contender has not taken it yet
    let queue = queue_of(cookie);
    let waits = Climb::Wait { node: 0, queue };
    assert_eq!(engine.exp_climb(3, cookie, &Awake), waits);
    assert!(engine.exp_lock());
}

#[test]
fn the_end_is_published_and_the_wakeups_move_no_request_back() {
    let mut engine = engine();
    let cookie = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(0, cookie, &Awake), Climb::Begin);
    assert_eq!(engine.exp_begin(cookie, &Awake), ExpBegin::Begun);
    // Another caller requests the next one at the same time.
    let later = engine.exp_snap(&Awake);
    assert_eq!(engine.exp_climb(2, later, &Awake), Climb::Contend);
    let end = loop {
        let effects = engine.exp_step(None, Now::default(), &Awake);
        match effects.next {
            ExpNext::Fence => engine.exp_fenced(&Awake),
            ExpNext::Ask { .. } => assert_eq!(engine.exp_asked(0, &Awake).publish, None),
            ExpNext::Sleep(_) => {
                (0..7).for_each(|cpu| assert_eq!(engine.report_exp_cpu(cpu), cpu == 6))
            }
            ExpNext::Done => break effects,
            ExpNext::Again => assert_eq!(effects.publish, None),
        }
    };
    assert_eq!(end.publish, Some(engine.exp_seq()));
    let asked = |engine: &Global| -> alloc::vec::Vec<Seq> {
        let nodes = &engine.tree().expect("there is one").nodes;
        nodes.iter().map(|node| node.exp.exp_seq_rq).collect()
    };
    let before = asked(&engine);
    while engine.exp_wake(&Awake).is_some_and(|wake| !wake.last) {}
    for (node, (before, after)) in before.into_iter().zip(asked(&engine)).enumerate() {
        assert!(
            after.ge(before) && after.ge(engine.exp_seq()),
            "node {node}"
        );
        assert_eq!(after.ge(later), before.ge(later), "node {node}");
    }
}

#[test]
fn the_last_wake_up_wakes_the_next_driver_if_it_waits_to_end() {
    for (phase, wakes) in [(ExpPhase::Wait, true), (ExpPhase::Select(0), false)] {
        let mut engine = engine();
        engine.exp.waking = Some((engine.exp_seq, 0));
        engine.exp.phase = phase;
        let nodes = engine.tree().expect("there is one").nodes.len();
        for node in 0..nodes {
            let wake = engine.exp_wake(&Awake).expect("a node is left");
            let last = node + 1 == nodes;
            assert_eq!((wake.last, wake.wake_exp), (last, last && wakes), "{node}");
        }
    }
}

/// Steps to where those of the first leaf are about to be asked, all of them.
fn about_to_ask() -> Global {
    let mut engine = fenced();
    while !matches!(engine.exp.phase, ExpPhase::Ask { leaf: 0, .. }) {
        let _ = step(&mut engine);
    }
    engine
}

#[test]
fn who_leaves_between_the_looks_is_not_asked() {
    let mut engine = about_to_ask();
    let host = Some2 {
        present: 0b01,
        outside: 0,
    };
    let next = engine.exp_step(None, Now::default(), &host).next;
    assert_eq!(next, ExpNext::Ask { lo: 0, cpus: 0b01 });
}

#[test]
fn who_takes_the_interrupt_is_not_looked_at_again() {
    let mut engine = about_to_ask();
    assert_eq!(step(&mut engine), ExpNext::Ask { lo: 0, cpus: 0b11 });
    let _ = engine.exp_asked(0b01, &Awake);
    // CPU 1 answers itself. (A scan would find it outside by now.)
    let host = Some2 {
        present: 0b11,
        outside: 0b10,
    };
    let next = engine.exp_step(None, Now::default(), &host).next;
    assert_eq!(next, ExpNext::Ask { lo: 0, cpus: 0b01 });
    assert!(engine.exp_holdouts().any(|cpu| cpu == 1));
}

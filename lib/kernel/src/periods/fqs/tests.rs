use super::*;
use crate::periods::host::{CpuId, LeafId, Now, Seen};

/// Four CPUs in two leaves, inside for ever; those of the second leaf that are there.
struct Four(core::cell::Cell<u64>);

impl Host for Four {
    fn cpus(&self) -> u32 {
        4
    }
    fn observe(&self, _: CpuId) -> Seen {
        Seen {
            outside: false,
            stamp: 1,
        }
    }
    fn present(&self, leaf: LeafId) -> u64 {
        if leaf == 0 { 3 } else { self.0.get() }
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        false
    }
}

/// A kernel's machine of that shape whose grace period waits for its first scan.
fn waits(host: &Four) -> Global {
    let geometry = crate::periods::geometry::GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: true,
    };
    let config = crate::periods::config::Config {
        geometry,
        ..crate::periods::config::Config::kernel_6_12(4, 1000)
    };
    let mut engine = Global::new(config);
    let tree = Global::new_tree(&config, 4).expect("four CPUs fit");
    assert!(engine.grow(tree).is_ok());
    let _ = engine.start_poll(0, host);
    assert!(engine.try_drive(None));
    while engine.phase != Phase::Wait {
        if let Next::Fence = engine.step(Now::default(), host).next {
            let _ = engine.fenced();
        }
    }
    engine
}

/// Scans once, this many ticks after the start; returns the lowest CPUs of the leaves in which a CPU is
/// pressed.
fn scans(engine: &mut Global, jiffies: u64, host: &Four) -> alloc::vec::Vec<CpuId> {
    let now = Now {
        jiffies,
        ..Now::default()
    };
    let mut asked = alloc::vec::Vec::new();
    loop {
        let effects = engine.step(now, host);
        asked.extend(effects.nudge.map(|nudge| nudge.lo));
        if let Next::Sleep(_) = effects.next {
            return asked;
        }
    }
}

#[test]
fn holdouts_of_every_leaf_are_asked() {
    let host = Four(core::cell::Cell::new(3));
    let mut engine = waits(&host);
    assert_eq!(
        scans(&mut engine, 50, &host),
        [],
        "the first scan makes no request"
    );
    assert_eq!(scans(&mut engine, 1000, &host), [0, 2]);
}

#[test]
fn one_that_left_without_a_word_is_credited_by_a_second_look_and_counted() {
    let host = Four(core::cell::Cell::new(3));
    let mut engine = waits(&host);
    host.0.set(1);
    let holdouts = |engine: &Global| engine.holdouts().collect::<alloc::vec::Vec<_>>();
    scans(&mut engine, 50, &host);
    assert_eq!(engine.counts.offline_holdouts, 0);
    assert_eq!(holdouts(&engine), [0, 1, 2, 3]);
    scans(&mut engine, 100, &host);
    assert_eq!(engine.counts.offline_holdouts, 1);
    assert_eq!(holdouts(&engine), [0, 1, 2]);
}

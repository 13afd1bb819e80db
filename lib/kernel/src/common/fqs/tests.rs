use super::*;
use crate::common::host::{CpuId, LeafId, Now, Seen};

/// Two CPUs, of which one is inside for ever.
struct Inside;

impl Host for Inside {
    fn cpus(&self) -> u32 {
        2
    }
    fn observe(&self, cpu: CpuId) -> Seen {
        Seen {
            outside: cpu == 0,
            stamp: 1,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        3
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        true
    }
}

/// What a driver does that comes to a grace period which was left at `wait`, and whether it owes the fence
/// then.
fn resumes(interest: Interest, wait: Wait) -> (Next, bool) {
    let config = crate::common::config::Config::threads();
    let mut engine = Global::new(config);
    let tree = Global::new_tree(&config, 2).expect("two CPUs fit");
    assert!(engine.grow(tree).is_ok());
    let _ = engine.start_poll(0, &Inside);
    assert!(engine.try_drive(Some(0), interest));
    while !matches!(engine.phase, Phase::Scan(_)) {
        if let Next::Fence(_) = engine.step(Now::default(), &Inside).next {
            let _ = engine.fenced();
        }
    }
    engine.phase = Phase::Wait(wait);
    let effects = engine.step(Now::default(), &Inside);
    (effects.next, engine.fqs.fence_owed)
}

#[test]
fn who_only_helps_looks_once_and_leaves_the_fence_to_the_next() {
    let flag = Next::FlagHoldouts { arm: false };
    for (wait, owed) in [
        (Wait::Flag, false),
        (Wait::Arming, false),
        (Wait::Fence, true),
    ] {
        let looks = (Next::Again, owed);
        assert_eq!(resumes(Interest::Passing, wait), looks, "{wait:?}");
        if wait != Wait::Flag {
            assert_eq!(resumes(Interest::Poller, wait), looks, "{wait:?}");
            let (next, owed) = resumes(Interest::GpThread, wait);
            assert!(next != Next::Again && !owed, "{wait:?}");
        }
    }
    assert_eq!(resumes(Interest::Poller, Wait::Flag), (flag, false));
    assert_eq!(resumes(Interest::GpThread, Wait::Flag), (flag, false));
}

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
    let geometry = crate::common::geometry::GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: true,
    };
    let config = crate::common::config::Config {
        geometry,
        ..crate::common::config::Config::kernel_6_12(4, 1000)
    };
    let mut engine = Global::new(config);
    let tree = Global::new_tree(&config, 4).expect("four CPUs fit");
    assert!(engine.grow(tree).is_ok());
    let _ = engine.start_poll(0, host);
    assert!(engine.try_drive(None, Interest::GpThread));
    while engine.phase != Phase::Wait(Wait::Ticks) {
        if let Next::Fence(_) = engine.step(Now::default(), host).next {
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

#[test]
fn a_poller_flags_again_and_does_not_sleep_whatever_the_last_driver_had_done() {
    for stage in [Wait::After, Wait::Armed] {
        let config = crate::common::config::Config::threads();
        let mut engine = Global::new(config);
        let tree = Global::new_tree(&config, 2).expect("two CPUs fit");
        assert!(engine.grow(tree).is_ok());
        let _ = engine.start_poll(0, &Inside);
        assert!(engine.try_drive(None, Interest::Poller));
        while !matches!(engine.phase, Phase::Scan(_)) {
            if let Next::Fence(_) = engine.step(Now::default(), &Inside).next {
                let _ = engine.fenced();
            }
        }
        engine.fqs.stage = stage;
        let mut next = Next::Again;
        while next == Next::Again {
            next = engine.step(Now::default(), &Inside).next;
        }
        assert_eq!(next, Next::FlagHoldouts { arm: false }, "{stage:?}");
    }
}

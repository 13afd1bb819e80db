use super::*;

#[test]
fn a_fence_ends_the_phase_that_asked_for_it_and_no_other() {
    let mut engine = Global::new(crate::periods::config::Config::kernel_6_12(2, 1000));
    for (before, after) in [
        (Phase::Fence, Phase::Hotplug(0)),
        (Phase::Wait, Phase::Wait),
        (Phase::Idle, Phase::Idle),
    ] {
        engine.phase = before;
        assert_eq!((engine.fenced(), engine.phase), (Next::Again, after));
    }
}

/// Four CPUs in two leaves, outside at every scan.
pub(crate) struct Idle;

impl Host for Idle {
    fn cpus(&self) -> u32 {
        4
    }
    fn observe(&self, _: crate::periods::host::CpuId) -> crate::periods::host::Seen {
        crate::periods::host::Seen {
            outside: true,
            stamp: 0,
        }
    }
    fn present(&self, _: usize) -> u64 {
        3
    }
    fn own_quiescent(&self, _: crate::periods::host::CpuId) -> bool {
        true
    }
}

/// With a tree for [`Idle`], and a grace-period thread as the driver.
pub(crate) fn engine() -> Global {
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
    assert!(engine.try_drive(None));
    engine
}

/// Steps until the grace period waits for its readers.
pub(crate) fn until_waiting(engine: &mut Global, host: &impl Host) {
    while !matches!(engine.phase, Phase::Wait) {
        if let Next::Fence = engine.step(Now::default(), host).next {
            let _ = engine.fenced();
        }
    }
}

/// As [`engine`], after one grace period.
pub(crate) fn after_one() -> Global {
    let mut engine = engine();
    let _ = engine.start_poll(0, &Idle);
    let mut now = Now::default();
    while engine.counts().grace_periods == 0 || engine.phase != Phase::Idle {
        now.jiffies += 1;
        if let Next::Fence = engine.step(now, &Idle).next {
            let _ = engine.fenced();
        }
    }
    engine
}

#[test]
fn what_polls_ask_is_published_as_it_changes() {
    let mut engine = engine();
    assert!(engine.start_poll(0, &Idle).1.wake_gp);
    let (mut seen, mut now) = (alloc::vec::Vec::new(), Now::default());
    while engine.counts().grace_periods == 0 {
        let (before, published) = (engine.phase, engine.published());
        now.jiffies += 1;
        let effects = engine.step(now, &Idle);
        if let Some(new) = effects.publish {
            assert_eq!(new, engine.published());
            seen.push(before);
        } else {
            assert_eq!(published, engine.published(), "{before:?}");
        }
        if let Next::Fence = effects.next {
            let _ = engine.fenced();
        }
    }
    let all = [Phase::Idle, Phase::Init(0), Phase::Cleanup(0), Phase::End];
    assert_eq!(seen, all);
}

#[test]
fn a_request_is_known_where_it_was_noted() {
    let mut engine = engine();
    let _ = engine.start_poll(0, &Idle);
    until_waiting(&mut engine, &Idle);
    let next = engine.gp_seq.snap();
    assert!((0..4).all(|leaf| !engine.is_coming(leaf, next)));
    assert!(!engine.start_poll(1, &Idle).1.wake_gp, "it is in flight");
    assert_eq!(
        [0, 1].map(|leaf| engine.is_coming(leaf, next)),
        [false, true]
    );
    // A CPU that is in no leaf yet requests through the first one.
    let _ = engine.start_poll(2, &Idle);
    assert!((0..4).all(|leaf| engine.is_coming(leaf, next)));
}

/// The present CPUs, leaf by leaf; and the number of traced reports.
pub(crate) struct There(pub(crate) [u64; 2], core::cell::Cell<u32>);

impl There {
    pub(crate) fn new(present: [u64; 2]) -> There {
        There(present, Default::default())
    }
}

impl Host for There {
    fn cpus(&self) -> u32 {
        4
    }
    fn observe(&self, _: crate::periods::host::CpuId) -> crate::periods::host::Seen {
        crate::periods::host::Seen {
            outside: false,
            stamp: 0,
        }
    }
    fn present(&self, leaf: usize) -> u64 {
        self.0[leaf]
    }
    fn own_quiescent(&self, _: crate::periods::host::CpuId) -> bool {
        false
    }
    fn trace(&self, event: &Event) {
        if let Event::QuiescentStateReport { .. } = event {
            self.1.set(self.1.get() + 1);
        }
    }
}

#[test]
fn nothing_is_reported_for_a_leaf_without_cpus() {
    let mut engine = engine();
    let host = There::new([3, 0]);
    let _ = engine.start_poll(0, &host);
    until_waiting(&mut engine, &host);
    assert_eq!(host.1.get(), 0);
}

//! One call against the steps, in all small states.

use core::cell::RefCell;

use alloc::vec::Vec;

use super::*;
use crate::common::counts::Counts;
use crate::common::global::Interest;
use crate::common::host::{Effects, Next, Now, Pos, Seen};

/// Up to eight CPUs, two a leaf, two nodes a parent.
#[derive(Debug)]
struct World<const TRACES: bool = true> {
    cpus: u32,
    present: u64,
    inside: u64,
    events: RefCell<Vec<Event>>,
}

impl<const TRACES: bool> World<TRACES> {
    fn new(cpus: u32, present: u64, inside: u64) -> World<TRACES> {
        World {
            cpus,
            present,
            inside,
            events: RefCell::default(),
        }
    }
}

impl<const TRACES: bool> Host for World<TRACES> {
    const TRACES: bool = TRACES;

    fn cpus(&self) -> u32 {
        self.cpus
    }
    fn observe(&self, cpu: CpuId) -> Seen {
        Seen {
            outside: self.inside & 1 << cpu == 0,
            stamp: u64::from(cpu) + 7,
        }
    }
    fn present(&self, leaf: LeafId) -> u64 {
        self.present >> (2 * leaf) & 0b11
    }
    fn occupied(&self, group: usize) -> u64 {
        match group {
            0 => (0..4).fold(0, |all, leaf| {
                all | u64::from(self.present(leaf) != 0) << leaf
            }),
            _ => 0,
        }
    }
    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.observe(cpu).outside
    }
    fn trace(&self, event: &Event) {
        self.events.borrow_mut().push(*event);
    }
}

/// The steps of a waiter's grace period: what they published last, or what the host was asked for.
#[allow(clippy::result_large_err, reason = "a diagnosis, made once")]
fn by_steps(
    engine: &mut Global,
    cpu: Option<CpuId>,
    expedited: bool,
    host: &impl Host,
) -> Result<Published, Option<Effects>> {
    let tree = engine.tree.as_ref();
    let place = cpu.and_then(|cpu| tree.and_then(|tree| tree.place_of(cpu)));
    let (ticket, _) = engine.wait_for_gp(place.map_or(0, |(leaf, _)| leaf), expedited, host);
    let alone = ticket == engine.waiters.done();
    if !alone || !engine.try_drive(cpu, Interest::Waiter(ticket)) {
        return Err(None);
    }
    loop {
        let effects = engine.step(Now::default(), host);
        let plain = Effects {
            publish: effects.publish,
            gp_end: effects.gp_end, // for kernels
            waiters_until: effects.waiters_until.map(|_| ticket + 1),
            ..Effects::only(effects.next)
        };
        match effects.next {
            _ if effects != plain => return Err(Some(effects)),
            Next::Again => {}
            Next::Done if engine.leave() == Next::Done => return Ok(engine.published()),
            _ => return Err(Some(effects)),
        }
    }
}

/// What is pending when the call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pending {
    Nothing,
    Request,
    Waiter,
    Driver,
}

impl Pending {
    fn add(self, engine: &mut Global, host: &impl Host) {
        match self {
            Pending::Nothing => {}
            Pending::Request => _ = engine.start_poll(0, host),
            Pending::Waiter => _ = engine.wait_for_gp(0, false, host),
            Pending::Driver => assert!(engine.try_drive(None, Interest::Poller)),
        }
    }
}

/// An engine that has had a grace period with these present, by a poller that is none of them.
fn engine(config: Config, cpus: u32, present: u64) -> Global {
    let mut engine = Global::new(config);
    let tree = Global::new_tree(&config, cpus).expect("a small tree");
    assert!(engine.grow(tree).is_ok());
    let host = World::<true>::new(cpus, present, 0);
    let _ = engine.start_poll(0, &host);
    assert!(engine.try_drive(None, Interest::Poller));
    while engine.counts.grace_periods == 0 {
        if let Next::Fence(_) = engine.step(Now::default(), &host).next {
            let _ = engine.fenced();
        }
    }
    assert_eq!(engine.leave(), Next::Done);
    engine
}

fn config() -> Config {
    let mut config = Config::threads();
    config.geometry.leaf_fanout = 2;
    config.geometry.inner_fanout = 2;
    config
}

/// Makes the call on a copy, and the steps on another. True if the call was made.
fn agree<const TRACES: bool>(
    before: &Global,
    cpu: Option<CpuId>,
    expedited: bool,
    host: &World<TRACES>,
) -> bool {
    let (mut once, mut steps) = (before.clone(), before.clone());
    host.events.take();
    let Some(published) = once.sole_gp(cpu, expedited, host) else {
        assert_eq!(&once, before, "refused: {cpu:?} in {host:?}");
        assert!(host.events.take().is_empty());
        return false;
    };
    let events = host.events.take();
    let stepped = by_steps(&mut steps, cpu, expedited, host);
    assert_eq!(stepped, Ok(published), "{cpu:?} in {host:?}, {before:?}");
    assert!(
        host.events.take() == events || !TRACES,
        "{cpu:?} in {host:?}"
    );
    assert!(steps.counts.steps > before.counts.steps + 3);
    steps.counts = Counts {
        steps: before.counts.steps + 1,
        ..steps.counts
    };
    assert_eq!(once, steps, "{cpu:?} in {host:?}");
    true
}

#[test]
fn one_call_does_what_the_steps_do_in_all_small_states() {
    use Pending::{Driver, Nothing, Request, Waiter};
    let mut made = [0, 0, 0];
    for (level, cpus) in [2, 4, 8].into_iter().enumerate() {
        let masks = || (0..1u64 << cpus).filter(|mask| cpus < 8 || mask.count_ones() < 3);
        for earlier in masks() {
            let engine = engine(config(), cpus, earlier);
            for (present, pending) in masks().flat_map(|present| {
                [Nothing, Request, Waiter, Driver].map(|pending| (present, pending))
            }) {
                let callers = (0..cpus).filter(|cpu| present & 1 << cpu != 0).map(Some);
                for cpu in callers.chain([None]) {
                    let own = cpu.map_or(0, |cpu| 1 << cpu);
                    for inside in [0, own, present & !own, present] {
                        let host = World::<true>::new(cpus, present, inside);
                        let mut before = engine.clone();
                        pending.add(&mut before, &host);
                        let alone = agree(&before, cpu, inside == 0, &host);
                        let silent = World::<false>::new(cpus, present, inside);
                        assert_eq!(agree(&before, cpu, inside == 0, &silent), alone);
                        let free = matches!(pending, Nothing | Request);
                        let sole = present == own && inside == 0 && free;
                        assert!(sole || !alone, "{pending:?}, {cpu:?} in {host:?}");
                        let known = present == earlier && (present != 0 || level == 0);
                        assert_eq!(sole && known, alone, "{pending:?}, {cpu:?} in {host:?}");
                        made[level] += u32::from(alone);
                    }
                }
            }
        }
    }
    assert!(made.into_iter().all(|made| made > 10), "{made:?}");
}

/// Several times in a row, with requests in between: what one call leaves is what the next one needs.
#[test]
fn calls_in_a_row_need_no_steps_in_between() {
    let host = World::<false>::new(4, 0b100, 0);
    let mut engine = engine(config(), 4, 0b100);
    let before = engine.counts;
    for n in 1..100 {
        let cookie = (n % 3 == 0).then(|| engine.start_poll(1, &host).0);
        let published = engine.sole_gp(Some(2), n % 5 == 0, &host);
        assert_eq!(published, Some(engine.published()));
        assert!(cookie.is_none_or(|cookie| engine.poll(cookie)) && !engine.busy());
        assert_eq!(engine.counts.grace_periods, before.grace_periods + n);
        assert_eq!(engine.waiters.done(), n as Pos);
    }
}

/// Two counts, which only the caller has used, or not.
struct Counted {
    alone: bool,
    open: [bool; 2],
}

impl Host for Counted {
    fn cpus(&self) -> u32 {
        2
    }
    fn observe(&self, count: CpuId) -> Seen {
        Seen {
            outside: !self.open[count as usize],
            stamp: 0,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        0b11
    }
    fn occupied(&self, group: usize) -> u64 {
        u64::from(group == 0 && !self.alone)
    }
    fn own_quiescent(&self, _: CpuId) -> bool {
        false
    }
}

#[test]
fn counts_have_to_be_the_callers_own_and_empty() {
    let engine = engine(Config::sleepable(), 2, 0b11);
    for (alone, open) in [
        (true, [false; 2]),
        (false, [false; 2]),
        (true, [true, false]),
        (true, [false, true]),
        (false, [true; 2]),
    ] {
        let mut engine = engine.clone();
        let before = engine.published().root;
        let passed = engine.sole_gp(None, false, &Counted { alone, open });
        assert_eq!(
            passed.is_some(),
            alone && open == [false; 2],
            "{alone}, {open:?}"
        );
        assert_eq!(engine.published().root != before, passed.is_some());
    }
}

#[test]
fn other_policies_make_steps() {
    let host = World::<true>::new(2, 1, 0);
    let passes = |config| {
        engine(config, 2, 1)
            .sole_gp(Some(0), false, &host)
            .is_some()
    };
    assert!(passes(config()));
    let with = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        passes(config)
    };
    assert!(!with(|c| c.sole_needs_no_fence = false));
    assert!(!with(|c| c.early_qs = EarlyQs::Scan));
    assert!(!with(|c| c.early_qs = EarlyQs::Init));
    assert!(!with(|c| c.direct_wakes_max = 0));
    let mut kernel = Global::new(Config::kernel_6_12(2, 1000));
    let tree = Global::new_tree(&kernel.config, 2).expect("a small tree");
    assert!(kernel.grow(tree).is_ok());
    let before = kernel.clone();
    assert_eq!(kernel.sole_gp(Some(0), false, &host), None);
    assert_eq!(kernel, before);
}

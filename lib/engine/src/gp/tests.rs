use core::cell::{Cell, RefCell};

use alloc::vec::Vec;

use super::*;
use crate::host::Seen;

/// Up to eight CPUs in leaves of two.
struct World {
    cpus: u32,
    present: u64,
    inside: u64,
    stamp: Cell<u64>,
    vacated: RefCell<Vec<LeafId>>,
}

impl World {
    fn new(cpus: u32, present: u64, inside: u64) -> World {
        World {
            cpus,
            present,
            inside,
            stamp: Cell::new(7),
            vacated: RefCell::default(),
        }
    }
}

impl Host for World {
    fn cpus(&self) -> u32 {
        self.cpus
    }
    fn observe(&self, cpu: CpuId) -> Seen {
        Seen {
            outside: self.inside & 1 << cpu == 0,
            stamp: self.stamp.get(),
        }
    }
    fn present(&self, leaf: LeafId) -> u64 {
        self.present >> (2 * leaf) & 0b11
    }
    fn vacated(&self, leaf: LeafId) {
        self.vacated.borrow_mut().push(leaf);
    }
}

/// An engine with leaves of two for so many CPUs.
fn engine(cpus: u32) -> Global {
    let mut config = Config::threads();
    config.leaf = 2;
    let mut engine = Global::new(config);
    let leaves = Global::new_leaves(&config, cpus).expect("a few");
    assert!(engine.grow(leaves).is_ok());
    engine
}

/// Drives until the engine asks for something other than a fence.
fn drive(engine: &mut Global, host: &impl Host) -> Next {
    for _ in 0..100 {
        match engine.step(Now::default(), host, 32) {
            Next::Again => {}
            Next::Fence(_) => _ = engine.fenced(),
            next => return next,
        }
    }
    panic!("it scans for ever");
}

fn holdouts(engine: &Global) -> Vec<CpuId> {
    engine.holdouts().collect()
}

#[test]
fn a_fence_ends_the_phase_that_asked_for_it_and_no_other() {
    let mut engine = engine(2);
    for (before, after) in [
        (Phase::Fence, Phase::Scan(0)),
        (Phase::Wait(Wait::Fence), Phase::Wait(Wait::Armed)),
        (Phase::Wait(Wait::Arming), Phase::Wait(Wait::Arming)),
        (Phase::Idle, Phase::Idle),
    ] {
        engine.phase = before;
        assert_eq!((engine.fenced(), engine.phase), (Next::Again, after));
    }
}

/// Every reader that is present and inside is waited for, in whatever leaf it is, and no other.
#[test]
fn exactly_the_readers_inside_are_waited_for() {
    for (present, inside) in
        (0..64u64).flat_map(|present| (0..64).map(move |inside| (present, inside)))
    {
        let host = World::new(6, present, inside);
        let mut engine = engine(6);
        let _ = engine.start_poll();
        assert!(engine.try_drive(None, Interest::Poller));
        let next = drive(&mut engine, &host);
        let expected: Vec<_> = (0..6)
            .filter(|cpu| present & inside & 1 << cpu != 0)
            .collect();
        assert_eq!(holdouts(&engine), expected, "{present:b}, {inside:b}");
        assert_eq!(next == Next::Done, expected.is_empty());
        assert_eq!(engine.published().state() == 0, expected.is_empty());
        let empty: Vec<_> = (0..3)
            .filter(|leaf| present >> (2 * leaf) & 3 == 0)
            .collect();
        // Once by the look for other participants, if there are none, and once by the scan.
        let vacated = host.vacated.borrow();
        assert!(vacated.ends_with(&empty), "{present:b}: {vacated:?}");
    }
}

/// A reader is credited by a later scan that finds it outside, or finds another stamp, or finds it absent.
#[test]
fn a_later_scan_credits_who_has_left_since_the_first() {
    let blocked = || {
        let mut engine = engine(4);
        let _ = engine.start_poll();
        assert!(engine.try_drive(None, Interest::Passing));
        let host = World::new(4, 0b1111, 0b1010);
        assert_eq!(drive(&mut engine, &host), Next::Done);
        assert_eq!(holdouts(&engine), [1, 3]);
        engine
    };
    let again = |change: fn(&mut World)| {
        let (mut engine, mut host) = (blocked(), World::new(4, 0b1111, 0b1010));
        change(&mut host);
        assert_eq!(drive(&mut engine, &host), Next::Done);
        holdouts(&engine)
    };
    assert_eq!(again(|_| ()), [1, 3], "the same sections");
    assert_eq!(again(|host| host.inside = 0b1000), [3], "outside");
    assert_eq!(again(|host| host.present = 0b0111), [1], "absent");
    assert_eq!(again(|host| host.stamp.set(8)), [], "other sections");
    // One that comes, or enters, after the first scan is not waited for.
    assert_eq!(again(|host| host.inside = 0b1111), [1, 3]);
}

/// The stamps are those of this grace period's first scan: a stamp of an earlier one proves nothing.
#[test]
fn stamps_are_taken_anew_by_each_grace_period() {
    let mut engine = engine(2);
    assert!(engine.try_drive(None, Interest::Passing));
    let host = World::new(2, 0b11, 0b10);
    for stamp in [7, 8, 9] {
        let _ = engine.start_poll();
        host.stamp.set(stamp);
        let _ = drive(&mut engine, &host);
        assert_eq!(holdouts(&engine), [1], "a section of its own");
        let _ = drive(&mut engine, &host);
        assert_eq!(holdouts(&engine), [1], "the same section");
        host.stamp.set(stamp + 1);
        let _ = drive(&mut engine, &host);
        assert_eq!(engine.published().state(), 0);
    }
}

/// What is pending when a call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pending {
    Nothing,
    Request,
    Waiter,
    Driver,
}

impl Pending {
    const ALL: [Pending; 4] = [
        Pending::Nothing,
        Pending::Request,
        Pending::Waiter,
        Pending::Driver,
    ];

    fn add(self, engine: &mut Global) {
        match self {
            Pending::Nothing => {}
            Pending::Request => _ = engine.start_poll(),
            Pending::Waiter => _ = engine.wait_for_gp(false),
            Pending::Driver => assert!(engine.try_drive(None, Interest::Poller)),
        }
    }
}

/// A caller's grace period in one call leaves what its steps leave, and is made where it is alone and
/// outside.
#[test]
fn one_call_does_what_the_steps_do_in_all_small_states() {
    let mut made = 0;
    for (present, pending) in
        (0..16u64).flat_map(|present| Pending::ALL.map(|pending| (present, pending)))
    {
        let callers = (0..4).filter(|cpu| present & 1 << cpu != 0).map(Some);
        for cpu in callers.chain([None]) {
            let own = cpu.map_or(0, |cpu| 1 << cpu);
            for inside in [0, own, present & !own, present] {
                let host = World::new(4, present, inside);
                let mut once = engine(4);
                pending.add(&mut once);
                let (before, mut steps) = (once.clone(), once.clone());
                let alone = once.sole_gp(cpu, &host);
                let free = matches!(pending, Pending::Nothing | Pending::Request);
                let expected = free && present == own && inside == 0;
                assert_eq!(
                    alone, expected,
                    "{pending:?}, {cpu:?}, {present:b}, {inside:b}"
                );
                if !alone {
                    assert_eq!((&once, once.counts), (&before, before.counts));
                    continue;
                }
                made += 1;
                let ticket = steps.wait_for_gp(false);
                assert!(steps.try_drive(cpu, Interest::Waiter(ticket)));
                assert_eq!(steps.step(Now::default(), &host, 32), Next::Done);
                assert_eq!(steps.leave(), Next::Done);
                assert_eq!(
                    (once.published(), once.waiters.done()),
                    (steps.published(), ticket + 1)
                );
                steps.counts.steps = once.counts.steps;
                steps.counts.leaves_scanned = once.counts.leaves_scanned; // one, or none without readers
                assert_eq!(once, steps);
            }
        }
    }
    assert_eq!(made, 24);
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
        crate::indexed::BOTH
    }
    fn occupied(&self, group: usize) -> u64 {
        u64::from(group == 0 && !self.alone)
    }
}

#[test]
fn counts_have_to_be_the_callers_own_and_empty() {
    for (alone, open) in [
        (true, [false; 2]),
        (false, [false; 2]),
        (true, [true, false]),
        (true, [false, true]),
        (false, [true; 2]),
    ] {
        let mut engine = Global::new(Config::sleepable());
        let passes = engine.sole_gp(None, &Counted { alone, open });
        assert_eq!(passes, alone && open == [false; 2], "{alone}, {open:?}");
    }
}

/// What a driver does that comes to a grace period which was left at `wait`, and whether it owes the fence
/// then.
fn resumes(interest: Interest, wait: Wait) -> (Next, bool) {
    let host = World::new(2, 0b11, 0b10);
    let mut engine = engine(2);
    let _ = engine.start_poll();
    assert!(engine.try_drive(Some(0), Interest::Passing));
    assert_eq!(drive(&mut engine, &host), Next::Done);
    let _ = engine.leave();
    engine.phase = Phase::Wait(wait);
    assert!(engine.try_drive(Some(0), interest));
    let next = engine.step(Now::default(), &host, 1);
    (next, engine.pacing.fence_owed)
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
            let (next, owed) = resumes(Interest::Waiter(9), wait);
            assert!(next != Next::Again && !owed, "{wait:?}");
        }
    }
    assert_eq!(resumes(Interest::Poller, Wait::Flag), (flag, false));
    assert_eq!(resumes(Interest::Waiter(9), Wait::Flag), (flag, false));
}

#[test]
fn a_poller_flags_again_and_does_not_sleep_whatever_the_last_driver_had_done() {
    for stage in [Wait::After, Wait::Armed] {
        let host = World::new(2, 0b11, 0b10);
        let mut engine = engine(2);
        let _ = engine.start_poll();
        assert!(engine.try_drive(None, Interest::Passing));
        let _ = drive(&mut engine, &host);
        let _ = engine.leave();
        assert!(engine.try_drive(None, Interest::Poller));
        engine.pacing.stage = stage;
        let next = drive(&mut engine, &host);
        assert_eq!(next, Next::FlagHoldouts { arm: false }, "{stage:?}");
    }
}

/// A hold of the lock ends after so many leaves, and at the end of a grace period, which is published before
/// the next one starts.
#[test]
fn a_step_is_bounded_and_ends_with_the_grace_period() {
    let host = World::new(8, 0xff, 0);
    let mut engine = engine(8);
    let first = engine.wait_for_gp(false);
    assert!(engine.try_drive(None, Interest::Waiter(first + 1)));
    assert!(matches!(
        engine.step(Now::default(), &host, 2),
        Next::Fence(_)
    ));
    let _ = engine.wait_for_gp(false);
    let _ = engine.fenced();
    assert_eq!(engine.step(Now::default(), &host, 2), Next::Again);
    assert_eq!(engine.phase, Phase::Scan(2));
    assert_eq!(engine.step(Now::default(), &host, 100), Next::Again);
    assert_eq!(
        (engine.phase, engine.waiters.done()),
        (Phase::Idle, first + 1)
    );
    assert_eq!(
        (engine.published().state(), drive(&mut engine, &host)),
        (0, Next::Done)
    );
    assert_eq!(engine.counts.grace_periods, 2);
}

#[test]
fn a_domain_is_small() {
    assert!(size_of::<Global>() <= 608, "{}", size_of::<Global>());
    assert!(size_of::<Next>() <= 16, "{}", size_of::<Next>());
    let beside_the_lists = size_of::<crate::Cpu>() - size_of::<[crate::CbList; crate::LANES]>();
    assert!(beside_the_lists <= 168, "{beside_the_lists}");
}

/// A count that is waited for gets no newcomers; they go there as soon as the other one is left.
#[test]
fn newcomers_are_sent_to_the_count_that_is_not_waited_for() {
    let open = Cell::new([true, true]);
    let host = Pair { open: &open };
    let mut engine = Global::new(Config::sleepable());
    let leaves = Global::new_leaves(&engine.config, 2).expect("a few");
    assert!(engine.grow(leaves).is_ok());
    let _ = engine.start_poll();
    assert!(engine.try_drive(None, Interest::Passing));
    assert_eq!(drive(&mut engine, &host), Next::Done);
    assert_eq!((engine.joined(), holdouts(&engine)), (0, [1].into()));
    open.set([true, false]);
    assert_eq!(drive(&mut engine, &host), Next::Done);
    assert_eq!((engine.joined(), holdouts(&engine)), (1, [0].into()));
    open.set([false, true]);
    assert_eq!(drive(&mut engine, &host), Next::Done);
    assert_eq!((engine.joined(), engine.published().state()), (1, 0));
}

struct Pair<'a> {
    open: &'a Cell<[bool; 2]>,
}

impl Host for Pair<'_> {
    fn cpus(&self) -> u32 {
        2
    }
    fn observe(&self, count: CpuId) -> Seen {
        Seen {
            outside: !self.open.get()[count as usize],
            stamp: 0,
        }
    }
    fn present(&self, _: LeafId) -> u64 {
        crate::indexed::BOTH
    }
}

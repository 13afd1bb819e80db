//! A slot that changes hands: the end of a thread against the thread that claims its slot, and a driver that
//! reports the readers it waits for.
//!
//! A slot tells others about its owner. Each field has a decision for the time between two owners. *Checked*
//! is compared with what the owner has done itself (`slot_book.rs`); *reports* with the sections that were
//! open when the report began.
//!
//! | field | at the end of a thread | at a claim | here |
//! |---|---|---|---|
//! | bit in the leaf (`present`) | cleared last, `[REG-2]` | set first, `[REG-1]` | checked |
//! | thread's id, and so its name | cleared before the bit | stored before a section | checked; reports |
//! | reader word: nesting | is 0 | | checked; reports |
//! | reader word: generation | stays | continues | checked: each section adds 1 |
//! | wake flag | stays; costs the next owner one call of a driver | | no deadlock |
//! | `ask` flag | stays; the next owner answers for itself | | `asking` |
//! | answer | stays: numbers of questions increase | | `asking` |
//! | location of the section | stays; a report checks the generation after it | | not in models |
//! | records in domains: words | as the reader word | | checked |
//! | records: slot, domain, number | stay: they belong to the slot | | checked |
//! | tallies of `Srcu`s | stay: they belong to the slot | | checked |
//! | queues: entries | stay with the slot | inherited | all are reclaimed |
//! | queues: owner, its way to them | none, before the bit is cleared | at its first push | checked |
//! | queues: the owner's setting | cleared | `None` | checked |
//! | queues: what the owner runs | nothing | | checked |
//! | the thread's own: word, fenced slot | cleared before the bit | | checked when it is back |
//! | the thread's own: tally, record | cleared before the bit | | checked when it is back |
//! | "occupied", "full" of the leaf | may be outdated | set | unit tests of core; `asking`, `updaters` |

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::common::reclaim::reclaiming;
use crate::common::{World, check, join_all};
use crate::slot_book::{self, Tenancy};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::{Model, SlotView};
use rcu::{Domain, Srcu};

/// Where a thread reads.
#[derive(Clone, Copy)]
struct Places {
    domain: &'static Domain,
    srcu: &'static Srcu,
}

impl Places {
    fn new(world: &World) -> Places {
        Places {
            domain: world.domain.own_domain(0),
            srcu: world.domain.srcu(),
        }
    }
}

/// The thread's slot, seen at one moment.
fn view(world: &World) -> SlotView {
    branching(false);
    let view = world.domain.own_slot();
    branching(true);
    view.expect("there is a slot for each thread")
}

/// Sections in all places, one inside the other; `within` is given the slot's number.
fn read(world: &World, places: Places, tenancy: &mut Tenancy, within: impl FnOnce(&Tenancy)) {
    tenancy.sections = tenancy.sections.map(|sections| sections + 1);
    let _home = rcu::read_lock();
    let _domain = places.domain.read_lock();
    let _srcu = places.srcu.read_lock();
    within(tenancy);
    let view = view(world);
    tenancy.check(&view, [1, 1]);
    let begun = world.domain.begun(places.srcu);
    assert!(
        begun.contains(&(Some(view.number), 1)),
        "the Srcu's sections are {begun:?}, not one of {view:?}"
    );
}

/// The calling thread gets a slot, and reads.
fn come_and_read(world: &World, places: Places) {
    world.domain.register();
    let mut tenancy = Tenancy::begin(&view(world));
    read(world, places, &mut tenancy, |_| ());
}

/// A thread that has used everything ends, and is back once more, as in a destructor; another one claims a
/// slot meanwhile, and stays until the first has gone.
fn hand_over(world: &Rc<World>) {
    let places = Places::new(world);
    let old = world.thread(move |w| {
        come_and_read(w, places);
        w.retire([0]);
        places.domain.defer(|| ());
        rcu::tuning::set_thread_on_worker(Some(true));
        w.pass_on();
        w.domain.leave();
        come_and_read(w, places);
    });
    world.domain.enter();
    world.begin(1);
    let new = world.thread(move |w| {
        w.domain.register();
        let mut tenancy = Tenancy::begin(&view(w));
        w.retire([1]);
        places.domain.defer(|| ());
        read(w, places, &mut tenancy, |tenancy| {
            tenancy.check(&view(w), [1, 1]);
            w.wait_reopened();
        });
    });
    old.join();
    branching(false);
    world.reopen();
    new.join();
    world.domain.care_for([places.domain]);
    world.finish();
}

#[test]
fn a_slot_tells_of_its_owner() {
    check("slots: handed on", 1, 1, || {
        let world = reclaiming(Model::deferring(4));
        hand_over(&world);
    });
}

#[test]
fn a_slot_tells_of_its_owner_in_fenced_mode() {
    check("slots: handed on, fenced", 1, 1, || {
        let world = reclaiming(Model::deferring(4).fenced());
        hand_over(&world);
    });
}

thread_local! {
    /// The world of the scenario below.
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

/// From the beginning of a report to its end all schedules are explored, and both readers may go on.
fn window(open: bool) {
    branching(open);
    if open && let Some(world) = WORLD.take() {
        world.let_go(2);
    }
}

/// The driver names the reader that it waits for, while that one ends and another thread reads in its slot.
#[test]
fn a_report_names_the_reader_that_blocks() {
    check("slots: reports", 2, 1, || {
        let world = World::new(Model::new().reporting(Duration::from_nanos(1)));
        slot_book::open(window);
        WORLD.set(Some(world.clone()));
        let old = world.thread(|w| {
            slot_book::enters();
            let guard = rcu::read_lock();
            let object = w.look();
            w.pass_on();
            w.use_object(object);
            drop(guard);
            w.domain.leave();
            slot_book::has_left();
        });
        let new = world.thread(|w| {
            w.pass_on();
            slot_book::enters();
            let guard = rcu::read_lock();
            w.look();
            w.wait_reopened();
            drop(guard);
            w.domain.leave();
            slot_book::has_left();
        });
        world.domain.enter();
        world.ready(2);
        branching(false);
        world.update(0, 1);
        world.reopen();
        join_all([old, new]);
    });
    assert!(
        slot_book::named() > 0,
        "no schedule has a report with a name"
    );
}

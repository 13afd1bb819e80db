//! Threads that start and end over and over in few slots, while drivers report the readers they wait for:
//! what a slot tells is about its present owner. The explorer's scenarios of the same name list the fields.

use std::time::Duration;

use super::deeds::{Deed, LAZY, QUEUES, WAITS};
use super::{LIFE, World, check, join};
use crate::slot_book::{self, Tenancy};
use quiescent_models::explorer::{random, yield_now};
use quiescent_on_explorer as rcu;
use rcu::Domain;
use rcu::check::{Life, Model, SlotView};

/// A driver that lost its role in the middle of its report would name those that block a later grace period.
const SAME_DRIVER: Life = Life {
    takeover_after_ns: None,
    ..LIFE
};

fn view(world: &World) -> SlotView {
    let view = world.domain.own_slot();
    view.expect("there is a slot for each thread")
}

/// Sections in both domains, and a check inside.
fn read(world: &World, domain: &'static Domain, tenancy: &mut Tenancy) {
    slot_book::enters();
    let home = rcu::read_lock();
    let other = domain.read_lock();
    tenancy.sections = tenancy.sections.map(|sections| sections + 1);
    for _ in 0..random() % 8 {
        yield_now();
    }
    tenancy.check(&view(world), [1, 1]);
    drop((other, home));
    slot_book::has_left();
}

/// So many actions of a thread, which ends in the middle of them and goes on as another one.
fn live(world: &'static World, domain: &'static Domain, times: u32) {
    for _ in 0..2 {
        world.domain.register();
        let mut tenancy = Tenancy::begin(&view(world));
        for _ in 0..times {
            match random() % 7 {
                0 | 1 => world.live(&[Deed::Queue(QUEUES, 3)], 1),
                2 => world.live(&[Deed::Queue(LAZY, 3)], 1),
                3 => world.live(&[Deed::Update(WAITS)], 1),
                4 => {
                    tenancy.offload = [None, Some(false), Some(true)][random() as usize % 3];
                    rcu::tuning::set_thread_on_worker(tenancy.offload);
                }
                _ => read(world, domain, &mut tenancy),
            }
            tenancy.check(&view(world), [0, 0]);
        }
        world.domain.leave();
    }
}

fn slots_change_hands(domain: Model) {
    let world = World::new(domain.leaves(3).reporting(Duration::from_nanos(1_000)));
    slot_book::open(|_| ());
    let domain = world.domain.own_domain(0);
    let staff = world.staff();
    let lives = [(); 3].map(|()| {
        world.thread(move || {
            for _ in 0..6 {
                let child = world.thread(move || live(world, domain, 3));
                live(world, domain, 2);
                join(child);
            }
        })
    });
    world.finish(lives, staff);
}

#[test]
fn slots_tell_of_their_owners() {
    check("slots_tell_of_their_owners", 5, || {
        slots_change_hands(Model::living(SAME_DRIVER));
    });
    assert!(slot_book::named() > 0, "no report has a name");
}

#[test]
fn slots_tell_of_their_owners_in_fenced_mode() {
    check("slots_tell_of_their_owners_in_fenced_mode", 3, || {
        slots_change_hands(Model::living(SAME_DRIVER).fenced());
    });
}

/// Threads that do little more than start and end. While one rests, the last owner of its slot
/// has time for its last steps.
#[test]
fn slots_of_short_lives() {
    check("slots_of_short_lives", 24, || {
        let world = World::new(Model::living(SAME_DRIVER));
        let staff = world.staff();
        let live = || {
            for _ in 0..30 {
                world.domain.register();
                if let Some(view) = world.domain.own_slot() {
                    let tenancy = Tenancy::begin(&view);
                    tenancy.check(&view, [0, 0]);
                    if random().is_multiple_of(4) {
                        world.live(&[Deed::Rest], 1);
                    }
                    tenancy.check(&self::view(world), [0, 0]);
                }
                world.domain.leave();
            }
        };
        let lives = [(); 4].map(|()| world.thread(live));
        world.finish(lives, staff);
    });
}

//! Races of readers of any kind against the usual updater.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model;
use rcu::{Many, RcuDomain};

use super::{World, join_all};
pub use crate::side::{Body, Process, Side, has_read, nothing, read, read_twice};

/// `readers`, so many of which are `ready` before it begins, against an updater that has done `before`.
pub fn race<S: Side, const N: usize>(
    model: Model,
    before: fn(&World, S),
    readers: [Body<S>; N],
    ready: u32,
) {
    let world = World::new(model);
    let side = S::of(&world);
    let readers = readers.map(|body| world.thread(move |w| body(w, side)));
    world.domain.enter();
    before(&world, side);
    world.begin(ready);
    side.update(&world);
    join_all(readers);
    world.domain.leave();
}

/// The same in a world whose slots are all taken by threads that do nothing.
pub fn race_without_slots<S: Side, const N: usize>(readers: [Body<S>; N]) {
    let world = World::new(Model::new());
    let side = S::of(&world);
    let bystanders = [world.bystander(), world.bystander()];
    world.domain.enter();
    world.ready(2);
    let readers = readers.map(|body| world.thread(move |w| body(w, side)));
    side.update(&world);
    join_all(readers);
    world.let_go(2);
    join_all(bystanders);
}

/// A thread that has read here leaves and comes back; meanwhile a reader has got its slot, and what belongs
/// to it: what the thread has noted about itself must be dropped.
pub fn leave_and_come_back<S: Side>() {
    let world = World::new(Model::new());
    let side = S::of(&world);
    world.domain.enter();
    drop(side.enter());
    drop(side.enter()); // by now it has noted what belongs to it
    world.domain.leave();
    let reader = world.thread(move |w| reads(w, side));
    world.begin(1);
    drop(side.enter());
    side.update(&world);
    reader.join();
    world.domain.leave();
}

/// The worker finds a reader inside, and is notified when the section has ended.
pub fn notify_the_worker<K: Many>()
where
    &'static RcuDomain<(), K>: Side,
{
    let world = World::new(Model::patient(8));
    let domain = <&RcuDomain<(), K>>::of(&world);
    let reader = world.thread(move |w| {
        let _guard = domain.enter();
        w.pass_on();
    });
    world.domain.enter();
    world.ready(1);
    branching(false);
    let ran = Arc::new(AtomicBool::new(false));
    let seen = ran.clone();
    domain.defer_hurry(move || seen.store(true, Relaxed));
    world.domain.sleep(); // that kick ends the sleep
    world.let_go(1);
    branching(true);
    loop {
        world.domain.care_for([domain]);
        if ran.load(Relaxed) {
            break;
        }
        world.domain.sleep(); // for ever, unless it is kicked
    }
    branching(false);
    reader.join();
}

/// Two registered threads read, and replace the object one after the other, in either order.
pub fn two_that_read(model: Model) {
    let world = World::new(model);
    let other = world.registered(|w| {
        w.read();
        w.replace_and_free(1);
    });
    world.domain.enter();
    world.domain.register();
    world.begin(1);
    world.replace_and_free(2);
    world.read();
    other.join();
    world.domain.leave();
}

/// The thread has read here before the scenario begins.
pub fn is_known<S: Side>(world: &World, side: S) {
    drop(side.enter());
    world.pass_on();
}

/// A reader that is known, and reads.
pub fn reads<S: Side>(world: &World, side: S) {
    is_known(world, side);
    side.read_once(world);
}

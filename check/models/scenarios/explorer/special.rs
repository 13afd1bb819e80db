//! Readers off the fast path: unregistered readers, fenced mode, and the change of the mode.

use crate::common::{World, check, join_all};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;
use rcu::{FenceMode, Options};

/// A world whose slots are all taken by threads that do nothing.
fn full_world() -> (
    std::rc::Rc<World>,
    [quiescent_models::explorer::JoinHandle<()>; 2],
) {
    let world = World::new(Domain::new());
    let bystanders = [world.bystander(), world.bystander()];
    world.domain.enter();
    world.ready(2);
    (world, bystanders)
}

#[test]
fn unregistered_reader() {
    check("unregistered reader", 2, 2, || {
        let (world, bystanders) = full_world();
        let reader = world.thread(|w| {
            w.read();
            w.read();
        });
        world.update(0, 1);
        reader.join();
        world.let_go(2);
        join_all(bystanders);
    });
}

#[test]
fn two_unregistered_readers() {
    check("two unregistered readers", 2, 1, || {
        let (world, bystanders) = full_world();
        let readers = [world.thread(World::read), world.thread(World::read)];
        world.update(0, 1);
        join_all(readers);
        world.let_go(2);
        join_all(bystanders);
    });
}

#[test]
fn nested_unregistered_reader_that_repins() {
    check("nested unregistered reader", 2, 1, || {
        let (world, bystanders) = full_world();
        let reader = world.thread(|w| {
            let mut outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            outer.repin(); // does nothing: another guard is alive
            w.use_object(object);
            drop(inner);
            outer.repin();
            w.look();
        });
        world.update(0, 1);
        reader.join();
        world.let_go(2);
        join_all(bystanders);
    });
}

#[test]
fn fenced_reader() {
    check("fenced reader", 3, 2, || {
        let world = World::new(Domain::new().fenced());
        let reader = world.registered(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn fenced_reader_that_registers_meanwhile() {
    check("fenced newcomer", 3, 2, || {
        let world = World::new(Domain::new().fenced());
        world.begin(0);
        let reader = world.thread(|w| {
            let mut guard = rcu::read_lock();
            w.look();
            guard.repin();
            w.look();
        });
        world.domain.enter();
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn the_mode_changes_while_a_reader_registers() {
    check("change of the mode", 2, 3, || {
        let world = World::new(Domain::new());
        world.begin(0);
        let reader = world.thread(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        let _ = Options::new().fence(FenceMode::Fenced).apply(); // refused if the reader was first
        world.update(0, 1);
        reader.join();
    });
}

/// A section beyond the nesting limit ends with the last of its guards.
#[test]
fn fenced_reader_beyond_the_nesting_limit() {
    check("beyond the limit", 2, 2, || {
        let world = World::new(Domain::new().fenced());
        let reader = world.registered(|w| {
            branching(false); // only the end is explored
            let guards: Vec<_> = (0..rcu::check::NEST_LIMIT)
                .map(|_| rcu::read_lock())
                .collect();
            let last = rcu::read_lock();
            drop(guards);
            branching(true);
            w.look();
            drop(last);
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

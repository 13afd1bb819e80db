//! A program's own domains on the store-buffer machine: the edges of `reader/records.rs` and
//! `domain/sections.rs`, which are those of the global domain's readers with another reader record; threads
//! that register, change between domains, end, and share the counters of unregistered readers.

use crate::common::{World, check, join_all};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::Domain;
use rcu::check::Model;

/// A section that reads once.
fn read(world: &World, domain: &Domain) {
    let _guard = domain.read_lock();
    world.look();
}

/// A thread that has read here before, and has noted its reader record.
fn known(world: &World, domain: &Domain) {
    drop(domain.read_lock());
    world.pass_on();
}

/// The usual updater.
fn update(world: &World, domain: &Domain) {
    world.publish(1);
    domain.synchronize();
    world.free(0);
}

/// The actions of a reader.
type Body = fn(&World, &'static Domain);

/// `readers`, so many of which are `ready` before it begins, against an updater that has done `before`.
fn race<const N: usize>(model: Model, before: fn(&Domain), readers: [Body; N], ready: u32) {
    let world = World::new(model);
    let domain = world.domain.own_domain(0);
    let readers = readers.map(|body| world.thread(move |w| body(w, domain)));
    world.domain.enter();
    before(domain);
    world.begin(ready);
    update(&world, domain);
    join_all(readers);
    world.domain.leave();
}

fn nothing(_: &Domain) {}

fn known_reader(world: &World, domain: &'static Domain) {
    known(world, domain);
    read(world, domain);
}

#[test]
fn reader_against_updater() {
    check("domain: reader", 2, 2, || {
        let readers: [Body; 1] = [known_reader];
        race(Model::new(), nothing, readers, 1);
    });
}

#[test]
fn two_readers() {
    check("domain: two readers", 2, 1, || {
        let readers: [Body; 2] = [known_reader, known_reader];
        race(Model::new(), nothing, readers, 2);
    });
}

/// The reader has no slot yet, and the updater sees no other thread.
#[test]
fn newcomer_while_the_only_thread_updates() {
    check("domain: newcomer", 2, 2, || {
        let before = |domain: &Domain| drop(domain.read_lock());
        let readers: [Body; 1] = [read];
        race(Model::new(), before, readers, 0);
    });
}

/// The reader is known to the process, but not to this domain.
#[test]
fn a_thread_with_a_slot_reads_here_for_the_first_time() {
    check("domain: first section", 2, 2, || {
        let before = |domain: &Domain| drop(domain.read_lock());
        let readers: [Body; 1] = [|world, domain| {
            world.domain.register();
            world.pass_on();
            read(world, domain);
        }];
        race(Model::new(), before, readers, 1);
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("domain: two sections", 2, 1, || {
        let readers: [Body; 1] = [|world, domain| {
            known(world, domain);
            read(world, domain);
            let _guard = domain.read_lock();
            let object = world.look();
            drop(domain.read_lock()); // nested
            world.use_object(object);
        }];
        race(Model::new(), nothing, readers, 1);
    });
}

#[test]
fn nested_deeper_than_the_word_counts() {
    check("domain: nested deeply", 2, 1, || {
        let readers: [Body; 1] = [|world, domain| {
            known(world, domain);
            let outer: Vec<_> = (0..6).map(|_| domain.read_lock()).collect();
            let object = world.look();
            let mut guards = outer;
            guards.rotate_left(2); // dropped in another order
            let last = guards.pop();
            drop(guards);
            world.use_object(object);
            drop(last);
        }];
        race(Model::new(), nothing, readers, 1);
    });
}

#[test]
fn fenced_mode() {
    check("domain: fenced", 2, 2, || {
        let readers: [Body; 1] = [known_reader];
        race(Model::new().fenced(), nothing, readers, 1);
    });
}

#[test]
fn readers_without_a_slot() {
    check("domain: unregistered reader", 2, 1, || {
        let world = World::new(Model::new());
        let domain = world.domain.own_domain(0);
        let bystanders = [world.bystander(), world.bystander()];
        let reader = world.thread(|w| {
            let outer = domain.read_lock();
            let inner = domain.read_lock(); // possibly in the other counter
            drop(outer);
            let object = w.look();
            w.use_object(object);
            drop(inner);
        });
        world.domain.enter();
        world.begin(2);
        update(&world, domain);
        reader.join();
        join_all(bystanders);
    });
}

/// A thread notes one domain; its record in the other domain has to be looked up.
#[test]
fn a_reader_of_two_domains() {
    check("domain: two domains", 2, 1, || {
        let world = World::new(Model::new());
        let (here, there) = (world.domain.own_domain(0), world.domain.own_domain(1));
        let reader = world.thread(|w| {
            known(w, here);
            let other = there.read_lock();
            read(w, here);
            drop(other);
            read(w, here);
        });
        world.domain.enter();
        world.begin(1);
        update(&world, here);
        there.synchronize();
        reader.join();
    });
}

/// Its slot, and the reader record with it, then belong to another thread: the note must be dropped.
#[test]
fn a_thread_that_left_and_comes_back() {
    check("domain: left and back", 2, 1, || {
        let world = World::new(Model::new());
        let domain = world.domain.own_domain(0);
        world.domain.enter();
        drop(domain.read_lock()); // by now it has noted its record
        world.domain.leave();
        let reader = world.thread(|w| {
            known(w, domain);
            read(w, domain);
        });
        world.begin(1); // the reader has the slot
        drop(domain.read_lock());
        update(&world, domain);
        reader.join();
        world.domain.leave();
    });
}

/// The worker finds a reader inside, and is notified when the section has ended.
#[test]
fn the_worker_is_notified() {
    check("domain: worker", 2, 1, || {
        let world = World::new(Model::patient(8));
        let domain = world.domain.own_domain(0);
        let reader = world.thread(|w| {
            let _guard = domain.read_lock();
            w.pass_on();
        });
        world.domain.enter();
        world.ready(1);
        branching(false);
        let ran = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = ran.clone();
        domain.defer_hurry(move || seen.store(true, std::sync::atomic::Ordering::Relaxed));
        world.domain.sleep(); // that kick ends the sleep
        world.let_go(1);
        branching(true);
        while !ran.load(std::sync::atomic::Ordering::Relaxed) {
            world.domain.care_for(domain);
            if ran.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
            world.domain.sleep(); // for ever, unless it is kicked
        }
        branching(false);
        reader.join();
    });
}

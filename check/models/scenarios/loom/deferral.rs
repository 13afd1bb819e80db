//! Deferral under C11, in membarrier mode: a taker sees all stores of the queue's owner, no object is freed
//! twice or under a reader, and no kick is lost. The explorer checks the logic of queues in all cases; these
//! models check the orderings, with as few accesses as possible.
//!
//! A queue's first entry takes the slow path (hurried, straight to the lock): models share no dummy block.

use std::sync::Arc;

use crate::common::deferred::{Shelf, shelf};
use crate::common::{check, check_unfenced, join};
use quiescent_models::loom::Ordering::Relaxed;
use quiescent_models::loom::{AtomicU32, UnsafeCell, thread, with_membarrier};
use quiescent_on_loom as rcu;
use rcu::RcuPtr;
use rcu::check::Model as Domain;

/// `[RET-1]` and `[RET-2]`: entries, and the contents of the objects, are visible with the end.
#[test]
fn a_push_against_a_taker() {
    check_unfenced("deferral: push", 3, || {
        let shelf = shelf(Domain::deferring(4));
        shelf.domain.enter();
        shelf.retire_hurry(0);
        let worker = shelf.thread(|s| s.domain.work());
        shelf.retire(1);
        shelf.retire(2);
        join(worker);
        shelf.finish([0, 1, 2]);
    });
}

/// `[RET-2]`: an entry popped by the owner is not taken as well.
#[test]
fn a_pop_against_a_taker() {
    check_unfenced("deferral: pop", 3, || {
        let shelf = shelf(Domain::deferring(2));
        shelf.domain.enter();
        shelf.retire_hurry(0);
        shelf.domain.work();
        shelf.retire(1);
        shelf.retire(2);
        shelf.retire(3);
        let worker = shelf.thread(|s| s.domain.work());
        shelf.retire(4);
        join(worker);
        shelf.finish(0..5);
    });
}

/// `[SNAP-1]`: for an owner that is the only registered thread this is the only fence of a grace period.
#[test]
fn an_owner_that_frees_against_a_newcomer() {
    check_unfenced("deferral: newcomer", 4, || {
        let shelf = shelf(Domain::deferring(1));
        shelf.domain.enter();
        shelf.retire_hurry(2);
        shelf.domain.work();
        let reader = shelf.thread(Shelf::read);
        shelf.publish(1);
        shelf.retire(0);
        shelf.retire(3);
        join(reader);
        shelf.finish([0, 2, 3]);
    });
}

/// `[ALM-1]`: a check after a kick sees everything before the kick.
#[test]
fn a_kick_against_a_worker_that_goes_to_sleep() {
    check("deferral: alarm", 6, || {
        let domain = Domain::patient(4);
        let news = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let kickers = [0, 1].map(|n| {
            let news = news.clone();
            thread::spawn(move || {
                news[n].store(1, Relaxed);
                domain.kick();
            })
        });
        while news.iter().any(|one| one.load(Relaxed) == 0) {
            domain.sleep();
        }
        kickers.into_iter().for_each(join);
    });
}

struct Node(UnsafeCell<u32>);

// SAFETY: loom checks every access.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    fn boxed(value: u32) -> Option<Box<Node>> {
        let cell = UnsafeCell::new(0);
        // SAFETY: loom checks that no access is concurrent.
        cell.with_mut(|place| unsafe { *place = value });
        Some(Box::new(Node(cell)))
    }
}

type Links = [RcuPtr<Node>; 2];

/// Reads the node behind a link.
fn read(link: &RcuPtr<Node>) {
    let guard = rcu::read_lock();
    if let Some(node) = link.load(&guard) {
        // SAFETY: loom checks that no write is concurrent.
        let value = node.0.with(|value| unsafe { *value });
        assert_eq!(value, 1, "an unfinished node");
    }
}

/// Runs these threads at once, on two links. Nothing is retired.
fn links<const N: usize>(bodies: [fn(&Links); N]) {
    let domain = Domain::new();
    let links = Arc::new([RcuPtr::null(), RcuPtr::null()]);
    let threads = bodies.map(|body| {
        let links = links.clone();
        thread::spawn(move || {
            domain.enter();
            body(&links);
            domain.leave();
        })
    });
    threads.into_iter().for_each(join);
}

/// `[PTR-1]` of [`RcuPtr`]: each way of storing a node of the caller.
#[test]
fn a_node_is_seen_whole() {
    with_membarrier(|| {
        check("pointer: store", 4, || {
            links([|l| read(&l[0]), |l| l[0].store(Node::boxed(1))]);
        });
        check("pointer: swap", 4, || {
            links([
                |l| read(&l[0]),
                |l| {
                    let guard = rcu::read_lock();
                    l[0].swap(Node::boxed(1), &guard);
                },
            ]);
        });
        check("pointer: compare and exchange", 4, || {
            links([
                |l| read(&l[0]),
                |l| {
                    let guard = rcu::read_lock();
                    let stored = l[0].compare_exchange(None, Node::boxed(1), &guard);
                    assert!(stored.is_ok(), "it is null");
                },
            ]);
        });
    });
}

/// A second thread links the node that it found, and a third finds it there: the contents are visible.
#[test]
fn a_node_that_another_thread_links_is_seen_whole() {
    check_unfenced("pointer: linked again", 3, || {
        links([
            |l| l[0].store(Node::boxed(1)),
            |l| {
                let guard = rcu::read_lock();
                // SAFETY: nothing is retired.
                unsafe { l[1].store_shared(l[0].load_shared(&guard)) };
            },
            |l| read(&l[1]),
        ]);
    });
}

//! Deferral under C11, in membarrier mode: a taker sees all stores of the queue's owner, no object is freed
//! twice or under a reader, and no kick is lost. The explorer checks the logic of queues in all cases; these
//! models check the orderings, with as few accesses as possible.
//!
//! A queue's first entry takes the slow path (hurried, straight to the lock): models share no dummy block.

use std::sync::Arc;

use crate::common::deferred::{free_beside, push_beside_a_taker, reclaiming};
use crate::common::watched::Watched;
use crate::common::{check, check_unfenced, join, start, thread_of};
use crate::side::{Process, Side};
use quiescent_models::loom::Ordering::Relaxed;
use quiescent_models::loom::{AtomicU32, with_membarrier};
use quiescent_on_loom as rcu;
use rcu::RcuPtr;
use rcu::check::Model as Domain;

/// `[RET-1]` and `[RET-2]`: entries, and the contents of the objects, are visible with the end.
#[test]
fn a_push_against_a_taker() {
    check_unfenced("deferral: push", 3, || {
        push_beside_a_taker(Domain::deferring(4));
    });
}

/// `[RET-2]`: an entry popped by the owner is not taken as well.
#[test]
fn a_pop_against_a_taker() {
    check_unfenced("deferral: pop", 3, || {
        let world = reclaiming(Domain::deferring(2));
        world.retire_hurry(0);
        world.domain.work();
        world.retire(1);
        world.retire(2);
        world.retire(3);
        let worker = world.thread(|w| w.domain.work());
        world.retire(4);
        join(worker);
        world.finish(0..5);
    });
}

/// `[SNAP-1]`: for an owner that is the only registered thread this is the only fence of a grace period.
#[test]
fn an_owner_that_frees_against_a_newcomer() {
    check_unfenced("deferral: newcomer", 4, || {
        free_beside(Domain::deferring(1), |w| Process.read_once(w));
    });
}

/// `[ALM-1]`: a check after a kick sees everything before the kick.
#[test]
fn a_kick_against_a_worker_that_goes_to_sleep() {
    check("deferral: alarm", 6, || {
        let domain = Domain::patient(4);
        let news = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let kickers = [0, 1].map(|n| {
            start(&news, move |news| {
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

type Links = [RcuPtr<Watched>; 2];

fn node() -> Option<Box<Watched>> {
    Some(Box::new(Watched::new(1)))
}

/// Reads the node behind a link.
fn read_node(link: &RcuPtr<Watched>) {
    let guard = rcu::read_lock();
    if let Some(node) = link.load(&guard) {
        assert_eq!(node.get(), 1, "an unfinished node");
    }
}

/// Runs these threads at once, on two links. Nothing is retired.
fn links<const N: usize>(bodies: [fn(&Links); N]) {
    let domain = Domain::new();
    let links = Arc::new([RcuPtr::null(), RcuPtr::null()]);
    let threads = bodies.map(|body| thread_of(domain, &links, body));
    threads.into_iter().for_each(join);
}

/// `[PTR-1]` of [`RcuPtr`]: each way of storing a node of the caller.
#[test]
fn a_node_is_seen_whole() {
    with_membarrier(|| {
        check("pointer: store", 4, || {
            links([|l| read_node(&l[0]), |l| l[0].store(node())]);
        });
        check("pointer: swap", 4, || {
            links([
                |l| read_node(&l[0]),
                |l| {
                    let guard = rcu::read_lock();
                    l[0].swap(node(), &guard);
                },
            ]);
        });
        check("pointer: compare and exchange", 4, || {
            links([
                |l| read_node(&l[0]),
                |l| {
                    let guard = rcu::read_lock();
                    let stored = l[0].compare_exchange(None, node(), &guard);
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
            |l| l[0].store(node()),
            |l| {
                let guard = rcu::read_lock();
                // SAFETY: nothing is retired.
                unsafe { l[1].store_shared(l[0].load_shared(&guard)) };
            },
            |l| read_node(&l[1]),
        ]);
    });
}

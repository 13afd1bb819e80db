//! Subscribers in an [`RcuList`]: threads announce events to all of them, while others subscribe and
//! unsubscribe. An announcement walks the list without a lock, so a slow subscriber delays no other thread.
//!
//!     cargo run --example list

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use quiescent::{RcuList, read};

/// Threads that announce.
const ANNOUNCERS: usize = 2;
/// Subscribers that come and go.
const SUBSCRIBERS: u64 = 500;
/// So many are subscribed at a time.
const PRESENT: u64 = 20;

struct Subscriber {
    name: u64,
    /// What it has been notified; shared with the part of the program that subscribed.
    heard: Arc<AtomicU64>,
}

static SUBSCRIBED: RcuList<Subscriber> = RcuList::new();

fn subscribe(name: u64) -> Arc<AtomicU64> {
    let heard = Arc::new(AtomicU64::new(0));
    let subscriber = Subscriber {
        name,
        heard: heard.clone(),
    };
    SUBSCRIBED.push_front(subscriber);
    heard
}

/// Announcements that have begun may still reach the subscriber; later ones do not. False: it is unknown.
fn unsubscribe(name: u64) -> bool {
    // Dropping what comes back frees the subscriber once no announcement can reach it.
    SUBSCRIBED.remove_first(|it| it.name == name).is_some()
}

/// Tells all subscribers. Returns how many there were.
fn announce() -> u64 {
    read(|guard| {
        let notified = SUBSCRIBED.iter(guard).map(|it| {
            it.heard.fetch_add(1, Ordering::Relaxed);
        });
        notified.count() as u64
    })
}

fn main() {
    let stop = AtomicBool::new(false);
    let heard = (0..PRESENT).map(subscribe).collect::<Vec<_>>();
    let notified: u64 = thread::scope(|scope| {
        let announcing = || {
            let mut notified = 0;
            while !stop.load(Ordering::Relaxed) {
                notified += announce();
            }
            notified
        };
        let announcers = [(); ANNOUNCERS].map(|()| scope.spawn(announcing));
        while heard.iter().any(|it| it.load(Ordering::Relaxed) == 0) {
            thread::yield_now();
        }
        for name in PRESENT..SUBSCRIBERS {
            subscribe(name);
            assert!(unsubscribe(name - PRESENT), "the oldest one");
        }
        stop.store(true, Ordering::Relaxed);
        announcers
            .map(|it| it.join().expect("an announcer"))
            .iter()
            .sum()
    });

    let left = SUBSCRIBED.len();
    println!("{notified} times a subscriber was notified; {left} are subscribed");
    // Only readers could keep the subscribers that have gone: now there are none.
    quiescent::barrier();
    let kept = heard.iter().filter(|it| Arc::strong_count(it) > 1).count();
    println!(
        "of {} that have gone, {kept} are kept",
        SUBSCRIBERS - PRESENT
    );
    assert!(notified >= PRESENT);
    assert_eq!((left as u64, kept), (PRESENT, 0));
}

//! A registry of connections: threads find one by its number and use it for as long as a request takes, while
//! others open and close connections.
//!
//! A look-up is a section, which ends at once; what it returns is counted on a cache line of the thread's
//! own. A connection that is closed is found by no further request, and its destructor runs when the last
//! request is done.
//!
//! `cargo run -p quiescent-collections --example connections`

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;

use quiescent_collections::{RcuArc, RcuHashMap, RcuOwner};

const CONNECTIONS: u32 = 16;
const REPLACEMENTS: u32 = 200;

static OPEN: AtomicU32 = AtomicU32::new(0);

/// A connection; a program has a socket in it.
struct Connection {
    id: u32,
    sent: AtomicU64,
    is_open: AtomicBool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.is_open.store(false, SeqCst);
        OPEN.fetch_sub(1, SeqCst);
    }
}

type Registry = RcuHashMap<u32, RcuOwner<Connection>>;

/// Opens one under this number; the one that had it is closed.
fn open(registry: &Registry, id: u32) {
    OPEN.fetch_add(1, SeqCst);
    let (sent, is_open) = (AtomicU64::new(0), AtomicBool::new(true));
    let connection = RcuOwner::new(Connection { id, sent, is_open });
    if let Some(before) = registry.pin().insert(id, connection) {
        before.kill(); // a reader that found it in the map a moment ago gets nothing now
    }
}

/// A reference that outlives the look-up.
fn find(registry: &Registry, id: u32) -> Option<RcuArc<Connection>> {
    registry.pin().get(&id)?.try_get()
}

/// Sends on all connections in turn, until the end; the number of messages.
fn requests(registry: &Registry, over: &AtomicBool) -> u64 {
    let mut sent = 0;
    while !over.load(SeqCst) {
        for id in 0..CONNECTIONS {
            let Some(connection) = find(registry, id) else {
                continue; // it is being closed
            };
            let task = connection.clone(); // as a request that goes on in another task
            assert!(task.is_open.load(SeqCst), "closed under a request");
            assert_eq!(task.id, id);
            task.sent.fetch_add(1, SeqCst);
            sent += 1;
        }
    }
    sent
}

/// Runs it.
pub fn main() {
    let (registry, over) = (Registry::new(), AtomicBool::new(false));
    (0..CONNECTIONS).for_each(|id| open(&registry, id));
    let sent: u64 = thread::scope(|scope| {
        let clients = [(); 2].map(|()| scope.spawn(|| requests(&registry, &over)));
        for turn in 0..REPLACEMENTS {
            open(&registry, turn % CONNECTIONS);
            thread::yield_now();
        }
        while find(&registry, 0).is_some_and(|it| it.sent.load(SeqCst) == 0) {
            thread::yield_now();
        }
        over.store(true, SeqCst);
        clients
            .map(|it| it.join().expect("it does not panic"))
            .iter()
            .sum()
    });
    drop(registry);
    // The map's entries, then what they killed.
    while OPEN.load(SeqCst) > 0 {
        quiescent::barrier();
    }
    println!(
        "{} connections, {sent} messages, all closed",
        CONNECTIONS + REPLACEMENTS
    );
    assert!(sent > 0);
}

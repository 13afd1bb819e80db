//! A registry of connections: threads look a connection up and use it for as long as they like; another
//! thread closes connections. From then on no use begins, those that have begun finish, and the last of them
//! drops the connection.
//!
//!     cargo run --release --example connection_registry

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use quiescent_collections::{RcuArc, RcuHashMap, RcuOwner};

/// Connections that are opened, and closed again.
const CONNECTIONS: u64 = 3_000;
/// So many are open at a time.
const OPEN: u64 = 100;
/// Threads that begin requests.
const CLIENTS: u64 = 2;

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Connection {
    id: u64,
    sent: AtomicU64,
}

impl Connection {
    fn send(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.id = u64::MAX; // what no user may see
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// The map has the owners. What it gives out are references, which need neither the map nor a section.
#[derive(Default)]
struct Registry {
    connections: RcuHashMap<u64, RcuOwner<Connection>>,
}

impl Registry {
    fn open(&self, id: u64) {
        let sent = AtomicU64::new(0);
        let owner = RcuOwner::new(Connection { id, sent });
        let new = self.connections.pin().try_insert(id, owner).is_ok();
        assert!(new, "connection {id} is open");
    }

    /// The connection, unless it is unknown or has been closed.
    fn find(&self, id: u64) -> Option<RcuArc<Connection>> {
        self.connections.pin().get(&id)?.try_get()
    }

    /// Closes a connection. Returns whether it was open.
    ///
    /// `kill` is called here, although an owner that is dropped kills, too: the map drops a removed entry up
    /// to some seconds later, and until then a thread that found it just before could begin a use. The
    /// owner's own reference stays that long: what must end soon (a socket) is better shut down here.
    fn close(&self, id: u64) -> bool {
        let connections = self.connections.pin();
        connections.remove(&id).is_some_and(|owner| owner.kill())
    }
}

/// A request, which is finished on another thread than it was begun on.
struct Request {
    connection: RcuArc<Connection>,
    id: u64,
}

/// Begins requests on connections that are open. Returns how many, and how many were refused.
fn begin(registry: &Registry, requests: &SyncSender<Request>, newest: &AtomicU64) -> (u64, u64) {
    let (mut begun, mut refused, mut id) = (0, 0, 0);
    loop {
        let last = newest.load(Ordering::Acquire);
        if last == CONNECTIONS {
            return (begun, refused);
        }
        id = if id >= last {
            last.saturating_sub(2 * OPEN)
        } else {
            id + 1
        };
        match registry.find(id) {
            Some(connection) => {
                begun += 1;
                let request = Request { connection, id };
                requests.send(request).expect("finished by another thread");
            }
            None => refused += 1,
        }
    }
}

/// Finishes requests, also those of connections that have been closed meanwhile. Returns how many, and how
/// many of those.
fn finish(requests: &Receiver<Request>) -> (u64, u64) {
    let (mut finished, mut late) = (0, 0);
    for Request { connection, id } in requests {
        connection.send();
        assert_eq!(connection.id, id, "it was dropped");
        finished += 1;
        late += u64::from(RcuArc::is_killed(&connection));
    }
    (finished, late)
}

fn main() {
    let registry = Registry::default();
    let newest = AtomicU64::new(0);
    let (sender, receiver) = sync_channel(64);

    let ([begun, refused], (finished, late)) = thread::scope(|scope| {
        let (registry, newest) = (&registry, &newest);
        let finisher = scope.spawn(move || finish(&receiver));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| sender.clone())
            .map(|requests| scope.spawn(move || begin(registry, &requests, newest)))
            .collect();
        drop(sender);
        for id in 0..CONNECTIONS {
            registry.open(id);
            newest.store(id, Ordering::Release);
            assert!(id < OPEN || registry.close(id - OPEN));
            thread::yield_now();
        }
        newest.store(CONNECTIONS, Ordering::Release);
        let sums = clients
            .into_iter()
            .fold([0, 0], |[begun, refused], client| {
                let (more, none) = client.join().expect("a client");
                [begun + more, refused + none]
            });
        (sums, finisher.join().expect("the finisher"))
    });
    println!("{begun} requests begun, {refused} refused");
    println!("{finished} finished, {late} of them after their connection was closed");
    println!("{} connections open", registry.connections.len());

    // The map frees its entries at once, and with them the owners of those that are open still.
    drop(registry);
    quiescent::barrier(); // only so that the number below is final
    let dropped = DROPPED.load(Ordering::Relaxed);
    println!("{dropped} connections dropped");
    assert_eq!((dropped, finished), (CONNECTIONS, begun));
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_request_is_finished_and_each_connection_dropped() {
        super::main();
    }
}

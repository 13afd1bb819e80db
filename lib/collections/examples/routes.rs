//! A routing table whose routes come and go one by one, beside readers: each lookup searches three prefix
//! lengths at the same time, and takes the longest.
//!
//! In `lib/quiescent/examples/route_table.rs` a batch of changes replaces the whole table, and a reader sees
//! one state of it. Here a change costs the same however large the table is, and two lookups may see two
//! states.
//!
//!     cargo run --release --example routes

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quiescent_collections::RcuHashMap;

/// The lengths of prefixes that there are, longest first.
const LENGTHS: [u32; 3] = [24, 16, 8];
/// Networks with 24 bits, which come and go.
const NETWORKS: u32 = 20_000;
/// How often each of them is announced and withdrawn.
const ROUNDS: u32 = 3;
/// Readers.
const READERS: u32 = 2;
/// The hop of a route with 24 bits is above this, so that a reader can check what it gets.
const NEAR: u32 = 1_000_000;

/// A network: its first address, and how many bits of it count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Prefix {
    network: u32,
    bits: u32,
}

impl Prefix {
    fn of(address: Ipv4Addr, bits: u32) -> Prefix {
        let network = address.to_bits() & (u32::MAX << (32 - bits));
        Prefix { network, bits }
    }
}

struct Routes {
    table: RcuHashMap<Prefix, u32>,
}

impl Routes {
    /// The hop of the longest prefix.
    fn lookup(&self, address: Ipv4Addr) -> Option<u32> {
        let [long, middle, short] = LENGTHS.map(|bits| Prefix::of(address, bits));
        // The memory of all three is fetched at the same time.
        let table = self.table.pin();
        let found = table.get_many([&long, &middle, &short]);
        found.into_iter().flatten().next().copied()
    }

    /// Returns the hop that the network had.
    fn announce(&self, network: Prefix, hop: u32) -> Option<u32> {
        self.table.pin().insert(network, hop).copied()
    }

    fn withdraw(&self, network: Prefix) -> Option<u32> {
        self.table.pin().remove(&network).copied()
    }
}

/// An address in the network with this number.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + ((number % NETWORKS) << 8))
}

/// Announces and withdraws all networks. Returns the number of changes.
fn change(routes: &Routes) -> u32 {
    let mut changes = 0;
    for round in 0..ROUNDS {
        for number in 0..NETWORKS {
            let network = Prefix::of(address(number), 24);
            assert_eq!(routes.announce(network, NEAR + round), None);
        }
        for number in 0..NETWORKS {
            let network = Prefix::of(address(number), 24);
            assert_eq!(routes.withdraw(network), Some(NEAR + round));
        }
        changes += 2 * NETWORKS;
    }
    changes
}

/// Looks addresses up until the changes are over. Returns how many lookups found a route with 24 bits, and
/// how many another one.
fn read(routes: &Routes, first: u32, stop: &AtomicBool) -> (u64, u64) {
    let (mut near, mut far) = (0, 0);
    let mut number = first;
    loop {
        // The route with 8 bits stays, so an address without a route would be a mistake of the map.
        let hop = routes.lookup(address(number)).expect("a route");
        match hop >= NEAR {
            true => near += 1,
            false => far += 1,
        }
        number = number.wrapping_add(7);
        if stop.load(Ordering::Relaxed) {
            return (near, far);
        }
    }
}

fn main() {
    let table = RcuHashMap::new();
    let routes = Routes { table };
    routes.announce(Prefix::of(address(0), 8), 8);
    routes.announce(Prefix::of(address(0), 16), 16);
    let stop = AtomicBool::new(false);

    let (changes, seen) = thread::scope(|scope| {
        let (routes, stop) = (&routes, &stop);
        let readers: Vec<_> = (0..READERS)
            .map(|first| scope.spawn(move || read(routes, first, stop)))
            .collect();
        let changes = change(routes);
        stop.store(true, Ordering::Relaxed);
        let seen = readers.into_iter().map(|it| it.join().expect("a reader"));
        (changes, seen.collect::<Vec<_>>())
    });

    let near: u64 = seen.iter().map(|(near, _)| near).sum();
    let far: u64 = seen.iter().map(|(_, far)| far).sum();
    println!("{changes} changes beside {} lookups", near + far);
    println!("{} routes left", routes.table.len());
    assert_eq!(routes.lookup(address(0)), Some(16));
    assert_eq!(routes.lookup(Ipv4Addr::new(192, 168, 0, 1)), None);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_lookup_finds_a_route() {
        super::main();
    }
}

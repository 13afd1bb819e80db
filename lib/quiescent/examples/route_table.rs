//! A routing table under load: readers look up addresses all the time, an updater changes routes in batches.
//! Each batch copies the table, changes the copy and publishes it: a reader sees the table before the batch
//! or after it.
//!
//!     cargo run --example route_table

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{RcuCell, barrier, read_lock, statistics};

/// For how long the readers and the updater run.
const RUN: Duration = Duration::from_millis(300);
/// Networks of 256 addresses each, 10.0.0.0/24 and up.
const NETWORKS: u32 = 1000;
/// Routes that one batch changes.
const BATCH: u32 = 10;
/// Lookups in one section.
const LOOKUPS: u32 = 64;

/// The first address of a network → where its packets go. The updater writes one generation number into
/// all routes of a batch.
#[derive(Clone)]
struct Routes {
    table: BTreeMap<u32, u64>,
}

impl Routes {
    fn lookup(&self, address: Ipv4Addr) -> Option<u64> {
        self.table.get(&(address.to_bits() >> 8)).copied()
    }

    /// What the table owns beside its own size, roughly.
    fn heap_bytes(&self) -> usize {
        self.table.len() * size_of::<(u32, u64)>()
    }
}

fn address(network: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + ((network % NETWORKS) << 8))
}

fn main() {
    let first = u32::from(Ipv4Addr::new(10, 0, 0, 0)) >> 8;
    let table = (0..NETWORKS).map(|n| (first + n, 0)).collect();
    let routes = RcuCell::new(Routes { table });
    let (stop, lookups) = (AtomicBool::new(false), AtomicU64::new(0));

    let batches = thread::scope(|scope| {
        for reader in 0..2 {
            let (routes, stop, lookups) = (&routes, &stop, &lookups);
            scope.spawn(move || {
                let mut network = reader;
                while !stop.load(Ordering::Relaxed) {
                    // One section, one table: what is looked up here belongs together.
                    let guard = read_lock();
                    let table = routes.load(&guard);
                    for _ in 0..LOOKUPS {
                        let hop = table.lookup(address(network));
                        assert!(hop.is_some(), "{}", address(network));
                        network = network.wrapping_add(7);
                    }
                    drop(guard);
                    lookups.fetch_add(LOOKUPS.into(), Ordering::Relaxed);
                }
            });
        }

        let end = Instant::now() + RUN;
        let mut batch = 0;
        while Instant::now() < end {
            batch += 1;
            let old = routes.update(|now| {
                let mut next = now.clone();
                for n in 0..BATCH {
                    next.table.insert(first + n, batch);
                }
                next
            });
            // No thread waits for it. It is large, which the program must declare to the library.
            let bytes = old.heap_bytes();
            old.with_owned_bytes(bytes).retire();
        }
        stop.store(true, Ordering::Relaxed);
        batch
    });

    barrier(); // only so that the numbers below are final
    let after = statistics();
    println!("{} lookups beside {batches} batches", lookups.into_inner());
    println!(
        "{} tables freed after {} grace periods, {} queued",
        after.callbacks, after.grace_periods, after.queued
    );
    let guard = read_lock();
    assert_eq!(routes.load(&guard).lookup(address(0)), Some(batches));
    assert_eq!((after.callbacks, after.queued), (batches, 0));
}

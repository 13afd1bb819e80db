//! Values whose memory is not declared: their owner looks at the memory of the process.

use quiescent::Handle;

use super::*;

/// Values without memory that are alive, and those with.
static ALIVE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A value that owns so much memory, and has written to it.
struct Owns(Vec<u8>);

impl Owns {
    fn new(kib: usize) -> Owns {
        let owns = Owns(vec![1; kib << 10]);
        owns.alive().fetch_add(1, Ordering::Relaxed);
        owns
    }

    fn alive(&self) -> &'static AtomicU64 {
        &ALIVE[usize::from(!self.0.is_empty())]
    }
}

impl Drop for Owns {
    fn drop(&mut self) {
        self.alive().fetch_sub(1, Ordering::Relaxed);
    }
}

/// The most of their kind that were alive while `number` were stored one after the other.
fn most_alive<D: Handle>(cell: &RcuCell<Owns, D>, number: u64, kib: usize) -> u64 {
    let stored = (0..number).map(|_| {
        drop(cell.store(Owns::new(kib)));
        ALIVE[usize::from(kib > 0)].load(Ordering::Relaxed)
    });
    stored.max().unwrap_or(0)
}

#[test]
fn large_values_are_freed_long_before_a_batch() {
    needs!(fence);
    needs!(linux);
    isolated(|| {
        let cell = RcuCell::new(Owns::new(0));
        let most = most_alive(&cell, 300, 4 << 10);
        assert!(most <= 100, "{most} values of 4 MiB");
        let flushes = statistics().flushes;
        assert!(flushes.batch > 0 && flushes.budget == 0, "{flushes:?}");
    });
}

/// Also in a domain of the program, where a thread's first values take the lock.
#[test]
fn large_values_of_other_domains_are_found() {
    needs!(fence);
    needs!(linux);
    isolated(|| {
        let (domain, srcu) = (Domain::new(), Srcu::new());
        let most = most_alive(&RcuCell::new_in(Owns::new(0), &domain), 100, 4 << 10);
        assert!(most <= 40, "{most} values of 4 MiB");
        let most = most_alive(&RcuCell::new_in(Owns::new(0), &srcu), 100, 4 << 10);
        assert!(
            most <= 80,
            "{most} values of 4 MiB, with those of the other domain"
        );
    });
}

/// After small ones, of which many wait in front of them.
#[test]
fn large_values_after_many_small_ones_are_found_too() {
    needs!(fence);
    needs!(linux);
    isolated(|| {
        let cell = RcuCell::new(Owns::new(0));
        most_alive(&cell, 50_000, 0);
        let small = ALIVE[0].load(Ordering::Relaxed);
        assert!(small > 700, "so many wait: {small}");
        let most = most_alive(&cell, 300, 4 << 10);
        assert!(most <= 150, "{most} values of 4 MiB");
    });
}

/// They wait for their batch: no grace period is asked for.
#[test]
fn small_values_stay_lazy() {
    needs!(fence);
    needs!(linux);
    isolated(|| {
        let cell = RcuCell::new(Owns::new(0));
        most_alive(&cell, 3, 0); // the thread has a queue
        let before = statistics().flushes;
        for _ in 0..100 {
            most_alive(&cell, 10, 0);
            thread::sleep(Duration::from_micros(300));
        }
        let after = statistics().flushes;
        assert_eq!((before.batch, before.hurry), (after.batch, after.hurry));
        assert_eq!(ALIVE[0].load(Ordering::Relaxed), 1004);
    });
}

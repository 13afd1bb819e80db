//! Interning: threads turn texts into shared names, of which equal ones are stored once. Names that no thread
//! uses any more are removed now and then, and the set gives their memory back.
//!
//!     cargo run --release --example interning

use std::sync::Arc;
use std::thread;

use quiescent_collections::RcuHashSet;

/// Threads that intern.
const THREADS: u64 = 2;
/// Texts that each of them interns.
const TEXTS: u64 = 40_000;
/// Texts that differ.
const DIFFERENT: u64 = 10_000;
/// One of so many names is kept.
const KEPT: u64 = 100;

/// A lookup by `&str` allocates nothing.
#[derive(Default)]
struct Names {
    names: RcuHashSet<Arc<str>>,
}

impl Names {
    fn intern(&self, text: &str) -> Arc<str> {
        let names = self.names.pin();
        if let Some(name) = names.get(text) {
            return name.clone();
        }
        // If another thread is faster, both return its name.
        names.get_or_insert(text.into()).clone()
    }

    /// Removes the names that only the set has.
    ///
    /// A thread may have found such a name just before and clone it just after. It keeps its name; a thread
    /// that interns the text later gets another one. So compare names by `==`, which looks at the addresses
    /// first.
    fn purge(&self) {
        let names = self.names.pin();
        names.retain(|name| Arc::strong_count(name) > 1);
        // It would shrink by itself, later.
        self.names.as_map().shrink_to_fit(names.guard());
    }
}

fn text(n: u64) -> String {
    format!("name {}", n % DIFFERENT)
}

/// Interns texts, and checks each of them. Returns the names that it keeps.
fn work(names: &Names, seed: u64) -> Vec<Arc<str>> {
    let mut kept = Vec::new();
    for n in 0..TEXTS {
        // Each thread in an order of its own: 7919 and `DIFFERENT` have no common divisor.
        let n = n * 7919 + seed * 13;
        let name = names.intern(&text(n));
        assert_eq!(*name, *text(n));
        if (n % DIFFERENT).is_multiple_of(KEPT) {
            kept.push(name);
        }
    }
    kept
}

fn main() {
    let names = Names::default();
    let kept: Vec<Arc<str>> = thread::scope(|scope| {
        let names = &names;
        let workers: Vec<_> = (0..THREADS)
            .map(|seed| scope.spawn(move || work(names, seed)))
            .collect();
        let kept = workers.into_iter().map(|it| it.join().expect("a worker"));
        kept.collect::<Vec<_>>().concat()
    });
    println!("{} texts, {} names", THREADS * TEXTS, names.names.len());

    // The same text gives the same name.
    for name in &kept {
        assert!(Arc::ptr_eq(name, &names.intern(name)));
    }
    let unused = Arc::downgrade(&names.intern(&text(1)));
    names.purge();
    println!(
        "{} names after the purge; {} references kept",
        names.names.len(),
        kept.len()
    );
    for name in &kept {
        assert!(Arc::ptr_eq(name, &names.intern(name)));
    }
    // Removed: but until the sections that could see it have ended, and its batch is freed, it is there.
    drop(names);
    quiescent::barrier();
    assert!(unused.upgrade().is_none());
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_texts_give_one_name_until_a_purge() {
        super::main();
    }
}

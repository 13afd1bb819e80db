//! Who keeps breaking laziness: counters by callback, for programs that want to sleep longer.
//!
//! Counted are the two events that cost a wake-up: something is queued *in a hurry*, and a *prompt* callback
//! is queued while no earlier one has set the time. Both take the slow path anyway; nothing is counted on the fast
//! one. The table has a fixed number of rows, claimed with a compare-and-swap and never given up; what finds none is
//! counted in the last, without a name.
//!
//! A row is one function that tells a type's name. The compiler may make several of them for one type;
//! they are added up when somebody asks.

#[cfg(quiescent_model)]
pub(crate) use model::Breakers;
#[cfg(not(quiescent_model))]
pub(crate) use real::Breakers;

/// A function that tells the name of a callback's type.
pub(crate) type Name = fn() -> &'static str;

/// A callback that has others hurried along; see [`breakers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breaker {
    /// The type of the closure, or of the value that is freed or dropped.
    pub name: &'static str,
    /// Times it was queued in a hurry: each wakes the worker, and takes along what its thread had queued.
    pub hurried: u64,
    /// Times it was queued by [`defer`](crate::defer()) and was the first to: each wakes the worker, within
    /// [`FlushTimes::prompt`](crate::tuning::FlushTimes).
    pub prompt: u64,
}

/// Which callbacks keep breaking laziness, since the start of the process; the worst comes first. There is
/// room for 127 types; the others are counted together, as "(others)".
///
/// ```
/// struct Session;
/// quiescent::defer_hurry(|| drop(Session));
/// let worst = quiescent::stats::breakers()[0];
/// assert_eq!((worst.hurried, worst.prompt), (1, 0));
/// println!("{} woke the worker {} times", worst.name, worst.hurried + worst.prompt);
/// ```
pub fn breakers() -> Vec<Breaker> {
    crate::inner::prim::domain().breakers.all()
}

#[cfg(quiescent_model)]
mod model {
    use super::{Breaker, Name};

    /// Models do not count.
    #[derive(Debug)]
    pub(crate) struct Breakers;

    #[allow(clippy::unused_self, reason = "the same face as in the product")]
    impl Breakers {
        pub(crate) const fn new() -> Breakers {
            Breakers
        }

        pub(crate) fn hurried(&self, _name: Name) {}

        pub(crate) fn prompt(&self, _name: Name) {}

        pub(crate) fn all(&self) -> Vec<Breaker> {
            Vec::new()
        }
    }
}

#[cfg(not(quiescent_model))]
mod real {
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    use super::{Breaker, Name};

    const ROWS: usize = 128;
    const OTHERS: usize = ROWS - 1;

    #[derive(Debug)]
    struct Row {
        /// A [`Name`]; null in a free row.
        name: AtomicPtr<()>,
        hurried: AtomicU64,
        prompt: AtomicU64,
    }

    /// The table.
    #[derive(Debug)]
    pub(crate) struct Breakers {
        rows: [Row; ROWS],
    }

    impl Breakers {
        pub(crate) const fn new() -> Breakers {
            Breakers {
                rows: [const {
                    Row {
                        name: AtomicPtr::new(ptr::null_mut()),
                        hurried: AtomicU64::new(0),
                        prompt: AtomicU64::new(0),
                    }
                }; ROWS],
            }
        }

        /// Something was queued in a hurry.
        pub(crate) fn hurried(&self, name: Name) {
            self.row(name).hurried.fetch_add(1, Ordering::Relaxed);
        }

        /// A prompt callback has set the time for others.
        pub(crate) fn prompt(&self, name: Name) {
            self.row(name).prompt.fetch_add(1, Ordering::Relaxed);
        }

        fn row(&self, name: Name) -> &Row {
            let key = name as *mut ();
            let first = (key.addr() >> 4) % OTHERS;
            for step in 0..OTHERS {
                let row = &self.rows[(first + step) % OTHERS];
                let order = Ordering::Relaxed; // the key is all there is to see
                match row
                    .name
                    .compare_exchange(ptr::null_mut(), key, order, order)
                {
                    Ok(_) => return row,
                    Err(taken) if taken == key => return row,
                    Err(_) => {}
                }
            }
            &self.rows[OTHERS]
        }

        /// In the child of a fork: the counts are the parent's.
        pub(crate) fn forked(&self) {
            for row in &self.rows {
                row.hurried.store(0, Ordering::Relaxed);
                row.prompt.store(0, Ordering::Relaxed);
            }
        }

        pub(crate) fn all(&self) -> Vec<Breaker> {
            let mut all: Vec<Breaker> = Vec::new();
            for (index, row) in self.rows.iter().enumerate() {
                let key = row.name.load(Ordering::Relaxed);
                let name = match key.is_null() {
                    // SAFETY: `row` stored a function of this type.
                    false => (unsafe { std::mem::transmute::<*mut (), Name>(key) })(),
                    true if index == OTHERS => "(others)",
                    true => continue,
                };
                let hurried = row.hurried.load(Ordering::Relaxed);
                let prompt = row.prompt.load(Ordering::Relaxed);
                match all.iter_mut().find(|known| known.name == name) {
                    Some(known) => {
                        known.hurried += hurried;
                        known.prompt += prompt;
                    }
                    None => all.push(Breaker {
                        name,
                        hurried,
                        prompt,
                    }),
                }
            }
            all.retain(|breaker| breaker.hurried + breaker.prompt > 0);
            all.sort_by_key(|breaker| std::cmp::Reverse(breaker.hurried + breaker.prompt));
            all
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_finds_no_row_is_counted_all_the_same() {
            let table = Breakers::new();
            // Different keys; never called here.
            for n in 1..=200usize {
                // SAFETY: not null; `row` only compares it.
                let name = unsafe { std::mem::transmute::<usize, Name>(n << 4) };
                table.hurried(name);
                table.prompt(name);
                table.prompt(name);
            }
            let sum = |count: fn(&Row) -> &AtomicU64| -> u64 {
                let counts = table
                    .rows
                    .iter()
                    .map(|row| count(row).load(Ordering::Relaxed));
                counts.sum()
            };
            assert_eq!(
                (sum(|row| &row.hurried), sum(|row| &row.prompt)),
                (200, 400)
            );
            let others = &table.rows[OTHERS];
            assert_eq!(others.hurried.load(Ordering::Relaxed), 200 - OTHERS as u64);
            assert_eq!(
                others.prompt.load(Ordering::Relaxed),
                2 * (200 - OTHERS as u64)
            );
        }

        #[test]
        fn the_worst_comes_first_and_names_are_told_once() {
            let table = Breakers::new();
            let often: Name = || "often";
            let often_too: Name = || "often".trim();
            let once: Name = || "once";
            table.prompt(once);
            table.hurried(often);
            table.hurried(often_too);
            let all = table.all();
            let names: Vec<_> = all.iter().map(|b| (b.name, b.hurried, b.prompt)).collect();
            assert_eq!(names, [("often", 2, 0), ("once", 0, 1)]);
        }
    }
}

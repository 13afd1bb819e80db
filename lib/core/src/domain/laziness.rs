//! Laziness statistics: counters by callback, for programs that want fewer wake-ups.
//!
//! Two events cost a wake-up and are counted: a callback is queued *in a hurry*, and a *prompt* callback is
//! queued while no earlier one has set the timer. Both take the slow path anyway; the fast path counts
//! nothing. The table has a fixed number of rows. A compare-and-swap claims a row, and rows are never
//! released; the last row counts, without a name, all callbacks that find no row.
//!
//! The key of a row is the function that returns a type's name. The compiler may make several such functions
//! for one type; a query adds them up.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::queue::parcel::Name;

/// A callback that causes wake-ups; see `breakers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breaker {
    /// The type of the closure, or of the value that is freed or dropped.
    pub name: &'static str,
    /// Number of times it was queued in a hurry: each wakes the worker, which also takes what its thread had
    /// queued.
    pub hurried: u64,
    /// Number of times it was queued by `defer` and was the first to set the timer: each wakes the worker
    /// within `FlushTimes::prompt`.
    pub prompt: u64,
}

const ROWS: usize = crate::prim::LAZY_ROWS;
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
pub struct Breakers {
    rows: [Row; ROWS],
}

impl Breakers {
    pub const fn new() -> Breakers {
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

    /// A callback was queued in a hurry.
    pub fn hurried(&self, name: Name) {
        self.row(name).hurried.fetch_add(1, Ordering::Relaxed);
    }

    /// A prompt callback has set the timer.
    pub fn prompt(&self, name: Name) {
        self.row(name).prompt.fetch_add(1, Ordering::Relaxed);
    }

    #[inline(never)]
    fn row(&self, name: Name) -> &Row {
        let key = name as *mut ();
        let first = (key.addr() >> 4) % OTHERS;
        for step in 0..OTHERS {
            let row = &self.rows[(first + step) % OTHERS];
            let order = Ordering::Relaxed; // only the key is read
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

    /// In the child of a fork: clears the parent's counts.
    pub fn forked(&self) {
        let Breakers { rows } = self;
        for row in rows {
            let Row {
                name: _, // rows are never released
                hurried,
                prompt,
            } = row;
            hurried.store(0, Ordering::Relaxed);
            prompt.store(0, Ordering::Relaxed);
        }
    }

    /// All callbacks with counts, those with the most events first.
    pub fn all(&self) -> Vec<Breaker> {
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
    fn callbacks_without_a_row_are_counted_as_others() {
        let table = Breakers::new();
        // Distinct keys, never called here.
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
    fn rows_are_merged_by_name_and_sorted_by_count() {
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
        // The sum of all that is counted twice, in either way; and of those without a row.
        table.prompt(often);
        table.prompt(often_too);
        table.prompt(once);
        table.rows[OTHERS].hurried.store(9, Ordering::Relaxed);
        let all = table.all();
        let names: Vec<_> = all.iter().map(|b| (b.name, b.hurried, b.prompt)).collect();
        assert_eq!(names, [("(others)", 9, 0), ("often", 2, 2), ("once", 0, 2)]);
        table.forked();
        assert!(table.all().is_empty());
    }
}

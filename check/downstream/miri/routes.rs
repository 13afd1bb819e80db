//! What a user may have written: a table of routes that threads read while one thread replaces it, and a
//! shortcut through `unsafe` that is wrong.

use quiescent::{Guard, RcuCell};

/// Names, by number.
#[derive(Debug)]
pub struct Routes(pub Vec<String>);

/// The table that is valid now.
#[derive(Debug)]
pub struct Table(RcuCell<Routes>);

impl Table {
    pub fn new(names: &[&str]) -> Table {
        Table(RcuCell::new(routes(names)))
    }

    /// The name with this number, for as long as the section is open.
    pub fn find<'g>(&'g self, number: usize, guard: &'g Guard) -> &'g str {
        &self.0.load(guard).0[number]
    }

    /// As [`find`](Table::find), in a section of its own. **Wrong**: the reference outlives the section, and
    /// the next replacement may free what it refers to.
    pub fn find_unguarded(&self, number: usize) -> &'static str {
        quiescent::read(|guard| {
            let name: *const str = self.find(number, guard);
            // SAFETY: there is no reason why this would be sound.
            unsafe { &*name }
        })
    }

    /// Replaces the table, and waits until no reader uses the one before.
    pub fn replace(&self, names: &[&str]) -> Routes {
        *self.0.store(routes(names)).wait()
    }

    /// Replaces the table. The one before is freed later.
    pub fn replace_later(&self, names: &[&str]) {
        self.0.store(routes(names));
    }
}

fn routes(names: &[&str]) -> Routes {
    Routes(names.iter().copied().map(String::from).collect())
}

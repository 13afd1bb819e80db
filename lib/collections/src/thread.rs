//! The index that a thread owns.

use std::cell::Cell;
use std::sync::Mutex;

use crate::prim::lock;

static FREE: Mutex<(usize, Vec<usize>)> = Mutex::new((0, Vec::new()));

struct Owned(usize);

impl Drop for Owned {
    fn drop(&mut self) {
        INDEX.set(usize::MAX);
        lock(&FREE).1.push(self.0);
    }
}

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(usize::MAX) };
    static OWNED: Cell<Option<Owned>> = const { Cell::new(None) };
}

/// A small number, which no other thread has; `None` at the end of a thread.
#[inline(always)]
pub fn index() -> Option<usize> {
    match INDEX.get() {
        usize::MAX => claim(),
        index => Some(index),
    }
}

#[cold]
#[inline(never)]
fn claim() -> Option<usize> {
    let index = {
        let mut free = lock(&FREE);
        let index = free.1.pop();
        index.unwrap_or_else(|| {
            free.0 += 1;
            free.0 - 1
        })
    };
    match OWNED.try_with(|owned| owned.set(Some(Owned(index)))) {
        Ok(()) => {
            INDEX.set(index);
            Some(index)
        }
        Err(_) => {
            lock(&FREE).1.push(index);
            None
        }
    }
}

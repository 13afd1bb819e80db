//! The host's part: two FIFOs for each CPU, and the extracted callbacks. And the oracle's part: it stores for
//! each callback which sections were open when it was queued, and never asks the engine about grace periods.

use std::collections::VecDeque;

use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::Place;
use quiescent_kernel::{CbList, Pos};

/// What a FIFO holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    Callback(usize),
    Barrier,
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub what: What,
    /// Its position, as the engine returned it.
    pub pos: Pos,
}

/// A callback that was queued.
pub struct Callback {
    /// Sections that were open then.
    pub open: Vec<usize>,
    pub queued_at: u64,
    /// The CPU, and how often it had died: callbacks of one life keep their order.
    pub home: (usize, u32),
    pub invoked: bool,
}

/// A batch that was extracted.
#[derive(Debug)]
pub struct Out {
    pub context: Context,
    pub range: (Pos, Pos),
    pub left: VecDeque<Entry>,
}

/// The FIFOs of a CPU.
#[derive(Default)]
pub struct Fifos {
    pub list: VecDeque<Entry>,
    pub bypass: VecDeque<Entry>,
    pub out: Option<Out>,
}

impl Fifos {
    pub fn push(&mut self, place: Place, what: What, pos: Pos) {
        let entry = Entry { what, pos };
        match place {
            Place::List => self.list.push_back(entry),
            Place::Bypass => self.bypass.push_back(entry),
        }
    }

    /// Moves the bypass to the end of the list. True if it had entries.
    pub fn flush(&mut self, flushed: u64) -> bool {
        if flushed > 0 {
            assert_eq!(flushed, self.bypass.len() as u64, "all of the bypass");
            self.list.append(&mut self.bypass);
        }
        flushed > 0
    }

    /// Extracts the oldest entries: they are those that the engine has named.
    pub fn take(&mut self, context: Context, range: (Pos, Pos)) {
        assert!(self.out.is_none(), "two batches of a CPU are out");
        let n = range.1.wrapping_sub(range.0) as usize;
        let left: VecDeque<Entry> = self.list.drain(..n).collect();
        for (entry, i) in left.iter().zip(0..) {
            assert_eq!(
                entry.pos,
                range.0.wrapping_add(i),
                "the engine names another entry"
            );
        }
        self.out = Some(Out {
            context,
            range,
            left,
        });
    }

    /// Takes over the entries of `gone`, so many of them in front.
    pub fn adopt(&mut self, gone: &mut Fifos, done: u64, (head, end): (Pos, Pos)) {
        assert!(gone.bypass.is_empty(), "it had none in the bypass");
        let pending = gone.list.split_off(done as usize);
        for (mut entry, i) in gone.list.drain(..).rev().zip(1..) {
            entry.pos = head.wrapping_sub(i);
            self.list.push_front(entry);
        }
        for (mut entry, i) in pending.into_iter().zip(0..) {
            entry.pos = end.wrapping_add(i);
            self.list.push_back(entry);
        }
    }

    /// Compares the counts with the engine's.
    pub fn check(&self, list: &CbList, bypass: u64) {
        let queued = list.end().wrapping_sub(list.head());
        assert_eq!(queued, self.list.len() as u64, "in the list");
        assert_eq!(bypass, self.bypass.len() as u64, "in the bypass");
        let out = self
            .out
            .as_ref()
            .map_or(0, |out| out.range.1.wrapping_sub(out.range.0));
        assert_eq!(list.out(), out, "out");
    }

    /// The oldest of the `lazy` youngest ones.
    pub fn oldest_lazy(&self, lazy: u64) -> Option<usize> {
        let hidden = self.list.iter().chain(&self.bypass);
        let all = self.list.len() + self.bypass.len();
        let mut lazies = hidden.skip(all - lazy as usize);
        lazies.find_map(|entry| match entry.what {
            What::Callback(id) => Some(id),
            What::Barrier => None,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.bypass.is_empty() && self.out.is_none()
    }
}

/// All callbacks, and those that must be waited for.
#[derive(Default)]
pub struct Oracle {
    pub callbacks: Vec<Callback>,
    /// For each section: has it ended?
    pub ended: Vec<bool>,
    /// The latest callback invoked of each life of each CPU.
    latest: Vec<((usize, u32), usize)>,
}

impl Oracle {
    pub fn queued(&mut self, home: (usize, u32), open: Vec<usize>, queued_at: u64) -> usize {
        self.callbacks.push(Callback {
            open,
            queued_at,
            home,
            invoked: false,
        });
        self.callbacks.len() - 1
    }

    /// Runs a callback: not twice, not too early, and not before one that was queued before it.
    pub fn invoked(&mut self, id: usize) {
        let callback = &mut self.callbacks[id];
        assert!(!callback.invoked, "callback {id} ran twice");
        callback.invoked = true;
        for &section in &callback.open {
            assert!(
                self.ended[section],
                "callback {id} ran inside section {section}"
            );
        }
        let home = callback.home;
        match self.latest.iter_mut().find(|(of, _)| *of == home) {
            Some((_, latest)) => {
                assert!(
                    *latest < id,
                    "{id} ran after {latest}, which was queued later"
                );
                *latest = id;
            }
            None => self.latest.push((home, id)),
        }
    }

    /// The callbacks that are queued and have not run.
    pub fn owed(&self) -> Vec<usize> {
        let all = 0..self.callbacks.len();
        all.filter(|&id| !self.callbacks[id].invoked).collect()
    }
}

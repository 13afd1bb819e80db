//! Memory and the path of stores into it. The first page of `explorer` has the rules.

use super::buffer::{Entry, Loc};
use super::choice::Kind;
use super::exec::{Execution, Touch};

/// The store buffers of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Model {
    /// No buffers: interleavings only.
    #[default]
    Sc,
    /// Total store order, as on x86: one FIFO a thread.
    Tso,
    /// Partial store order: one FIFO a thread and location; release stores wait for all earlier ones.
    Pso,
}

impl Model {
    /// The name used in schedules.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::Pso => "pso",
        }
    }
}

impl Execution {
    /// Executes a store of the current thread: into its buffer, or to memory without one.
    pub(crate) fn store(&mut self, loc: Loc, value: u64, release: bool) {
        let seq = self.next_seq();
        let me = self.current;
        if self.model == Model::Sc || self.held {
            self.drain(me);
            return self.write(me, loc, value, seq, 1 << me);
        }
        self.touch(Touch::Write(loc));
        self.progress += 1;
        let thread = &mut self.threads[me];
        let after = match self.model {
            Model::Pso if !release => thread.fence_seq,
            _ => seq,
        };
        thread.buffer.push(Entry {
            seq,
            loc,
            value,
            after,
        });
    }

    /// A load of the current thread: from its own buffer, or else from memory.
    pub(crate) fn load(&mut self, loc: Loc) -> u64 {
        let me = self.current;
        self.touch(Touch::Read(loc));
        if let Some(own) = self.threads[me].buffer.newest(loc) {
            if self.forwards(loc, own.seq) {
                return own.value;
            }
            self.flush(me, own, 1 << me);
        }
        self.settle(loc, u64::MAX, 1 << me);
        self.memory[loc as usize]
    }

    /// Does the current thread, which has itself stored to `loc` at `seq`, still see that store? Not if it
    /// has reached memory and another thread's store followed: in order, that is so if the other store is
    /// later.
    fn forwards(&mut self, loc: Loc, seq: u64) -> bool {
        let others = self
            .threads
            .iter()
            .enumerate()
            .filter(|&(t, _)| t != self.current);
        let pending = others.filter_map(|(_, thread)| thread.buffer.pending(loc, seq));
        let (mut any, mut later) = (false, false);
        for (_, count, older) in pending {
            any = true;
            later |= count > older;
        }
        let odd = any && !self.held && self.choices.choose(Kind::Flush, 2) == 1;
        later == odd
    }

    /// A read-modify-write of the current thread: drains, then reads memory and writes the result of `f`, if
    /// there is one. Returns the value read.
    pub(crate) fn modify(&mut self, loc: Loc, f: impl FnOnce(u64) -> Option<u64>) -> u64 {
        let me = self.current;
        self.drain(me);
        self.touch(Touch::Write(loc));
        self.settle(loc, u64::MAX, 1 << me);
        let old = self.memory[loc as usize];
        if let Some(new) = f(old) {
            self.put(loc, new);
        }
        old
    }

    /// Every store of `thread` reaches memory.
    pub(crate) fn drain(&mut self, thread: usize) {
        while let Some(entry) = self.threads[thread].buffer.front() {
            self.flush(thread, entry, 1 << thread);
        }
    }

    /// Another thread makes `thread` drain: a heavy fence, or a join.
    pub(crate) fn drain_other(&mut self, thread: usize) {
        self.touch(Touch::Drain(thread));
        self.drain(thread);
    }

    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Moves `wanted`, and before it every store that has to precede it, from a buffer to memory. `busy` are
    /// the threads whose buffers must not change meanwhile.
    fn flush(&mut self, thread: usize, wanted: Entry, busy: u64) {
        loop {
            let due = self.threads[thread].buffer.first_due(wanted);
            self.write(thread, due.loc, due.value, due.seq, busy | 1 << thread);
            self.threads[thread].buffer.remove(due.seq);
            if due == wanted {
                return;
            }
        }
    }

    fn write(&mut self, thread: usize, loc: Loc, value: u64, seq: u64, busy: u64) {
        self.touch_by(thread, Touch::Write(loc));
        self.settle(loc, seq, busy);
        self.put(loc, value);
    }

    fn put(&mut self, loc: Loc, value: u64) {
        let cell = &mut self.memory[loc as usize];
        if *cell != value {
            *cell = value;
            self.progress += 1;
        }
    }

    /// `loc` is about to be accessed: which stores to it, held by other threads, reach memory first? By
    /// default those executed before `seq`.
    fn settle(&mut self, loc: Loc, seq: u64, busy: u64) {
        let mut asked = busy;
        loop {
            let holder = (0..self.threads.len())
                .filter(|&t| asked & (1 << t) == 0)
                .filter_map(|t| Some((self.threads[t].buffer.pending(loc, seq)?, t)))
                .min();
            let Some(((_, count, older), thread)) = holder else {
                return;
            };
            asked |= 1 << thread;
            let chosen = if self.held {
                0
            } else {
                self.choices.choose(Kind::Flush, count + 1)
            };
            let flushed = match chosen {
                0 => older,
                i if i <= older => i - 1,
                i => i,
            };
            for _ in 0..flushed {
                let entry = self.threads[thread]
                    .buffer
                    .oldest(loc)
                    .expect("counted above");
                self.flush(thread, entry, busy);
            }
            if flushed != older {
                self.note(|| {
                    format!("    (of {count} pending stores of T{thread}, {flushed} reach memory)")
                });
            }
        }
    }
}

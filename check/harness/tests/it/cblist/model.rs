//! Random operations on two lists, compared with a model that keeps every callback separately and has no
//! segments.

use std::collections::VecDeque;

use quiescent_kernel::cblist::{CbList, Segment};
use quiescent_kernel::host::Pos;
use quiescent_kernel::seq::{Seq, Word};

/// All entries have the same size, so that the share of a part is exact.
const BYTES: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    Done,
    For(Seq),
    Unstamped,
}

#[derive(Clone, Copy, Debug)]
struct Callback {
    wait: Wait,
    since: u64,
    /// A waiter needs it.
    marked: bool,
}

/// One CPU: its list, and the callbacks that the list counts.
#[derive(Default)]
struct Model {
    list: CbList,
    queue: VecDeque<Callback>,
    /// Extracted callbacks, with the positions that they had.
    out: Vec<(Pos, Callback)>,
    /// A lower bound of the time of DONE, once part of DONE was extracted; kept until DONE is empty.
    floor: Option<u64>,
}

impl Model {
    fn done(&self) -> usize {
        let done = |cb: &&Callback| cb.wait == Wait::Done;
        self.queue.iter().take_while(done).count()
    }

    /// The rule of stamping, callback by callback. The list's two slots are two different stamps.
    fn accelerate(&mut self, s: Seq) -> bool {
        let pending = self.done();
        if pending == self.queue.len() {
            return false;
        }
        let below = |cb: &Callback| matches!(cb.wait, Wait::For(stamp) if stamp.lt(s));
        let first = match self.queue.iter().rposition(below) {
            Some(last) => last + 1,
            None => pending,
        };
        let mut slots: Vec<Wait> = self.queue.range(pending..first).map(|cb| cb.wait).collect();
        slots.dedup();
        if slots.len() == 2 || first == self.queue.len() {
            return false;
        }
        for cb in self.queue.range_mut(first..) {
            cb.wait = Wait::For(s);
        }
        true
    }

    fn advance(&mut self, seq: Seq) -> u64 {
        let pending = self.done();
        let reached = |cb: &&mut Callback| matches!(cb.wait, Wait::For(stamp) if seq.ge(stamp));
        let newly = self.queue.range_mut(pending..).take_while(reached);
        newly.map(|cb| cb.wait = Wait::Done).count() as u64
    }

    fn push(&mut self, wait: Wait, since: u64) {
        self.queue.push_back(Callback {
            wait,
            since,
            marked: false,
        });
    }

    fn extract(&mut self, max: u64) -> Result<(), String> {
        let n = (max as usize).min(self.done());
        let range = self.list.extract_done(max);
        same("extracted", range.end.wrapping_sub(range.start), n as u64)?;
        let at = |n: usize| range.start.wrapping_add(n as u64);
        if n > 0 {
            self.remember();
        }
        let taken = self.queue.drain(..n).enumerate();
        self.out.extend(taken.map(|(n, cb)| (at(n), cb)));
        Ok(())
    }

    /// Stores the time of DONE before part of it is extracted.
    fn remember(&mut self) {
        let done = self.queue.range(..self.done()).map(|cb| cb.since);
        self.floor = done.chain(self.floor).min();
    }

    fn back(&mut self, n: usize, ran: bool) {
        let n = n.min(self.out.len());
        let back = self.out.split_off(self.out.len() - n);
        for (at, cb) in back.into_iter().rev() {
            let range = at..at.wrapping_add(1);
            let consumed = range.end.wrapping_sub(self.list.head()) > u64::MAX / 2;
            if ran || consumed {
                self.list.ran(range);
            } else {
                self.list.put_back(range);
                self.queue.push_front(cb);
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        if self.out.is_empty() && self.done() == 0 {
            self.floor = None;
        }
    }

    fn free(&mut self, n: usize) {
        let n = n.min(self.done());
        let head = self.list.head().wrapping_add(n as u64);
        self.remember();
        self.queue.drain(..n);
        self.list.freed_to(head);
        self.forget();
    }

    fn merge(&mut self, src: &mut Model) -> Result<(), String> {
        let done = src.done();
        let moved = self.list.merge(&mut src.list);
        same("merged done", moved.done, done as u64)?;
        same("merged", moved.pending, (src.queue.len() - done) as u64)?;
        if done > 0 {
            src.remember();
            self.floor = self.floor.into_iter().chain(src.floor).min();
        }
        for cb in src.queue.drain(done..) {
            self.push(Wait::Unstamped, cb.since);
        }
        for cb in src.queue.drain(..).rev() {
            self.queue.push_front(cb);
        }
        src.forget();
        Ok(())
    }

    /// Sets the mark behind everything that is queued, or clears it.
    fn mark(&mut self, waits: bool) {
        match waits {
            true => self.list.mark(),
            false => self.list.unmark(),
        }
        let out = self.out.iter_mut().map(|(_, cb)| cb);
        for cb in self.queue.iter_mut().chain(out) {
            cb.marked = waits;
        }
    }

    fn check_mark(&self) -> Result<(), String> {
        let out = self.out.iter().map(|(_, cb)| cb);
        let past = !self.queue.iter().chain(out).any(|cb| cb.marked);
        same("past the mark", self.list.is_past_mark(), past)
    }

    /// Compares every query of the list with the model.
    fn check(&self) -> Result<(), String> {
        let count = |wait| self.queue.iter().filter(|cb| cb.wait == wait).count() as u64;
        let mut stamps: Vec<Seq> = Vec::new();
        for cb in &self.queue {
            match cb.wait {
                Wait::For(stamp) if stamps.last() != Some(&stamp) => stamps.push(stamp),
                _ => {}
            }
        }
        let list = &self.list;
        let queued = self.queue.len() as u64;
        let len = queued + self.out.len() as u64;
        same("len", list.len(), len)?;
        same("is_empty", list.is_empty(), len == 0)?;
        same("bytes", list.bytes(), BYTES * len)?;
        same("out", list.out(), self.out.len() as u64)?;
        same("ready", list.ready(), self.done() as u64)?;
        same("pending", list.pending(), queued > list.ready())?;
        same("unstamped", list.unstamped(), count(Wait::Unstamped))?;
        let weight = BYTES * list.unstamped();
        same("unstamped bytes", list.unstamped_bytes(), weight)?;
        same("ends", list.end().wrapping_sub(list.head()), queued)?;
        same("next_gp", list.next_gp(), stamps.first().copied())?;
        same("last_gp", list.last_gp(), stamps.last().copied())?;
        for (i, segment) in [Segment::Wait, Segment::NextReady].into_iter().enumerate() {
            let stamp = stamps.get(i).copied();
            let n = stamp.map_or(0, |stamp| count(Wait::For(stamp)));
            same("segment", list.segment(segment), (n, stamp))?;
        }
        let floor = self.floor.filter(|_| self.done() > 0);
        let since = self.queue.iter().map(|cb| cb.since).chain(floor).min();
        same("since", list.since(), since)?;
        self.check_mark()
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, want: T) -> Result<(), String> {
    if is == want {
        return Ok(());
    }
    let text = format!("{what}: the list says {is:?}, the model {want:?}");
    Err(text)
}

/// Performs the operations that the bytes encode, and compares after each.
///
/// # Errors
/// The first difference between the list and the model.
pub fn run(actions: &[(u8, u8, u8)]) -> Result<(), String> {
    let mut cpus = [Model::default(), Model::default()];
    let mut clock = Seq::from_raw((0 as Word).wrapping_sub(40));
    let mut queued = 0;
    for &(action, which, n) in actions {
        let [a, b] = &mut cpus;
        let (cpu, other) = if which & 1 == 0 { (a, b) } else { (b, a) };
        let only_new = which & 2 == 0;
        let (small, size) = (u64::from(n % 4), usize::from(n % 16));
        // The numbers of requests and of quiescent states differ from the clock by up to two grace periods.
        let near = |offset: u8| {
            clock
                .raw()
                .wrapping_add(Word::from(n % 5) * 4 + Word::from(offset))
        };
        match action % 13 {
            0..=2 => {
                let since = 1000 + queued - u64::from(n % 32);
                for _ in 0..small {
                    cpu.push(Wait::Unstamped, since);
                    queued += 1;
                }
                let end = cpu.list.end().wrapping_add(small);
                cpu.list.enqueue_to(end, BYTES * small, since);
            }
            3..=5 => {
                let s = Seq::from_raw(near(0) & !3);
                let want = cpu.accelerate(s);
                same("accelerate", cpu.list.accelerate(s), want)?;
            }
            6 => {
                let seq = Seq::from_raw(near(which & 1).wrapping_sub(8));
                let newly = cpu.advance(seq);
                same("advance", cpu.list.advance(seq), newly)?;
            }
            7 => clock = Seq::from_raw(clock.raw().wrapping_add(4)),
            8 => cpu.extract(u64::from(n % 16))?,
            9 => cpu.back(size, only_new),
            10 => cpu.free(size),
            11 => cpu.mark(!only_new || n % 2 == 0),
            _ if n % 4 == 0 => {
                cpu.mark(false);
                other.mark(false);
                cpu.merge(other)?;
            }
            _ => {
                let wait = cpu.queue.back().map_or(Wait::Done, |cb| cb.wait);
                let some = !cpu.queue.is_empty() || !cpu.out.is_empty();
                same("entrain", cpu.list.entrain(BYTES), some)?;
                if some {
                    cpu.push(wait, u64::MAX);
                    queued += 1;
                }
            }
        }
        for cpu in &cpus {
            cpu.check()?;
        }
    }
    Ok(())
}

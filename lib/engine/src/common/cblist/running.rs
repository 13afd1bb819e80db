//! Callbacks that their owner runs in place: it has consumed them, and they still run when a taker comes.

use super::{CbList, DONE};

impl CbList {
    /// The last `n` that the owner has consumed are still being run: they are out until
    /// [`ran`](CbList::ran), and a waiter whose mark covers them waits for that. `now` is the time.
    pub(crate) fn reopen(&mut self, n: u64, now: u64) {
        if n != 0 {
            self.since[DONE] = self.earlier(DONE, now);
            self.out += n;
            let range = self.head.wrapping_sub(n)..self.head;
            if let Some(mark) = &mut self.mark {
                mark.out += mark.covers(&range);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::seq::Seq;

    /// A waiter waits for what an owner was found to run, as it waits for what was taken out.
    #[test]
    fn a_mark_waits_for_what_the_owner_still_runs() {
        for (marked, past_before) in [(4, false), (3, false), (2, true)] {
            let mut it = CbList::new();
            it.enqueue_to(marked, 0, 0);
            it.mark();
            it.enqueue_to(4, 0, 0);
            let stamp = Seq::ZERO.snap();
            assert!(it.accelerate(stamp));
            assert_eq!(it.advance(stamp), 4);
            it.freed_to(4);
            it.reopen(2, 0);
            assert_eq!(it.is_past_mark(), past_before, "{marked}");
            it.ran(2..4);
            assert!(it.is_past_mark() && it.is_empty(), "{marked}");
        }
    }
}

//! A callback list in the child of a fork.

use super::{CbList, NEXT, SEGMENTS};

impl CbList {
    /// Extracted entries belong to another process, and have no waiter here. Returns their number.
    #[inline(never)]
    pub(crate) fn forked(&mut self) -> u64 {
        let CbList {
            out,
            out_bytes,
            mark,
            // Kept: what is queued.
            head: _,
            cuts: _,
            stamps: _,
            bytes: _,
            since: _,
        } = self;
        let out = core::mem::take(out);
        *out_bytes = 0;
        *mark = None;
        self.tidy();
        out
    }

    /// Drops the queued entries: the list continues at its end. Returns their number.
    pub(crate) fn abandon(&mut self) -> u64 {
        let end = self.cuts[NEXT];
        let queued = end.wrapping_sub(self.head);
        self.head = end;
        self.cuts = [end; SEGMENTS];
        self.bytes = [0; SEGMENTS];
        self.tidy();
        queued
    }
}

//! An offloaded CPU's hidden callbacks, and its record of its own queueing.
//!
//! Under [`Policy::Kernel612`](super::Policy::Kernel612) the *bypass* is a second FIFO behind the list: the
//! engine keeps its length, weight and age. It has two uses. A CPU that queues more than `direct_limit`
//! callbacks a tick uses it to avoid contention with rcuog for the list's lock; and lazy callbacks wait in
//! it. It is *all lazy* or *mixed*: one callback that is not lazy makes the whole mixed, because those before
//! it go first.
//!
//! Under [`Policy::Quiescent`](super::Policy::Quiescent) there is no bypass; the youngest `lazy` callbacks of
//! the list are the lazy ones.
//!
//! # Invariants
//! * Everything in the bypass was queued after everything in the list.
//! * In an empty bypass nothing is lazy (6.12); the lazy ones are still queued (quiescent).
//!
//! # Direct rate
//! A counter that is incremented with every callback and reduced by the limit whenever a callback finds
//! another tick: a burst decays by one limit a tick, not at once.

use crate::periods::cpu::Cpu;
use crate::periods::host::CpuId;
use quiescent_engine::cblist::CbList;

use super::{GroupId, Member};

impl Member {
    /// There is something in the bypass, and all of it is lazy.
    pub(super) fn all_lazy(&self) -> bool {
        self.bypass != 0 && self.lazy == self.bypass
    }

    /// Counts a callback; the direct rate with it.
    pub(super) fn count_rate(&mut self, tick: u64, limit: u64) -> u64 {
        self.rate = if tick == self.rate_tick {
            self.rate.saturating_add(1)
        } else {
            self.rate.saturating_sub(limit).min(limit)
        };
        self.rate_tick = tick;
        self.rate
    }

    /// One more is hidden.
    pub(super) fn hide(&mut self, bytes: u64, lazy: bool, tick: u64, ns: u64) {
        if self.bypass == 0 {
            self.first = tick;
            self.since = ns;
        }
        self.since = self.since.min(ns);
        self.bypass += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.lazy += u64::from(lazy);
    }

    /// Has the CPU that queues one more to flush?
    pub(super) fn queuer_flushes(&self, tick: u64, lazy_flush: u64, qhimark: u64) -> bool {
        let mixed = self.bypass != self.lazy && tick != self.first;
        let late = self.all_lazy() && tick > self.first.saturating_add(lazy_flush);
        self.bypass != 0 && (mixed || late || self.bypass >= qhimark)
    }

    /// Has rcuog to?
    pub(super) fn pass_flushes(&self, tick: u64, lazy_flush: u64, qhimark: u64) -> bool {
        let time = if self.all_lazy() { lazy_flush } else { 1 };
        let late = tick > self.first.saturating_add(time);
        self.bypass != 0 && (late || self.bypass > qhimark.saturating_mul(2))
    }
}

impl Cpu {
    /// Its part in offloading.
    pub fn member(&self) -> &Member {
        &self.offload
    }

    /// Everything it owes on a kernel's list: queued, out, or in the bypass.
    pub fn owed(&self) -> u64 {
        self.list.len() + self.offload.bypass
    }

    /// Moves all of the bypass to the end of NEXT; how many that were. Nothing is lazy any more.
    pub(super) fn flush_bypass(&mut self, tick: u64) -> u64 {
        let member = &mut self.offload;
        let flushed = core::mem::take(&mut member.bypass);
        let (bytes, since) = (
            core::mem::take(&mut member.bytes),
            core::mem::take(&mut member.since),
        );
        member.lazy = 0;
        member.first = if flushed == 0 { member.first } else { tick };
        let list = self.code();
        list.enqueue_to(list.end().wrapping_add(flushed), bytes, since);
        flushed
    }

    pub(super) fn code(&mut self) -> &mut CbList {
        &mut self.list
    }

    pub(super) fn code_ref(&self) -> &CbList {
        &self.list
    }

    pub(super) fn group_id(&self) -> Option<GroupId> {
        self.offload.group
    }

    pub(super) fn must_be_of(&self, group: GroupId) {
        let cpu: CpuId = self.id();
        assert!(
            self.group_id() == Some(group),
            "CPU {cpu} was given the group {group}, which is not its own"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLUSH: u64 = 100;
    const MARK: u64 = 10;

    fn holding(bypass: u64, lazy: u64) -> Member {
        Member {
            bypass,
            lazy,
            first: 1000,
            ..Member::new()
        }
    }

    #[test]
    fn the_queueing_cpu_flushes_a_mixed_old_late_or_long_bypass() {
        let rows = [
            (0, 0, 5000, false),
            (3, 2, 1000, false), // mixed, the same tick
            (3, 2, 1001, true),
            (3, 3, 1100, false), // all lazy, on time
            (3, 3, 1101, true),
            (9, 9, 1000, false),
            (10, 10, 1000, true),
            (10, 0, 1000, true),
        ];
        for (bypass, lazy, tick, flushes) in rows {
            let it = holding(bypass, lazy);
            let got = it.queuer_flushes(tick, FLUSH, MARK);
            assert_eq!(got, flushes, "{bypass}, {lazy} lazy, at {tick}");
        }
    }

    #[test]
    fn rcuog_flushes_what_is_late_or_far_too_long() {
        let rows = [
            (0, 0, 5000, false),
            (3, 2, 1001, false), // mixed, on time
            (3, 2, 1002, true),
            (3, 3, 1100, false),
            (3, 3, 1101, true),
            (20, 20, 1000, false),
            (21, 21, 1000, true),
            (21, 0, 1000, true),
        ];
        for (bypass, lazy, tick, flushes) in rows {
            let it = holding(bypass, lazy);
            let got = it.pass_flushes(tick, FLUSH, MARK);
            assert_eq!(got, flushes, "{bypass}, {lazy} lazy, at {tick}");
        }
    }

    #[test]
    fn the_direct_rate_rises_with_each_and_falls_by_the_limit() {
        let mut it = Member::new();
        let mut count = |tick| it.count_rate(tick, 4);
        assert_eq!([count(1), count(1), count(1)], [0, 1, 2]);
        assert_eq!(count(2), 0, "not below");
        for rate in 1..=11 {
            assert_eq!(count(2), rate);
        }
        assert_eq!([count(3), count(3)], [4, 5], "the limit at most");
        assert_eq!(count(9), 1, "one limit, however long it took");
    }
}

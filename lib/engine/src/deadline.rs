//! Deadlines: how long callbacks may wait for a batch, also when that time changes while the program runs.
//!
//! The engine computes a queue's deadline when a call reaches the queue. A change of the times is therefore
//! followed by a visit of every queue ([`Cpu::retime`]); a timer that was set to a later time is set again,
//! and one that was set to an earlier time fires once without work.

use core::num::NonZeroU64;

use crate::config::Defer;
use crate::cpu::{Cpu, moment};
use crate::global::{Cause, Global};
use crate::host::{Lane, Now};

impl Defer {
    /// Lazy callbacks wait at most `ns` nanoseconds for their stamp. Deadlines stay on the grid as long as
    /// that is no coarser than the time itself.
    pub const fn with_lazy_ns(mut self, ns: u64) -> Defer {
        const GRID_NS: u64 = Defer::threads().lazy_grid_ns;
        self.lazy_ns = ns;
        self.lazy_grid_ns = if ns < GRID_NS { 1 } else { GRID_NS };
        self
    }

    /// Prompt callbacks wait at most `ns` nanoseconds for their stamp.
    pub const fn with_prompt_ns(mut self, ns: u64) -> Defer {
        self.prompt_ns = ns;
        self
    }
}

impl Global {
    /// Callbacks may wait this long from now on: [`retime`](Cpu::retime) every queue.
    pub fn set_flush_times(&mut self, lazy_ns: u64, prompt_ns: u64) {
        let defer = self.config.defer;
        self.config.defer = defer.with_lazy_ns(lazy_ns).with_prompt_ns(prompt_ns);
    }

    /// From now on the program runs its code itself, when it drains, or it does not: [`retime`](Cpu::retime)
    /// every queue.
    pub fn set_drained(&mut self, drained: bool) {
        self.config.defer.drained = drained;
    }
}

impl Cpu {
    /// Has another thread to take this queue over now, and why? Its time has passed, or a hurried entry has
    /// found no free segment for its stamp. Where memory is `low`, any time has passed.
    #[inline]
    pub fn due(&self, now: Now, low: bool) -> Option<Cause> {
        let over = |at: Option<NonZeroU64>| at.is_some_and(|at| at.get() <= now.ns);
        let unstamped = || self.lists.iter().any(|list| list.unstamped() > 0);
        if over(self.deadline) {
            let prompt = over(self.prompt);
            return Some(if prompt { Cause::Prompt } else { Cause::Lazy });
        }
        if self.is_hurried() && unstamped() {
            return Some(Cause::Hurry);
        }
        (low && self.deadline.is_some()).then_some(Cause::Pressure)
    }

    /// The times have changed: the deadline of queued entries follows. Returns the new time of the worker's
    /// timer, if it changes.
    ///
    /// An earlier prompt deadline that is set stays.
    pub fn retime(&mut self, global: &mut Global, now_ns: u64) -> Option<u64> {
        self.advance(global);
        let latest = now_ns.saturating_add(global.config.defer.prompt_ns);
        self.prompt = self.prompt.min(moment(latest)); // none stays none
        // Hurried entries are being served already.
        let waits = self.deadline.is_some() || !(self.is_empty() || self.is_hurried());
        if waits {
            self.set_deadline(global, now_ns)
        } else {
            None
        }
    }

    pub(crate) fn set_deadline(&mut self, global: &mut Global, now_ns: u64) -> Option<u64> {
        let deadline = self.next_deadline(global, now_ns);
        self.deadline = deadline.and_then(moment);
        global.arm(deadline?)
    }

    /// Where credit is outstanding, the owner may have queued something already: a deadline as if it had.
    pub(crate) fn next_deadline(&self, global: &Global, now_ns: u64) -> Option<u64> {
        let Defer {
            lazy_ns,
            lazy_grid_ns,
            ..
        } = global.config.defer;
        let mut oldest = None;
        for (list, lane) in self.lists.iter().zip(Lane::ALL) {
            let since = match self.is_drained(lane) {
                true => list.waiting_since(),
                false => list.since(),
            };
            if let Some(since) = since {
                oldest = Some(oldest.map_or(since, |oldest: u64| oldest.min(since)));
            }
        }
        let oldest = oldest.or_else(|| (!self.tight).then_some(now_ns));
        let lazy = oldest.map(|since| {
            since
                .saturating_add(lazy_ns)
                .checked_next_multiple_of(lazy_grid_ns.max(1))
                .unwrap_or(u64::MAX)
        });
        match (lazy, self.prompt) {
            (Some(lazy), Some(prompt)) => Some(lazy.min(prompt.get())),
            (lazy, _) => lazy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_not_rounded() {
        let long = Defer::threads().with_lazy_ns(5_000_000_000);
        assert_eq!(long.lazy_grid_ns, 1_000_000_000);
        let grid = long.with_lazy_ns(1_000_000_000);
        assert_eq!(grid.lazy_grid_ns, 1_000_000_000, "no coarser");
        let short = long.with_lazy_ns(20_000_000);
        assert_eq!((short.lazy_ns, short.lazy_grid_ns), (20_000_000, 1));
        assert_eq!(short.with_lazy_ns(10_000_000_000), Defer::threads());
    }
}

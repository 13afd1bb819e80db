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
        self.timer.round_end = 0; // the next prompt callback begins a round
    }

    /// The time by which a prompt callback that is queued now is stamped: the end of the *round*, which is
    /// one for all queues, so that one wake-up serves them all. The first callback after the end of a round
    /// begins the next one. It takes a part of `prompt_ns`
    /// ([`prompt_growth`](crate::config::Defer::prompt_growth)); or twice the time of the last one, up to
    /// `prompt_ns`, if that has ended no longer ago: a stream of callbacks causes few wake-ups.
    pub fn prompt_by(&mut self, now_ns: u64) -> u64 {
        let Defer {
            prompt_ns,
            prompt_growth,
            ..
        } = self.config.defer;
        let timer = &mut self.timer;
        if now_ns >= timer.round_end {
            let least = prompt_ns / u64::from(prompt_growth.max(1));
            let long = |doubled| least.saturating_mul(1_u64 << doubled).min(prompt_ns);
            let follows = (now_ns - timer.round_end) / 2 <= long(timer.round);
            timer.round = match follows {
                true => (timer.round + 1).min(8), // `prompt_growth` is below 256
                false => 0,
            };
            timer.round_end = now_ns.saturating_add(long(timer.round));
        }
        timer.round_end
    }

    /// The worker serves a round: what is queued from now on is of the next.
    pub(crate) fn end_prompt_round(&mut self, now_ns: u64) {
        self.timer.round_end = self.timer.round_end.min(now_ns);
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
    use crate::config::Config;

    const MS: u64 = 1_000_000;

    /// The times in ms by which callbacks are stamped that are queued at these times. A worker serves each
    /// round at its end.
    fn rounds<const N: usize>(growth: u8, at_ms: [u64; N]) -> [u64; N] {
        let mut config = Config::threads();
        config.defer.prompt_growth = growth;
        let mut global = Global::new(config);
        at_ms.map(|at| global.prompt_by(at * MS) / MS)
    }

    #[test]
    fn prompt_callbacks_of_all_queues_share_rounds() {
        let times = [1000, 1020, 1049, 1050, 1099, 1200];
        assert_eq!(rounds(1, times), [1050, 1050, 1050, 1100, 1100, 1250]);
    }

    #[test]
    fn rounds_grow_in_a_stream_and_rare_callbacks_wait_for_a_short_one() {
        let times = [1000, 1005, 1015, 1035, 1075, 1125, 1275, 1426, 1431];
        let ends = [1005, 1015, 1035, 1075, 1125, 1175, 1325, 1431, 1441];
        assert_eq!(rounds(10, times), ends);
    }

    #[test]
    fn what_is_queued_behind_a_served_round_is_of_the_next() {
        let mut global = Global::new(Config::threads());
        assert_eq!(global.prompt_by(100 * MS), 150 * MS);
        global.end_prompt_round(149 * MS); // by a clock that is a little late
        assert_eq!(global.prompt_by(149 * MS), 199 * MS);
        global.set_flush_times(1, 10 * MS);
        assert_eq!(
            global.prompt_by(160 * MS),
            170 * MS,
            "no longer than is set"
        );
    }

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

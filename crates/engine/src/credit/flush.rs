//! How long callbacks may wait for company, changed while the program runs.
//!
//! A queue's deadline is computed when the engine looks at it. A change of the times is therefore followed
//! by a look at every queue ([`Cpu::retime`]); a timer that was set to a later time is set anew, one that was set
//! to an earlier time fires once for nothing.

use super::Defer;
use crate::cpu::Cpu;
use crate::global::Global;

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
}

impl Cpu {
    /// The times have changed: the deadline of what is queued follows. Returns what the group's timer has to be set
    /// to, if it has to be.
    ///
    /// A prompt deadline that is set stays if it is earlier: it was promised.
    pub fn retime(&mut self, global: &mut Global, now_ns: u64) -> Option<u64> {
        if let Some(by) = self.credit.prompt {
            let latest = now_ns.saturating_add(global.config.defer.prompt_ns);
            self.credit.prompt = Some(by.min(latest));
        }
        self.credit.deadline?;
        self.set_deadline(global, now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_not_rounded() {
        let long = Defer::threads().with_lazy_ns(5_000_000_000);
        assert_eq!(long.lazy_grid_ns, 1_000_000_000);
        let short = long.with_lazy_ns(20_000_000);
        assert_eq!((short.lazy_ns, short.lazy_grid_ns), (20_000_000, 1));
        assert_eq!(short.with_lazy_ns(10_000_000_000), Defer::threads());
    }
}

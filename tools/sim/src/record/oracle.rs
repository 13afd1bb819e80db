//! The oracle: checks that nothing comes too early.
//!
//! Sections are numbered as they are opened. A task that waits, or queues a callback, notes the number of the
//! next section: it has to outlive exactly the open sections with a smaller number. At each wake-up and each
//! callback one comparison with the oldest open section checks that. It is always on.
//!
//! A barrier promises more: every callback queued before it has been invoked. Callbacks are numbered too.

use std::collections::BTreeSet;

/// Open sections, callbacks, and the count of violations.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    sections: u64,
    open: BTreeSet<u64>,
    callbacks: u64,
    owed: BTreeSet<u64>,
    early: u64,
}

impl Oracle {
    /// A section is opened: its number.
    pub fn opened(&mut self) -> u64 {
        self.open.insert(self.sections);
        self.sections += 1;
        self.sections - 1
    }

    /// It is closed.
    pub fn closed(&mut self, section: u64) {
        assert!(self.open.remove(&section), "a section is closed once");
    }

    /// Is a section open?
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A wait that starts now waits for all sections below.
    pub fn since(&self) -> u64 {
        self.sections
    }

    /// A wait that noted `since` ends.
    pub fn waited(&mut self, since: u64) {
        let inside = self.open.first().is_some_and(|&oldest| oldest < since);
        self.early += u64::from(inside);
    }

    /// A callback is queued: its number.
    pub fn queued(&mut self) -> u64 {
        self.owed.insert(self.callbacks);
        self.callbacks += 1;
        self.callbacks - 1
    }

    /// It is invoked, having waited `since` then.
    pub fn invoked(&mut self, callback: u64, since: u64) {
        assert!(self.owed.remove(&callback), "a callback is invoked once");
        self.waited(since);
    }

    /// Callbacks queued until now are below this.
    pub fn until(&self) -> u64 {
        self.callbacks
    }

    /// A barrier claims that all callbacks below this number have been invoked.
    pub fn drained(&mut self, until: u64) {
        let left = self.owed.first().is_some_and(|&oldest| oldest < until);
        self.early += u64::from(left);
    }

    /// The number of violations.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Callbacks that have not been invoked.
    pub fn owed(&self) -> u64 {
        self.owed.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_older_sections_count() {
        let mut oracle = Oracle::default();
        let (first, since) = (oracle.opened(), oracle.since());
        let second = oracle.opened();
        oracle.waited(since);
        assert_eq!(oracle.early(), 1, "inside the first");
        oracle.closed(first);
        oracle.waited(since);
        assert_eq!(oracle.early(), 1, "the second came later");
        oracle.waited(oracle.since());
        assert_eq!(oracle.early(), 2);
        oracle.closed(second);
        oracle.waited(oracle.since());
        assert_eq!(oracle.early(), 2);
    }

    #[test]
    fn a_barrier_waits_for_all_and_no_more() {
        let mut oracle = Oracle::default();
        let (a, b) = (oracle.queued(), oracle.queued());
        let until = oracle.until();
        let later = oracle.queued();
        oracle.invoked(b, 0);
        oracle.drained(until);
        assert_eq!((oracle.early(), oracle.owed()), (1, 2));
        oracle.invoked(a, 0);
        oracle.drained(until);
        assert_eq!(oracle.early(), 1);
        oracle.drained(oracle.until());
        assert_eq!(oracle.early(), 2);
        oracle.invoked(later, 0);
        assert_eq!(oracle.owed(), 0);
    }

    #[test]
    fn what_is_queued_is_owed_until_it_is_invoked() {
        let mut oracle = Oracle::default();
        let (a, b) = (oracle.queued(), oracle.queued());
        oracle.invoked(b, 0);
        assert_eq!(oracle.owed(), 1);
        oracle.invoked(a, 0);
        assert_eq!((oracle.owed(), oracle.early()), (0, 0));
    }
}

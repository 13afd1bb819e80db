//! Callbacks: queued, invoked, how long between, in which batches.
//!
//! A callback is known by its head from `rcu_callback` to `rcu_invoke_callback`, a block of `kvfree_rcu` from
//! `rcu_kvfree_callback` to `rcu_invoke_kvfree_callback`. Its delay counts if both lie in the window. Blocks
//! that are freed in bulk have no head: they are invoked and unpaired. At most [`WAITING_MOST`] wait at a
//! time: further ones are counted and their delay is not known, so that a trace whose invocations are missing
//! does not eat the memory.

use crate::event::{KVFREE, Move};
use crate::{Distribution, Event, Record};
use std::collections::{BTreeMap, HashMap};

/// Callbacks that may be waited for at a time.
const WAITING_MOST: usize = 1 << 20;

/// Follows callbacks through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// When, its function, whether in the window.
    waiting: HashMap<u64, (u64, u32, bool)>,
    names: HashMap<String, u32>,
    counts: Figures,
}

/// What callbacks did in a window. Functions are numbers until the end.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) queued: u64,
    pub(crate) invoked: u64,
    pub(crate) kvfree: u64,
    /// Invoked, and their queueing was not in the trace.
    pub(crate) unpaired: u64,
    /// Queued when too many were waiting.
    pub(crate) untracked: u64,
    pub(crate) delay: Distribution,
    pub(crate) batches: Distribution,
    by_function: Vec<(u64, Distribution)>,
}

impl Follow {
    pub(crate) fn reset(&mut self) {
        self.counts = Figures::default();
        self.waiting
            .values_mut()
            .for_each(|(.., inside)| *inside = false);
    }

    /// The next event. Whether it is the invocation of a callback whose queueing was not seen.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, inside: bool) -> bool {
        match event.moves() {
            Some(Move::Queued { head, function }) => self.queued(head, function, record, inside),
            Some(Move::Invoked { head, function }) => {
                self.counts.kvfree += u64::from(inside && function == KVFREE);
                return self.invoked(head, record, inside);
            }
            Some(Move::Bulk { blocks }) if inside => {
                self.counts.kvfree += blocks;
                self.counts.invoked += blocks;
                self.counts.unpaired += blocks;
            }
            Some(Move::Bulk { .. }) => {}
            None => {
                if let Event::BatchStart { callbacks } = *event
                    && inside
                {
                    self.counts.batches.add(callbacks);
                }
            }
        }
        false
    }

    fn invoked(&mut self, head: u64, record: &Record<'_>, inside: bool) -> bool {
        let queued = self.waiting.remove(&head);
        if !inside {
            return queued.is_none();
        }
        self.counts.invoked += 1;
        match queued {
            None => self.counts.unpaired += 1,
            Some((.., false)) => {}
            Some((time, function, true)) => {
                let delay = record.time_ns.saturating_sub(time);
                self.counts.delay.add(delay);
                self.counts.of(function).1.add(delay);
            }
        }
        queued.is_none()
    }

    fn queued(&mut self, head: u64, function: &str, record: &Record<'_>, inside: bool) {
        let number = match self.names.get(function) {
            Some(number) => *number,
            None => {
                let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.names.insert(function.to_owned(), next);
                next
            }
        };
        if self.waiting.len() < WAITING_MOST || self.waiting.contains_key(&head) {
            self.waiting.insert(head, (record.time_ns, number, inside));
        } else {
            self.counts.untracked += u64::from(inside);
        }
        if inside {
            self.counts.queued += 1;
            self.counts.of(number).0 += 1;
        }
    }

    /// The figures, and by function: how many were queued, and their delays.
    pub(crate) fn finish(self) -> (Figures, BTreeMap<String, (u64, Distribution)>) {
        let mut counts = self.counts;
        let mut by_function = BTreeMap::new();
        for (name, number) in self.names {
            let of = counts.by_function.get_mut(number as usize);
            if let Some(of) = of.filter(|of| of.0 > 0 || of.1.n() > 0) {
                by_function.insert(name, std::mem::take(of));
            }
        }
        (counts, by_function)
    }
}

impl Figures {
    fn of(&mut self, function: u32) -> &mut (u64, Distribution) {
        let place = function as usize;
        if self.by_function.len() <= place {
            self.by_function
                .resize(place + 1, (0, Distribution::default()));
        }
        &mut self.by_function[place]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Reader, Window, measure};

    #[test]
    fn blocks_are_invoked_as_callbacks_are() {
        let text = "\
            a-5 [001] d..1. 1.000001: rcu_kvfree_callback: rcu_preempt rhp=10 func=8 1
            a-5 [001] d..1. 1.000002: rcu_callback: rcu_preempt rhp=20 func=f 2
            a-5 [001] d..1. 1.000005: rcu_invoke_callback: rcu_preempt rhp=20 func=f
            a-5 [001] d..1. 1.000008: rcu_invoke_kvfree_callback: rcu_preempt rhp=10 func=8
            a-5 [001] d..1. 1.000009: rcu_invoke_kvfree_callback: rcu_preempt rhp=30 func=8
            a-5 [001] d..1. 1.000010: rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x40 nr_records=5
            a-5 [001] d..1. 1.000020: rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x40 nr_records=9
        ";
        let window = Window {
            start_ns: 0,
            end_ns: 1_000_010_000,
        };
        let figures = measure(&mut Reader::new("test", text.as_bytes()), Some(window));
        let figures = figures.expect("has figures");
        let of = [
            figures.callbacks,
            figures.invoked,
            figures.kvfree,
            figures.unpaired,
        ];
        assert_eq!(of, [2, 8, 7, 6]);
        let delay = |function| figures.by_function[function].delay.map(|delay| delay.max);
        assert_eq!([delay("f"), delay("kvfree")], [Some(3_000), Some(7_000)]);
    }
}

//! Callbacks: queued, invoked, how long between, in which batches.
//!
//! A callback is known by its head from `rcu_callback` to `rcu_invoke_callback`. Its delay counts if both lie
//! in the window. At most [`WAITING_MOST`] wait at a time: further ones are counted and their delay is not
//! known, so that a trace whose invocations are missing does not eat the memory.

use crate::{Distribution, Event, Record};
use std::collections::{BTreeMap, HashMap};

/// Callbacks that may be waited for at a time.
const WAITING_MOST: usize = 1 << 20;

/// Follows callbacks through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    waiting: HashMap<u64, (u64, u32)>,
    names: HashMap<String, u32>,
    counts: Figures,
}

/// What callbacks did in a window. Functions are numbers until the end.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) queued: u64,
    pub(crate) invoked: u64,
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
    }

    /// `start` is the instant from which queueing counts.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, inside: bool, start: u64) {
        match *event {
            Event::Callback { head, function } => self.queued(head, function, record, inside),
            Event::Kvfree { head } => self.queued(head, "kvfree", record, inside),
            Event::Invoke { head, .. } => {
                let queued = self.waiting.remove(&head);
                if !inside {
                    return;
                }
                self.counts.invoked += 1;
                match queued {
                    None => self.counts.unpaired += 1,
                    Some((time, _)) if time < start => {}
                    Some((time, function)) => {
                        let delay = record.time_ns.saturating_sub(time);
                        self.counts.delay.add(delay);
                        self.counts.of(function).1.add(delay);
                    }
                }
            }
            Event::BatchStart { callbacks } if inside => self.counts.batches.add(callbacks),
            _ => {}
        }
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
            self.waiting.insert(head, (record.time_ns, number));
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

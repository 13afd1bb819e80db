//! Callbacks, followed from queueing to invocation: for the analysis, the figures and the input of a replay.
//!
//! A callback is known by its head, from `rcu_callback` to `rcu_invoke_callback`, a block of `kvfree_rcu`
//! from `rcu_kvfree_callback` to `rcu_invoke_kvfree_callback`. Blocks that are freed in bulk have no head.

use super::arrival::{Queued, Ways, after};
use super::offloading::Offloading;
use crate::base::waiting::Waiting;
use crate::event::Move;
use crate::{Event, Record};

/// A callback that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending<T> {
    pub(crate) time_ns: u64,
    /// Queued in the window.
    pub(crate) inside: bool,
    pub(crate) how: Queued,
    /// What else its owner knows of it.
    pub(crate) of: T,
}

/// Follows callbacks through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow<T> {
    pub(crate) waiting: Waiting<u64, Pending<T>>,
    pub(crate) ways: Ways,
    pub(crate) offloading: Offloading,
    /// Queued while they waited already: their invocation is missing.
    pub(crate) again: u64,
}

/// What an event was to callbacks.
#[derive(Debug)]
pub(crate) enum Was<'a, T> {
    /// Its function.
    Queued(&'a str, T),
    /// An event of offloading says how this one was queued.
    Placed(Pending<T>),
    /// Its function, and how it waited; none if its queueing was not seen.
    Invoked(&'a str, Option<Pending<T>>),
    Bulk(u64),
}

impl<T: Copy> Follow<T> {
    /// The window starts.
    pub(crate) fn reset(&mut self) {
        self.waiting.values_mut().for_each(|it| it.inside = false);
    }

    /// The next event; `of` makes what is kept of a callback of this function that is queued.
    pub(crate) fn see<'a>(
        &mut self,
        record: &Record<'_>,
        event: &Event<'a>,
        inside: bool,
        of: impl FnOnce(&'a str) -> T,
    ) -> Option<Was<'a, T>> {
        self.offloading.see(record, event);
        let was = match (event.moves(), *event) {
            (Some(Move::Queued { head, function }), _) => {
                let queued = Pending {
                    time_ns: record.time_ns,
                    inside,
                    how: Queued::Unknown,
                    of: of(function),
                };
                self.again += u64::from(self.waiting.insert(head, queued).replaced.is_some());
                self.ways.queued(record, head);
                return Some(Was::Queued(function, queued.of));
            }
            (_, Event::NocbWake { cpu, what }) => {
                let (head, first) = self.ways.offload(record, cpu, what)?;
                let queued = self.waiting.get_mut(&head)?;
                queued.how = after(queued.how, first, what);
                return Some(Was::Placed(*queued));
            }
            (Some(Move::Invoked { head, function }), _) => {
                Some(Was::Invoked(function, self.waiting.remove(&head)))
            }
            (Some(Move::Bulk { blocks }), _) => Some(Was::Bulk(blocks)),
            (None, _) => None,
        };
        self.ways.go_on(record);
        was
    }
}

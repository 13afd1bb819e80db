//! What an event does to callbacks, blocks of `kvfree_rcu` among them.
//!
//! Who counts callbacks asks here, and matches every [`Move`]: whether a new kind of event queues or invokes
//! something is decided in one place, and does not compile without the decision.

use super::Event;

/// What stands for the function of a block of `kvfree_rcu`, which has none.
pub(crate) const KVFREE: &str = "kvfree";

/// What happened to callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move<'a> {
    /// One is queued.
    Queued { head: u64, function: &'a str },
    /// One is invoked.
    Invoked { head: u64, function: &'a str },
    /// So many blocks are freed together: their array has no head, and they were queued without an event.
    Bulk { blocks: u64 },
}

impl<'a> Event<'a> {
    /// What it does to callbacks; most events do nothing.
    #[inline]
    pub(crate) fn moves(&self) -> Option<Move<'a>> {
        Some(match *self {
            Event::Callback { head, function } => Move::Queued { head, function },
            Event::Kvfree { head } => Move::Queued {
                head,
                function: KVFREE,
            },
            Event::Invoke { head, function } => Move::Invoked { head, function },
            Event::InvokeKvfree { head } => Move::Invoked {
                head,
                function: KVFREE,
            },
            Event::InvokeBulk { records } => Move::Bulk { blocks: records },
            _ => return None,
        })
    }
}

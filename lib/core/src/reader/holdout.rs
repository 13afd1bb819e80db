//! Readers that a grace period waits for, with their thread ids and names.

use std::fmt;

use crate::prim;

/// A reader that the grace period in flight waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holdout {
    /// The system's id of the thread; 0 for the readers that share the two counters.
    pub thread_id: u32,
    /// The thread's name, if the system still knows the thread. A thread without one has *ended* inside a
    /// section: it leaked a guard, and no grace period will ever end.
    pub name: Option<String>,
    /// The number of nested sections that it has open, as seen just now.
    pub nesting: u32,
    /// These are not sections of one thread, but of all other threads of the parent process: they were open
    /// in an `Srcu` when this process was forked, and guards that may be sent keep them open here. Then
    /// `thread_id` is 0. (Threads that had ended sections of each other before make the share of the thread
    /// that forked uncertain; the sum is exact.)
    pub inherited: bool,
}

impl Holdout {
    pub(crate) fn new(thread_id: u32, nesting: u32) -> Holdout {
        let name = match thread_id {
            0 => Some("(threads without a slot)".to_owned()),
            id => prim::thread_name(id),
        };
        Holdout {
            thread_id,
            name,
            nesting,
            inherited: false,
        }
    }

    /// Sections that other threads of the parent had open.
    pub(crate) fn of_parent(sections: u32) -> Holdout {
        Holdout {
            thread_id: 0,
            name: Some("(other threads of the parent)".to_owned()),
            nesting: sections,
            inherited: true,
        }
    }
}

impl fmt::Display for Holdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inherited {
            let plural = if self.nesting == 1 { "" } else { "s" };
            let open = self.nesting;
            return write!(
                f,
                "{open} section{plural} that other threads of the parent had open"
            );
        }
        match &self.name {
            Some(name) => write!(f, "thread {} \"{name}\"", self.thread_id)?,
            None => write!(f, "thread {}, which ended inside a section", self.thread_id)?,
        }
        write!(f, " (nesting {})", self.nesting)
    }
}

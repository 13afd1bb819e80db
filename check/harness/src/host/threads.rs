//! Reader state of a registered thread, as in the thread host.
//!
//! ```text
//!   ┌──────────────────────────┬─────────────┐
//!   │ generation               │ nesting     │   written by the owner only
//!   └──────────────────────────┴─────────────┘   and, apart from it, the wake flag
//! ```
//!
//! The outermost lock advances the generation: a thread that left its section and stays out shows nesting 0,
//! one that left and came back shows another generation. Here both are plain fields, because a test performs
//! one action after the other.

use quiescent_engine::host::Seen;

/// A thread's reader word and its wake flag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reader {
    generation: u64,
    nesting: u32,
    flag: bool,
}

impl Reader {
    /// Opens a section, or nests one.
    pub fn enter(&mut self) {
        self.generation += u64::from(self.nesting == 0);
        self.nesting += 1;
    }

    /// Closes the innermost section. True if that was the last one: the caller then has to check the wake
    /// flag ([`take_flag`](Reader::take_flag)).
    ///
    /// # Panics
    /// If none is open.
    pub fn exit(&mut self) -> bool {
        assert!(
            self.nesting > 0,
            "a section was closed that was never opened: enter first"
        );
        self.nesting -= 1;
        self.nesting == 0
    }

    /// Sets the wake flag; true if it was clear.
    pub fn set_flag(&mut self) -> bool {
        !std::mem::replace(&mut self.flag, true)
    }

    /// Clears the wake flag; true if it was set, and the caller has to wake the sleeper.
    pub fn take_flag(&mut self) -> bool {
        std::mem::take(&mut self.flag)
    }

    /// Is the wake flag set?
    pub fn is_flagged(&self) -> bool {
        self.flag
    }

    /// The number of nested open sections.
    pub fn depth(&self) -> u32 {
        self.nesting
    }

    /// A scan's observation.
    pub fn seen(&self) -> Seen {
        Seen {
            outside: self.nesting == 0,
            stamp: self.generation,
        }
    }
}

//! Reader state of a registered thread: nesting, a generation that the outermost lock advances, and the wake flag.

use quiescent_engine::Seen;

/// A thread's reader word and its wake flag.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
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

    /// Closes the innermost section. True if that was the last one: then the wake flag has to be looked at.
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

    /// Clears the wake flag; true if it was set.
    pub fn take_flag(&mut self) -> bool {
        std::mem::take(&mut self.flag)
    }

    /// Open sections, one inside the other.
    pub fn depth(&self) -> u32 {
        self.nesting
    }

    /// What a scan sees.
    pub fn seen(&self) -> Seen {
        Seen {
            outside: self.nesting == 0,
            stamp: self.generation,
        }
    }
}

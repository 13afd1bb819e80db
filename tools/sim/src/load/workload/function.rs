//! A callback's function, as a workload's file has it.

use super::stage::Stage;
use crate::base::error::Error;
use crate::input::work::Queued;
use crate::text::fields::Fields;
use crate::threads::Verb;

/// A function, and how callbacks of it are queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub name: String,
    pub bytes: u64,
    lazy: bool,
    can_wake: bool,
    /// How it is handed over on a machine of threads.
    pub verb: Verb,
}

impl Function {
    /// One of a task's `callbacks`.
    pub fn read(it: &Fields<'_>) -> Result<Function, Error> {
        let lazy = it.flag("lazy", true)?;
        let plain = if lazy { Verb::CallLazy } else { Verb::Call };
        let function = Function {
            name: it.need("func")?,
            bytes: it.count("bytes", 0)?,
            lazy,
            can_wake: it.flag("can_wake", true)?,
            verb: it.word("verb", &Verb::NAMES)?.map_or(plain, Verb::at),
        };
        it.check_names().map(|()| function)
    }

    pub fn queued(&self, machine: &mut impl Stage) -> Queued {
        Queued {
            func: machine.function(self),
            lazy: self.lazy,
            can_wake: self.can_wake,
        }
    }
}

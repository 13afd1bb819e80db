//! A callback's function, as a workload's file has it.

use crate::base::error::Error;
use crate::input::op::Queued;
use crate::kernel::machine::Machine;
use crate::text::fields::Fields;

/// A function, and how callbacks of it are queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub name: String,
    pub bytes: u64,
    lazy: bool,
    can_wake: bool,
}

impl Function {
    /// One of a task's `callbacks`.
    pub fn read(it: &Fields<'_>) -> Result<Function, Error> {
        let function = Function {
            name: it.need("func")?,
            bytes: it.count("bytes", 0)?,
            lazy: it.flag("lazy", true)?,
            can_wake: it.flag("can_wake", true)?,
        };
        it.check_names().map(|()| function)
    }

    pub fn queued(&self, machine: &mut Machine) -> Queued {
        Queued {
            func: machine.func_of(&self.name, self.bytes),
            lazy: self.lazy,
            can_wake: self.can_wake,
        }
    }
}

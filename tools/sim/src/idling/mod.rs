//! Idle states: tables of them, governors, the package, and the power of states. `kernel/idling.rs` has their
//! use by the CPUs of a machine.

use std::sync::Arc;

pub(crate) mod governor;
pub(crate) mod package;
pub mod power;
pub(crate) mod shown;
mod table;

pub use governor::Governor;
pub use power::Profile;
pub use shown::{Blocked, By, EDGES, Energy, Idled, Period, Residency};
pub use table::{AWAKE, BUSY, CpuKind, IdleState, PackageState, Table};

/// What a machine's idle states are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The table; none: a CPU that halts is in no state, and wakes at once.
    pub table: Option<Arc<Table>>,
    /// The governor that chooses among its states.
    pub governor: Governor,
    /// The longest exit that is allowed, in nanoseconds.
    pub latency_limit: Option<u64>,
    /// The deepest state of the package that devices allow.
    pub package_limit: Option<String>,
    /// What states cost.
    pub power: Option<Arc<Profile>>,
}

impl Setup {
    /// No idle states.
    pub const fn none() -> Setup {
        Setup {
            table: None,
            governor: Governor::Menu,
            latency_limit: None,
            package_limit: None,
            power: None,
        }
    }
}

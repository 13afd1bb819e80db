//! Idle states: tables of them, governors, the package, and the power of states. `kernel/idling.rs` has their
//! use by the CPUs of a machine.

use std::sync::Arc;

use crate::base::described;

pub(crate) mod governor;
pub(crate) mod package;
pub mod power;
pub(crate) mod shown;
mod table;

pub use governor::Governor;
pub use power::Profile;
pub use shown::{Blocked, By, EDGES, Energy, Idled, Period, Residency};
pub use table::{AWAKE, BUSY, CpuKind, IdleState, PackageState, Table};

described! {
    /// What a machine's idle states are.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Setup {
        /// Idle states of CPUs and of the package; none: a CPU that halts wakes at once (data/idle has them,
        /// with what each assumes).
        pub table: Option<Arc<Table>> = None,
        /// Who chooses among a CPU's idle states, and whether its tick goes on.
        pub governor: Governor = Governor::Menu,
        /// No idle state is chosen that takes longer to leave (PM QoS).
        pub latency_limit: Option<u64> = None,
        /// The deepest state of the package that devices allow, such as a screen that is on.
        pub package_limit: Option<String> = None,
        /// What states cost: a profile of power (data/power has them, with what each assumes).
        pub power: Option<Arc<Profile>> = None,
    }
}

//! What the library promises on this system.

use crate::global::env;
use quiescent_core::os::HAS;
use quiescent_core::reader::mode::FenceMode;

/// What the library promises in this process beyond what it promises on every system: readers on any thread,
/// grace periods that end, and that what is retired is freed after one.
///
/// ```
/// let guarantees = quiescent::stats::guarantees();
/// if !guarantees.forks {
///     // Do not use the library in a child of a fork.
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// Readers execute no fence ([`FenceMode::Membarrier`]).
    pub unfenced_readers: bool,
    /// A signal handler may read, at any instruction, also on a thread that has never read.
    pub signal_handlers: bool,
    /// The child of a fork can use the library.
    pub forks: bool,
    /// A destructor of a thread-local that reads while its thread ends is a reader like any other. Else it
    /// may be one of the unregistered ones, which are slow.
    pub late_readers: bool,
    /// The system reports that memory is low. (The program can do so everywhere:
    /// [`memory_is_low`](crate::tuning::memory_is_low).)
    pub memory_pressure: bool,
    /// There is [telemetry](crate::telemetry).
    pub telemetry: bool,
    /// No thread wakes only to look whether there is something to do. Else a thread that waits for a reader
    /// looks at times, once a second in the end, and one that sleeps until a time wakes when that is changed.
    pub quiet: bool,
}

/// What the library promises in this process. Decides the fence mode, if that is open.
pub fn guarantees() -> Guarantees {
    let unfenced_readers = env().threads.mode.resolve() == FenceMode::Membarrier;
    Guarantees {
        unfenced_readers,
        signal_handlers: HAS.signals,
        forks: HAS.fork,
        late_readers: HAS.late_readers,
        memory_pressure: HAS.pressure,
        telemetry: HAS.telemetry,
        quiet: HAS.silent_timer && unfenced_readers,
    }
}

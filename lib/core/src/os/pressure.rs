//! The kernel's sources of memory pressure, and their states. Systems without any leave them closed.

/// The states of the kernel's sources of memory pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PressureSources {
    /// `/proc/pressure/memory`: tasks anywhere on this machine had to wait for memory.
    pub system: PressureSource,
    /// The control group's `memory.pressure`: tasks of the process's own group had to wait.
    pub group: PressureSource,
    /// The control group's `memory.events`: it has reached `memory.high` or `memory.max`.
    pub limits: PressureSource,
}

/// The state of one such source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PressureSource {
    /// Not tried: there has been no worker yet, or `Options::memory_pressure` is off.
    #[default]
    Closed,
    /// There is no such file, or this process may not use it.
    Unavailable,
    /// Available, and not listened to: nothing is queued that would wait.
    Idle,
    /// The worker listens.
    Armed,
}

//! A host for calls that make no queries.

use quiescent_kernel::Host;

/// The queries of a [`Host`] that only calls of the driver make, for hosts of tests that do not drive.
#[macro_export]
macro_rules! asked_by_the_driver_only {
    () => {
        fn cpus(&self) -> u32 {
            unreachable!("asked by the driver only")
        }
        fn observe(&self, _: $crate::quiescent_kernel::CpuId) -> $crate::quiescent_kernel::Seen {
            unreachable!("asked by the driver only")
        }
        fn present(&self, _: $crate::quiescent_kernel::LeafId) -> u64 {
            unreachable!("asked by the driver only")
        }
        fn own_quiescent(&self, _: $crate::quiescent_kernel::CpuId) -> bool {
            unreachable!("asked by the driver only")
        }
    };
}

/// A host that panics at every query, and drops every event.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Host for Silent {
    const TRACES: bool = false;

    asked_by_the_driver_only!();
}

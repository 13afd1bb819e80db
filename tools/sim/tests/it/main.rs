//! Machines from outside: what they do, held against what a kernel or a recorded trace did.

mod barrier;
mod common;
mod expedited;
mod experiments;
mod fast_no_hz;
mod fit_bridge;
mod flood;
mod hotplug;
mod kernel_settings;
mod loads;
mod looks;
mod nohz_full;
mod oracle;
mod readers;
mod releases;
mod second_rounds;
mod serial;
mod shapes;
mod srcu;
mod sync;
mod trace_waits;
mod whatif;
mod whatif_limits;
mod whatif_noise;
mod whatif_waits;

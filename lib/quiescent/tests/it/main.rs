//! The library's tests on real threads: one program, a module for each subject.
//!
//! A test that uses the library is a process of its own (`common::isolated`), so that its counters, options
//! and threads are its own. Other programs: `interposed` (functions of the C library and the allocator are
//! replaced), `single_step` (a signal at every instruction), `ends` (the state of a process at its end, for
//! sanitizers).

#![cfg_attr(
    not(target_os = "linux"),
    allow(unused, reason = "tests that only Linux can run are not compiled")
)]

// For `needs!`.
#[macro_use]
extern crate quiescent_core;

#[path = "../common/mod.rs"]
mod common;

mod backlog;
mod barrier;
mod barrier_future;
mod budget;
mod by_function;
mod callbacks_misbehave;
mod cells;
mod defects;
mod deferral;
mod domain;
mod drain;
mod drained;
mod examples;
#[cfg(target_os = "linux")]
mod exit;
mod forgotten;
#[cfg(target_os = "linux")]
mod forks;
mod futures;
mod hand_over;
mod handles;
mod in_place;
mod list;
#[cfg(target_os = "linux")]
mod membarrier;
mod misuse;
mod modes;
mod not_too_early;
mod oracle;
#[cfg(target_os = "linux")]
mod out_of_memory;
mod polling;
#[cfg(target_os = "linux")]
mod pressure;
#[cfg(target_os = "linux")]
mod pressure_groups;
#[cfg(target_os = "linux")]
mod priorities;
mod quiet;
mod quiet_worker;
mod rcu_ptr;
mod scale;
mod sections;
mod shared_fences;
mod shutdown;
#[cfg(target_os = "linux")]
mod signal_storm;
mod sole;
mod srcu;
mod stalls;
#[cfg(target_os = "linux")]
mod telemetry;
mod thread_end;
mod thread_index;
mod unregistered;
mod values;
mod waiting;

/// What is compiled for Linux only.
#[cfg(not(target_os = "linux"))]
#[test]
fn of_linux() {
    needs!(linux);
}

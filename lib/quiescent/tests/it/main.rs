//! The library's tests on real threads: one program, a module for each subject.
//!
//! A test that uses the library is a process of its own (`common::isolated`), so that its counters, options
//! and threads are its own. Other programs: `interposed` (functions of the C library and the allocator are
//! replaced), `single_step` (a signal at every instruction), `ends` (the state of a process at its end, for
//! sanitizers).

#[path = "../common/mod.rs"]
mod common;

mod backlog;
mod barrier;
mod barrier_future;
mod budget;
mod callbacks_misbehave;
mod cells;
mod defects;
mod deferral;
mod domain;
mod drain;
mod drained;
mod examples;
mod exit;
mod forgotten;
mod forks;
mod futures;
mod hand_over;
mod handles;
mod in_place;
mod list;
mod membarrier;
mod misuse;
mod modes;
mod not_too_early;
mod oracle;
mod out_of_memory;
mod polling;
mod pressure;
mod pressure_groups;
mod priorities;
mod quiet;
mod quiet_worker;
mod rcu_ptr;
mod scale;
mod sections;
mod shared_fences;
mod signal_storm;
mod sole;
mod srcu;
mod stalls;
mod telemetry;
mod thread_end;
mod unregistered;
mod values;
mod waiting;

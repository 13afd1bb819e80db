//! Tests with a replaced C library and allocator: clocks jump, threads and memory are refused, threads stop
//! at points where others overtake them. Both are replaced for the whole program (`replaced`), and each test
//! is a process of its own (`common::isolated`). On other systems than Linux there are none.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

mod backlog;
mod calls;
mod clocks;
mod exhaustion;
mod fork;
mod no_worker;
mod odd_values;
mod replaced;
mod stopped_driver;
mod strict;
mod tuning;
mod worker_errors;

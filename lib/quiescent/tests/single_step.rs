//! A signal at every instruction: a child is single-stepped (ptrace) through lock, unlock and registration. A
//! handler that reads is delivered after the first instruction, in a fresh child after the second, and so on.
//! Afterwards the thread must be outside of sections, exactly its own slot must be taken, and grace periods
//! must end.
//!
//! This needs a child for each instruction, and takes a minute. So by default only every third instruction
//! has one (fewer where a child is expensive); with `QUIESCENT_STEPS=all`, as in `ci/nightly`, each has.
//!
//! Not a libtest binary: the children are forked from a process with one thread that has never read.

mod common;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "single_step/scenarios.rs"]
mod scenarios;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "single_step/steps.rs"]
mod steps;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "single_step/tracer.rs"]
mod tracer;

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        println!("single_step: test");
        return;
    }
    quiescent_core::needs!(signals);
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    steps::run();
    // Elsewhere, stepping through a load-linked / store-conditional loop makes it fail for ever.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    quiescent_core::os::needs::skipped("ptrace on x86-64 Linux");
}

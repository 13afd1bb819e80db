//! Shared code of the integration tests: processes for single tests, readers at fixed points, an oracle,
//! sandboxes, the originals of replaced functions, and helpers for tests of deferral.

#![allow(dead_code, reason = "every test program uses a part of this")]

pub mod backlog;
#[cfg_attr(not(target_os = "linux"), path = "no_children.rs")]
pub mod children;
pub mod deferral;
pub mod healed;
pub mod isolated;
pub mod oracle;
pub mod readers;
#[cfg(target_os = "linux")]
pub mod real;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod tasks;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use quiescent_core::os::needs;

#[allow(unused_imports, reason = "as above")]
pub use {
    isolated::{Isolated, in_both_modes, isolated, once_more, only_this_test, test_name},
    quiescent_core::os::{thread_id, thread_name},
    readers::Reader,
};

/// After this long a wait is a hang. Never part of an assertion about speed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Long enough for a driver to flag its holdouts and go to sleep, most times; no outcome depends on it.
pub const SHORT: Duration = Duration::from_millis(5);

/// A time limit, longer for a processor that is emulated.
pub fn emulated(limit: Duration) -> Duration {
    limit * if needs::emulated() { 8 } else { 1 }
}

/// Waits until `condition` holds; a panic that says `what` if that never happens.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_it(what, &mut condition);
}

fn until_it(what: &str, condition: &mut dyn FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < emulated(PATIENCE),
            "waited for ever: {what}"
        );
        pause(start);
    }
}

/// A short sleep of a thread that has polled since then: a few percent of that time. To look 5000 times a
/// second took half of the processor time of all tests.
pub fn pause(since: Instant) {
    let passed = since.elapsed() / 16;
    std::thread::sleep(passed.clamp(Duration::from_micros(200), Duration::from_millis(10)));
}

/// Runs `f` on a thread of its own and returns what it returns, once that thread is gone for good
/// (thread-local destructors and key destructors included).
pub fn on_thread<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new()
        .name(name.into())
        .spawn(f)
        .expect("a thread");
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The text of the panic that `f` ends in.
pub fn panic_text(f: impl FnOnce()) -> String {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    let payload = result.expect_err("a panic was expected");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a panic with a text")).to_owned(),
    }
}

/// Threads of this process, as the kernel counts them: also those joined just now. 0 if it is not Linux.
pub fn kernel_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Waits until the kernel counts so many threads, no more and no less, if it is Linux.
pub fn until_threads(count: usize) {
    until("the number of threads is as before", || {
        !cfg!(target_os = "linux") || kernel_threads() == count
    });
}

/// Does this thread of ours still exist?
pub fn thread_lives(thread_id: u32) -> bool {
    std::path::Path::new(&format!("/proc/self/task/{thread_id}")).exists()
}

/// Does the kernel say that this thread sleeps? Other systems than Linux do not say, so some time passes.
pub fn sleeps(thread_id: u32) -> bool {
    if !cfg!(target_os = "linux") {
        thread::sleep(SHORT);
        return true;
    }
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread_id}/stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" S"))
    })
}

/// Starts `count` threads that call `f`, and waits until all of them sleep.
pub fn sleepers<'s>(
    scope: &'s thread::Scope<'s, '_>,
    count: usize,
    f: impl Fn() + Copy + Send + 's,
) -> Vec<thread::ScopedJoinHandle<'s, ()>> {
    let (sender, ids) = mpsc::channel();
    let threads = (0..count)
        .map(|_| {
            let sender = sender.clone();
            scope.spawn(move || {
                sender.send(thread_id()).expect("the test waits");
                f();
            })
        })
        .collect();
    let ids: Vec<u32> = ids.iter().take(count).collect();
    until("all of them wait", || ids.iter().all(|&id| sleeps(id)));
    threads
}

/// A small generator of numbers that look random: splitmix64.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// What this process has counted until now; none if its page is not found.
#[cfg(target_os = "linux")]
pub fn snapshot() -> Option<quiescent_live::telemetry::Snapshot> {
    quiescent::telemetry::publish();
    let page = quiescent_live::telemetry::Source::of(std::process::id());
    page.ok()?.read().ok()
}

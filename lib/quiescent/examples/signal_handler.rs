//! A handler of SIGHUP that reads the configuration while the threads of a service continue to answer.
//!
//! Reading is allowed at any instruction. The handler requests a reload; it does not reload, because that
//! allocates, which a handler must not do. The main thread reloads.
//!
//!     cargo run --example signal_handler

use std::ffi::c_int;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::{RcuCell, drain, read, statistics};

/// Both fields change together. A reader that saw one of each would have seen a mixture.
struct Config {
    version: u64,
    greeting: String,
}

impl Config {
    /// What another program would read from a file.
    fn parse(version: u64) -> Config {
        let greeting = format!("hello from version {version}");
        Config { version, greeting }
    }

    fn is_consistent(&self) -> bool {
        self.greeting.ends_with(&format!(" {}", self.version))
    }
}

static CONFIG: LazyLock<RcuCell<Config>> = LazyLock::new(|| RcuCell::new(Config::parse(1)));
static STOP: AtomicBool = AtomicBool::new(false);
static RELOAD: AtomicBool = AtomicBool::new(false);
static SEEN_BY_HANDLER: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_hangup(_signal: c_int) {
    // The cell was created before the handler was installed, so this `LazyLock` only loads it.
    let version = read(|guard| CONFIG.load(guard).version);
    SEEN_BY_HANDLER.store(version, Ordering::Relaxed);
    RELOAD.store(true, Ordering::Release);
}

#[cfg(unix)]
fn install_handler() {
    // SAFETY: an all-zero sigaction is one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_hangup as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete; its handler reads a cell and stores to atomics, nothing else.
    let installed = unsafe { libc::sigaction(libc::SIGHUP, &action, std::ptr::null_mut()) };
    assert_eq!(installed, 0, "a handler for SIGHUP");
}

/// An operator would say `kill -HUP`.
#[cfg(unix)]
fn hang_up() {
    // SAFETY: the handler is installed.
    unsafe { libc::raise(libc::SIGHUP) };
}

/// No such signal: a call does the same.
#[cfg(not(unix))]
fn install_handler() {}

#[cfg(not(unix))]
fn hang_up() {
    on_hangup(1);
}

/// Answers requests until `STOP` is set. Returns their number, and how many of them saw a mixture.
fn serve() -> (u64, u64) {
    let (mut answered, mut mixtures) = (0, 0);
    while !STOP.load(Ordering::Relaxed) {
        read(|guard| {
            let config = CONFIG.load(guard);
            mixtures += u64::from(!config.is_consistent());
        });
        answered += 1;
    }
    (answered, mixtures)
}

fn main() {
    LazyLock::force(&CONFIG);
    install_handler();
    let servers: Vec<_> = (0..2).map(|_| thread::spawn(serve)).collect();

    for version in 2..=4 {
        thread::sleep(Duration::from_millis(50));
        hang_up();
        while !RELOAD.swap(false, Ordering::Acquire) {
            thread::yield_now();
        }
        // Dropping what comes back retires it: it is freed once the last reader has left it.
        drop(CONFIG.store(Config::parse(version)));
        let seen = SEEN_BY_HANDLER.load(Ordering::Relaxed);
        println!("SIGHUP: the handler saw version {seen}, now it is {version}");
    }

    STOP.store(true, Ordering::Relaxed);
    let (mut answered, mut mixtures) = (0, 0);
    for server in servers {
        let (more, bad) = server.join().expect("a server does not panic");
        answered += more;
        mixtures += bad;
    }
    // What is still queued when a process ends is not run. Here it is: three old configurations.
    let drained = drain(Duration::from_secs(1));
    let callbacks = statistics().callbacks;
    println!("answered {answered} requests, {mixtures} of them with a mixture of two versions");
    println!(
        "dropped {callbacks} old configurations, {} left",
        drained.left
    );
    assert_eq!((mixtures, callbacks, drained.left), (0, 3, 0));
}

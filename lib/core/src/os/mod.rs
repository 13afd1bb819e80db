//! What the library asks of an operating system: one folder or file for each, all with the same functions.
//! No other module distinguishes systems.
//!
//! | system | fence of the process | sleep on a word | timer | end of a thread | the rest ([`HAS`]) |
//! |---|---|---|---|---|---|
//! | `linux` | `membarrier(2)` | futex | `timerfd` in `epoll` | pthread key | all |
//! | `freebsd` | `membarrier(2)`, from 14.1 | std | a sleep with a deadline | thread-local | nothing |
//! | `windows` | `FlushProcessWriteBuffers` | `WaitOnAddress` | the same | the same | nothing |
//! | macOS, WebAssembly, others, Miri | none: readers execute fences | std | the same | the same | nothing |
//!
//! The last row is `portable`: the standard library and nothing else. The others use its parts for what they
//! do not do themselves. `--cfg quiescent_portable` selects it on any system, so that what unknown systems
//! get is tested on Linux; so does Miri, which has no `membarrier`, no `epoll` and no pages of the kernel.
//!
//! `mprotect` is no fence on ARM, and reading the registers of other threads (Mach) does not promise to be
//! one: so macOS has none.

#[cfg(all(any(test, feature = "testing"), not(quiescent_model)))]
pub mod needs;
pub mod pressure;

#[cfg(all(
    target_os = "linux",
    not(any(quiescent_portable, miri, quiescent_model))
))]
mod linux;
#[cfg(all(
    any(test, quiescent_portable, miri, not(target_os = "linux")),
    not(quiescent_model)
))]
pub mod portable;

#[cfg(all(
    target_os = "freebsd",
    not(any(quiescent_portable, miri, quiescent_model))
))]
#[path = "freebsd.rs"]
mod system;
#[cfg(all(windows, not(any(quiescent_portable, miri, quiescent_model))))]
#[path = "windows.rs"]
mod system;

#[cfg(all(
    target_os = "linux",
    not(any(quiescent_portable, miri, quiescent_model))
))]
pub use linux::*;
#[cfg(all(
    any(
        quiescent_portable,
        miri,
        not(any(target_os = "linux", target_os = "freebsd", windows))
    ),
    not(quiescent_model)
))]
pub use portable::*;
#[cfg(all(
    any(target_os = "freebsd", windows),
    not(any(quiescent_portable, miri, quiescent_model))
))]
pub use system::*;

/// Runs `f`; the thread's `errno` is what it was before. (Elsewhere nothing relies on it across a call of
/// ours.)
#[cfg(not(quiescent_model))]
pub fn keeping_errno(f: impl FnOnce()) {
    #[cfg(target_os = "linux")]
    // SAFETY: the place of this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    #[cfg(target_os = "linux")]
    // SAFETY: as above; it is readable and writable at any time.
    let before = unsafe { errno.read() };
    f();
    #[cfg(target_os = "linux")]
    // SAFETY: as above.
    unsafe {
        errno.write(before)
    };
}

/// The system's number for "there is no memory", in an error that may pass.
pub const NO_MEMORY: i32 = if cfg!(windows) { 8 } else { 12 };

/// The system's number for "there is no such call".
pub const NO_SUCH_CALL: i32 = if cfg!(windows) { 120 } else { 38 };

/// What a system may lack. The library works without; what it promises then is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Has {
    /// A fence on all threads of the process, so that readers need none. It may be refused all the same.
    pub fence: bool,
    /// A signal handler may read, also if its thread has never read before: registration and waking take no
    /// lock and call no allocator.
    pub signals: bool,
    /// The child of a fork can use the library.
    pub fork: bool,
    /// Destructors of thread-locals that read after the library's own hook are registered readers again.
    pub late_readers: bool,
    /// The kernel reports that memory is low.
    pub pressure: bool,
    /// Other processes can read the counters.
    pub telemetry: bool,
    /// Setting or stopping a timer wakes no thread.
    pub silent_timer: bool,
    /// The library can have threads of its own. Without, a barrier does the work of the worker.
    pub threads: bool,
    /// Memory that is no allocator's.
    pub pages: bool,
    /// A shared object that contains the library stays when it is unloaded.
    pub stays: bool,
}

/// Why the worker woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    pub timer: bool,
    pub kick: bool,
    /// A source of memory pressure has reported.
    pub pressure: bool,
    /// … and memory is low.
    pub low: bool,
}

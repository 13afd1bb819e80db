//! The functions behind the names of `c/flavour.c`. (Those of threads that announce quiescent states are
//! called while the thread is offline.)

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use quiescent::intrusive::{self, Head};
use quiescent::{Options, SyncError};
use quiescent_core::queue::intrusive::RunHead;

use crate::environment::{self, die};
use crate::words;

/// The function of a callback. `struct rcu_head` has the layout of a [`Head`]: a link, and this.
pub type Function = unsafe extern "C" fn(*mut Head);

/// At start-up, or before it: makes the domain. 1: readers need no fence of their own.
#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_start() -> c_int {
    let without = words::without_fences();
    words::core();
    environment::read();
    c_int::from(without)
}

/// At the end of the process.
#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_end() {
    environment::end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_register(word: *mut AtomicU64) {
    if words::register(word).is_none() {
        die("this thread cannot be registered: too many threads, or no memory");
    }
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_register_own() -> *mut AtomicU64 {
    words::register_own()
        .unwrap_or_else(|| die("this thread cannot be registered: too many threads, or no memory"))
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_unregister() {
    words::unregister();
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_synchronize() {
    must(words::domain().try_synchronize(), "synchronize_rcu");
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_barrier() {
    // The worker hears no reader, and looks at intervals; this thread is woken by the last one.
    if words::core().held().0 > 0 {
        must(words::domain().try_synchronize(), "rcu_barrier");
    }
    must(words::domain().try_barrier(), "rcu_barrier");
}

/// The functions have no other way to say that they have not done what their callers rely on.
fn must(done: Result<(), SyncError>, what: &str) {
    if let Err(error) = done {
        die(&format!("{what}: {error}"));
    }
}

/// # Safety
/// As for `call_rcu`: the head is valid, and no other code uses it before `run` is called with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_call(head: NonNull<Head>, run: Function) {
    // SAFETY: another function pointer; only `Words::run` uses it, which changes it back.
    let run = unsafe { std::mem::transmute::<Function, RunHead>(run) };
    let domain = words::domain();
    // SAFETY: the caller's promise.
    unsafe {
        match environment::is_lazy() {
            true => intrusive::defer_lazy_in(domain, head, run),
            false => intrusive::defer_in(domain, head, run),
        }
    }
}

/// A call with an argument: `defer_rcu`.
#[repr(C)]
struct Deferred {
    head: Head,
    run: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

/// # Safety
/// `run(argument)` may be called after a grace period, on any thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_defer(
    run: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    let head = Head::new();
    let deferred = Box::new(Deferred {
        head,
        run,
        argument,
    });
    let deferred = NonNull::from(Box::leak(deferred)).cast::<Head>();
    // SAFETY: a box of its own, which is freed there.
    unsafe { quiescent_urcu_call(deferred, run_deferred) };
}

unsafe extern "C" fn run_deferred(head: *mut Head) {
    // SAFETY: the box that `quiescent_urcu_defer` has made.
    let deferred = unsafe { Box::from_raw(head.cast::<Deferred>()) };
    // SAFETY: promised by its caller.
    unsafe { (deferred.run)(deferred.argument) };
}

/// Before a fork, if the program says so: the child runs what is queued, too.
#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_before_fork() {
    inherit(true);
}

/// After it, in the parent or in the child.
#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_after_fork(child: c_int) {
    inherit(false);
    if child != 0 {
        words::core().state().kick_worker();
    }
}

fn inherit(inherit: bool) {
    // It fails only where it is to change the fence mode.
    let _ = Options::new().inherit_callbacks(inherit).apply();
}

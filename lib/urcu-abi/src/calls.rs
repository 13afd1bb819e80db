//! The functions behind the names of `c/flavour.c`. (Those of threads that announce quiescent states are
//! called while the thread is offline.)

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use quiescent::raw::with_local;
use quiescent::{Options, SyncError};
use quiescent_core::domain::enqueue::{self, Terms};
use quiescent_core::queue::kind::{self, CODE, EntryKind};
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::parcel::Parcel;
use quiescent_core::queue::weight::{ENTRY, Owned};
use quiescent_engine::credit::Urgency;

use crate::environment::{self, die};
use crate::words;

/// `struct rcu_head`.
#[repr(C)]
struct Head {
    /// Not used here.
    next: *mut c_void,
    run: unsafe extern "C" fn(NonNull<Head>),
}

type Function = unsafe extern "C" fn(*mut c_void);

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

/// A callback of the program, which may run on any thread.
struct Callback<F>(F);

// SAFETY: promised by the callers of the functions below.
unsafe impl<F> Send for Callback<F> {}

impl<F: FnOnce()> Callback<F> {
    /// The thread that runs it may have sections meanwhile.
    fn run(self) {
        (words::flavour().enter)();
        (self.0)();
        (words::flavour().leave)();
    }
}

/// # Safety
/// It may run after a grace period, on any thread.
unsafe fn queue(callback: impl FnOnce() + 'static) {
    let callback = Callback(callback);
    let run = move || callback.run();
    match environment::is_lazy() {
        true => words::domain().defer_lazy(run),
        false => words::domain().defer(run),
    }
}

static PROMPT: EntryKind = kind_of_head(false);
static LAZY: EntryKind = kind_of_head(true);

const fn kind_of_head(lazy: bool) -> EntryKind {
    EntryKind {
        run: run_head,
        name: || "call_rcu",
        lazy,
        bytes: ENTRY as u64,
    }
}

/// # Safety
/// A head that is queued, and whose grace period is over.
unsafe fn run_head(object: *mut u8) {
    (words::flavour().enter)();
    let head = object.cast::<Head>();
    // SAFETY: the caller's promise; the head is as it was queued.
    unsafe { ((*head).run)(NonNull::new_unchecked(head)) };
    (words::flavour().leave)();
}

/// The queue has the head's address, and the head has the function: queueing takes no lock and allocates only
/// when a block of the queue is full.
///
/// # Safety
/// As for `call_rcu`: the head is valid, and no other code uses it before `run` is called with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_call(
    head: NonNull<Head>,
    run: unsafe extern "C" fn(NonNull<Head>),
) {
    let (kind, urgency) = match environment::is_lazy() {
        true => (&LAZY, Urgency::Lazy),
        false => (&PROMPT, Urgency::Prompt),
    };
    let what = kind::of_host(kind, Owned::by::<u8>(0));
    // SAFETY: the caller's promise.
    let entry = unsafe {
        (&raw mut (*head.as_ptr()).run).write(run);
        Entry::new(head.as_ptr().cast(), what)
    };
    let domain = words::core();
    let bytes = kind.bytes;
    match with_local(|local| domain.attached_queue(local)) {
        Some(queue) => enqueue::push_code(queue, CODE, entry, bytes, urgency),
        None => {
            (domain.state()).deliver_code(Parcel::Entry(CODE, entry, bytes), Terms::of(urgency))
        }
    }
}

/// # Safety
/// `run(argument)` may be called after a grace period, on any thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_defer(run: Function, argument: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { queue(move || run(argument)) };
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

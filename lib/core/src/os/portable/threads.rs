//! Threads of the standard library; their end is the destructor of a thread-local.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

/// Nothing runs before `main`: what this would do is done at the first use, or not needed.
#[cfg(any(quiescent_portable, miri, not(target_os = "linux")))]
#[macro_export]
macro_rules! at_start {
    ($start:path) => {
        const _: extern "C" fn() = $start;
    };
}

/// A function for the end of a thread, and its value.
type Call = (unsafe extern "C" fn(*mut c_void), *mut c_void);

/// The most hooks of a thread: the end of a reader, and of a worker.
const HOOKS: usize = 2;

/// What is called when the thread ends.
struct Calls(Cell<[Option<Call>; HOOKS]>);

impl Calls {
    /// Adds a call, or replaces the value of one that is there.
    fn set(&self, call: Call) -> bool {
        let mut all = self.0.get();
        let is_same = |it: &Option<Call>| it.is_some_and(|it| std::ptr::fn_addr_eq(it.0, call.0));
        let place = all.iter().position(is_same);
        let Some(place) = place.or_else(|| all.iter().position(Option::is_none)) else {
            return false;
        };
        all[place] = Some(call);
        self.0.set(all);
        true
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        for (call, value) in self.0.take().into_iter().flatten() {
            // SAFETY: `arm` was called with a value for this function.
            unsafe { call(value) };
        }
    }
}

thread_local! {
    static CALLS: Calls = const { Calls(Cell::new([None; HOOKS])) };
}

/// Calls a function at the end of each thread that asks for it, with the thread's value: the destructor of a
/// thread-local. Those of other thread-locals may run later, when the thread can ask no more.
#[derive(Debug)]
pub struct AtExit(unsafe extern "C" fn(*mut c_void));

#[allow(clippy::unused_self, reason = "the same methods as on other systems")]
impl AtExit {
    pub const fn new(call: unsafe extern "C" fn(*mut c_void)) -> AtExit {
        AtExit(call)
    }

    pub fn prepare(&self) {}

    /// At the end of the calling thread the function is called with this value. False: it will not be, since
    /// that end has begun.
    ///
    /// # Safety
    /// The function may be called with this value at the end of this thread.
    pub unsafe fn arm(&self, value: *const c_void) -> bool {
        let call = (self.0, value.cast_mut());
        CALLS.try_with(|calls| calls.set(call)).unwrap_or(false)
    }

    /// Nothing is unloaded.
    pub fn disarm(&self) {}

    /// True if the calling thread can be armed no more.
    pub fn is_over(&self) -> bool {
        CALLS.try_with(|_| ()).is_err()
    }
}

/// Forks go unnoticed: a child must not use the library.
///
/// # Safety
/// They may be called there.
pub unsafe fn on_fork(
    _prepare: unsafe extern "C" fn(),
    _parent: unsafe extern "C" fn(),
    _child: unsafe extern "C" fn(),
) {
}

/// A shared object that contains the library must not be unloaded.
pub fn pin(_function: *const c_void) {}

/// As above.
pub fn unpin(_last: extern "C" fn()) {}

/// Threads that end: they are not joined here.
#[derive(Debug)]
pub struct Ended;

#[allow(clippy::unused_self, reason = "the same methods as on other systems")]
impl Ended {
    pub const fn new() -> Ended {
        Ended
    }

    pub fn announce(&self) {}

    /// True: none is waited for.
    pub fn join(&self) -> bool {
        true
    }

    /// No child of a fork comes here.
    pub fn forked(&self) {}
}

/// True if the program has more rights than its user. It may have: so no variable starts telemetry here.
pub fn has_more_rights() -> bool {
    true
}

/// Starts a thread of the library.
///
/// # Errors
/// The system's.
pub fn spawn<F>(name: &'static CStr, _ended: &'static Ended, body: F) -> io::Result<()>
where
    F: FnOnce() -> bool + Send + 'static,
{
    if !super::HAS.threads {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let named = thread::Builder::new().name(name.to_string_lossy().into_owned());
    // A panic in the library ends the thread; the panic hook has run.
    let started = named.spawn(|| drop(catch_unwind(AssertUnwindSafe(body))));
    started.map(drop)
}

/// True if the process may run on one processor only.
pub fn has_one_processor() -> bool {
    !thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

/// Sleeps for 50 µs, so that threads without a CPU may get this one, whatever their priority.
pub fn doze() {
    if cfg!(not(all(target_family = "wasm", target_os = "unknown"))) {
        thread::sleep(Duration::from_micros(50));
    }
}

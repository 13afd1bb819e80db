//! Threads: starting those of the library, noticing the end of any; the start and the forks of the process.

use std::alloc::{Layout, alloc};
use std::ffi::{CStr, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};

/// Runs a function before `main`, when the process has one thread. In a shared object: when it is loaded.
#[macro_export]
macro_rules! at_start {
    ($start:path) => {
        #[used]
        #[unsafe(link_section = ".init_array")]
        static START: extern "C" fn() = $start;
    };
}

/// Calls a function at the end of each thread that asks for it, with the thread's value: a pthread key.
///
/// Setting the value does not allocate (the first 32 keys are stored in the thread's own descriptor), so a
/// signal handler may do it. The destructors of keys run after those of Rust's thread-locals. One that sets
/// the value again is run again, up to the number of rounds that the C library grants.
#[derive(Debug)]
pub struct AtExit {
    /// The key + 1; 0 while there is none.
    key: AtomicU32,
    call: unsafe extern "C" fn(*mut c_void),
}

impl AtExit {
    pub const fn new(call: unsafe extern "C" fn(*mut c_void)) -> AtExit {
        AtExit {
            key: AtomicU32::new(0),
            call,
        }
    }

    /// Makes the key, so that it is one of the first.
    pub fn prepare(&self) {
        let _ = self.key();
    }

    fn key(&self) -> Option<libc::pthread_key_t> {
        let known = self.key.load(Ordering::Acquire);
        if known != 0 {
            return Some(known - 1);
        }
        let mut new: libc::pthread_key_t = 0;
        // SAFETY: `new` is writable, and the hook has the type asked for.
        if unsafe { libc::pthread_key_create(&mut new, Some(self.call)) } != 0 {
            return None;
        }
        Some(self.keep(new))
    }

    /// Keeps this key, unless another thread has made one meanwhile: then it deletes this one.
    fn keep(&self, new: libc::pthread_key_t) -> libc::pthread_key_t {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.key.compare_exchange(0, new + 1, order.0, order.1) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: its maker's, who has not used it.
                unsafe { libc::pthread_key_delete(new) };
                other - 1
            }
        }
    }

    /// At the end of the calling thread the function is called with this value. False: it will not be, as all
    /// keys are taken.
    ///
    /// # Safety
    /// The function may be called with this value at the end of this thread.
    pub unsafe fn arm(&self, value: *const c_void) -> bool {
        let Some(key) = self.key() else { return false };
        // SAFETY: the key is valid; the caller's promise about the value.
        unsafe { libc::pthread_setspecific(key, value) == 0 }
    }

    /// True if the calling thread can be armed no more.
    pub fn is_over(&self) -> bool {
        false
    }

    /// Calls nothing any more: the function's code is about to be unloaded.
    pub fn disarm(&self) {
        let key = self.key.swap(0, Ordering::AcqRel);
        if key != 0 {
            // SAFETY: made here, and not used any more.
            unsafe { libc::pthread_key_delete(key - 1) };
        }
    }
}

/// Calls the functions around each fork of the process. If there is no memory for that, a child is as one
/// without handlers.
///
/// # Safety
/// They may be called there.
pub unsafe fn on_fork(
    prepare: unsafe extern "C" fn(),
    parent: unsafe extern "C" fn(),
    child: unsafe extern "C" fn(),
) {
    // SAFETY: the caller's promise.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// A handle of the shared object that contains the library; null for none.
static PINNED: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps a shared object that contains this function loaded: `dlclose` succeeds, and has no effect.
pub fn pin(function: *const c_void) {
    if !PINNED.load(Ordering::Acquire).is_null() {
        return;
    }
    let Some(own) = object_of(function) else {
        return;
    };
    // SAFETY: reads a value that the kernel passed to the process.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    let entry = std::ptr::without_provenance(entry as usize);
    let program = object_of(entry);
    if program.is_some_and(|program| program.dli_fbase == own.dli_fbase) {
        return; // the program itself is never unloaded
    }
    let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the name of an object that is loaded; this loads nothing.
    let pinned = unsafe { libc::dlopen(own.dli_fname, how) };
    PINNED.store(pinned, Ordering::Release);
}

/// Lets `dlclose` unload the shared object again; right before that, `last` is called. The caller's code is
/// in it, and the program has it open.
pub fn unpin(last: extern "C" fn()) {
    static REGISTERED: AtomicU32 = AtomicU32::new(0);
    let pinned = PINNED.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if pinned.is_null() {
        return;
    }
    // SAFETY: a function of this object. The C library calls those when it unloads their object.
    if REGISTERED.swap(1, Ordering::AcqRel) == 0 && unsafe { libc::atexit(last) } != 0 {
        REGISTERED.store(0, Ordering::Release);
        return PINNED.store(pinned, Ordering::Release);
    }
    // SAFETY: from `pin`, and used once.
    unsafe { libc::dlclose(pinned) };
}

/// The object that contains an address.
fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: plain data, filled in by the call before it is read.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is writable; the address is only compared.
    let found = unsafe { libc::dladdr(address, &mut info) };
    (found != 0 && !info.dli_fname.is_null()).then_some(info)
}

/// True if the program has more rights than its user.
pub fn has_more_rights() -> bool {
    // SAFETY: reads a value that the kernel passed to the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Faults: signals that a thread causes itself. The program's handlers of these run on the library's threads,
/// too.
const FAULTS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// The stack size of the library's threads: that of the standard library's threads, or of the C library's,
/// whose programs queue callbacks without knowing where they run.
const STACK: usize = if cfg!(feature = "foreign") {
    8 << 20
} else {
    2 << 20
};

/// What a new thread gets.
type Start<F> = (&'static CStr, &'static Ended, F);

/// Threads of the library that end because a thread waits for that, until it has joined them.
#[derive(Debug)]
pub struct Ended {
    /// How many there are: also those that are about to be among `threads`.
    count: AtomicU32,
    /// Their numbers; 0 for none. (The worker, the one that watches it, the overflow worker.)
    threads: [AtomicUsize; 3],
}

impl Ended {
    pub const fn new() -> Ended {
        Ended {
            count: AtomicU32::new(0),
            threads: [const { AtomicUsize::new(0) }; 3],
        }
    }

    /// The calling thread of the library is going to end, and to be joined.
    pub fn announce(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release); // [END-1]
    }

    /// The calling thread ends now. `joins`: another one joins it, and it has announced that.
    #[inline(never)] // there is one of its callers for each kind of thread
    fn end(&self, joins: bool) {
        // SAFETY: no arguments.
        let own = unsafe { libc::pthread_self() };
        for place in self.threads.iter().filter(|_| joins) {
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            if (place.compare_exchange(0, own as usize, order.0, order.1)).is_ok() {
                return;
            }
        }
        if joins {
            self.count.fetch_sub(1, Ordering::Relaxed); // there is no room
        }
        // SAFETY: the calling thread, which no other one joins.
        unsafe { libc::pthread_detach(own) };
    }

    /// Joins those that end now. True if no other is going to.
    pub fn join(&self) -> bool {
        fence(Ordering::Acquire); // [END-1]
        for place in &self.threads {
            let thread = place.load(Ordering::Acquire);
            let none = std::ptr::null_mut();
            // Without waiting: destructors of its thread-locals may still run, which are the program's code.
            // SAFETY: a thread that can be joined; its number is there until it was, and one thread joins.
            let joins =
                || unsafe { libc::pthread_tryjoin_np(thread as libc::pthread_t, none) } == 0;
            if thread != 0 && joins() {
                place.store(0, Ordering::Release);
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.count.load(Ordering::Relaxed) == 0
    }

    /// In the child of a fork: they are the parent's.
    pub fn forked(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.threads
            .iter()
            .for_each(|it| it.store(0, Ordering::Relaxed));
    }
}

/// Starts a thread of the library, on which the program's signal handlers do not run, except those of faults.
/// (A thread that a callback starts inherits the mask, and must unblock the signals it wants.)
///
/// It does not use the standard library's threads: each takes a lock of that library when it starts and when
/// it ends, and if another thread held that lock at a fork, no thread can start in the child.
///
/// `body` returns whether another thread joins this one, by `ended`. It has [announced](Ended::announce) it.
///
/// # Errors
/// The system's error, or that there is no memory.
pub fn spawn<F>(name: &'static CStr, ended: &'static Ended, body: F) -> io::Result<()>
where
    F: FnOnce() -> bool + Send + 'static,
{
    // Not `Box::new`, which ends the program if there is no memory.
    let layout = Layout::new::<Start<F>>();
    // SAFETY: the layout has a size: a name.
    let start: *mut Start<F> = unsafe { alloc(layout) }.cast();
    if start.is_null() {
        return Err(io::Error::from_raw_os_error(libc::ENOMEM));
    }
    // SAFETY: fresh memory of that layout.
    unsafe { start.write((name, ended, body)) };
    let refused = start_thread(main::<F>, start.cast());
    if refused != 0 {
        // SAFETY: no thread took it.
        drop(unsafe { Box::from_raw(start) });
        return Err(io::Error::from_raw_os_error(refused));
    }
    Ok(())
}

/// Starts it; returns the system's error, or 0.
fn start_thread(main: extern "C" fn(*mut c_void) -> *mut c_void, start: *mut c_void) -> i32 {
    // SAFETY: the sets and attributes are plain data, filled in before they are read; the new thread owns
    // `start`, or, if there is none, this thread still does.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut how: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in FAULTS {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_attr_init(&mut how);
        libc::pthread_attr_setstacksize(&mut how, STACK);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let refused = libc::pthread_create(&mut thread, &how, main, start);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut how);
        refused
    }
}

extern "C" fn main<F: FnOnce() -> bool>(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it for this thread.
    let (name, ended, body) = *unsafe { Box::from_raw(start.cast::<Start<F>>()) };
    // SAFETY: a name of at most 15 bytes, for the calling thread.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    // A panic in the library ends the thread; the panic hook has run.
    ended.end(catch_unwind(AssertUnwindSafe(body)).unwrap_or(false));
    std::ptr::null_mut()
}

/// Sleeps for 50 µs, so that threads without a CPU may get this one, whatever their priority.
pub fn doze() {
    let time = super::timespec(50_000);
    // SAFETY: `time` is readable. A signal ends the sleep early.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// True if the process may run on one processor only. Not `available_parallelism`: that also reads the quotas
/// of control groups, and a program links all that it needs for it.
pub fn has_one_processor() -> bool {
    let mut set = [0_u64; 16];
    // SAFETY: `set` is writable, and any bits are a value of it.
    let known =
        unsafe { libc::sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr().cast()) } == 0;
    known && set.iter().map(|word| word.count_ones()).sum::<u32>() == 1
}

#[cfg(test)]
mod tests;

//! The places where threads are stopped.

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::deferral::Gate;
use crate::common::healed;
use crate::common::until;

/// What a thread is about to do when it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Issue a process-wide fence.
    Fence,
    /// Wake a waiter.
    Wake,
    /// Wake the driver, at the end of a section.
    WakeDriver,
    /// Ask for memory.
    Allocation,
    /// Make any call of the allocator, the C library or the kernel that this program replaces: the one after
    /// so many others.
    Call(u32),
}

thread_local! {
    static STOP: Cell<Option<(Place, &'static Gate)>> = const { Cell::new(None) };
}

/// The calling thread waits at `gate` the next time it comes to this place.
pub fn stop_at(place: Place, gate: &'static Gate) {
    healed::expected();
    STOP.set(Some((place, gate)));
}

/// The calling thread stops nowhere any more.
pub fn stop_nowhere() {
    STOP.set(None);
}

/// The calling thread has come to a place.
fn at(place: Place) {
    // The end of a thread is no place to stop at.
    let Ok(Some((wanted, gate))) = STOP.try_with(Cell::get) else {
        return;
    };
    match wanted {
        Place::Call(after @ 1..) => STOP.set(Some((Place::Call(after - 1), gate))),
        Place::Call(0) => stop(gate),
        _ if wanted == place => stop(gate),
        _ => {}
    }
}

fn stop(gate: &'static Gate) {
    STOP.set(None);
    gate.pass();
}

/// The calling thread is about to call some other function that this program replaces.
pub fn before_call() {
    at(Place::Call(0));
}

/// Is this the word of a waiter? Those are on stacks; locks, and the word of a driver that sleeps, are among
/// the variables of this binary.
fn is_a_waiters(word: usize) -> bool {
    static HERE: u8 = 0;
    std::ptr::from_ref(&HERE).addr().abs_diff(word) > 1 << 30
}

/// The calling thread is about to make this system call.
pub fn before_syscall(number: c_long, a: usize, b: usize) {
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    match number {
        libc::SYS_membarrier if a as c_int == libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED => {
            at(Place::Fence);
        }
        libc::SYS_futex if b as c_int == wake && is_a_waiters(a) => at(Place::Wake),
        libc::SYS_futex if b as c_int == wake => at(Place::WakeDriver),
        _ => before_call(),
    }
}

/// The calling thread is about to ask for memory.
pub fn before_allocation() {
    at(Place::Allocation);
}

/// Threads that are stopped by a handler, wherever they are.
pub struct Handler(());

/// As long as this is 1, a thread in the handler stays there.
static HOLD: AtomicU32 = AtomicU32::new(0);
static IN_HANDLER: AtomicU32 = AtomicU32::new(0);

extern "C" fn stay(_signal: c_int) {
    IN_HANDLER.fetch_add(1, Ordering::AcqRel);
    while HOLD.load(Ordering::Acquire) != 0 {
        let nap = libc::timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        // SAFETY: `nap` is readable.
        unsafe { libc::nanosleep(&nap, std::ptr::null_mut()) };
    }
    IN_HANDLER.fetch_sub(1, Ordering::AcqRel);
}

impl Handler {
    /// The handler, of which a process has one.
    pub fn install() -> Handler {
        // SAFETY: plain data, filled in before it is read; the handler calls what handlers may call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = stay as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(
                libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()),
                0
            );
        }
        Handler(())
    }

    /// Stops a thread of this process that sleeps; it has stopped when this returns.
    pub fn stop(&self, thread: u32) {
        healed::expected();
        HOLD.store(1, Ordering::Release);
        let before = IN_HANDLER.load(Ordering::Acquire);
        // SAFETY: takes integers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR1) };
        until("it has stopped", || {
            IN_HANDLER.load(Ordering::Acquire) > before
        });
    }

    /// All of them go on.
    pub fn go_on(&self) {
        HOLD.store(0, Ordering::Release);
        until("they have gone on", || {
            IN_HANDLER.load(Ordering::Acquire) == 0
        });
    }
}

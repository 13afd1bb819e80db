//! Clocks and timers shifted by a test: `clock_gettime` returns the shifted time, and a jump makes the timers
//! fire that it has passed, as the kernel's would.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::common::real;

const SECOND: i64 = 1_000_000_000;

static ON: AtomicBool = AtomicBool::new(false);
/// By how much each clock is ahead of the kernel's, in nanoseconds.
pub static WALL: AtomicI64 = AtomicI64::new(0);
static FINE: AtomicI64 = AtomicI64::new(0);
static COARSE: AtomicI64 = AtomicI64::new(0);
/// How often the time of day was read.
pub static WALL_ASKED: AtomicU64 = AtomicU64::new(0);
/// What the timers with these descriptors are set to, by the shifted clock; 0 for nothing.
static TIMERS: Mutex<[i64; 256]> = Mutex::new([0; 256]);
/// The descriptor whose timer was set first, which is the worker's: the watchdog's is set for its callbacks.
static FIRST: AtomicI32 = AtomicI32::new(-1);
/// The longest time that timer was set to, counted from the moment at which it was set; 0 at first.
pub static LONGEST: AtomicI64 = AtomicI64::new(0);

fn timers() -> MutexGuard<'static, [i64; 256]> {
    TIMERS.lock().expect("no panic")
}

/// Switches the shifted clocks on: before the library has set a timer.
pub fn switch_on() {
    ON.store(true, Ordering::Release);
}

/// Do the functions below stand in for the C library's?
pub fn is_on() -> bool {
    ON.load(Ordering::Acquire)
}

/// For `clock_gettime`.
///
/// # Safety
/// `time` is writable.
pub unsafe fn tell(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let shift = match clock {
        libc::CLOCK_MONOTONIC => &FINE,
        libc::CLOCK_MONOTONIC_COARSE => &COARSE,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => {
            WALL_ASKED.fetch_add(1, Ordering::Relaxed);
            &WALL
        }
        _ => panic!("no test uses clock {clock}"),
    };
    let shift = shift.load(Ordering::Acquire);
    let (clock, to) = (clock as usize, time as usize);
    // SAFETY: what the caller wanted; its promise.
    unsafe {
        let failed = real::syscall()(libc::SYS_clock_gettime, clock, to, 0, 0, 0, 0);
        *time = spec(nanos(*time) + shift);
        failed as c_int
    }
}

#[allow(clippy::unnecessary_cast, reason = "32 bits on some systems")]
fn nanos(time: libc::timespec) -> i64 {
    time.tv_sec as i64 * SECOND + time.tv_nsec as i64
}

fn spec(nanos: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: nanos.div_euclid(SECOND) as libc::time_t,
        tv_nsec: nanos.rem_euclid(SECOND) as libc::c_long,
    }
}

/// For `timerfd_settime`.
///
/// # Safety
/// `new` is readable.
pub unsafe fn set_timer(fd: c_int, flags: c_int, new: *const libc::itimerspec) -> c_int {
    assert_eq!(flags, libc::TFD_TIMER_ABSTIME);
    let mut timers = timers();
    // SAFETY: the caller's promise.
    let value = unsafe { (*new).it_value };
    let deadline = nanos(value);
    timers[fd as usize] = deadline;
    let (order, mut now) = (Ordering::AcqRel, value);
    let _ = FIRST.compare_exchange(-1, fd, order, Ordering::Acquire);
    if FIRST.load(Ordering::Acquire) == fd {
        // SAFETY: `now` is writable.
        unsafe { tell(libc::CLOCK_MONOTONIC, &raw mut now) };
        LONGEST.fetch_max(deadline - nanos(now), order);
    }
    set_real_timer(fd, deadline)
}

/// Sets the kernel's timer to what this is by its clock.
fn set_real_timer(fd: c_int, deadline: i64) -> c_int {
    let real = match deadline {
        0 => 0,
        _ => (deadline - FINE.load(Ordering::Acquire)).max(1), // in the past: it fires at once
    };
    let spec = libc::itimerspec {
        it_interval: spec(0),
        it_value: spec(real),
    };
    let (flags, spec) = (libc::TFD_TIMER_ABSTIME as usize, &raw const spec as usize);
    // SAFETY: the specification is readable; the old one is not asked for.
    unsafe {
        real::syscall()(libc::SYS_timerfd_settime, fd as usize, flags, spec, 0, 0, 0) as c_int
    }
}

/// A sleep with a time-out may have passed it by a jump, so no thread sleeps for longer than this.
const MOST: i64 = SECOND / 20;

/// The time-out of this system call, if it is a sleep with one: of the library's futexes, which count from
/// now, or the standard library's, which name a time. `nap` has room for it.
pub fn at_most(
    number: c_long,
    operation: usize,
    timeout: usize,
    nap: &mut libc::timespec,
) -> usize {
    if number != libc::SYS_futex || timeout == 0 || !is_on() {
        return timeout;
    }
    match operation as c_int & !libc::FUTEX_PRIVATE_FLAG {
        libc::FUTEX_WAIT => *nap = spec(MOST),
        libc::FUTEX_WAIT_BITSET => {
            // SAFETY: `nap` is writable.
            unsafe { tell(libc::CLOCK_MONOTONIC, nap) };
            *nap = spec(nanos(*nap) - FINE.load(Ordering::Acquire) + MOST);
        }
        _ => return timeout,
    }
    std::ptr::from_mut(nap) as usize
}

/// The exact clock jumps forward; the coarse one is behind by that until [`catch_up`].
pub fn jump_ahead(by: i64) {
    jump_with(by, || ());
}

/// Both monotonic clocks jump forward.
pub fn jump(by: i64) {
    jump_with(by, catch_up);
}

/// The coarse clock is as far as the exact one.
pub fn catch_up() {
    COARSE.store(FINE.load(Ordering::Acquire), Ordering::Release);
}

fn jump_with(by: i64, then: fn()) {
    crate::common::healed::runs_late();
    let timers = timers();
    FINE.fetch_add(by, Ordering::AcqRel);
    then(); // before any thread wakes up for it
    for (fd, &deadline) in timers.iter().enumerate() {
        if deadline != 0 {
            set_real_timer(fd as c_int, deadline);
        }
    }
}

//! Linux: process-wide fences, sleeping on a word, clocks, pages. Timers, memory pressure, threads and the
//! page of telemetry are in their own files.

use std::ffi::CStr;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::Has;
pub use alarm::{Timer, Wakeups};
#[cfg(feature = "telemetry")]
pub use page::SharedPage;
#[cfg(feature = "fork")]
pub use threads::on_fork;
pub use threads::{AtExit, Ended, doze, has_more_rights, has_one_processor, pin, spawn, unpin};

mod alarm;
#[cfg(feature = "telemetry")]
mod page;
mod pressure;
mod threads;

/// What the others may lack.
pub const HAS: Has = Has {
    fence: true,
    signals: true,
    fork: cfg!(feature = "fork"),
    late_readers: true,
    pressure: cfg!(feature = "pressure"),
    telemetry: cfg!(feature = "telemetry"),
    silent_timer: true,
    threads: true,
    pages: true,
    stays: true,
};

/// A full fence on every CPU that runs a thread of this process.
///
/// # Errors
/// The `errno` with which the kernel (or a sandbox) refused it.
pub fn heavy_fence() -> Result<(), i32> {
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).map(drop)
}

/// Registers the process for [`heavy_fence`]. With other threads already running the kernel waits for a grace
/// period of its own (milliseconds).
///
/// The kernel must also say that it has both commands: a sandbox that answers each unknown call with success
/// has none.
///
/// # Errors
/// The `errno` with which it was refused.
pub fn register_heavy_fence() -> Result<(), i32> {
    let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    let both = register | libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    if membarrier(libc::MEMBARRIER_CMD_QUERY)? & both != both {
        return Err(libc::ENOSYS);
    }
    membarrier(register).map(drop)
}

fn membarrier(command: libc::c_int) -> Result<libc::c_int, i32> {
    // SAFETY: membarrier takes three integers and accesses no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    match libc::c_int::try_from(result) {
        Ok(result) if result >= 0 => Ok(result),
        _ => Err(errno()),
    }
}

#[inline(never)]
fn errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EINVAL)
}

/// Sleeps while `word` contains `expected`, at most for `timeout`. Returns early for any reason.
#[inline(never)]
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let spec = timeout.map(|t| timespec(u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)));
    let spec: *const libc::timespec = spec.as_ref().map_or(std::ptr::null(), |s| s);
    // SAFETY: `word` and `spec` outlive the call; the kernel only reads them.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            spec,
        );
    }
}

/// Wakes one sleeper on the address `word`, which need not be mapped any more: a waiter whose word lived on
/// its stack may be gone by now, and the kernel uses the address only as a key.
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the address is a key: it is not followed"
)]
pub fn futex_wake(word: *const AtomicU32) {
    wake(word, 1);
}

/// Wakes all sleepers on the address `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    wake(word, i32::MAX);
}

#[inline(never)]
fn wake(word: *const AtomicU32, most: i32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address as a key and does not access it for FUTEX_WAKE with the private
    // flag; a stale one wakes no thread, or causes a wake-up that every waiter tolerates.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, most) };
}

/// Monotonic nanoseconds.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Monotonic nanoseconds as of the last timer tick: a few instructions, a few milliseconds late.
pub fn coarse_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_COARSE)
}

#[inline(never)]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut spec = timespec(0);
    // SAFETY: `spec` is writable for the call.
    unsafe { libc::clock_gettime(clock, &mut spec) };
    nanoseconds(spec)
}

fn nanoseconds(spec: libc::timespec) -> u64 {
    (spec.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(spec.tv_nsec as u64)
}

/// A time or a duration in the kernel's form; the longest it has, if that is shorter.
fn timespec(ns: u64) -> libc::timespec {
    // SAFETY: plain data. (Some systems have padding in it.)
    let mut spec: libc::timespec = unsafe { std::mem::zeroed() };
    spec.tv_sec = libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    spec.tv_nsec = (ns % 1_000_000_000) as libc::c_long;
    spec
}

/// The kernel's id of this thread.
pub fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// The name of a thread of this process; none if it has ended.
pub fn thread_name(thread: u32) -> Option<String> {
    let mut text = [0; 64];
    let name = of_thread(thread, "comm", &mut text)?;
    Some(name.trim_end().to_owned())
}

/// The beginning of the kernel's file about a thread of this process, up to the first byte that is not UTF-8;
/// none if there is no such thread. Not through `std::fs`, which a program then links.
pub fn of_thread<'t>(thread: u32, file: &str, text: &'t mut [u8]) -> Option<&'t str> {
    let mut path = [0; 64];
    write!(&mut path[..], "/proc/self/task/{thread}/{file}\0").ok()?;
    let fd = open(CStr::from_bytes_until_nul(&path).ok()?, libc::O_RDONLY);
    if fd < 0 {
        return None;
    }
    let length = read(fd, text);
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    text.get(..length)?
        .utf8_chunks()
        .next()
        .map(|chunk| chunk.valid())
}

/// Bytes of this process that are resident; none without `/proc`.
pub fn resident() -> Option<u64> {
    let mut text = [0; 64];
    let text = of_thread(thread_id(), "statm", &mut text)?;
    // The second number. By hand: `split` and `parse` are 700 bytes of a program that has them nowhere else.
    let second = text.bytes().skip_while(|&byte| byte != b' ').skip(1);
    let digits = second.map_while(|byte| char::from(byte).to_digit(10));
    let pages = digits.fold(0, |pages, digit| pages * 10 + u64::from(digit));
    // SAFETY: takes a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    (pages > 0).then_some(pages * u64::try_from(page).ok()?)
}

/// The file that a descriptor leads to; `None` for a bad one.
fn status(descriptor: i32) -> Option<libc::stat> {
    // SAFETY: plain data, filled in by the call before it is read.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is writable; the descriptor is a number.
    let found = unsafe { libc::fstat(descriptor, &mut status) } == 0;
    found.then_some(status)
}

fn open(path: &CStr, how: i32) -> i32 {
    // SAFETY: a string that ends with a zero.
    unsafe { libc::open(path.as_ptr(), how | libc::O_CLOEXEC | libc::O_NONBLOCK) }
}

/// Reads from the beginning, as much as fits; returns the length.
fn read(fd: i32, into: &mut [u8]) -> usize {
    // SAFETY: `into` is writable; a bad descriptor is refused.
    let length = unsafe { libc::pread(fd, into.as_mut_ptr().cast(), into.len(), 0) };
    usize::try_from(length).unwrap_or(0)
}

/// Zeroed pages from the kernel: uses no allocator, so a signal handler that interrupted one may call this.
/// For the same reason a refusal does not change `errno`.
pub fn map(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: this thread's errno is readable at any time.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: an anonymous private mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        // SAFETY: as above, and writable.
        unsafe { *libc::__errno_location() = errno };
        return None;
    }
    NonNull::new(memory.cast())
}

/// Unmaps pages that were not published.
///
/// # Safety
/// From [`map`], with this size.
pub unsafe fn unmap(memory: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(memory.as_ptr().cast(), size) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_with_its_time_or_does_not_begin_if_the_word_has_changed() {
        let word = AtomicU32::new(1);
        let begun = now_ns();
        while now_ns() < begun + 2_000_000 {
            futex_wait(&word, 1, Some(Duration::from_millis(2)));
        }
        futex_wait(&word, 0, None);
        futex_wake(&word);
        futex_wake_all(&word);
    }
}

//! The descriptors on which the worker sleeps: a timer, an event, and sources of memory pressure, in one
//! `epoll`. All are edge-triggered, so they need not be read.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::pressure::Sources;
use super::status;
use crate::os::Woken;
use crate::os::pressure::PressureSources;

const EVENT: u64 = 0;
const TIMER: u64 = 1;
/// The first of the sources of memory pressure.
const SOURCES: u64 = 2;

/// The descriptors; -1 until they are open.
#[derive(Debug)]
pub struct Wakeups {
    epoll: AtomicI32,
    event: AtomicI32,
    timer: Timer,
    sources: Sources,
    /// Threads that are about to write to the event.
    wakers: AtomicU32,
}

impl Wakeups {
    pub const fn new() -> Wakeups {
        Wakeups {
            epoll: AtomicI32::new(-1),
            event: AtomicI32::new(-1),
            timer: Timer::new(),
            sources: Sources::new(),
            wakers: AtomicU32::new(0),
        }
    }

    #[cfg(all(test, feature = "pressure"))]
    pub(super) fn with(sources: Sources) -> Wakeups {
        Wakeups {
            sources,
            ..Wakeups::new()
        }
    }

    pub fn open(&self) -> io::Result<()> {
        if self.epoll.load(Ordering::Acquire) >= 0 {
            return Ok(());
        }
        // SAFETY: these three take flags only.
        let made = unsafe {
            [
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
                libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK),
                timerfd(),
            ]
        };
        let error = io::Error::last_os_error();
        let [epoll, event, timer] = made;
        let watch = |fd, tag| control(epoll, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, tag);
        if made.iter().any(|&fd| fd < 0) || !watch(event, EVENT) || !watch(timer, TIMER) {
            for fd in made.into_iter().filter(|&fd| fd >= 0) {
                // SAFETY: opened above, and not published.
                unsafe { libc::close(fd) };
            }
            return Err(error);
        }
        self.event.store(event, Ordering::Relaxed);
        self.timer.0.store(timer, Ordering::Relaxed);
        self.epoll.store(epoll, Ordering::Release);
        Ok(())
    }

    /// Closes the descriptors in this process; they belong to another one, where they stay open.
    pub fn close(&self) {
        self.wakers.store(0, Ordering::Relaxed); // those of the parent
        self.close_all();
    }

    fn close_all(&self) {
        for place in [&self.epoll, &self.event, &self.timer.0] {
            close(place);
        }
        self.sources.close();
    }

    /// Closes the descriptors; no thread sleeps on them, but some may be about to wake the worker.
    pub fn end(&self) {
        let event = AtomicI32::new(self.event.swap(-1, Ordering::SeqCst)); // [ALM-2]
        while self.wakers.load(Ordering::SeqCst) != 0 {
            super::doze();
        }
        close(&event);
        self.close_all(); // one that is about to wake the worker counts itself out later
    }

    /// Listens for memory pressure.
    pub fn listen(&self) {
        self.sources.arm(self.epoll(), SOURCES);
    }

    /// Stops listening.
    pub fn ignore(&self) {
        self.sources.disarm(self.epoll());
    }

    /// Opens the sources of memory pressure.
    pub fn open_sources(&self) {
        self.sources.open();
    }

    /// Sets whether the program uses these sources.
    pub fn set_sources_wanted(&self, wanted: bool) {
        self.sources.set_wanted(wanted, self.epoll());
    }

    /// The states of these sources.
    pub fn sources(&self) -> PressureSources {
        self.sources.states()
    }

    fn epoll(&self) -> i32 {
        self.epoll.load(Ordering::Acquire)
    }

    pub fn set_timer(&self, deadline: u64) {
        self.timer.set(deadline);
    }

    #[inline(never)]
    pub fn wake(&self, _word: &AtomicU32) {
        let one = 1u64;
        self.wakers.fetch_add(1, Ordering::SeqCst); // [ALM-2]
        let event = self.event.load(Ordering::SeqCst); // [ALM-2]
        // SAFETY: eight readable bytes; -1, or an event that is not closed before this thread counts no more.
        unsafe { libc::write(event, (&raw const one).cast(), 8) };
        self.wakers.fetch_sub(1, Ordering::Release);
    }

    pub fn sleep(&self, _word: &AtomicU32, _asleep: u32) -> Woken {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: `events` has room for eight events.
        let came = unsafe { libc::epoll_wait(self.epoll(), events.as_mut_ptr(), 8, -1) };
        let mut woken = Woken::default();
        for event in &events[..usize::try_from(came).unwrap_or(0)] {
            match event.u64 {
                EVENT => woken.kick = true,
                TIMER => woken.timer = true,
                source => {
                    woken.pressure = true;
                    woken.low |= self.sources.heard((source - SOURCES) as usize);
                }
            }
        }
        woken
    }
}

/// Closes a descriptor of ours and forgets it. The program may have closed it and reused its number; the
/// descriptor of a file, a pipe or a socket is not ours and stays open.
fn close(place: &AtomicI32) {
    let fd = place.swap(-1, Ordering::AcqRel);
    if status(fd).is_some_and(|it| it.st_mode & libc::S_IFMT == 0) {
        // SAFETY: it is ours, by its kind.
        unsafe { libc::close(fd) };
    }
}

/// A timer that one thread waits for. On the monotonic clock, as all times here: it does not jump when the
/// time of day is set, does not count suspend, and does not wake the machine from suspend.
#[derive(Debug)]
pub struct Timer(AtomicI32);

impl Timer {
    pub const fn new() -> Timer {
        Timer(AtomicI32::new(-1))
    }

    /// Makes it, unless it is there; false if none is available.
    pub fn open(&self) -> bool {
        if self.0.load(Ordering::Relaxed) < 0 {
            self.0.store(timerfd(), Ordering::Relaxed);
        }
        self.0.load(Ordering::Relaxed) >= 0
    }

    /// Sets it to an absolute time; 0 stops it.
    pub fn set(&self, deadline: u64) {
        let spec = libc::itimerspec {
            it_interval: super::timespec(0),
            it_value: super::timespec(deadline),
        };
        let (fd, how) = (self.0.load(Ordering::Acquire), libc::TFD_TIMER_ABSTIME);
        // SAFETY: `spec` is readable; the old value is not requested.
        unsafe { libc::timerfd_settime(fd, how, &spec, std::ptr::null_mut()) };
    }

    /// Nanoseconds until it expires; 0 if it is not set.
    pub fn left(&self) -> u64 {
        let mut spec = libc::itimerspec {
            it_interval: super::timespec(0),
            it_value: super::timespec(0),
        };
        // SAFETY: `spec` is writable; without a timer it stays as it is.
        unsafe { libc::timerfd_gettime(self.0.load(Ordering::Relaxed), &mut spec) };
        super::nanoseconds(spec.it_value)
    }

    /// Sleeps until it expires. False: the program has closed it.
    pub fn wait(&self) -> bool {
        loop {
            let mut times = 0u64;
            let timer = self.0.load(Ordering::Relaxed);
            // SAFETY: eight writable bytes.
            let read = unsafe { libc::read(timer, (&raw mut times).cast(), 8) };
            if read == 8 {
                return true;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
    }

    /// Forgets one that the program has closed: the next [`open`](Timer::open) makes another.
    pub fn forget(&self) {
        self.0.store(-1, Ordering::Relaxed);
    }

    /// Closes it; no thread waits for it. (In the child of a fork it is the parent's.)
    pub fn close(&self) {
        close(&self.0);
    }
}

/// A timer; negative if none is available.
fn timerfd() -> i32 {
    // SAFETY: takes flags only.
    unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) }
}

/// Watches a descriptor, edge-triggered, or watches it no more.
pub(super) fn control(epoll: i32, what: i32, fd: i32, events: i32, tag: u64) -> bool {
    let mut event = libc::epoll_event {
        events: (events | libc::EPOLLET).cast_unsigned(),
        u64: tag,
    };
    // SAFETY: `event` is readable.
    unsafe { libc::epoll_ctl(epoll, what, fd, &mut event) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_descriptor_is_inherited_and_a_second_opening_makes_none() {
        let wakeups = Wakeups::new();
        let all = || {
            [&wakeups.epoll, &wakeups.event, &wakeups.timer.0].map(|it| it.load(Ordering::Relaxed))
        };
        wakeups.open().expect("descriptors");
        let opened = all();
        for fd in opened {
            // SAFETY: integers.
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, libc::FD_CLOEXEC);
        }
        // SAFETY: integers.
        let status = unsafe { libc::fcntl(opened[1], libc::F_GETFL) };
        assert!(status & libc::O_NONBLOCK != 0, "a kick never waits");
        wakeups.open().expect("they are there");
        assert_eq!(all(), opened);
        wakeups.wake(&AtomicU32::new(0));
        wakeups.end();
        assert_eq!(all(), [-1; 3]);
        wakeups.open().expect("again");
        wakeups.close();
    }

    #[test]
    fn a_timer_that_was_forgotten_is_made_again() {
        let timer = Timer::new();
        assert!(timer.open() && timer.open());
        let first = timer.0.load(Ordering::Relaxed);
        timer.forget();
        assert_eq!(timer.left(), 0);
        assert!(timer.open());
        let second = timer.0.load(Ordering::Relaxed);
        assert!(first >= 0 && second != first, "{first} {second}");
        timer.set(super::super::now_ns() + 60_000_000_000);
        assert!(timer.left() > 0);
        timer.close();
        assert!(!timer.wait(), "it is closed");
        // SAFETY: made above, and forgotten.
        unsafe { libc::close(first) };
    }
}

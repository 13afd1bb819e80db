//! The descriptors on which the worker sleeps: a timer, an event, and sources of memory pressure, in one
//! `epoll`. All are edge-triggered, so they need not be read.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::pressure::Sources;

/// Why the worker woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    pub timer: bool,
    pub kick: bool,
    /// A source of memory pressure has reported.
    pub pressure: bool,
    /// … and memory is low.
    pub low: bool,
    /// A kick has changed the alarm's word by now.
    pub kicked: bool,
    /// One had done so when the worker went to sleep, and its event had not come.
    pub owed: bool,
}

const EVENT: u64 = 0;
const TIMER: u64 = 1;
/// The first of the sources of memory pressure.
const SOURCES: u64 = 2;

/// The descriptors; -1 until they are open.
#[derive(Debug)]
pub struct Descriptors {
    epoll: AtomicI32,
    event: AtomicI32,
    timer: AtomicI32,
    pub sources: Sources,
}

impl Descriptors {
    pub const fn new() -> Descriptors {
        Descriptors {
            epoll: AtomicI32::new(-1),
            event: AtomicI32::new(-1),
            timer: AtomicI32::new(-1),
            sources: Sources::new(),
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
        if made.iter().any(|&fd| fd < 0)
            || !watch(epoll, event, EVENT)
            || !watch(epoll, timer, TIMER)
        {
            for fd in made.into_iter().filter(|&fd| fd >= 0) {
                // SAFETY: opened above, and not published.
                unsafe { libc::close(fd) };
            }
            return Err(error);
        }
        self.event.store(event, Ordering::Relaxed);
        self.timer.store(timer, Ordering::Relaxed);
        self.epoll.store(epoll, Ordering::Release);
        Ok(())
    }

    /// Closes the descriptors in this process; they belong to another one, where they stay open.
    pub fn close(&self) {
        let Descriptors {
            epoll,
            event,
            timer,
            sources,
        } = self;
        for place in [epoll, event, timer] {
            close(place);
        }
        sources.close();
    }

    /// Listens for memory pressure.
    pub fn listen(&self) {
        self.sources.arm(self.epoll(), SOURCES);
    }

    /// Stops listening.
    pub fn ignore(&self) {
        self.sources.disarm(self.epoll());
    }

    pub fn epoll(&self) -> i32 {
        self.epoll.load(Ordering::Acquire)
    }

    pub fn set_timer(&self, deadline: u64) {
        set_timer(self.timer.load(Ordering::Acquire), deadline);
    }

    pub fn wake(&self, _word: &AtomicU32) {
        let one = 1u64;
        // SAFETY: eight readable bytes.
        unsafe {
            libc::write(
                self.event.load(Ordering::Acquire),
                (&raw const one).cast(),
                8,
            );
        }
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
pub fn close(place: &AtomicI32) {
    let fd = place.swap(-1, Ordering::AcqRel);
    // SAFETY: plain data, filled in by the call before it is read.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is writable; a bad descriptor is refused.
    unsafe {
        if libc::fstat(fd, &mut status) == 0 && status.st_mode & libc::S_IFMT == 0 {
            libc::close(fd);
        }
    }
}

/// A timer; negative if none is available. On the monotonic clock, as all times here: it does not jump when
/// the time of day is set, does not count suspend, and does not wake the machine from suspend.
pub fn timerfd() -> i32 {
    // SAFETY: takes flags only.
    unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) }
}

/// Sets a timer to an absolute time; 0 stops it.
pub fn set_timer(fd: i32, deadline: u64) {
    let none = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let spec = libc::itimerspec {
        it_interval: none,
        it_value: libc::timespec {
            tv_sec: (deadline / 1_000_000_000).cast_signed(),
            tv_nsec: (deadline % 1_000_000_000).cast_signed(),
        },
    };
    // SAFETY: `spec` is readable; the old value is not requested.
    unsafe {
        libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut());
    }
}

fn watch(epoll: i32, fd: i32, tag: u64) -> bool {
    let mut event = libc::epoll_event {
        events: (libc::EPOLLIN | libc::EPOLLET).cast_unsigned(),
        u64: tag,
    };
    // SAFETY: `event` is readable.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) == 0 }
}

//! What the worker sleeps on: one `epoll_wait` for a timer, an event, and while something is held that has to wait
//! also for [memory pressure](crate::watch::pressure).
//!
//! A word says whether it sleeps, so that a kick costs a system call only then:
//!
//! | word | kick | worker |
//! |---|---|---|
//! | `AWAKE` | → `PENDING` | about to sleep: → `ASLEEP`, and sleeps |
//! | `PENDING` | stays | about to sleep: → `AWAKE`, and looks again |
//! | `ASLEEP` | → `PENDING`, and writes the event | |
//!
//! `[ALM-1]` what the kicker did, its swap of the word, the worker's swap or compare-and-swap: the worker
//! sees it when it looks again.
//!
//! All descriptors are edge-triggered, so nobody has to read them. Setting the timer is a system call
//! of whoever queues, and wakes nobody. The timer and what it is set to are kept together by a lock of
//! their own, which nobody holds while he takes another one but to ask the engine whether the timer is
//! still wanted.

use crate::inner::prim::{AtomicU32, Mutex, MutexGuard, Ordering};

/// The worker is up and about.
const AWAKE: u32 = 0;
/// The worker sleeps, or is about to.
const ASLEEP: u32 = 1;
/// The worker has to look again before it sleeps.
const PENDING: u32 = 2;

/// Why the worker woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Woken {
    pub(crate) timer: bool,
    pub(crate) kick: bool,
    /// A source of memory pressure has spoken.
    pub(crate) pressure: bool,
    /// … and memory is low.
    pub(crate) low: bool,
}

/// The timer and the event.
#[derive(Debug)]
pub(crate) struct Alarm {
    word: AtomicU32,
    /// What the timer is set to; 0 for nothing.
    set: Mutex<u64>,
    os: os::Descriptors,
}

impl Alarm {
    const_new! {
        pub(crate) fn new() -> Alarm {
            Alarm {
                word: AtomicU32::new(AWAKE),
                set: Mutex::new(0),
                os: os::Descriptors::new(),
            }
        }
    }

    /// The timer, and what it is set to. Descriptors are made under this lock, too, so that a fork finds
    /// them known or not there.
    pub(crate) fn timer(&self) -> MutexGuard<'_, u64> {
        self.set
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes the descriptors. Once, before the worker starts.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn open(&self) -> std::io::Result<()> {
        let set = self.timer();
        self.os.open()?;
        // What was set before there was a timer.
        if *set != 0 {
            self.os.set_timer(*set);
        }
        Ok(())
    }

    /// In the child of a fork: the descriptors are the parent's, and nobody sleeps on them here.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self, set: &mut u64) {
        self.os.close();
        self.word.store(AWAKE, Ordering::Relaxed);
        *set = 0;
    }

    /// Opens the sources of memory pressure. The worker does that when it starts.
    #[cfg(not(quiescent_model))]
    pub(crate) fn open_sources(&self) {
        let _set = self.timer();
        self.os.sources.open();
    }

    /// The program wants to hear the kernel about memory, or not.
    #[cfg(not(quiescent_model))]
    pub(crate) fn set_sources_wanted(&self, wanted: bool) {
        let _set = self.timer();
        self.os.sources.set_wanted(wanted, self.os.epoll());
    }

    /// How the sources of memory pressure stand.
    pub(crate) fn sources(&self) -> crate::watch::pressure::PressureSources {
        #[cfg(quiescent_model)]
        return crate::watch::pressure::PressureSources::default();
        #[cfg(not(quiescent_model))]
        self.os.sources.states()
    }

    /// Nobody is going to look: whoever queues next sets the timer, and tries to start somebody.
    pub(crate) fn forget(&self) {
        *self.timer() = 0;
    }

    /// Sees to it that the worker looks by `deadline` (monotonic nanoseconds). If something may be held until
    /// then (`holds`), it listens for memory pressure meanwhile.
    pub(crate) fn arm(&self, deadline: u64, holds: bool) {
        let mut set = self.timer();
        let now = crate::inner::prim::now_ns();
        if *set == 0 || deadline < *set || *set <= now {
            *set = deadline;
            self.os.set_timer(deadline);
        }
        if holds && is_worth(deadline, now) {
            self.os.listen();
        }
    }

    /// Sets the timer to what `wanted` says, or stops it: also to what it was set to before, which may
    /// have fired unseen, or been changed by a process that shares the descriptor (after a fork).
    pub(crate) fn follow(&self, wanted: impl FnOnce() -> Option<u64>) {
        let mut set = self.timer();
        let wanted = wanted().unwrap_or(0);
        if *set != 0 || wanted != 0 {
            *set = wanted;
            self.os.set_timer(wanted);
        }
        if wanted == 0 {
            self.os.ignore();
        } else if is_worth(wanted, crate::inner::prim::now_ns()) {
            self.os.listen();
        }
    }

    /// Is the timer set?
    pub(crate) fn is_armed(&self) -> bool {
        *self.timer() != 0
    }

    /// Has the worker look, soon.
    pub(crate) fn kick(&self) {
        if self.word.swap(PENDING, Ordering::AcqRel) == ASLEEP {
            self.os.wake(&self.word); // [ALM-1]
        }
    }

    /// Sleeps until kicked, or until the timer fires, or memory is low. `None`: it did not sleep. Only the worker
    /// calls this.
    pub(crate) fn sleep(&self) -> Option<Woken> {
        let order = Ordering::AcqRel;
        let mut woken = None;
        if self
            .word
            .compare_exchange(AWAKE, ASLEEP, order, Ordering::Relaxed)
            .is_ok()
        {
            woken = Some(self.os.sleep(&self.word, ASLEEP));
        }
        self.word.swap(AWAKE, order); // [ALM-1]
        woken
    }
}

/// Is it worth the system calls to listen for memory pressure until then?
fn is_worth(deadline: u64, now: u64) -> bool {
    deadline >= now.saturating_add(crate::watch::pressure::WORTH_NS)
}

#[cfg(quiescent_model)]
mod os {
    use super::Woken;
    use crate::inner::prim::{AtomicU32, futex_wait, futex_wake};

    /// In models there are no descriptors: the worker sleeps on the word, and a scenario that wants
    /// the timer to fire lets futex time-outs happen.
    #[derive(Debug)]
    pub(super) struct Descriptors;

    impl Descriptors {
        pub(super) const fn new() -> Descriptors {
            Descriptors
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(super) fn open(&self) -> std::io::Result<()> {
            Ok(())
        }

        pub(super) fn set_timer(&self, _deadline: u64) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(super) fn listen(&self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(super) fn ignore(&self) {}

        pub(super) fn wake(&self, word: &AtomicU32) {
            futex_wake(word);
        }

        pub(super) fn sleep(&self, word: &AtomicU32, asleep: u32) -> Woken {
            futex_wait(word, asleep, Some(std::time::Duration::from_secs(1)));
            Woken::default()
        }
    }
}

#[cfg(not(quiescent_model))]
pub(crate) mod os {
    use std::io;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    use super::Woken;
    use crate::watch::pressure::sources::Sources;

    const EVENT: u64 = 0;
    const TIMER: u64 = 1;
    /// The first of the sources of memory pressure.
    const SOURCES: u64 = 2;

    /// The descriptors; -1 until they are open.
    #[derive(Debug)]
    pub(super) struct Descriptors {
        epoll: AtomicI32,
        event: AtomicI32,
        timer: AtomicI32,
        pub(super) sources: Sources,
    }

    impl Descriptors {
        pub(super) const fn new() -> Descriptors {
            Descriptors {
                epoll: AtomicI32::new(-1),
                event: AtomicI32::new(-1),
                timer: AtomicI32::new(-1),
                sources: Sources::new(),
            }
        }

        pub(super) fn open(&self) -> io::Result<()> {
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
                    // SAFETY: made above, and nobody else has seen it.
                    unsafe { libc::close(fd) };
                }
                return Err(error);
            }
            self.event.store(event, Ordering::Relaxed);
            self.timer.store(timer, Ordering::Relaxed);
            self.epoll.store(epoll, Ordering::Release);
            Ok(())
        }

        /// They are another process's: closed here, open there.
        pub(super) fn close(&self) {
            for place in [&self.epoll, &self.event, &self.timer] {
                close(place);
            }
            self.sources.close();
        }

        /// Listens for memory pressure.
        pub(super) fn listen(&self) {
            self.sources.arm(self.epoll(), SOURCES);
        }

        /// Does so no more.
        pub(super) fn ignore(&self) {
            self.sources.disarm(self.epoll());
        }

        pub(super) fn epoll(&self) -> i32 {
            self.epoll.load(Ordering::Acquire)
        }

        pub(super) fn set_timer(&self, deadline: u64) {
            set_timer(self.timer.load(Ordering::Acquire), deadline);
        }

        pub(super) fn wake(&self, _word: &AtomicU32) {
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

        pub(super) fn sleep(&self, _word: &AtomicU32, _asleep: u32) -> Woken {
            let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
            // SAFETY: room for so many events.
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

    /// Closes a descriptor of ours and forgets it. One that the program has closed behind our back may be
    /// something else by now; what is a file, a pipe or a socket is none of ours.
    pub(crate) fn close(place: &AtomicI32) {
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

    /// A timer; negative if there is none to be had. On the monotonic clock, as everything here: it does not jump when the
    /// time of day is set, does not count suspend, and ends none.
    pub(crate) fn timerfd() -> i32 {
        // SAFETY: takes flags only.
        unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) }
    }

    /// Sets a timer to an absolute time; 0 stops it.
    pub(crate) fn set_timer(fd: i32, deadline: u64) {
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
        // SAFETY: `spec` is readable; the old value is not asked for.
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
}

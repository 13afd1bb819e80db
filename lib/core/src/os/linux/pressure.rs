//! The kernel's sources of memory pressure: opening, arming, and interpreting events.
//!
//! | source | mechanism | event |
//! |---|---|---|
//! | `/proc/pressure/memory` | a PSI trigger of the open file | at most one a window, after `TRIGGER` |
//! | `memory.pressure` of the control group | the same | the same |
//! | `memory.events` of the group | the kernel marks the file when a number changes | at most every 10 ms |
//!
//! A process without `CAP_SYS_RESOURCE` may only request windows that are multiples of two seconds, so all
//! processes request that. For such a process the kernel checks once in two seconds; for a privileged one ten
//! times a window.
//!
//! Edge-triggered, like the other descriptors: events need not be consumed. `memory.events` is read anyway:
//! it also reports events other than low memory (protection by `memory.low`), and a read starts the next
//! wait.
//!
//! All of it happens under the timer's lock, except [`heard`](Sources::heard), which the worker calls without
//! it. Nothing here allocates. The descriptors are those of files, so before one is closed in the child of a
//! fork its file is compared with the one that was opened.

use std::ffi::CStr;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::alarm::control;
use super::{open, read, status};
use crate::os::pressure::{PressureSource, PressureSources};

/// Tasks had to wait for 200 ms of two seconds in total, the usual threshold of service managers.
const TRIGGER: &CStr = c"some 200000 2000000";

/// Number of sources: none without the feature.
const COUNT: usize = if cfg!(feature = "pressure") { 3 } else { 0 };
const SYSTEM: usize = 0;
const GROUP: usize = 1;
const LIMITS: usize = 2;

/// The longest path of a control group that is tried, and of the file that names it.
const LONGEST: usize = 1024;

/// The paths of these files.
#[derive(Debug)]
pub struct Paths {
    /// PSI of the machine.
    pub system: &'static CStr,
    /// Names the process's control group.
    pub own_group: &'static CStr,
    /// The mount point of control groups version 2.
    pub groups: &'static str,
}

impl Paths {
    const USUAL: Paths = Paths {
        system: c"/proc/pressure/memory",
        own_group: c"/proc/self/cgroup",
        groups: "/sys/fs/cgroup",
    };
}

const CLOSED: u32 = PressureSource::Closed as u32;
const UNAVAILABLE: u32 = PressureSource::Unavailable as u32;
const IDLE: u32 = PressureSource::Idle as u32;
const ARMED: u32 = PressureSource::Armed as u32;

#[derive(Debug)]
struct Source {
    state: AtomicU32,
    fd: AtomicI32,
    /// Device and inode number of the file.
    file: [AtomicU64; 2],
    /// For `memory.events`: the sum that was read last.
    said: AtomicU64,
}

/// All sources.
#[derive(Debug)]
pub struct Sources {
    paths: Paths,
    each: [Source; COUNT],
    /// The program uses none of them.
    off: AtomicU32,
}

impl Sources {
    pub const fn new() -> Sources {
        Sources::at(Paths::USUAL)
    }

    /// Sources at other paths.
    pub const fn at(paths: Paths) -> Sources {
        Sources {
            paths,
            each: [const {
                Source {
                    state: AtomicU32::new(CLOSED),
                    fd: AtomicI32::new(-1),
                    file: [AtomicU64::new(0), AtomicU64::new(0)],
                    said: AtomicU64::new(0),
                }
            }; COUNT],
            off: AtomicU32::new(0),
        }
    }

    /// Opens the available sources, once: a source that is missing now is not tried again.
    pub fn open(&self) {
        let is_closed = |it: &Source| it.state.load(Relaxed) == CLOSED;
        if self.off.load(Relaxed) != 0 || !self.each.first().is_some_and(is_closed) {
            return;
        }
        let mut text = [0; LONGEST];
        let fd = open(self.paths.own_group, libc::O_RDONLY);
        let length = read(fd, &mut text);
        // SAFETY: ours, opened above; a negative one is refused.
        unsafe { libc::close(fd) };
        let mount = self.paths.groups.as_bytes();
        let at = |name: &str, open: fn(&CStr) -> i32| {
            let parts = [mount, own_group(&text[..length])?, name.as_bytes()];
            joined(&mut [0; LONGEST], parts).map(open)
        };
        // Every group has this file, except the root, which is the machine.
        // SAFETY: a string that ends with a zero.
        let is_there = |path: &CStr| unsafe { libc::access(path.as_ptr(), libc::F_OK) };
        let in_group = at("/cgroup.events", is_there) == Some(0);
        for (which, source) in self.each.iter().enumerate() {
            source.keep(match which {
                SYSTEM => trigger(self.paths.system),
                _ if !in_group => -1,
                GROUP => at("/memory.pressure", trigger).unwrap_or(-1),
                _ => at("/memory.events", |path| open(path, libc::O_RDONLY)).unwrap_or(-1),
            });
        }
    }

    /// Adds the sources to the worker's `epoll`; event `first + n` is source `n`.
    pub fn arm(&self, epoll: i32, first: u64) {
        let idle = |source: &&Source| source.state.load(Relaxed) == IDLE;
        if self.off.load(Relaxed) != 0 || !self.each.iter().any(|source| idle(&source)) {
            return;
        }
        self.discard_earlier_events();
        for (source, tag) in self.each.iter().zip(first..) {
            let (fd, add) = (source.fd.load(Relaxed), libc::EPOLL_CTL_ADD);
            if idle(&source) && control(epoll, add, fd, libc::EPOLLPRI, tag) {
                source.state.store(ARMED, Relaxed);
            }
        }
    }

    /// Discards events noted before: a poll consumes them.
    fn discard_earlier_events(&self) {
        let mut asked = self.each.each_ref().map(|source| libc::pollfd {
            fd: source.fd.load(Relaxed), // a negative one is skipped
            events: libc::POLLPRI,
            revents: 0,
        });
        // SAFETY: `asked` has `COUNT` entries.
        unsafe { libc::poll(asked.as_mut_ptr(), COUNT as libc::nfds_t, 0) };
        if asked.get(LIMITS).is_some_and(|limits| limits.revents != 0) {
            self.heard(LIMITS);
        }
    }

    /// Removes the sources from the worker's `epoll`.
    pub fn disarm(&self, epoll: i32) {
        for source in &self.each {
            if source.state.load(Relaxed) == ARMED {
                let (fd, remove) = (source.fd.load(Relaxed), libc::EPOLL_CTL_DEL);
                control(epoll, remove, fd, libc::EPOLLPRI, 0);
                source.state.store(IDLE, Relaxed);
            }
        }
    }

    /// Source `which` has reported. True if memory is low.
    pub fn heard(&self, which: usize) -> bool {
        let source = self.each.get(which);
        source.is_some_and(|it| which != LIMITS || it.limit_was_reached())
    }

    /// Sets whether the program uses the sources.
    pub fn set_wanted(&self, wanted: bool, epoll: i32) {
        self.off.store(u32::from(!wanted), Relaxed);
        if !wanted {
            self.disarm(epoll);
            self.close();
        }
    }

    /// Closes all sources: they are reopened when a worker starts.
    pub fn close(&self) {
        for source in &self.each {
            source.state.store(CLOSED, Relaxed);
            let fd = source.fd.swap(-1, Relaxed);
            let file = source.file.each_ref().map(|part| part.load(Relaxed));
            if identity(fd) == Some(file) {
                // SAFETY: the descriptor still refers to the file that we opened.
                unsafe { libc::close(fd) };
            }
        }
    }

    /// The states of the sources.
    pub fn states(&self) -> PressureSources {
        let [system, group, limits] = std::array::from_fn(|which| {
            use PressureSource::{Armed, Closed, Idle, Unavailable};
            let state = self
                .each
                .get(which)
                .map_or(CLOSED, |it| it.state.load(Relaxed));
            [Closed, Unavailable, Idle, Armed][state as usize % 4]
        });
        PressureSources {
            system,
            group,
            limits,
        }
    }
}

impl Source {
    /// Stores the descriptor; a negative one means unavailable.
    fn keep(&self, fd: i32) {
        let file = identity(fd);
        for (place, part) in self.file.iter().zip(file.unwrap_or_default()) {
            place.store(part, Relaxed);
        }
        self.fd.store(fd, Relaxed);
        let state = if file.is_some() { IDLE } else { UNAVAILABLE };
        self.state.store(state, Relaxed);
    }

    /// For `memory.events`: true if a limit has been reached since the last read.
    fn limit_was_reached(&self) -> bool {
        let mut text = [0; 512];
        let length = read(self.fd.load(Relaxed), &mut text);
        let says = times_at_a_limit(&text[..length]);
        says > self.said.swap(says, Relaxed)
    }
}

/// The number of times that a limit was reached, according to the text of `memory.events`.
fn times_at_a_limit(text: &[u8]) -> u64 {
    let lines = text.split(|&byte| byte == b'\n');
    let times = lines.filter_map(|line| {
        let limits: [&[u8]; 3] = [b"high ", b"max ", b"oom "];
        let number = limits.iter().find_map(|name| line.strip_prefix(*name))?;
        str::from_utf8(number).ok()?.parse::<u64>().ok()
    });
    times.fold(0, u64::saturating_add)
}

/// The path of the process's version 2 group, according to the text of `/proc/self/cgroup`.
fn own_group(text: &[u8]) -> Option<&[u8]> {
    let whole = text.iter().rposition(|&byte| byte == b'\n')?; // ignores a line that was cut off
    let mut lines = text[..whole].split(|&byte| byte == b'\n');
    lines.find_map(|line| line.strip_prefix(b"0::"))
}

/// A path that is composed without allocation, into a text of zeros; `None` if it is too long.
fn joined<'t>(text: &'t mut [u8; LONGEST], parts: [&[u8]; 3]) -> Option<&'t CStr> {
    let mut left = &mut text[..LONGEST - 1];
    parts
        .iter()
        .try_for_each(|part| left.write_all(part))
        .ok()?;
    CStr::from_bytes_until_nul(text).ok()
}

/// A PSI trigger; negative if none is available.
fn trigger(path: &CStr) -> i32 {
    let fd = open(path, libc::O_RDWR);
    let text = TRIGGER.to_bytes_with_nul();
    // SAFETY: `text` is readable; a bad descriptor is refused.
    let wrote = unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
    if fd >= 0 && wrote < 0 {
        // SAFETY: ours, opened above.
        unsafe { libc::close(fd) };
        return -1;
    }
    fd
}

/// Identifies the file of a descriptor.
fn identity(fd: i32) -> Option<[u64; 2]> {
    #[allow(clippy::unnecessary_cast, reason = "narrower on 32-bit systems")]
    status(fd).map(|it| [it.st_dev as u64, it.st_ino as u64])
}

#[cfg(all(test, feature = "pressure"))]
mod tests;

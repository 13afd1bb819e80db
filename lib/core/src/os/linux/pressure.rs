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

use super::{open, read};
use crate::os::pressure::{PressureSource, PressureSources};

/// Tasks had to wait for 200 ms of two seconds in total, the usual threshold of service managers.
const TRIGGER: &CStr = c"some 200000 2000000";

/// Number of sources.
const COUNT: usize = 3;
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

const CLOSED: u32 = 0;
const UNAVAILABLE: u32 = 1;
const IDLE: u32 = 2;
const ARMED: u32 = 3;

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
        if self.off.load(Relaxed) != 0 || self.each[SYSTEM].state.load(Relaxed) != CLOSED {
            return;
        }
        self.each[SYSTEM].keep(trigger(self.paths.system));
        let mut place = Path::new();
        let found = self.find_group(&mut place);
        let mut at = |name: &str, open: fn(&CStr) -> i32| match found {
            true => place.with(name).map_or(-1, open),
            false => -1,
        };
        self.each[GROUP].keep(at("/memory.pressure", trigger));
        self.each[LIMITS].keep(at("/memory.events", |path| open(path, libc::O_RDONLY)));
    }

    /// The directory of the process's control group, unless it is the root, which is the machine.
    fn find_group(&self, place: &mut Path) -> bool {
        let mut text = [0; LONGEST];
        let fd = open(self.paths.own_group, libc::O_RDONLY);
        let length = read(fd, &mut text);
        // SAFETY: ours, opened above; a negative one is refused.
        unsafe { libc::close(fd) };
        let Some(group) = own_group(&text[..length]) else {
            return false;
        };
        place.set(self.paths.groups.as_bytes(), group);
        // Every group has this file, except the root.
        place.with("/cgroup.events").is_some_and(|path| {
            // SAFETY: a string that ends with a zero.
            unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
        })
    }

    /// Adds the sources to the worker's `epoll`; event `first + n` is source `n`.
    pub fn arm(&self, epoll: i32, first: u64) {
        let idle = |source: &&Source| source.state.load(Relaxed) == IDLE;
        if self.off.load(Relaxed) != 0 || !self.each.iter().any(|source| idle(&source)) {
            return;
        }
        self.discard_earlier_events();
        for (source, tag) in self.each.iter().zip(first..) {
            if idle(&source) && listen(epoll, libc::EPOLL_CTL_ADD, source.fd.load(Relaxed), tag) {
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
        if asked[LIMITS].revents != 0 {
            self.each[LIMITS].limit_was_reached();
        }
    }

    /// Removes the sources from the worker's `epoll`.
    pub fn disarm(&self, epoll: i32) {
        for source in &self.each {
            if source.state.load(Relaxed) == ARMED {
                listen(epoll, libc::EPOLL_CTL_DEL, source.fd.load(Relaxed), 0);
                source.state.store(IDLE, Relaxed);
            }
        }
    }

    /// Source `which` has reported. True if memory is low.
    pub fn heard(&self, which: usize) -> bool {
        which != LIMITS || self.each[LIMITS].limit_was_reached()
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
        let Sources {
            each,
            paths: _, // settings
            off: _,
        } = self;
        for source in each {
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
        let [system, group, limits] =
            self.each
                .each_ref()
                .map(|source| match source.state.load(Relaxed) {
                    UNAVAILABLE => PressureSource::Unavailable,
                    IDLE => PressureSource::Idle,
                    ARMED => PressureSource::Armed,
                    _ => PressureSource::Closed,
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

/// A path that is composed without allocation.
struct Path {
    text: [u8; LONGEST],
    length: Option<usize>,
}

impl Path {
    fn new() -> Path {
        Path {
            text: [0; LONGEST],
            length: None,
        }
    }

    fn set(&mut self, mount: &[u8], group: &[u8]) {
        let mut left = &mut self.text[..];
        let fits = left.write_all(mount).is_ok() && left.write_all(group).is_ok();
        let left = left.len();
        self.length = fits.then_some(LONGEST - left);
    }

    /// The path of the file of that name; `None` if it is too long.
    fn with(&mut self, name: &str) -> Option<&CStr> {
        let mut left = &mut self.text[self.length?..];
        left.write_all(name.as_bytes()).ok()?;
        left.write_all(&[0]).ok()?;
        CStr::from_bytes_until_nul(&self.text).ok()
    }
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
    // SAFETY: plain data, filled in by the call before it is read.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is writable; a bad descriptor is refused.
    let known = unsafe { libc::fstat(fd, &mut status) == 0 };
    #[allow(clippy::unnecessary_cast, reason = "narrower on 32-bit systems")]
    known.then_some([status.st_dev as u64, status.st_ino as u64])
}

fn listen(epoll: i32, what: i32, fd: i32, tag: u64) -> bool {
    let mut event = libc::epoll_event {
        events: (libc::EPOLLPRI | libc::EPOLLET).cast_unsigned(),
        u64: tag,
    };
    // SAFETY: `event` is readable.
    unsafe { libc::epoll_ctl(epoll, what, fd, &mut event) == 0 }
}

#[cfg(test)]
mod tests;

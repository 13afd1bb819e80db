//! A tracing buffer of its own in the kernel.
//!
//! A folder that is made in `instances/` is a whole set of buffers, events and settings of its own
//! (Documentation/trace/ftrace.rst, "Instances"): other recordings are not disturbed or changed. It lasts
//! until its folder is removed, by any process, and costs memory and time as long as its events are on. So it
//! has to be removed in every case:
//!
//! * when the [`Instance`] is dropped: at the end, after an error, in a panic;
//! * when this process ends in another way (SIGKILL, a second Ctrl-C): a *guard*, a forked process, waits for
//!   the end of a pipe whose other end this process holds open, and then removes the folder. The guard
//!   ignores Ctrl-C and the loss of the terminal, and holds none of our descriptors, so no other process
//!   waits for it.
//!
//! So it is with the probes of an instance, which are in use until its folder is gone.
//!
//! The kernel refuses to remove a folder while one of its files is open; both retry for a while.

use crate::buffers::probes::{self, Places, Probe};
use quiescent_report::Error;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Attempts to remove the folder, and the pause between two.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// How the names of our instances begin; the process and a number follow.
pub(crate) const OURS: &str = "quiescent-";

/// A trace buffer of our own in the kernel, with probes of its own.
#[derive(Debug)]
pub(crate) struct Instance {
    path: PathBuf,
    /// The file that takes probes.
    definitions: Option<PathBuf>,
    probes: Vec<&'static Probe>,
    removal: Removal,
    /// Held as long as this process lives.
    _lock: File,
    guard: Option<Guard>,
}

/// The probes of an instance.
#[derive(Debug, Clone, Default)]
pub struct Probed {
    /// Those that are placed: the event, and the function.
    pub placed: Vec<(String, String)>,
    /// Those that are not: what they would show, and why the kernel refuses.
    pub refused: Vec<String>,
}

impl Probed {
    /// For the head of a trace: each event that is a probe's, and what is missing; nothing without probes.
    pub(crate) fn heading(&self) -> String {
        let placed = self
            .placed
            .iter()
            .map(|(event, function)| format!("# probe: {event} {function}\n"));
        let refused = self.refused.iter().map(|it| format!("# no probe: {it}\n"));
        placed.chain(refused).collect()
    }
}

impl Instance {
    /// Makes one below `tracing`, with recording off and the clock `mono`. The probes are not placed yet.
    pub(crate) fn new(tracing: &Path, probes: Vec<&'static Probe>) -> Result<Instance, Error> {
        let instance = Instance::made(tracing, probes)?;
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        // Otherwise pointers are hashed and differ from those of other events; older kernels do not hash
        // them.
        let _ = instance.write("options/hash-ptr", "0");
        Ok(instance)
    }

    /// The same as the kernel makes it, with what removes it.
    fn made(tracing: &Path, probes: Vec<&'static Probe>) -> Result<Instance, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{OURS}{}-{number}", std::process::id());
        let path = tracing.join("instances").join(name);
        let lock = fs::create_dir(&path).and_then(|()| {
            let held = lock(&path);
            held.inspect_err(|_| drop(fs::remove_dir(&path)))
        });
        let lock = lock.map_err(|why| {
            let remedy = "run it as root, outside of containers; a kernel without CONFIG_TRACING has no \
             instances";
            Error::failed(format!("cannot make {}", path.display()), why, remedy)
        })?;
        // From here on dropping it, or the guard, removes it.
        let mut instance = Instance {
            definitions: probes::file(tracing).filter(|_| !probes.is_empty()),
            removal: Removal::default(),
            _lock: lock,
            guard: None,
            path,
            probes,
        };
        let events = instance.probes.iter().enumerate();
        let events = events.map(|(k, it)| format!("{}/{}", instance.group(k), it.event));
        let definitions = instance.definitions.as_deref();
        instance.removal = Removal::of(&instance.path, definitions, events);
        instance.guard = Guard::new(&instance.removal).ok();
        Ok(instance)
    }

    /// The group of the event of a probe.
    fn group(&self, number: usize) -> String {
        format!("{}{number}", self.groups())
    }

    /// How the groups of all its probes begin.
    fn groups(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("{}_", name.to_string_lossy().replace('-', "_"))
    }

    /// Places the probes, and turns their events on. One that is refused does not keep the others from it.
    pub(crate) fn probe(&self) -> Probed {
        let mut probed = Probed::default();
        let Some(definitions) = &self.definitions else {
            let refused = self.probes.iter().map(|it| it.shows.clone());
            probed.refused = refused.collect();
            return probed;
        };
        let places = Places::here();
        for (number, probe) in self.probes.iter().enumerate() {
            let group = self.group(number);
            let event = format!("events/{group}/{}", probe.event);
            let placed = probe.place(&group, &places, |line| probes::add(definitions, line));
            let on = placed.and_then(|(function, filter)| {
                let filter = match filter {
                    None => Ok(()),
                    Some(filter) => self.write(&format!("{event}/filter"), filter),
                };
                let on = filter.and_then(|()| self.write(&format!("{event}/enable"), "1"));
                on.map_err(|why| format!("{} ({why})", probe.shows))?;
                Ok(function)
            });
            match on {
                Ok(function) => {
                    let placed = (probe.event.clone(), function.to_owned());
                    probed.placed.push(placed);
                }
                Err(why) => probed.refused.push(why),
            }
        }
        probed
    }

    /// Writes a setting.
    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(file);
        let written = OpenOptions::new().write(true).open(&path);
        written
            .and_then(|mut it| it.write_all(text.as_bytes()))
            .map_err(|why| {
                let what = format!("cannot write {text} to {}", path.display());
                Error::failed(what, why, "is there memory for it, and are you root?")
            })
    }

    /// The events as text; reading consumes them. Reading does not wait: "would block" means that there are
    /// no more for now.
    pub(crate) fn pipe(&self) -> Result<File, Error> {
        let path = self.path.join("trace_pipe");
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path);
        opened.map_err(|why| {
            Error::failed(
                format!("cannot read {}", path.display()),
                why,
                "are you root?",
            )
        })
    }

    /// Events that were lost because the buffer was full of unread ones, or a probe was missed.
    pub(crate) fn lost(&self) -> u64 {
        let cpus = fs::read_dir(self.path.join("per_cpu")).into_iter();
        let cpus = cpus.flatten().flatten();
        let stats = cpus.filter_map(|it| fs::read_to_string(it.path().join("stats")).ok());
        let lost: u64 = stats.map(|it| lost(&it)).sum();
        let text = |file| {
            let path = self.definitions.as_ref()?.with_file_name(file);
            fs::read_to_string(path).ok()
        };
        let texts = text("kprobe_events").zip(text("kprobe_profile"));
        let missed = texts.map(|(events, profile)| missed(&events, &profile, &self.groups()));
        lost + missed.unwrap_or(0)
    }

    /// Removes it, as dropping it does. What is left of it, by name: its folder, and probes (`group/event`),
    /// which are in use by another process.
    pub(crate) fn remove(self) -> Vec<String> {
        let (path, groups) = (self.path.clone(), self.groups());
        let definitions = self.definitions.clone();
        drop(self);
        let text = definitions.and_then(|it| fs::read_to_string(it).ok());
        let own = |line: &str| {
            let (kind, event) = line.split(' ').next()?.split_once(':')?;
            (kind != "-" && event.starts_with(&groups)).then(|| event.to_owned())
        };
        let text = text.unwrap_or_default();
        let mut left: Vec<String> = text.lines().filter_map(own).collect();
        left.extend(path.exists().then(|| path.display().to_string()));
        left
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.write("tracing_on", "0");
        // SAFETY: system calls only, on names that it owns.
        unsafe { self.removal.carry_out() };
        self.guard.take();
    }
}

/// Locks the folder of an instance until the file is closed. The kernel removes it nevertheless: only a file
/// in it would keep it.
pub(crate) fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    // SAFETY: a descriptor of ours.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What is removed when a recording is over: its folder, then its probes, which are in use until then.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    folder: CString,
    definitions: CString,
    /// Lines for that file.
    lines: Vec<CString>,
}

impl Removal {
    /// The instance in this folder, and these events of probes (`group/event`), defined in that file.
    pub(crate) fn of(
        folder: &Path,
        definitions: Option<&Path>,
        events: impl Iterator<Item = String>,
    ) -> Removal {
        // A path of ours has no zero in it.
        let path = |it: &Path| CString::new(it.as_os_str().as_bytes()).unwrap_or_default();
        let lines = events.filter_map(|it| CString::new(format!("-:{it}\n")).ok());
        Removal {
            folder: path(folder),
            definitions: definitions.map(path).unwrap_or_default(),
            lines: lines.collect(),
        }
    }

    /// Removes what there is of it. False: a step failed for another reason than that there was nothing.
    ///
    /// # Safety
    /// It makes system calls only, and so may be called in a child of fork.
    pub(crate) unsafe fn carry_out(&self) -> bool {
        // SAFETY: as the caller says; the text outlives the call.
        if !insist(|| unsafe { libc::rmdir(self.folder.as_ptr()) == 0 }) {
            return false;
        }
        let mut done = true;
        for line in &self.lines {
            // Opened for appending: otherwise the kernel removes all probes of all owners.
            let how = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC;
            let (text, length) = (line.as_ptr(), line.as_bytes().len());
            // SAFETY: the same; the descriptor is closed where it was opened.
            let remove = || unsafe {
                let file = libc::open(self.definitions.as_ptr(), how);
                let written =
                    file >= 0 && libc::write(file, text.cast(), length) == length as isize;
                let why = *libc::__errno_location();
                libc::close(file);
                *libc::__errno_location() = why;
                written
            };
            done &= insist(remove);
        }
        done
    }
}

/// Tries for a while, as long as something is in use. False: it has failed, and not for lack of it.
fn insist(step: impl Fn() -> bool) -> bool {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: PAUSE.subsec_nanos() as libc::c_long,
    };
    for _ in 0..TRIES {
        if step() {
            return true;
        }
        // SAFETY: the number of the last error is this thread's own.
        match unsafe { *libc::__errno_location() } {
            // SAFETY: a time of ours.
            libc::EBUSY => unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) },
            libc::ENOENT => return true,
            _ => return false,
        };
    }
    false
}

/// The number of lost events in a file `per_cpu/cpuN/stats`.
fn lost(stats: &str) -> u64 {
    let of = |name: &str| {
        let value = stats.lines().find_map(|it| it.strip_prefix(name));
        let value = value.and_then(|it| it.trim().parse::<u64>().ok());
        value.unwrap_or(0)
    };
    of("overrun:") + of("commit overrun:") + of("dropped events:")
}

/// What was missed of the probes whose groups begin so: returns, if more were waited for at once than there
/// is room for. `kprobe_profile` has the counts by event, without the group, in the order of `kprobe_events`.
fn missed(events: &str, profile: &str, groups: &str) -> u64 {
    let of = |(event, counts): (&str, &str)| {
        let (_, event) = event.split_once(':')?;
        let (_, event) = event.strip_prefix(groups)?.split_once('/')?;
        let mut counts = counts.split_ascii_whitespace();
        let is_same = counts.next()? == event.split(' ').next()?;
        is_same.then_some(counts.nth(1)?.parse::<u64>().ok()?)
    };
    events.lines().zip(profile.lines()).filter_map(of).sum()
}

/// The process that removes the folder if this one cannot.
#[derive(Debug)]
struct Guard {
    process: libc::pid_t,
    /// Closing it ends the guard.
    end: Option<File>,
}

impl Guard {
    fn new(removal: &Removal) -> io::Result<Guard> {
        let mut ends: [RawFd; 2] = [-1; 2];
        // SAFETY: two descriptors are written to an array of two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both descriptors were just made, and no other code has them.
        let (wait, end) = unsafe { (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        // SAFETY: the child makes system calls only, on values made before the fork, until it ends.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the child.
            0 => unsafe { guard(wait.as_raw_fd(), removal) },
            process => Ok(Guard {
                process,
                end: Some(end),
            }),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end.take();
        // SAFETY: waits for our own child; no other code waits for it.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// The code of a guard.
///
/// # Safety
/// To be called in a child of fork, which may do nothing but system calls.
unsafe fn guard(wait: RawFd, removal: &Removal) -> ! {
    // SAFETY: system calls with numbers, with names that outlive them, and with a byte of ours.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"quiescent-guard".as_ptr());
        // Only the pipe stays open, as 0: a program that waits for the end of our output must not wait for
        // the guard.
        libc::dup2(wait, 0);
        if libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) != 0 {
            for open in 1..1024 {
                libc::close(open);
            }
        }
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        removal.carry_out();
        libc::_exit(0)
    }
}

/// Copies what there is now, up to about `most` bytes, to `to`. Returns its length; false: there is more.
pub(crate) fn drain(
    pipe: &mut File,
    block: &mut [u8],
    most: usize,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(usize, bool)> {
    let mut sum = 0;
    while sum < most {
        match pipe.read(block) {
            Ok(0) => return Ok((sum, true)),
            Ok(n) => {
                to(&block[..n])?;
                sum += n;
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok((sum, true)),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok((sum, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::clean;

    #[test]
    fn losses_are_added_up() {
        let stats = "entries: 5\noverrun: 3\ncommit overrun: 1\nbytes: 99\ndropped events: 20\nread events: \
         7\n";
        assert_eq!(lost(stats), 24);
        assert_eq!(lost(""), 0);
    }

    #[test]
    fn missed_returns_of_own_probes_are_lost() {
        let events = "r100:quiescent_1_0_2/rcu_barrier rcu_barrier\np:mine/a f\n\
                      r100:quiescent_1_01_2/rcu_barrier rcu_barrier\nr:quiescent_1_0_3/b rcu_b x=$arg1\n";
        let profile = "  rcu_barrier   900  5\n  a   1  70\n  rcu_barrier  1 600\n  b  1  8\n";
        assert_eq!(missed(events, profile, "quiescent_1_0_"), 13);
        assert_eq!(missed(events, "  a   1  70\n", "quiescent_1_0_"), 0);
    }

    #[test]
    fn probes_are_left_where_the_folder_is_and_that_is_said() {
        let folder = tracefs();
        let instance = Instance::made(folder.path(), probes::of([&"rcu:rcu_barrier".to_owned()]));
        let instance = instance.unwrap();
        let path = instance.path.clone();
        fs::write(path.join("others"), "").unwrap();
        assert_eq!(instance.remove(), [path.display().to_string()]);
        let removed = fs::read_to_string(folder.path().join("dynamic_events")).unwrap();
        assert_eq!(removed, "");
        assert_eq!(
            Instance::made(folder.path(), Vec::new()).unwrap().remove(),
            [""; 0]
        );
        // A probe that the kernel keeps, as this file does, is named; those of others are not.
        let instance = Instance::made(folder.path(), probes::of([&"rcu:rcu_barrier".to_owned()]));
        let instance = instance.unwrap();
        let (event, path) = (
            format!("{}/rcu_barrier", instance.group(0)),
            instance.path.clone(),
        );
        let others = format!("p:mine/a f\nr100:{event} rcu_barrier\n");
        fs::write(folder.path().join("dynamic_events"), others).unwrap();
        assert_eq!((instance.remove(), path.exists()), (vec![event], false));
    }

    /// A folder as it is made in any file system, and a file that keeps what is appended to it: what is
    /// there, and what is gone afterwards.
    #[test]
    fn a_guard_removes_what_its_process_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let (path, events) = (folder.path().join("instance"), folder.path().join("events"));
        fs::create_dir(&path).unwrap();
        fs::write(&events, "others\n").unwrap();
        let own = ["quiescent_1_0_0/a", "quiescent_1_0_1/b"].map(str::to_owned);
        let removal = Removal::of(&path, Some(&events), own.into_iter());
        let guard = Guard::new(&removal).unwrap();
        assert!(path.is_dir());
        drop(guard); // as if the process had ended without removing it
        assert!(!path.exists());
        let removed = "others\n-:quiescent_1_0_0/a\n-:quiescent_1_0_1/b\n";
        assert_eq!(fs::read_to_string(&events).unwrap(), removed);
    }

    /// Tracefs, as far as an instance asks for it.
    fn tracefs() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("instances")).unwrap();
        fs::write(folder.path().join("dynamic_events"), "").unwrap();
        folder
    }

    #[test]
    fn two_recorders_do_not_meet_and_each_removes_its_own_probes() {
        let folder = tracefs();
        let probes = || probes::of([&"rcu:rcu_barrier".to_owned()]);
        let definitions = || fs::read_to_string(folder.path().join("dynamic_events")).unwrap();
        let made = || {
            let path = folder.path().to_owned();
            // An ordinary folder has no files for settings.
            Instance::made(&path, probes()).unwrap()
        };
        let (one, two) = (made(), made());
        assert_ne!(one.group(0), two.group(0));
        let kept = clean(folder.path()).unwrap().kept;
        assert_eq!(kept.len(), 2, "{kept:?}");
        let (of_one, of_two) = (one.group(0), two.group(0));
        let probed = one.probe();
        assert_eq!(
            probed.refused.len(),
            2,
            "its events cannot be turned on here: {probed:?}"
        );
        drop(one);
        let text = definitions();
        assert!(
            text.contains(&format!(":{of_one}/rcu_barrier rcu_barrier")),
            "{text}"
        );
        assert!(
            text.contains(&format!("-:{of_one}/rcu_barrier\n")),
            "{text}"
        );
        assert!(!text.contains(&of_two), "{text}");
        drop(two);
        assert!(definitions().ends_with(&format!(
            "-:{}_1/rcu_barrier\n",
            of_two.trim_end_matches("_0")
        )));
    }

    #[test]
    fn a_kernel_without_probes_refuses_each() {
        let folder = tracefs();
        fs::remove_file(folder.path().join("dynamic_events")).unwrap();
        let all = probes::of([&"rcu:*".to_owned()]);
        let count = all.len();
        let probed = Instance::made(folder.path(), all).unwrap().probe();
        assert_eq!((probed.placed.len(), probed.refused.len()), (0, count));
    }

    #[test]
    fn where_none_can_be_made_the_remedy_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let why = Instance::new(folder.path(), Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            why.contains("instances/quiescent-") && why.contains("as root"),
            "{why}"
        );
    }
}

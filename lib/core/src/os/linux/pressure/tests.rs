use super::*;
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;

/// A directory of one test that contains an imitation of a control group.
struct Fake {
    root: PathBuf,
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn kept_path(path: &std::path::Path) -> &'static CStr {
    let text = path.to_str().expect("a plain path");
    Box::leak(
        CString::new(text)
            .expect("without a zero")
            .into_boxed_c_str(),
    )
}

impl Fake {
    fn new(test: &str) -> Fake {
        let name = format!("quiescent-pressure-{test}-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(root.join("mount/group")).expect("a directory");
        fs::write(root.join("own"), "4:memory:/else\n0::/group\n").expect("a file");
        fs::write(root.join("mount/group/cgroup.events"), "populated 1\n").expect("a file");
        Fake { root }
    }

    fn events(&self, text: &str) {
        fs::write(self.root.join("mount/group/memory.events"), text).expect("a file");
    }

    fn sources(&self, system: &'static CStr) -> Sources {
        let mount = |name: &str| kept(self.root.join(name).to_str().expect("plain").to_owned());
        Sources::at(Paths {
            system,
            own_group: kept_path(&self.root.join("own")),
            groups: mount("mount"),
        })
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// An `epoll` of our own, with a method that counts its descriptors.
struct Epoll(i32);

impl Epoll {
    fn new() -> Epoll {
        // SAFETY: takes flags only.
        Epoll(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
    }

    fn listens_to(&self) -> usize {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0)).expect("/proc");
        info.lines().filter(|line| line.starts_with("tfd:")).count()
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        // SAFETY: ours.
        unsafe { libc::close(self.0) };
    }
}

const NOTHING: &CStr = c"/nothing/of/the/kind";

fn states(sources: &Sources) -> [PressureSource; COUNT] {
    let all = sources.states();
    [all.system, all.group, all.limits]
}

#[test]
fn missing_pressure_sources_are_unavailable() {
    let sources = Sources::at(Paths {
        system: NOTHING,
        own_group: NOTHING,
        groups: "/nothing",
    });
    assert_eq!(states(&sources), [PressureSource::Closed; COUNT]);
    sources.open();
    assert_eq!(states(&sources), [PressureSource::Unavailable; COUNT]);
    let epoll = Epoll::new();
    sources.arm(epoll.0, 0);
    assert_eq!(epoll.listens_to(), 0);
    sources.disarm(epoll.0);
    sources.close();
    assert_eq!(states(&sources), [PressureSource::Closed; COUNT]);
}

#[test]
fn pressure_of_the_machine_is_in_epoll_only_while_armed() {
    let fake = Fake::new("machine");
    let sources = fake.sources(Paths::USUAL.system);
    sources.open();
    let [system, group, limits] = states(&sources);
    assert_eq!((group, limits), (PressureSource::Unavailable, limits));
    if system == PressureSource::Unavailable {
        eprintln!("skipped: this machine has no /proc/pressure/memory that we may use");
        return;
    }
    let epoll = Epoll::new();
    assert_eq!((system, epoll.listens_to()), (PressureSource::Idle, 0));
    for _ in 0..2 {
        sources.arm(epoll.0, 5);
        sources.arm(epoll.0, 5);
        assert_eq!(states(&sources)[SYSTEM], PressureSource::Armed);
        assert_eq!(epoll.listens_to(), 1);
        sources.disarm(epoll.0);
        assert_eq!(epoll.listens_to(), 0);
    }
    // When switched off it is closed, and stays closed until it is switched on again.
    sources.arm(epoll.0, 5);
    sources.set_wanted(false, epoll.0);
    sources.open();
    assert_eq!(states(&sources)[SYSTEM], PressureSource::Closed);
    assert_eq!(epoll.listens_to(), 0);
    sources.set_wanted(true, epoll.0);
    sources.open();
    assert_eq!(states(&sources)[SYSTEM], PressureSource::Idle);
    sources.close();
}

#[test]
fn pressure_at_a_limit_differs_from_other_events() {
    let fake = Fake::new("limit");
    fake.events("low 7\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
    let sources = fake.sources(NOTHING);
    sources.open();
    assert_eq!(states(&sources)[LIMITS], PressureSource::Idle);
    assert!(!sources.heard(LIMITS), "nothing has happened");
    for (text, low) in [
        ("low 8\nhigh 0\nmax 0\noom 0\n", false),
        ("low 8\nhigh 1\nmax 0\noom 0\n", true),
        ("low 9\nhigh 1\nmax 0\noom 0\n", false),
        ("low 9\nhigh 1\nmax 12\noom 0\n", true),
    ] {
        fake.events(text);
        assert_eq!(sources.heard(LIMITS), low, "{text}");
    }
    assert!(sources.heard(SYSTEM) && sources.heard(GROUP));
    // A file that `epoll` refuses (this is a regular one) is not armed.
    let epoll = Epoll::new();
    sources.arm(epoll.0, 0);
    assert_eq!(states(&sources)[LIMITS], PressureSource::Idle);
    sources.close();
}

#[test]
fn pressure_sources_do_not_close_a_reused_descriptor() {
    let fake = Fake::new("number");
    fake.events("high 0\n");
    let sources = fake.sources(NOTHING);
    sources.open();
    let fd = sources.each[LIMITS].fd.load(Relaxed);
    // The program closes all unknown descriptors, and opens another file.
    let other = fs::File::open("/proc/self/comm").expect("/proc");
    // SAFETY: both are open.
    let same = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&other), fd) };
    assert_eq!(same, fd);
    sources.close();
    // SAFETY: only queries.
    let still = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    assert!(still >= 0, "it is the program's");
    // SAFETY: ours.
    unsafe { libc::close(fd) };
}

#[test]
fn own_group_is_that_of_version_2() {
    let named = |text: &str| own_group(text.as_bytes()).map(<[u8]>::to_vec);
    assert_eq!(named("0::/a/b\n"), Some(b"/a/b".to_vec()));
    assert_eq!(
        named("9:memory:/x\n1:cpu:/\n0::/\n").as_deref(),
        Some(&b"/"[..])
    );
    assert_eq!(named("9:memory:/x\n"), None);
    assert_eq!(named("0::/cut/of"), None);
    assert_eq!(named(""), None);
    assert_eq!(times_at_a_limit(b""), 0);
    assert_eq!(times_at_a_limit(b"high 2\nmaxi 9\nmax 3\nhigh x\n"), 5);
    let mut path = [0; LONGEST];
    let long = [b'x'; LONGEST];
    let parts: [&[u8]; 3] = [b"/mount", &long, b"/file"];
    assert_eq!(joined(&mut path, parts), None, "too long");
    let mut path = [0; LONGEST];
    let parts: [&[u8]; 3] = [b"/mount", b"/group", b"/file"];
    assert_eq!(joined(&mut path, parts), Some(c"/mount/group/file"));
}

/// A file that signals nothing is not read when the sources are armed: what it says is compared with its last
/// reading.
#[test]
fn only_a_source_that_has_signalled_is_read_before_it_is_armed() {
    let fake = Fake::new("unsignalled");
    fake.events("high 1\n");
    let (sources, epoll) = (fake.sources(NOTHING), Epoll::new());
    sources.open();
    fake.events("high 2\n");
    sources.arm(epoll.0, 0);
    assert!(sources.heard(LIMITS));
    assert!(!sources.heard(LIMITS));
}

/// Descriptors are not inherited by other programs, and reading them does not wait.
#[test]
fn descriptors_are_closed_in_other_programs_and_never_wait() {
    let fd = open(c"/dev/null", libc::O_RDWR);
    // SAFETY: integers.
    let [flags, status] = unsafe {
        [
            libc::fcntl(fd, libc::F_GETFD),
            libc::fcntl(fd, libc::F_GETFL),
        ]
    };
    assert_eq!(flags, libc::FD_CLOEXEC);
    assert_eq!(
        status & (libc::O_ACCMODE | libc::O_NONBLOCK),
        libc::O_RDWR | libc::O_NONBLOCK
    );
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
}

#[test]
fn a_trigger_that_the_kernel_refuses_is_none() {
    assert_eq!(trigger(c"/dev/full"), -1);
    assert_eq!(trigger(NOTHING), -1);
}

/// The end of a pipe's other side is an event of a source that says nothing of limits.
#[test]
fn the_worker_hears_its_sources_while_it_listens() {
    let fake = Fake::new("heard");
    let path = fake.root.join("mount/group/memory.events");
    // SAFETY: a string that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(kept_path(&path).as_ptr(), 0o600) }, 0);
    let wakeups = crate::os::Wakeups::with(fake.sources(NOTHING));
    wakeups.open().expect("descriptors");
    wakeups.open_sources();
    assert_eq!(wakeups.sources().limits, PressureSource::Idle);
    wakeups.listen();
    assert_eq!(wakeups.sources().limits, PressureSource::Armed);
    drop(
        fs::File::options()
            .write(true)
            .open(&path)
            .expect("it has a reader"),
    );
    let woken = wakeups.sleep(&AtomicU32::new(0), 0);
    assert!(
        woken.pressure && !woken.low && !woken.kick && !woken.timer,
        "{woken:?}"
    );
    wakeups.ignore();
    assert_eq!(wakeups.sources().limits, PressureSource::Idle);
    wakeups.set_timer(1);
    let woken = wakeups.sleep(&AtomicU32::new(0), 0);
    assert!(woken.timer && !woken.pressure, "{woken:?}");
    wakeups.close();
    assert_eq!(wakeups.sources().limits, PressureSource::Closed);
}

/// Of a group whose path is nearly too long, files with long names cannot be named.
#[test]
fn a_file_whose_path_is_too_long_is_unavailable() {
    let fake = Fake::new("long");
    let mount = fake.root.join("mount");
    let left = LONGEST - "/memory.pressure".len() - mount.as_os_str().len();
    let mut group = String::new();
    while group.len() < left {
        let part = (left - group.len() - 1).min(200);
        group += &format!("/{}", "d".repeat(part));
    }
    let directory = mount.join(&group[1..]);
    fs::create_dir_all(&directory).expect("a directory");
    for file in ["cgroup.events", "memory.events", "memory.pressure"] {
        fs::write(directory.join(file), "high 1\n").expect("a file");
    }
    fs::write(fake.root.join("own"), format!("0::{group}\n")).expect("a file");
    let sources = fake.sources(NOTHING);
    sources.open();
    let [_, group, limits] = states(&sources);
    assert_eq!(
        (group, limits),
        (PressureSource::Unavailable, PressureSource::Idle)
    );
    sources.close();
    assert!(
        sources
            .each
            .iter()
            .all(|source| source.fd.load(Relaxed) == -1)
    );
}

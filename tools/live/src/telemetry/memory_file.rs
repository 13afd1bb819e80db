//! The page of another process, which is not trusted: anything may have the name of a page.
//!
//! A descriptor of that process can lead to a FIFO, a device, a file that only the reader may open, or a file
//! system that its own process serves. Opening or reading one of those can act or block, so nothing is opened
//! for reading before it is known to be a `memfd`: a regular file of the device that all `memfd`s of a kernel
//! share, and that no mount can show. `O_PATH` finds that out without opening the file, and `statx` with
//! `AT_STATX_DONT_SYNC` without asking the file system. Then its seals say that its size is fixed. All steps
//! use one descriptor, so the other process cannot exchange the file between them; and one folder of
//! descriptors, so no other process of the same number comes in.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The page with this name of another process; `None` if it has none.
///
/// # Errors
/// There is no such process; it belongs to another user; or what has the name is no page: no `memfd`, or one
/// whose size is not sealed.
pub(super) fn open_page_of(pid: u32, name: &str) -> io::Result<Option<File>> {
    let folder = File::options()
        .read(true)
        .custom_flags(libc::O_DIRECTORY)
        .open(format!("/proc/{pid}/fd"))?;
    for entry in fs::read_dir(path_of(&folder))? {
        let path = entry?.path();
        let Ok(target) = fs::read_link(&path) else {
            continue; // closed meanwhile
        };
        let target = target.to_string_lossy();
        let of = target.strip_prefix("/memfd:").unwrap_or_default();
        if of.trim_end_matches(" (deleted)") == name {
            return open_sealed(&path).map(Some);
        }
    }
    Ok(None)
}

/// A new descriptor.
fn owned(made: i32) -> io::Result<OwnedFd> {
    match made {
        0.. => {
            // SAFETY: made just now, and not used elsewhere.
            Ok(unsafe { OwnedFd::from_raw_fd(made) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a `memfd` whose size is sealed, and nothing else.
///
/// # Errors
/// It is something else, or this process may not open it.
fn open_sealed(path: &Path) -> io::Result<File> {
    let found = File::options()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path)?;
    if !is_memfd(&found)? {
        return Err(not_a_page("it is no memory file (memfd)"));
    }
    // The owner may hold a lease: then this fails rather than wait.
    let how = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(how)
        .open(path_of(&found))?;
    let size_is_fixed = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: integers.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals == -1 || seals & size_is_fixed != size_is_fixed {
        return Err(not_a_page("its size is not sealed"));
    }
    Ok(file)
}

/// Whether it is a regular file of the device of this process's own `memfd`s.
fn is_memfd(file: &File) -> io::Result<bool> {
    // SAFETY: a string that ends with 0.
    let own = owned(unsafe { libc::memfd_create(c"quiescent-probe".as_ptr(), libc::MFD_CLOEXEC) })?;
    let (own, it) = (status(own.as_raw_fd())?, status(file.as_raw_fd())?);
    let device = |it: &libc::statx| (it.stx_dev_major, it.stx_dev_minor);
    let is_regular = u32::from(it.stx_mode) & libc::S_IFMT == libc::S_IFREG;
    Ok(is_regular && device(&it) == device(&own))
}

/// What the kernel knows of a file without asking its file system.
fn status(descriptor: RawFd) -> io::Result<libc::statx> {
    // SAFETY: plain data, filled in by the call before it is read.
    let mut status: libc::statx = unsafe { std::mem::zeroed() };
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    let (path, wanted) = (c"".as_ptr(), libc::STATX_TYPE);
    // SAFETY: `status` is writable, and the path ends with 0. Not by the C library: older ones lack it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_statx,
            descriptor,
            path,
            flags,
            wanted,
            &raw mut status,
        )
    };
    match done {
        0 => Ok(status),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The name of an open file that leads to this file and no other.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn not_a_page(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileTypeExt;

    /// A memory file with these seals, of 4096 bytes.
    fn memory(seals: i32) -> File {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: a string that ends with 0.
        let file = owned(unsafe { libc::memfd_create(c"page-of-test".as_ptr(), flags) });
        let file = File::from(file.expect("a memory file"));
        file.set_len(4096).expect("it grows");
        // SAFETY: integers.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
        assert_eq!(sealed, 0);
        file
    }

    fn why(path: &Path) -> String {
        open_sealed(path).expect_err("no page").to_string()
    }

    /// What the kernel reports if a file is opened.
    struct Watch(OwnedFd);

    impl Watch {
        fn on(path: &Path) -> Watch {
            let path = CString::new(path.as_os_str().as_bytes()).expect("no 0 in it");
            // SAFETY: integers, and a string that ends with 0.
            let watch = unsafe {
                let watch = owned(libc::inotify_init1(libc::IN_NONBLOCK)).expect("a watch");
                let events = libc::IN_OPEN | libc::IN_ACCESS;
                assert!(libc::inotify_add_watch(watch.as_raw_fd(), path.as_ptr(), events) >= 0);
                watch
            };
            Watch(watch)
        }

        fn was_opened(&self) -> bool {
            let mut event = [0_u8; 4096];
            let (into, length) = (event.as_mut_ptr().cast(), event.len());
            // SAFETY: `event` is writable.
            unsafe { libc::read(self.0.as_raw_fd(), into, length) > 0 }
        }
    }

    #[test]
    fn what_is_no_memory_file_is_refused_and_not_opened() {
        let folder = std::env::temp_dir().join(format!("page-of-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (plain, fifo, link) = (
            folder.join("plain"),
            folder.join("fifo"),
            folder.join("link"),
        );
        fs::write(&plain, [0; 4096]).expect("a file");
        let name = CString::new(fifo.as_os_str().as_bytes()).expect("no 0 in it");
        // SAFETY: a string that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(
            fs::metadata(&fifo)
                .expect("it is there")
                .file_type()
                .is_fifo()
        );
        std::os::unix::fs::symlink(&plain, &link).expect("a link");
        for path in [&plain, &fifo, &link] {
            let watch = Watch::on(path);
            assert!(why(path).contains("no memory file"), "{path:?}");
            assert!(!watch.was_opened(), "{path:?}");
            let open = File::options()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(path);
            assert!(
                open.is_ok() && watch.was_opened(),
                "the watch sees an open file"
            );
        }
        for path in ["/dev/null", "/proc/self/status", "/proc/self/fd"] {
            assert!(why(Path::new(path)).contains("no memory file"), "{path}");
        }
        fs::remove_dir_all(folder).expect("ours");
    }

    /// A file of another file system in memory is none, whatever its name is.
    #[test]
    fn a_memory_file_is_not_any_file_in_memory() {
        let path = Path::new("/dev/shm").join(format!("page-of-{}", std::process::id()));
        if fs::write(&path, [0; 4096]).is_err() {
            return; // there is no such file system here
        }
        let why = why(&path);
        fs::remove_file(&path).expect("ours");
        assert!(why.contains("no memory file"), "{why}");
    }

    #[test]
    fn a_memory_file_whose_size_can_change_is_refused() {
        let sealed = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        for seals in [0, libc::F_SEAL_SHRINK, libc::F_SEAL_GROW, libc::F_SEAL_SEAL] {
            let why = why(&path_of(&memory(seals)));
            assert!(why.contains("not sealed"), "{seals}: {why}");
        }
        let file = open_sealed(&path_of(&memory(sealed))).expect("a page");
        assert_eq!(file.metadata().expect("it is open").len(), 4096);
    }
}

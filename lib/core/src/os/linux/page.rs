//! Memory that other processes of the same user can read: a sealed `memfd`, found through `/proc/PID/fd`.

use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::status;

/// The page of this process, or none.
#[derive(Debug)]
pub struct SharedPage {
    /// Its descriptor, to be closed in the child of a fork, plus one.
    descriptor: AtomicU32,
    /// The inode number of its file, because the program may have closed the descriptor and reused its
    /// number.
    file: AtomicU64,
}

impl SharedPage {
    pub const fn none() -> SharedPage {
        SharedPage {
            descriptor: AtomicU32::new(0),
            file: AtomicU64::new(0),
        }
    }

    /// Makes a page of zeros, which lives as long as the process, or until [`leave`](SharedPage::leave).
    /// Allocates no memory.
    ///
    /// # Errors
    /// There is no descriptor or no memory.
    pub fn make(&self, name: &CStr, size: usize) -> io::Result<NonNull<u8>> {
        let descriptor = file(name, size)?;
        let made = descriptor.as_raw_fd();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let nowhere = std::ptr::null_mut();
        // SAFETY: memory that is not in use.
        let page = unsafe { libc::mmap(nowhere, size, access, libc::MAP_SHARED, made, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        // Old kernels refuse the last seal: then the same user may write, as it may to the process itself.
        for seal in [seals, libc::F_SEAL_FUTURE_WRITE] {
            // SAFETY: three integers.
            unsafe { libc::fcntl(made, libc::F_ADD_SEALS, seal) };
        }
        self.file.store(
            status(made).map_or(0, |it| inode_of(&it)),
            Ordering::Relaxed,
        );
        self.descriptor
            .store(made.cast_unsigned() + 1, Ordering::Relaxed);
        std::mem::forget(descriptor); // for others to find
        NonNull::new(page.cast()).ok_or_else(|| ErrorKind::OutOfMemory.into())
    }

    /// In the child of a fork: detaches the parent's page.
    ///
    /// # Safety
    /// Nothing uses it any more; from [`make`](SharedPage::make), with this size.
    pub unsafe fn leave(&self, page: NonNull<u8>, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(page.as_ptr().cast(), size) };
        self.close(size);
    }

    /// Other processes find the page no more.
    pub fn close(&self, size: usize) {
        if let Some(descriptor) = self.descriptor(size) {
            // SAFETY: it is this library's.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
        self.descriptor.store(0, Ordering::Relaxed);
    }

    /// Its descriptor, if the program has not closed it.
    fn descriptor(&self, size: usize) -> Option<i32> {
        let descriptor = self.descriptor.load(Ordering::Relaxed).checked_sub(1)?;
        let descriptor = descriptor.cast_signed();
        let file = status(descriptor)?;
        let is_page = inode_of(&file) == self.file.load(Ordering::Relaxed)
            && file.st_size == size as libc::off_t
            // SAFETY: integers.
            && unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) } > 0;
        is_page.then_some(descriptor)
    }
}

/// A descriptor of the library.
fn owned(made: i32) -> io::Result<OwnedFd> {
    match made {
        0.. => {
            // SAFETY: made just now, and not used elsewhere.
            Ok(unsafe { OwnedFd::from_raw_fd(made) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// An empty file for it, in memory that is allocated already: touching it later cannot fail.
fn file(name: &CStr, size: usize) -> io::Result<OwnedFd> {
    // SAFETY: plain data, filled in by the call before it is read.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: `limit` is writable.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if known && limit.rlim_cur < size as libc::rlim_t {
        return Err(io::Error::from_raw_os_error(libc::EFBIG)); // else a signal would say it
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a string that ends with 0.
    let create = |flags| unsafe { libc::memfd_create(name.as_ptr(), flags) };
    // Kernels before 6.3 do not know the first kind, and some later ones want it.
    let made = owned(create(flags | libc::MFD_NOEXEC_SEAL)).or_else(|_| owned(create(flags)))?;
    // SAFETY: integers. The copy is not one of the three standard descriptors.
    let made = owned(unsafe { libc::fcntl(made.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: integers.
    if unsafe { libc::fallocate(made.as_raw_fd(), 0, 0, size as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(made)
}

#[allow(clippy::unnecessary_cast, reason = "narrower on 32-bit systems")]
fn inode_of(status: &libc::stat) -> u64 {
    status.st_ino as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const SIZE: usize = 8192;

    #[test]
    fn a_page_is_read_as_it_is_and_gone_after_it_was_left() {
        let page = SharedPage::none();
        assert_eq!(page.descriptor(SIZE), None);
        let memory = page.make(c"quiescent-test-page", SIZE).expect("a page");
        // SAFETY: ours, of this size.
        unsafe { memory.add(SIZE - 1).write(7) };
        let descriptor = page.descriptor(SIZE).expect("there is one");
        let path = format!("/proc/self/fd/{descriptor}");
        let mut last = [0; 2];
        let file = File::open(&path).expect("others can open it");
        file.read_exact_at(&mut last, SIZE as u64 - 2)
            .expect("its size");
        assert_eq!(last, [0, 7]);
        assert_eq!(page.descriptor(SIZE - 1), None, "that is another page");
        // SAFETY: made above, and not used any more.
        unsafe { page.leave(memory, SIZE) };
        assert_eq!(page.descriptor(SIZE), None);
        // Another test may have a file of its own with this number by now.
        let name = std::fs::read_link(&path).unwrap_or_default();
        assert!(!name.to_string_lossy().contains("quiescent-test-page"));
    }
}

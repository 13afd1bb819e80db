//! The last events in memory that outlives the writing process: a run that a signal ends makes no report, and
//! the events before the crash explain it.
//!
//! The campaign makes a file in memory for each run, whose process inherits it, maps it, and has its `Ring`s
//! there. When that process has ended, the campaign reads the file. Both run the same program, so the layout
//! is private. A run without such a file has its rings on the heap.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr;

use crate::events::{self, LENGTH, Ring, WORDS};

/// A file in memory for the last events of one run.
#[derive(Debug)]
pub struct Kept(File);

impl Kept {
    /// An empty file.
    ///
    /// # Errors
    /// If the kernel has no memory for it.
    pub fn new() -> io::Result<Kept> {
        // Not closed by exec: the run's process has it under the same number. Other processes that are
        // started meanwhile have it, too, which does no harm. SAFETY: a terminated name, and no flags.
        let file = unsafe { libc::memfd_create(c"quiescent-torture".as_ptr(), 0) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and not used elsewhere.
        Ok(Kept(unsafe { File::from_raw_fd(file) }))
    }

    /// The number that the run's process gets.
    pub fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// The last events, the oldest first, and the last of each thread. Empty if the process recorded none.
    pub fn last(&mut self, count: usize) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = self
            .0
            .rewind()
            .and_then(|()| self.0.read_to_end(&mut bytes));
        let words: Vec<u64> = match read {
            Ok(_) => bytes
                .chunks_exact(8)
                .map(|it| u64::from_ne_bytes(it.try_into().expect("eight")))
                .collect(),
            Err(_) => Vec::new(), // without events, but with the finding
        };
        let rings = words.chunks_exact(WORDS).map(|ring| {
            let pairs = ring[WORDS - 2 * LENGTH..].chunks_exact(2);
            (ring[0], pairs.map(|it| (it[0], it[1])).collect())
        });
        events::merged(rings.collect(), count)
    }
}

/// So many rings: in the file with this number, if it can be mapped. They last for the life of the process.
pub(crate) fn rings(file: Option<RawFd>, count: usize) -> &'static [Ring] {
    match file.and_then(|file| mapped(file, count)) {
        Some(rings) => rings,
        None => Box::leak((0..count).map(|_| Ring::default()).collect()),
    }
}

fn mapped(file: RawFd, count: usize) -> Option<&'static [Ring]> {
    let length = count * size_of::<Ring>();
    let size = libc::off_t::try_from(length).ok()?;
    // SAFETY: plain numbers. The kernel refuses a number that is no file, or a file of another size.
    if unsafe { libc::ftruncate(file, size) } != 0 {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED, file, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: as long as the rings, page-aligned, never unmapped; zeroes are valid rings, all of whose fields
    // are atomic. The file does not shrink: the other process that has it only reads it, after this one has
    // ended.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::What;
    use crate::role::Role;

    #[test]
    fn what_is_written_to_the_rings_is_in_the_file() {
        let mut kept = Kept::new().expect("a file in memory");
        assert_eq!(kept.last(9), [""; 0], "no process has mapped it");
        let rings = rings(Some(kept.number()), 2);
        rings[0].belongs_to(Role::Flood, 7);
        rings[1].belongs_elsewhere();
        for at in 1..=LENGTH as u64 + 3 {
            rings[0].put(at * 1000, What::Budget, None, at);
        }
        rings[1].put(2_000_000, What::Pause, None, 1);
        let all = kept.last(1000);
        assert_eq!(
            all.len(),
            LENGTH + 1,
            "the oldest three are overwritten: {all:?}"
        );
        assert_eq!(all[0], "   0.000004 flood 7      budget 0x4");
        assert_eq!(all[LENGTH], "   0.002000 elsewhere    all pause 0x1");
        assert_eq!(kept.last(1).len(), 2, "and the last of each thread");
    }

    #[test]
    fn without_a_file_they_are_on_the_heap() {
        // A file that cannot have that size.
        let (reader, _writer) = io::pipe().expect("a pipe");
        for file in [None, Some(reader.as_raw_fd())] {
            let rings = rings(file, 3);
            rings[2].put(5, What::Ask, None, 1);
            assert_eq!(rings.len(), 3);
        }
    }
}

//! The last events as text, and in memory that outlives the writing process: a run that a signal ends makes
//! no report, and the events before the crash explain it.
//!
//! The campaign makes a file in memory for each run, whose process inherits it, maps it, and has its `Ring`s
//! there. When that process has ended, the campaign reads the file. Both run the same program, so the layout
//! is private. A run without such a file has its rings on the heap.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr;

use super::events::{ELSEWHERE, LENGTH, Recorded, Ring, WORDS, What};
use super::finding::Finding;
use super::kind::Kind;
use super::role::Role;

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
        merged(rings.collect(), count)
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

/// The last events of all threads together, the oldest first, and the last of each thread.
pub fn last<'r>(rings: impl Iterator<Item = &'r Ring>, count: usize) -> Vec<String> {
    merged(rings.map(Ring::read).collect(), count)
}

/// The same, of rings that have been read.
fn merged(rings: Vec<Recorded>, count: usize) -> Vec<String> {
    let mut events: Vec<(u64, bool, String)> = Vec::new();
    for (whose, ring) in rings {
        let owner = name(whose);
        let written = ring.into_iter();
        let written = written.filter_map(|(at, what)| Some((at.checked_sub(1)?, what)));
        let mut own: Vec<(u64, u64)> = written.collect();
        own.sort_unstable();
        let last = own.len().saturating_sub(1);
        let own = own.into_iter().enumerate();
        events.extend(own.map(|(n, (at, word))| (at, n == last, line(&owner, at, word))));
    }
    events.sort_unstable();
    let first = events.len().saturating_sub(count);
    let shown = events.into_iter().enumerate();
    let shown = shown.filter(|(n, (_, is_last, _))| *n >= first || *is_last);
    shown.map(|(_, (_, _, line))| line).collect()
}

fn name(whose: u64) -> String {
    let role = (whose & 0xff).checked_sub(1);
    match role.and_then(|role| Role::ALL.get(usize::try_from(role).ok()?)) {
        Some(role) if whose != ELSEWHERE => format!("{} {}", role.name(), whose >> 8),
        _ => "elsewhere".to_owned(),
    }
}

fn line(owner: &str, at: u64, word: u64) -> String {
    let (what, which, value) = (word & 0xff, (word >> 8) & 0xff, word >> 16);
    let text = What::ALL.get(what as usize).map_or("?", |it| it.1);
    let found = what == What::Found as u64;
    let name = match usize::try_from(which).unwrap_or(usize::MAX) {
        which if found => Finding::ALL.get(which).map(|it| it.text()),
        which => Kind::ALL.get(which).map(|it| it.name()),
    };
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let (seconds, micros) = (at / 1_000_000_000, at / 1000 % 1_000_000);
    format!("{seconds:>4}.{micros:06} {owner:<12} {text}{name} {value:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::events::NONE;

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

    #[test]
    fn names_are_in_order_and_lines_have_them() {
        for (index, (what, _)) in What::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, index);
        }
        let word = (0x2a << 16) | (Kind::DeferLazy as u64) << 8 | What::Ran as u64;
        assert_eq!(
            line("lazy 3", 1_002_003_000, word),
            "   1.002003 lazy 3       completed defer_lazy 0x2a"
        );
        let word = (7 << 16) | (Finding::TooShort as u64) << 8 | What::Found as u64;
        assert!(line("x", 0, word).ends_with("FOUND grace period too short 0x7"));
        assert!(line("x", 0, NONE << 8 | What::Barrier as u64).ends_with("barrier 0x0"));
    }
}

//! Telemetry: a page of shared memory with counts of what was queued and executed: its layout, its creation,
//! and its rows. The public side is `quiescent::telemetry`.
//!
//! Every field is an atomic word that is meaningful by itself, so the order of accesses does not matter:
//! several threads count at the same time, and another process may read at any time. A row belongs to one
//! function of one domain from the moment its key is stored (compare-and-swap), and is never released. A text
//! that is not yet complete has a zero byte within its length, and is read again later.

use std::ffi::CStr;
use std::io;
use std::ptr;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use quiescent_core::domain::env::Env;
use quiescent_core::domain::statistics::Statistics;
use quiescent_core::os;
use quiescent_core::prim::{self, Mutex, MutexGuard};
use quiescent_core::queue::kind::{self, CODE, OWN, PLAIN};
use quiescent_core::queue::meter::{FunctionCounts, PROCESS, UNNAMED};

/// The first eight bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"quiescnt");
/// The version of the layout.
const VERSION: u32 = 2;
/// The name of the descriptor.
const NAME: &CStr = c"quiescent-telemetry";
/// The number of functions of all domains together; the last row is for those that find none.
const ROWS: usize = 512;
const OTHERS: usize = ROWS - 1;
/// The most places in which a row is searched.
const STEPS: usize = 16;
/// The number of counters there is room for.
const COUNTERS: usize = 64;
/// The number of readers that are named.
const HOLDOUTS: usize = 64;
/// The number of domain names there is room for, including the two below.
const PLACES: usize = 256;
/// The last domain number; greater ones are not distinguished.
const LAST_PLACE: u32 = (1 << 14) - 1;
/// Bits of a key for what is queued ([`kind::function`]).
const WHAT_BITS: u32 = 48;

/// A text without zero bytes.
#[derive(Debug)]
#[repr(C)]
struct Text<const N: usize> {
    length: AtomicU64,
    bytes: [AtomicU8; N],
}

impl<const N: usize> Text<N> {
    fn set(&self, text: &str) {
        set(&self.length, &self.bytes, text);
    }
}

#[inline(never)]
fn set(length: &AtomicU64, bytes: &[AtomicU8], text: &str) {
    length.store(0, Ordering::Relaxed);
    let mut whole = 0; // what fits, up to a zero and to a character's end
    for (at, byte) in text.bytes().enumerate() {
        let Some(place) = bytes.get(at).filter(|_| byte != 0) else {
            break;
        };
        place.store(byte, Ordering::Relaxed);
        if text.is_char_boundary(at + 1) {
            whole = at + 1;
        }
    }
    length.store(whole as u64, Ordering::Relaxed);
}

/// A function of a domain.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Row {
    /// 0: a free row. Bits 0 to 47: what is queued; 48 and 49: its lane and one; from 50 on: the domain.
    key: AtomicU64,
    /// Bit 0: it is queued lazily.
    flags: AtomicU64,
    bytes_each: AtomicU64,
    counts: FunctionCounts,
    name: Text<160>,
}

/// A counter of the process.
#[derive(Debug)]
#[repr(C)]
struct Named {
    value: AtomicU64,
    name: Text<32>,
}

/// The layout, and the words of the page itself.
#[derive(Debug)]
#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    pid: AtomicU32,
    forks: AtomicU32,
    /// Offset, number and size of each part, in this order: counters, blocking readers, names of domains,
    /// functions.
    parts: [AtomicU32; 12],
    /// By `CLOCK_MONOTONIC`, ns.
    started_ns: AtomicU64,
    published_ns: AtomicU64,
}

/// The page.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Page {
    header: Header,
    counters: [Named; COUNTERS],
    /// Blocking readers: the thread, and above it its nesting. A 0 ends them.
    holdouts: [AtomicU64; HOLDOUTS],
    places: [Text<40>; PLACES],
    rows: [Row; ROWS],
}

/// Null: nothing is counted.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// Its memory, which other processes can find.
static SHARED: os::SharedPage = os::SharedPage::none();

/// The names with a fixed number.
const FIXED: [&str; UNNAMED as usize + 1] = {
    let mut names = [""; UNNAMED as usize + 1];
    names[PROCESS as usize] = "process";
    names[UNNAMED as usize] = "(unnamed)";
    names
};

/// The names of domains, in the order of their numbers. A fork takes this lock, so no memory is allocated
/// under it: the room is reserved.
#[derive(Debug)]
pub(crate) struct Names {
    /// Those after the fixed ones.
    own: [Option<&'static str>; PLACES - FIXED.len()],
    count: usize,
}

impl Names {
    /// The number of a name, which may be new; none if there is no more room.
    fn number(&mut self, name: &'static str) -> Option<u32> {
        let known = self.own.iter().position(|&own| own == Some(name));
        let at = known.unwrap_or(self.count);
        *self.own.get_mut(at)? = Some(name);
        self.count = self.count.max(at + 1);
        Some((FIXED.len() + at) as u32)
    }
}

/// Held while a thread starts telemetry or names a domain.
static NAMES: Mutex<Names> = Mutex::new(Names {
    own: [None; PLACES - FIXED.len()],
    count: 0,
});

/// Excludes starting and naming.
pub(crate) fn names() -> MutexGuard<'static, Names> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The page, if there is one.
#[inline]
pub(crate) fn page() -> Option<&'static Page> {
    // SAFETY: null, or a page that is mapped for as long as this process lives.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// The counts of a function on the page; only while there is one.
pub(crate) fn counts(place: u32, lane: usize, what: u64) -> &'static FunctionCounts {
    let page = page().expect("a page that was just there is not taken away");
    &page.row(place, lane, what).counts
}

/// Starts counting; does nothing if it is on already. It stays on until the process ends.
///
/// # Errors
/// There is no descriptor or no memory for the page. Then nothing is counted.
pub(crate) fn start(env: &'static Env) -> io::Result<()> {
    let names = names();
    match page() {
        Some(_) => Ok(()),
        None => make(env, 0, &names),
    }
}

/// Replaces the page by a new one. Allocates no memory.
fn make(env: &'static Env, forks: u32, names: &Names) -> io::Result<()> {
    let page: *mut Page = SHARED.make(NAME, size_of::<Page>())?.cast().as_ptr();
    // SAFETY: zeroed memory of its size, aligned to pages; words of zeroes are a page.
    unsafe { &*page }.describe(env, forks, names);
    PAGE.store(page, Ordering::Release);
    env.common.meter.open(prim::coarse_ns()); // the clock of the queues
    publish(env);
    Ok(())
}

/// In the child of a fork, first: detaches the parent's page. Returns the argument of [`begin_again`].
#[cfg(feature = "fork")]
pub(crate) fn leave(env: &Env) -> Option<u32> {
    WANTED.store(0, Ordering::Relaxed); // no thread is writing
    let page = page()?;
    let forks = page.header.forks.load(Ordering::Relaxed);
    PAGE.store(ptr::null_mut(), Ordering::Relaxed);
    env.common.meter.close();
    // SAFETY: this process's own view of it, which is not used any more: there is one thread.
    unsafe { SHARED.leave(ptr::NonNull::from(page).cast(), size_of::<Page>()) };
    Some(forks)
}

/// The library is being unloaded, or the process ends: closes the descriptor. The page stays mapped, because
/// in the latter case other threads still count.
pub(crate) fn end() {
    SHARED.close(size_of::<Page>());
}

/// In the child of a fork, last: makes a page if the parent had one. Nothing is counted if that fails.
#[cfg(feature = "fork")]
pub(crate) fn begin_again(env: &'static Env, forks: Option<u32>, names: &Names) {
    if let Some(forks) = forks {
        let _ = make(env, forks + 1, names);
    }
}

/// The number of the domains with this name. Domains for which there is no room share one number.
pub fn place_of(name: &'static str) -> u32 {
    if name.is_empty() {
        return UNNAMED;
    }
    let mut names = names();
    let Some(place) = names.number(name) else {
        return UNNAMED;
    };
    if let Some(page) = page() {
        page.places[place as usize].set(name);
    }
    place
}

impl Page {
    fn describe(&self, env: &'static Env, forks: u32, names: &Names) {
        let header = &self.header;
        let parts = [
            std::mem::offset_of!(Page, counters),
            COUNTERS,
            size_of::<Named>(),
            std::mem::offset_of!(Page, holdouts),
            HOLDOUTS,
            size_of::<AtomicU64>(),
            std::mem::offset_of!(Page, places),
            PLACES,
            size_of::<Text<40>>(),
            std::mem::offset_of!(Page, rows),
            ROWS,
            size_of::<Row>(),
        ];
        for (word, value) in header.parts.iter().zip(parts) {
            word.store(value as u32, Ordering::Relaxed);
        }
        header.version.store(VERSION, Ordering::Relaxed);
        header.pid.store(std::process::id(), Ordering::Relaxed);
        header.forks.store(forks, Ordering::Relaxed);
        header.started_ns.store(prim::now_ns(), Ordering::Relaxed);
        let names = FIXED.into_iter().chain(names.own.iter().copied().flatten());
        for (place, name) in self.places.iter().zip(names) {
            place.set(name);
        }
        let mut counters = self.counters.iter();
        Statistics::publish(&env.home, &mut |name, inside, _| {
            if let Some(place) = counters.next() {
                write_to(&place.name, format_args!("{name}{inside}"));
            }
        });
        self.rows[OTHERS].name.set("(others)");
        header.magic.store(MAGIC, Ordering::Release);
    }

    /// The row of a function: `what` is an entry's second word, or an intrusive callback's function.
    fn row(&self, place: u32, lane: usize, what: u64) -> &Row {
        let place = place.min(LAST_PLACE);
        let kind = match lane {
            PLAIN => 1,
            OWN | CODE => 2, // a type has one row, wherever its destructor runs
            _ => 3u64,
        };
        let short = kind::function(lane, what);
        let key = u64::from(place) << 50 | kind << WHAT_BITS | short;
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % OTHERS;
        for step in 0..STEPS {
            let row = &self.rows[(first + step) % OTHERS];
            let mut known = row.key.load(Ordering::Relaxed);
            if known == 0 {
                let order = Ordering::Relaxed; // the key is all there is to see
                match row.key.compare_exchange(0, key, order, order) {
                    Ok(_) => {
                        row.describe(lane, what);
                        return row;
                    }
                    Err(other) => known = other,
                }
            }
            if known == key {
                return row;
            }
        }
        &self.rows[OTHERS]
    }
}

impl Row {
    fn describe(&self, lane: usize, what: u64) {
        let (bytes, lazy) = match lane {
            PLAIN => {
                let (size, _) = kind::layout(what);
                write_to(&self.name, format_args!("block of {size} bytes"));
                (quiescent_engine::owner::weight(size) as u64, true)
            }
            OWN | CODE => {
                // SAFETY: what was queued in a lane of code.
                let kind = unsafe { kind::kind(what) };
                match kind::given_at(what) {
                    Some(at) => write_to(&self.name, format_args!("function at {at:#x}")),
                    None => self.name.set((kind.name)()),
                }
                (kind.bytes, kind.lazy)
            }
            _ => {
                write_to(&self.name, format_args!("head at {what:#x}"));
                (0, false)
            }
        };
        self.bytes_each.store(bytes, Ordering::Relaxed);
        self.flags.store(u64::from(lazy), Ordering::Relaxed);
    }
}

/// Formats without allocating: this may be under a lock.
#[inline(never)]
fn write_to<const N: usize>(text: &Text<N>, what: std::fmt::Arguments<'_>) {
    struct Room([u8; 48], usize);
    impl std::fmt::Write for Room {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let room = &mut self.0[self.1..];
            let length = text.len().min(room.len());
            room[..length].copy_from_slice(&text.as_bytes()[..length]);
            self.1 += length;
            Ok(())
        }
    }
    let mut room = Room([0; 48], 0);
    let _ = std::fmt::write(&mut room, what);
    text.set(str::from_utf8(&room.0[..room.1]).unwrap_or_default());
}

// Publishing the process's counters to the page when they have changed: at the end of a grace period, and
// before a driver or the worker sleeps. At other times nothing is copied, so this causes no additional
// wake-up (rule R5). One thread writes at a time; a thread that comes meanwhile requests another round from
// it.

/// The number of writers and of requested rounds.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// Updates the counters. With no lock held.
#[cold]
pub(crate) fn publish(env: &'static Env) {
    let Some(page) = page() else { return };
    if WANTED.fetch_add(1, Ordering::AcqRel) != 0 {
        return; // the writing thread does another round
    }
    let mut seen = 1;
    loop {
        write(env, page);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match WANTED.compare_exchange(seen, 0, order.0, order.1) {
            Ok(_) => return,
            Err(more) => seen = more,
        }
    }
}

fn write(env: &'static Env, page: &Page) {
    let mut counters = page.counters.iter();
    Statistics::publish(&env.home, &mut |_, _, value| {
        if let Some(place) = counters.next() {
            place.value.store(value, Ordering::Relaxed);
        }
    });
    let domain = &env.state;
    let (mut cpus, mut count) = ([0; HOLDOUTS], 0);
    let core = domain.lock();
    for (place, cpu) in cpus.iter_mut().zip(core.engine.holdouts()) {
        *place = cpu;
        count += 1;
    }
    drop(core);
    let slots = cpus[..count]
        .iter()
        .filter_map(|&cpu| env.threads.slots.slot(cpu));
    let readers = slots.map(|slot| (slot.thread(), slot.words.reader.nesting()));
    let inside = readers.filter(|reader| reader.1 != 0);
    let words = inside.map(|(thread, nesting)| nesting << 32 | u64::from(thread));
    let ended = words.chain(std::iter::repeat(0));
    for (place, word) in page.holdouts.iter().zip(ended) {
        place.store(word, Ordering::Relaxed);
    }
    page.header
        .published_ns
        .store(prim::now_ns(), Ordering::Relaxed);
}

/// Whether it should start with the process.
pub(crate) fn is_demanded() -> bool {
    std::env::var_os("QUIESCENT_TELEMETRY")
        .filter(|_| !os::has_more_rights())
        .is_some_and(|value| !value.is_empty() && value != "0" && value != "off")
}

#[cfg(test)]
mod tests;

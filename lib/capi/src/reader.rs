//! Sections of the process's domain, for a caller that keeps no guard.
//!
//! `qsc_reader` is a thread-local of the initial-exec model that contains the address of the thread's reader
//! word: `quiescent.h` inlines the fast path on it, `[RD-1]` to `[RD-3]`. Its values:
//!
//! | value | when | lock | unlock |
//! |---|---|---|---|
//! | `IDLE` | the thread has not read yet | slow: at the nesting limit | never: not writable |
//! | the word of its slot | from its first section to its end | inline | inline |
//! | `Slow::spare` | a section without a word is open | slow: at the limit | slow: flagged |
//!
//! Sections of the third kind are those of threads without a slot, and those that nest too deeply. They are
//! counted here, and one of Rust's kind stands for all of them. Where the
//! system has no fence of all threads, the bits of the fenced mode are in the word, and each lock takes the
//! slow path, which executes the fence.
//!
//! # Signal handlers
//! A handler may come at any instruction. It ends the sections that it opens. `sink` is set by one store, and
//! the counting begins when it is set, so a handler before that has a section of its own, and one after it is
//! nested. `qsc_reader` is stored last: a handler that finds an old value there takes the slow path.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

use quiescent::raw::{env, local, section};
use quiescent_core::prim::{NEST_LIMIT, Ordering, light_fence};
use quiescent_core::reader::local::Local;
use quiescent_core::reader::word::{self, OUTERMOST, Reader};

/// The words of a reader.
const WORDS: usize = size_of::<Reader>() / 8;
/// In the spare word: at the limit also after a number of unlocks that have not come to their slow path.
const SPARE: u64 = NEST_LIMIT | (NEST_LIMIT / 4);
/// The nesting bits that the header tests.
const NESTING: u64 = 2 * NEST_LIMIT - 1;

// The header has these numbers.
const _: () = {
    assert!(NEST_LIMIT == 0x8000 && OUTERMOST == 0x1_0001);
    assert!(std::mem::offset_of!(Reader, word) == 0);
    assert!(cfg!(not(target_pointer_width = "64")) || size_of::<*const Reader>() == 8);
};

/// What `qsc_reader` contains first.
static IDLE: [u64; WORDS] = {
    let mut words = [0; WORDS];
    words[0] = NEST_LIMIT;
    words
};

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(target_os = "linux", target_os = "freebsd"),
    target_pointer_width = "64",
    not(miri)
))]
mod own {
    use super::{AtomicPtr, IDLE, Local, Reader, Relaxed};

    // Rust has no thread-locals that other languages find by name, and none of the initial-exec model.
    std::arch::global_asm!(
        ".pushsection .tdata.qsc_reader, \"awT\", @progbits",
        ".globl qsc_reader",
        ".type qsc_reader, @object",
        ".size qsc_reader, 8",
        ".p2align 3",
        "qsc_reader:",
        ".quad {idle}",
        ".hidden quiescent_local",
        ".globl quiescent_local",
        ".type quiescent_local, @object",
        ".size quiescent_local, 8",
        "quiescent_local:",
        ".quad 0",
        ".popsection",
        idle = sym IDLE,
    );

    /// Where the calling thread has a thread-local of this name.
    macro_rules! place {
        ($name:literal) => {{
            let place;
            #[cfg(target_arch = "x86_64")]
            // SAFETY: two loads: the thread's pointer, and the offset of the thread-local from it.
            unsafe {
                std::arch::asm!(
                    "mov {place}, qword ptr fs:[0]",
                    concat!("add {place}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                    place = out(reg) place,
                    options(nostack, readonly),
                );
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    concat!("adrp {place}, :gottprel:", $name),
                    concat!("ldr {place}, [{place}, :gottprel_lo12:", $name, "]"),
                    "mrs {thread}, tpidr_el0",
                    "add {place}, {place}, {thread}",
                    place = out(reg) place,
                    thread = out(reg) _,
                    options(nostack, readonly),
                );
            }
            place
        }};
    }

    /// The calling thread's `qsc_reader`.
    #[inline(always)]
    pub fn place() -> *const AtomicPtr<Reader> {
        place!("qsc_reader")
    }

    /// The calling thread's data, found without the call that other thread-locals of a shared object need.
    #[inline(always)]
    pub fn with_local<R>(f: impl FnOnce(&Local) -> R) -> R {
        let place: *const AtomicPtr<Local> = place!("quiescent_local");
        // SAFETY: the calling thread's own.
        let noted = unsafe { &*place };
        let mut local = noted.load(Relaxed);
        if local.is_null() {
            local = quiescent::raw::with_local(std::ptr::from_ref).cast_mut();
            noted.store(local, Relaxed);
        }
        // SAFETY: the calling thread's own, there until that thread ends.
        f(unsafe { &*local })
    }
}

/// The same where the header inlines nothing.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(target_os = "linux", target_os = "freebsd"),
    target_pointer_width = "64",
    not(miri)
)))]
mod own {
    use super::{AtomicPtr, IDLE, Reader};
    pub use quiescent::raw::with_local;

    thread_local! {
        static READER: AtomicPtr<Reader> =
            const { AtomicPtr::new((&raw const IDLE).cast::<Reader>().cast_mut()) };
    }

    pub fn place() -> *const AtomicPtr<Reader> {
        READER.with(std::ptr::from_ref)
    }
}

pub(crate) use own::with_local;

/// The sections of a thread that have no word of their own.
struct Slow {
    /// Rust's section that stands for all of them; null: there is none.
    sink: AtomicPtr<Reader>,
    /// How many there are besides the first.
    nested: AtomicUsize,
    spare: [AtomicU64; WORDS],
}

thread_local! {
    static SLOW: Slow = const {
        let mut spare = [const { AtomicU64::new(0) }; WORDS];
        spare[0] = AtomicU64::new(SPARE);
        spare[1] = AtomicU64::new(1);
        Slow { sink: AtomicPtr::new(std::ptr::null_mut()), nested: AtomicUsize::new(0), spare }
    };
}

/// Stores the thread's reader word for the header.
fn set(reader: *const Reader) {
    // SAFETY: the calling thread's own.
    unsafe { &*own::place() }.store(reader.cast_mut(), Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_read_lock() {
    // SAFETY: the calling thread's own; it contains the address of words that live as long as the thread.
    // Those that are not writable are only loaded from.
    let word = unsafe { &(*(*own::place()).load(Relaxed)).word };
    let before = word.load(Ordering::Relaxed);
    if before & NEST_LIMIT != 0 {
        return qsc_read_lock_slow();
    }
    let more = if before & NESTING == 0 { OUTERMOST } else { 1 };
    word.store(before.wrapping_add(more), Ordering::Release); // [RD-2]
    light_fence(); // [RD-1]
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_read_unlock() {
    // SAFETY: as above; a section is open, so the words are the thread's own.
    let reader = unsafe { &*(*own::place()).load(Relaxed) };
    if word::end(reader) {
        qsc_read_unlock_slow(reader);
    }
}

/// What an inlined `qsc_rcu_read_lock` calls if the nesting limit is in the word.
#[unsafe(no_mangle)]
pub extern "C" fn qsc_read_lock_slow() {
    SLOW.with(|slow| {
        let spare = (&raw const slow.spare).cast::<Reader>();
        if !slow.sink.load(Relaxed).is_null() {
            slow.nested.store(slow.nested.load(Relaxed) + 1, Relaxed);
            return set(spare);
        }
        let opened = section::lock();
        let local = local();
        if std::ptr::eq(opened, local.reader()) {
            // SAFETY: a thread-local without a destructor.
            unsafe { local.copy_to(own::place()) };
            return set(opened);
        }
        slow.sink
            .store(std::ptr::from_ref(opened).cast_mut(), Relaxed);
        set(spare);
    });
}

/// What an inlined `qsc_rcu_read_unlock` calls if a flag beside the word is set. `reader` is that word, which
/// has been decremented.
#[unsafe(no_mangle)]
pub extern "C" fn qsc_read_unlock_slow(reader: &'static Reader) {
    SLOW.with(|slow| {
        if !std::ptr::eq(reader, (&raw const slow.spare).cast()) {
            return section::unlock_slowly(reader);
        }
        slow.spare[0].store(SPARE, Relaxed);
        let nested = slow.nested.load(Relaxed);
        if nested != 0 {
            return slow.nested.store(nested - 1, Relaxed);
        }
        let sink = slow.sink.swap(std::ptr::null_mut(), Relaxed);
        set(local().reader());
        // SAFETY: the word of a section that is open: words live for ever.
        if let Some(sink) = unsafe { sink.as_ref() } {
            section::unlock(sink);
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_read_lock_held() -> bool {
    env().home.caller_is_inside()
}

/// Lets a grace period that waits for this thread go on.
#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_repin() {
    qsc_rcu_read_unlock();
    qsc_rcu_read_lock();
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_register_thread() -> std::ffi::c_int {
    match env().threads.own_slot_or_register(&local()) {
        Some(_) => 0,
        None => crate::code::NO_MEMORY,
    }
}

/// The end of the thread does it: what it has queued needs its slot until then.
#[unsafe(no_mangle)]
pub extern "C" fn qsc_rcu_unregister_thread() {}

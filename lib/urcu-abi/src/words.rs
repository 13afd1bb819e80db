//! The words of readers, and the word on which a driver sleeps for them. `[FR-1]` to `[FR-3]`

use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, fence};
use std::time::Duration;

use quiescent::Domain;
use quiescent::foreign;
use quiescent_core::domain::life;
use quiescent_core::prim::growing::Growing;
use quiescent_core::reader::foreign::ForeignWords;
use quiescent_core::reader::threads::Slot;
use quiescent_engine::{CpuId, Seen};

/// The nesting of a section, and one step of the generation.
const NESTING: u64 = (1 << 32) - 1;
const GENERATION: u64 = 1 << 32;
/// One step of a counter of quiescent states. (It stays odd: 0 is a thread that is offline.)
const STEP: u64 = 2;
/// The value of the futex while a driver sleeps.
const ASLEEP: i32 = -1;
/// The longest sleep where readers wake no driver.
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// `struct urcu_gp`: what all readers load.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Gp {
    ctr: AtomicU64,
    futex: AtomicI32,
}

/// What a flavour is: `c/flavour.c` has one value, with the same fields.
#[derive(Debug)]
#[repr(C)]
pub struct Flavour {
    gp: &'static Gp,
    /// Not 0: threads announce quiescent states, and have sections otherwise.
    qsbr: c_int,
    /// Not 0: readers execute no fence, whatever the system.
    unfenced: c_int,
    /// Not 0: readers execute a full fence, whatever the system.
    fenced: c_int,
    /// Not 0: inlined readers wake no driver.
    silent: c_int,
    /// Where a reader has the word that says that a driver sleeps, behind its `ctr`; 0: nowhere.
    waiting: usize,
    /// The thread that calls it runs callbacks from here on; registers it.
    pub enter: extern "C" fn(),
    /// Callbacks have been run.
    pub leave: extern "C" fn(),
    /// The calling thread is no reader any more.
    left: extern "C" fn(),
}

// SAFETY: functions, and atomics.
unsafe impl Sync for Flavour {}

unsafe extern "C" {
    /// The flavour that this object is linked for.
    #[link_name = "quiescent_urcu_flavour"]
    static FLAVOUR: Flavour;
}

/// The flavour.
pub fn flavour() -> &'static Flavour {
    // SAFETY: a constant of `c/flavour.c`, of this type.
    unsafe { &FLAVOUR }
}

/// The words, by the slots of their threads. Null: that thread is no reader.
#[derive(Debug)]
pub struct Words(Growing<AtomicPtr<AtomicU64>, 64, 11>);

pub static WORDS: Words = Words(Growing::new());

/// Words of this library's own, by slots, for the flavour whose readers have a pointer to theirs.
static OWN: Growing<OwnWord, 16, 13> = Growing::new();

/// Two cache lines of its own, since CPUs prefetch lines in pairs.
#[repr(align(128))]
struct OwnWord(AtomicU64);

static DOMAIN: OnceLock<(Domain, &'static life::Domain)> = OnceLock::new();

/// The domain of these readers.
pub fn domain() -> &'static Domain {
    &both().0
}

/// The same in the layer below.
pub fn core() -> &'static life::Domain {
    both().1
}

fn both() -> &'static (Domain, &'static life::Domain) {
    DOMAIN.get_or_init(|| foreign::domain(&WORDS))
}

impl Words {
    /// The word of a slot's thread.
    fn find(&self, slot: CpuId) -> Option<NonNull<AtomicU64>> {
        NonNull::new(self.0.find(slot)?.load(Acquire)) // [FR-1]
    }

    /// The same, for as long as the caller has the domain's lock.
    fn word(&self, slot: CpuId) -> Option<&AtomicU64> {
        // SAFETY: a thread takes its word away before it ends, and then waits for that lock.
        self.find(slot).map(|word| unsafe { word.as_ref() })
    }

    /// The calling thread has this slot and this word. `None`: no memory.
    fn set(&self, slot: &Slot, word: *mut AtomicU64) -> Option<()> {
        // SAFETY: null pointers are zeros.
        let place = unsafe { self.0.add(slot.cpu(), || AtomicPtr::new(ptr::null_mut())) }?;
        place.store(word, Release); // [FR-1]
        fence(std::sync::atomic::Ordering::SeqCst); // [FR-1]
        Some(())
    }
}

/// The calling thread becomes a reader with this word of its own. `None`: no slot, or no memory.
pub fn register(word: *mut AtomicU64) -> Option<()> {
    WORDS.set(foreign::own_slot_or_register()?, word)
}

/// The same with a word of this library. Allowed in a signal handler.
pub fn register_own() -> Option<*mut AtomicU64> {
    let slot = foreign::own_slot_or_register()?;
    // SAFETY: zeros are such a word.
    let word = unsafe { OWN.add(slot.cpu(), || OwnWord(AtomicU64::new(0))) }?;
    if WORDS.find(slot.cpu()).is_none() {
        word.0.store(0, Relaxed); // no thread's, or one's that has ended inside a section
    }
    let word = ptr::from_ref(&word.0).cast_mut();
    WORDS.set(slot, word)?;
    Some(word)
}

/// The calling thread is no reader any more.
pub fn unregister() {
    if let Some(slot) = foreign::own_slot() {
        core().leave_foreign(slot);
    }
}

impl ForeignWords for Words {
    fn observe(&self, slot: CpuId) -> Seen {
        let word = self.word(slot).map_or(0, |word| word.load(Acquire)); // [FR-2]
        match flavour().qsbr {
            0 => Seen {
                outside: word & NESTING == 0,
                stamp: word / GENERATION,
            },
            _ => Seen {
                outside: word == 0,
                stamp: word,
            },
        }
    }

    fn advance(&self) {
        let step = if flavour().qsbr == 0 {
            GENERATION
        } else {
            STEP
        };
        flavour().gp.ctr.fetch_add(step, AcqRel);
    }

    fn execute_fences(&self) -> bool {
        flavour().fenced != 0
    }

    fn arm(&self, holdouts: &mut dyn Iterator<Item = CpuId>) -> u32 {
        let waiting = flavour().waiting;
        let mut newly = 0;
        for word in holdouts
            .filter(|_| waiting != 0)
            .filter_map(|it| self.find(it))
        {
            // SAFETY: the reader of that word, alive as in `word`, has such a field there.
            let field = unsafe { &*word.as_ptr().byte_add(waiting).cast::<AtomicI32>() };
            newly += u32::from(field.swap(1, AcqRel) == 0);
        }
        newly + u32::from(flavour().gp.futex.swap(ASLEEP, AcqRel) != ASLEEP)
    }

    fn hears(&self) -> bool {
        flavour().silent == 0
    }

    fn sleep(&self, timeout: Duration) {
        let timeout = match self.hears() {
            true => timeout,
            false => timeout.min(LONGEST_NAP),
        };
        let time = libc::timespec {
            tv_sec: timeout.as_secs().min(1 << 32) as libc::time_t,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let word = flavour().gp.futex.as_ptr();
        // Not private to this process, as readers do not say so either.
        // SAFETY: both outlive the call; the kernel only reads them.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, ASLEEP, &time) };
        flavour().gp.futex.store(0, Release); // readers need not wake anyone now
    }

    fn wake(&self) {
        let word = &flavour().gp.futex;
        word.store(0, Release);
        // SAFETY: a word that lives forever.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    fn leave(&self, slot: CpuId) {
        if let Some(place) = self.0.find(slot) {
            place.store(ptr::null_mut(), Release);
            (flavour().left)();
        }
    }

    fn forked(&self, own: Option<CpuId>) {
        for (slot, place) in self.0.iter() {
            if own != Some(slot) {
                place.store(ptr::null_mut(), Relaxed);
            }
        }
        flavour().gp.futex.store(0, Relaxed);
    }
}

/// True if readers need no fence of their own.
pub fn without_fences() -> bool {
    // Elsewhere sections are not ordered by the compiler alone, whatever updaters do.
    let light = cfg!(target_arch = "x86_64");
    let found = light && foreign::fence_mode() == quiescent::FenceMode::Membarrier;
    if flavour().unfenced != 0 && !found {
        crate::environment::die(
            "readers of this flavour need membarrier(2), which is not available",
        );
    }
    found
}

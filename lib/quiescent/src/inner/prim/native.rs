//! The real thing: the processor's atomics, the kernel's futex and membarrier, thread-locals.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
#[cfg(not(quiescent_tsan))]
pub(crate) use std::sync::{Mutex, MutexGuard};

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

#[cfg(quiescent_tsan)]
pub(crate) use super::tsan::{Mutex, MutexGuard};
use crate::inner::domain::Domain;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::prim::arena;
use crate::inner::queue::lane::Block;
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::counted::{Counted, Tally};
use crate::inner::reader::spots::Spot;
use crate::inner::reader::threads::Leaf;
use crate::inner::reader::word::Reader;

/// Looks at somebody else's fence before one sleeps for its end: together about as long as a fence takes that interrupts nobody.
pub(crate) const FENCE_LOOKS: u32 = 4;
/// A thread pushes to its queue in a domain of the program without the lock once so much went through it.
pub(crate) const ATTACH_AFTER: u64 = 64;
/// Domains that the worker looks after together.
pub(crate) const TOGETHER: usize = 64;
/// Slots in a leaf: one bitmap word.
pub(crate) const LEAF_SLOTS: usize = 64;
/// Entries in a block: four pages and a bit for two words each.
pub(crate) const BLOCK: usize = quiescent_engine::owner::BLOCK;
/// Entries taken out of a queue at once.
pub(crate) const MAX_EXTRACT: usize = quiescent_engine::owner::MOST_TAKEN;
/// From this nesting on, lock takes its slow path: the sign bit of the nesting.
pub(crate) const NEST_LIMIT: u64 = 1 << 15;
/// Leaves a domain can have: 65 536 threads at once.
pub(crate) const MAX_LEAVES: usize = 1024;
/// Tallies in the first leaf of an `Srcu`'s counts; each further one has twice as many.
pub(crate) const FIRST_TALLIES: u32 = 8;
/// So many leaves of them are enough for every slot.
pub(crate) const TALLY_LEAVES: usize = 14;
/// Spots that are part of a domain of the program's; each further leaf has twice as many.
pub(crate) const FIRST_SPOTS: u32 = 2;
/// So many further leaves of them are enough for every slot.
pub(crate) const SPOT_LEAVES: usize = 15;
/// Leaves of a slot's table: enough for millions of domains.
pub(crate) const TABLE_LEAVES: usize = 20;

/// Stops the compiler from moving memory accesses across; no instruction.
#[inline(always)]
pub(crate) fn light_fence() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Is the wake flag of this reader word set? A relaxed load and a test.
///
/// In one instruction where the compiler makes three of it: it does not fold an atomic load into
/// a comparison, and this one is on the path of every unlock.
#[inline(always)]
pub(crate) fn is_flagged(reader: &Reader) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut set = false;
        // SAFETY: reads four aligned bytes, which is an atomic load on this architecture.
        unsafe {
            std::arch::asm!(
                "cmp dword ptr [{reader} + {flag}], 0",
                "jne {slow}",
                reader = in(reg) reader,
                flag = const std::mem::offset_of!(Reader, flag),
                slow = label { set = true },
                options(nostack, readonly),
            );
        }
        set
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        reader.flag.load(Ordering::Relaxed) != 0
    }
}

/// A full fence on this CPU: `fence(SeqCst)`.
///
/// On x86-64 a locked addition of nothing to the top of the stack, which orders all accesses to
/// ordinary memory as `mfence` does, in half the time (the compiler chooses `mfence`).
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: leaves the stack's top word as it is; the flags are declared clobbered by default.
    unsafe {
        std::arch::asm!("lock add dword ptr [rsp], 0");
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// A full fence on every CPU that runs a thread of this process.
///
/// # Errors
/// The `errno` with which the kernel (or a sandbox) refused it.
pub(crate) fn heavy_fence() -> Result<(), i32> {
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// Registers the process for [`heavy_fence`]. With other threads already running the kernel
/// waits for a grace period of its own (milliseconds).
///
/// # Errors
/// The `errno` with which it was refused.
pub(crate) fn register_heavy_fence() -> Result<(), i32> {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> Result<(), i32> {
    // SAFETY: membarrier takes three integers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result == 0 { Ok(()) } else { Err(errno()) }
}

fn errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EINVAL)
}

/// Sleeps while `word` holds `expected`, at most for `timeout`. Returns early for any reason.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let spec = timeout.map(|t| libc::timespec {
        tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let spec: *const libc::timespec = spec.as_ref().map_or(std::ptr::null(), |s| s);
    // SAFETY: `word` and `spec` outlive the call; the kernel only reads them.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            spec,
        );
    }
}

/// Wakes one sleeper on the address `word`, which need not be mapped any more: a waiter whose
/// word lived on its stack may be gone by now, and the kernel only looks the address up.
pub(crate) fn futex_wake(word: *const AtomicU32) {
    // SAFETY: the kernel uses the address as a key and does not access it for FUTEX_WAKE with the
    // private flag; a stale one wakes nobody, or causes a wake-up that every waiter tolerates.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        );
    }
}

/// Wakes all sleepers on the address `word`.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    // SAFETY: `word` outlives the call; the kernel uses its address only.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
}

/// Relaxes the processor `times` times.
pub(crate) fn spin(times: u32) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}

/// Sleeps for a moment, so that those who have no processor may get this one, whatever their priority.
pub(crate) fn doze() {
    std::thread::sleep(Duration::from_micros(50));
}

/// Monotonic nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Monotonic nanoseconds as of the last timer tick: a few instructions, a few milliseconds late.
pub(crate) fn coarse_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_COARSE)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut spec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `spec` is writable for the call.
    unsafe { libc::clock_gettime(clock, &mut spec) };
    (spec.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(spec.tv_nsec as u64)
}

thread_local! {
    static READER: AtomicPtr<Reader> =
        const { AtomicPtr::new((&raw const GLOBAL.dummy).cast_mut()) };
    static QUEUE: AtomicPtr<Queue> =
        const { AtomicPtr::new((&raw const DUMMY_QUEUE).cast_mut()) };
    static COUNTS: AtomicPtr<Counted> = const { AtomicPtr::new(std::ptr::null_mut()) };
    static TALLY: AtomicPtr<Tally> = const { AtomicPtr::new(std::ptr::null_mut()) };
    static SPOT: AtomicPtr<Spot> = const { AtomicPtr::new((&raw const NO_SPOT).cast_mut()) };
    static CELLS: [AtomicUsize; 10] = const { [const { AtomicUsize::new(0) }; 10] };
}

static DUMMY_BLOCK: Block = Block::new();
static DUMMY_QUEUE: Queue = Queue::new(0, dummy_block());

/// The block into which threads without a queue push; nobody reads it.
pub(crate) const fn dummy_block() -> *mut Block {
    (&raw const DUMMY_BLOCK).cast_mut()
}

/// The queue of threads without one: it has no credit, so every push asks for help.
pub(crate) fn dummy_queue() -> &'static Queue {
    &DUMMY_QUEUE
}

/// The queue this thread pushes to.
#[inline(always)]
pub(crate) fn queue() -> &'static Queue {
    let queue = QUEUE.with(|q| q.load(Ordering::Relaxed));
    // SAFETY: the dummy's, or a slot's; both live for ever.
    unsafe { &*queue }
}

/// The calling thread pushes to `queue` from now on.
pub(crate) fn set_queue(queue: &'static Queue) {
    let queue = std::ptr::from_ref(queue).cast_mut();
    QUEUE.with(|q| q.store(queue, Ordering::Relaxed));
}

/// What the process has once.
pub(crate) static GLOBAL: Env = Env::new(State::config());

/// What there is one of, for this thread.
#[inline(always)]
pub(crate) fn env() -> &'static Env {
    &GLOBAL
}

/// The state of the process's domain.
#[inline(always)]
pub(crate) fn domain() -> &'static State {
    &GLOBAL.state
}

/// The reader word this thread uses.
#[inline(always)]
pub(crate) fn reader() -> &'static Reader {
    // A raw pointer comes out, not a reference: the niche of a reference would cost a null check.
    let reader = READER.with(|r| r.load(Ordering::Relaxed));
    // SAFETY: the pointer is the dummy's or a slot's, and both live for ever.
    unsafe { &*reader }
}

/// The counts of an `Srcu` of which this thread has noted its tally; null if none.
#[inline(always)]
pub(crate) fn noted_counts() -> *const Counted {
    COUNTS.with(|counts| counts.load(Ordering::Relaxed))
}

/// The tally that it has noted.
#[inline(always)]
pub(crate) fn noted_tally() -> *const Tally {
    TALLY.with(|tally| tally.load(Ordering::Relaxed))
}

/// Notes this thread's tally of these counts, in place of others.
pub(crate) fn note_tally(counts: &'static Counted, tally: &'static Tally) {
    TALLY.with(|noted| noted.store(std::ptr::from_ref(tally).cast_mut(), Ordering::Relaxed));
    COUNTS.with(|noted| noted.store(std::ptr::from_ref(counts).cast_mut(), Ordering::Relaxed));
}

/// None is noted any more.
pub(crate) fn forget_tally() {
    COUNTS.with(|counts| counts.store(std::ptr::null_mut(), Ordering::Relaxed));
}

/// A spot of no domain.
static NO_SPOT: Spot = Spot::nowhere();

/// The spot that this thread has noted, if it is in this domain. One load finds both, so that a handler may note another one at any
/// instruction.
#[inline(always)]
pub(crate) fn noted_spot(domain: *const Domain) -> Option<*const Spot> {
    let spot = SPOT.with(|spot| spot.load(Ordering::Relaxed)).cast_const();
    // SAFETY: a spot, and those live for ever.
    unsafe { &*spot }.is_of(domain).then_some(spot)
}

/// Notes a spot of this thread, in place of another.
pub(crate) fn note_spot(spot: &'static Spot) {
    SPOT.with(|noted| noted.store(std::ptr::from_ref(spot).cast_mut(), Ordering::Relaxed));
}

/// None is noted any more.
pub(crate) fn forget_spot() {
    note_spot(&NO_SPOT);
}

/// So many new ones, for ever; `None` without memory. No allocator is involved: see [`arena`].
///
/// # Safety
/// All zeros are what `new` makes.
pub(crate) unsafe fn zeroes<T>(count: usize, new: impl Fn() -> T) -> Option<*mut T> {
    let _ = new; // a model's are made one by one
    const { assert!(align_of::<T>() <= arena::ALIGN) };
    let memory = arena::zeroed(count.checked_mul(size_of::<T>())?)?;
    Some(memory.cast().as_ptr())
}

/// Makes `new` this thread's reader word if it still is `old`; atomic with respect to handlers.
pub(crate) fn swap_reader(old: &'static Reader, new: &'static Reader) -> bool {
    let (old, new) = (
        std::ptr::from_ref(old).cast_mut(),
        std::ptr::from_ref(new).cast_mut(),
    );
    let order = Ordering::Relaxed;
    READER.with(|r| r.compare_exchange(old, new, order, order).is_ok())
}

/// Reads a cell of this thread.
pub(crate) fn tls_get(cell: usize) -> usize {
    CELLS.with(|cells| cells[cell].load(Ordering::Relaxed))
}

/// Writes a cell of this thread.
pub(crate) fn tls_set(cell: usize, value: usize) {
    CELLS.with(|cells| cells[cell].store(value, Ordering::Relaxed));
}

/// Writes a cell if it still is `old`; atomic with respect to handlers.
pub(crate) fn tls_cas(cell: usize, old: usize, new: usize) -> bool {
    let order = Ordering::Relaxed;
    CELLS.with(|cells| cells[cell].compare_exchange(old, new, order, order).is_ok())
}

/// The kernel's number of this thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Zeroed pages straight from the kernel: no allocator is involved, so this may be called in a handler that interrupted one. A refusal
/// leaves `errno` alone for the same reason.
pub(crate) fn map(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: the place of this thread's errno is readable at any time.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: an anonymous private mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        // SAFETY: as above, and writable.
        unsafe { *libc::__errno_location() = errno };
        return None;
    }
    NonNull::new(memory.cast())
}

/// Gives pages back that nobody else has seen.
///
/// # Safety
/// From [`map`], with this size.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(memory.as_ptr().cast(), size) };
}

/// A leaf of slots.
pub(crate) fn map_leaf() -> Option<&'static Leaf> {
    const { assert!(align_of::<Leaf>() <= 4096) };
    let memory = map(size_of::<Leaf>())?;
    // SAFETY: page-aligned, large enough, zeroed; a leaf consists of atomic integers only, for
    // which all zeroes is a value. It is never unmapped once published.
    Some(unsafe { memory.cast::<Leaf>().as_ref() })
}

/// Gives back a leaf that lost the race to be published.
pub(crate) fn unmap_leaf(leaf: &'static Leaf) {
    // SAFETY: from `map_leaf`, and nobody else has seen it.
    unsafe { unmap(NonNull::from(leaf).cast(), size_of::<Leaf>()) };
}

/// A turn that one thread at a time takes, and what it then may change. The child of a fork can make it anew, since whoever had it is
/// not there.
#[derive(Debug)]
pub(crate) struct Turn<T>(UnsafeCell<Mutex<T>>);

// SAFETY: a mutex, but for the moment in which `renew` has it alone.
unsafe impl<T: Send> Sync for Turn<T> {}

impl<T> Turn<T> {
    pub(crate) const fn new(value: T) -> Turn<T> {
        Turn(UnsafeCell::new(Mutex::new(value)))
    }

    fn mutex(&self) -> &Mutex<T> {
        // SAFETY: nobody changes the place while there is another thread, or a guard of this one.
        unsafe { &*self.0.get() }
    }

    /// Waits for it.
    pub(crate) fn take(&self) -> MutexGuard<'_, T> {
        self.mutex().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it, if nobody has it.
    pub(crate) fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        self.mutex().try_lock().ok()
    }

    /// Nobody has it any more.
    ///
    /// # Safety
    /// The calling thread is the only one of the process, and has no guard of this.
    pub(crate) unsafe fn renew(&self)
    where
        T: Default,
    {
        // SAFETY: the caller's promise: nobody else looks at it.
        unsafe { self.0.get().write(Mutex::new(T::default())) };
    }
}

//! Callbacks, retired objects, drains.
//!
//! A head stays in its object: the queue's entry is its address and a table of this file, and the head has
//! the function. So queueing is a push of two words, and allocates only when a block of the queue is full. A
//! function and an address that come without a head are put into a block of two words, unless the function is
//! `free`.

use std::ffi::{c_int, c_uint, c_void};

use quiescent::raw::home;
use quiescent_core::domain::enqueue::{self, Terms};
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::run;
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;
use quiescent_core::queue::kind::{self, CODE, EntryKind, OWN};
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::parcel::Parcel;
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::queue::weight::{ENTRY, Owned};
use quiescent_core::reader::local::Local;
use quiescent_engine::credit::Urgency;

use crate::reader::with_local;
use crate::{code, domain_at, time};

/// A function that is called with a head.
type OfHead = unsafe extern "C-unwind" fn(*mut Head);
/// A function that is called with an address.
type OfAddress = unsafe extern "C-unwind" fn(*mut c_void);

/// `struct qsc_rcu_head`.
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    /// In builds with debug assertions, while it is queued: a number made of its address.
    mark: usize,
    /// The function; for `qsc_free_rcu`, the offset of the head in its object, which is below `PAGE`.
    function: usize,
}

/// No function has such an address.
const PAGE: usize = 4096;
/// Values of `how` in the header.
const HOW: [Urgency; 3] = [Urgency::Prompt, Urgency::Lazy, Urgency::Hurry];
/// A bit of `how`: if the budget has room.
const TRY: c_uint = 4;

const fn kind_of(run: unsafe fn(*mut u8), name: fn() -> &'static str, lazy: bool) -> EntryKind {
    EntryKind {
        run,
        name,
        lazy,
        bytes: ENTRY as u64,
    }
}

static PROMPT_HEAD: EntryKind = kind_of(run_head, || "qsc_call_rcu", false);
static LAZY_HEAD: EntryKind = kind_of(run_head, || "qsc_call_rcu_lazy", true);
static FREED_HEAD: EntryKind = kind_of(run_head, || "qsc_free_rcu", true);
static FREED: EntryKind = kind_of(free, || "free", true);
static RETIRED: EntryKind = kind_of(run_retired, || "qsc_retire", true);

/// # Safety
/// A head that is queued, and whose grace period is over.
unsafe fn run_head(object: *mut u8) {
    let head: *mut Head = object.cast();
    // SAFETY: the caller's promise.
    let function = unsafe {
        if cfg!(debug_assertions) {
            (*head).mark = 0;
        }
        (*head).function
    };
    if function < PAGE {
        // SAFETY: `qsc_domain_free_head` was promised that this is a block of `malloc`.
        return unsafe { libc::free(object.wrapping_sub(function).cast()) };
    }
    // SAFETY: the caller of `qsc_call_rcu` has given a function of this type for this head.
    unsafe { std::mem::transmute::<usize, OfHead>(function)(head) };
}

/// # Safety
/// A block of `malloc`, which is not used any more.
unsafe fn free(object: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { libc::free(object.cast()) };
}

/// An address, and the function that is called with it.
type Retired = (*mut c_void, OfAddress);

/// # Safety
/// From `qsc_domain_retire`, once.
unsafe fn run_retired(object: *mut u8) {
    // SAFETY: the caller's promise.
    let (address, function) = unsafe { object.cast::<Retired>().read() };
    // SAFETY: the block is from `malloc`; the function was given for this address.
    unsafe {
        libc::free(object.cast());
        function(address);
    }
}

fn mark_of(head: *const Head) -> usize {
    head.addr() ^ 0x5153_4342 // a word that memory with another content does not have
}

/// Queues a head by `push`, with the address of a function or an offset. In builds with debug assertions its
/// mark says meanwhile that it is queued.
///
/// # Safety
/// `head` leads to a head.
#[inline(always)]
unsafe fn queue_head(head: *mut Head, function: usize, push: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if cfg!(debug_assertions) {
            if (*head).mark == mark_of(head) {
                return code::QUEUED_TWICE;
            }
            (*head).mark = mark_of(head);
        }
        (*head).function = function;
        let result = push();
        if result != 0 && cfg!(debug_assertions) {
            (*head).mark = 0;
        }
        result
    }
}

/// The queue to which the thread pushes without a lock.
fn queue_of(domain: *const Domain, local: &Local) -> Option<&'static Queue> {
    // SAFETY: the caller's: null, or a domain; those live for ever.
    let Some(domain) = (unsafe { domain.as_ref::<'static>() }) else {
        return Some(local.queue());
    };
    match local.noted_record(std::ptr::from_ref(domain).cast()) {
        // SAFETY: a record, and null or a queue; neither is ever freed.
        Some(record) => unsafe { (*record).queue.attached().as_ref() },
        None => domain.attached_queue(local),
    }
}

/// Queues what a worker runs.
#[inline(always)]
unsafe fn push_code(domain: *const Domain, entry: Entry, bytes: u64, how: c_uint) -> c_int {
    let urgency = HOW[(how & 3) as usize];
    // SAFETY: the caller's promise.
    let state = || unsafe { domain_at(domain) }.state();
    if how & TRY != 0 {
        run::note_code();
        return code::of_refusal(state().try_deliver(CODE, entry, bytes));
    }
    let queue = with_local(|local| queue_of(domain, local));
    match queue.filter(|_| urgency != Urgency::Hurry) {
        Some(queue) => enqueue::push_code(queue, CODE, entry, bytes, urgency),
        None => deliver(state(), entry, bytes, urgency),
    }
    0
}

#[cold]
#[inline(never)]
fn deliver(state: &'static State, entry: Entry, bytes: u64, urgency: Urgency) {
    state.deliver_code(Parcel::Entry(CODE, entry, bytes), Terms::of(urgency));
}

/// Queues what the thread itself runs in a later call, lazily.
unsafe fn push_own(domain: *const Domain, entry: Entry, bytes: u64, how: c_uint) -> c_int {
    if how & TRY != 0 {
        run::note_code();
        // SAFETY: the caller's promise.
        let state = unsafe { domain_at(domain) }.state();
        return code::of_refusal(state.try_deliver(OWN, entry, bytes));
    }
    with_local(|local| match queue_of(domain, local) {
        Some(queue) => run::own(local, queue, entry, bytes),
        None => {
            // SAFETY: the caller's promise.
            let state = unsafe { domain_at(domain) }.state();
            run::deliver_own(state, entry, bytes, Terms::LAZY);
        }
    });
    0
}

/// An entry of one of these kinds, and its weight.
///
/// # Safety
/// The object is one that this kind runs, and is queued once.
unsafe fn entry(object: *mut u8, kind: &'static EntryKind, bytes: usize) -> (Entry, u64) {
    let owned = Owned::by::<u8>(bytes);
    // SAFETY: the caller's promise.
    let entry = unsafe { Entry::new(object, kind::of_host(kind, owned)) };
    (entry, kind.bytes + owned.bytes())
}

/// # Safety
/// As the header says, if the head and the function are not null.
#[inline(always)]
unsafe fn call(
    domain: *const Domain,
    head: *mut Head,
    function: Option<OfHead>,
    how: c_uint,
) -> c_int {
    let (Some(function), false, true) = (function, head.is_null(), how & !TRY < 3) else {
        return code::INVALID;
    };
    let kind = if how & 3 == 1 {
        &LAZY_HEAD
    } else {
        &PROMPT_HEAD
    };
    // SAFETY: the caller's promise.
    unsafe {
        queue_head(head, function as usize, || {
            let (entry, bytes) = entry(head.cast(), kind, 0);
            push_code(domain, entry, bytes, how)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_call_rcu(head: *mut Head, function: Option<OfHead>) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { call(std::ptr::null(), head, function, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_call(
    domain: *const Domain,
    head: *mut Head,
    function: Option<OfHead>,
    how: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { call(domain, head, function, how) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_free_head(
    domain: *const Domain,
    head: *mut Head,
    offset: usize,
    size: usize,
    how: c_uint,
) -> c_int {
    if head.is_null() || offset >= PAGE || how & !TRY != 0 {
        return code::INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        queue_head(head, offset, || {
            let (entry, bytes) = entry(head.cast(), &FREED_HEAD, size);
            push_own(domain, entry, bytes, how)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_retire(
    domain: *const Domain,
    address: *mut c_void,
    function: Option<OfAddress>,
    bytes: usize,
    how: c_uint,
) -> c_int {
    let (Some(function), false, 0) = (function, address.is_null(), how & !TRY) else {
        return code::INVALID;
    };
    let is_free = function as usize == libc::free as *const () as usize;
    let (object, kind) = if is_free {
        (address.cast::<u8>(), &FREED)
    } else {
        // SAFETY: no conditions.
        let block = unsafe { libc::malloc(size_of::<Retired>()) }.cast::<Retired>();
        if block.is_null() {
            return code::NO_MEMORY;
        }
        // SAFETY: new, of this size, and aligned for every type.
        unsafe { block.write((address, function)) };
        (block.cast::<u8>(), &RETIRED)
    };
    // SAFETY: the caller's promise.
    let (entry, weight) = unsafe { entry(object, kind, bytes) };
    // SAFETY: as above.
    let result = unsafe { push_own(domain, entry, weight, how) };
    if result != 0 && !is_free {
        // SAFETY: allocated above, and not queued.
        unsafe { libc::free(object.cast()) };
    }
    result
}

/// Stores what is still queued, and returns 0, if all of it is done.
unsafe fn left(state: &'static State, left: *mut u64) -> c_int {
    let held = state.held().0;
    // SAFETY: null, or the caller's.
    if let Some(left) = unsafe { left.as_mut() } {
        *left = held;
    }
    if held == 0 { 0 } else { code::TIMED_OUT }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_drain(
    domain: *const Domain,
    timeout_ns: u64,
    still_queued: *mut u64,
) -> c_int {
    // SAFETY: the caller's promise.
    let state = unsafe { domain_at(domain) }.state();
    state.drain(Until::after(time(timeout_ns)));
    // SAFETY: the caller's promise.
    unsafe { left(state, still_queued) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_drain_ready(domain: *const Domain, most: u64, timeout_ns: u64) -> u64 {
    // SAFETY: the caller's promise.
    let state = unsafe { domain_at(domain) }.state();
    state.run_some(most, Until::after(time(timeout_ns)))
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_memory_is_low() {
    quiescent::tuning::memory_is_low();
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_thread_on_worker(on: c_int) {
    home().offload_thread((on >= 0).then_some(on != 0));
}

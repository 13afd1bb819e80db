//! Domains, and their sections: `struct qsc_domain` is a domain of `quiescent_core`.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};
use std::sync::Mutex;

use quiescent::raw::{env, local, section};
use quiescent_core::domain::life::Domain;
use quiescent_core::reader::counted::Entered;
use quiescent_core::reader::word::{self, Reader};

use crate::code;
use crate::reader::with_local;

/// The names of domains: reports refer to them also when their domain is gone.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// A name that lives for ever: one copy of each.
///
/// # Safety
/// Null, or a string.
unsafe fn name_of(name: *const c_char) -> &'static str {
    if name.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let mut names = NAMES.lock().unwrap_or_else(|it| it.into_inner());
    if let Some(known) = names.iter().find(|it| **it == name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_owned().into_boxed_str());
    names.push(name);
    name
}

/// # Safety
/// As [`name_of`].
unsafe fn named(domain: &'static Domain, name: *const c_char) -> *const Domain {
    // SAFETY: the caller's promise.
    let name = unsafe { name_of(name) };
    if !name.is_empty() {
        let place = quiescent::raw::place_of(name);
        domain.set(|settings| (settings.name, settings.place) = (name, place));
    }
    domain
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_new(name: *const c_char) -> *const Domain {
    // SAFETY: the caller's promise.
    unsafe { named(Domain::found(env()), name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_srcu_new(name: *const c_char) -> *const Domain {
    // SAFETY: the caller's promise.
    unsafe { named(Domain::found_counted(env()), name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_free(domain: *const Domain) -> c_int {
    // SAFETY: the caller's promise.
    let Some(domain) = (unsafe { domain.as_ref::<'static>() }) else {
        return code::INVALID;
    };
    if ptr::eq(domain, &raw const env().home) {
        return code::INVALID;
    }
    if domain.readers.is_inside() {
        return code::BUSY;
    }
    domain.drop_handle();
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_read_lock(domain: *const Domain) -> usize {
    // SAFETY: the caller's promise.
    let Some(domain) = (unsafe { domain.as_ref::<'static>() }) else {
        crate::reader::qsc_rcu_read_lock();
        return 0;
    };
    if let Some(counted) = domain.readers.counted() {
        return section::enter(counted).word().as_ptr().expose_provenance();
    }
    let opened = match with_local(|local| local.noted_record(ptr::from_ref(domain).cast())) {
        // SAFETY: a record; records are never freed.
        Some(record) => unsafe { &*record }.words.lock(),
        None => domain.lock_anew(&local()),
    };
    ptr::from_ref(opened).expose_provenance()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_read_unlock(domain: *const Domain, opened: usize) {
    // SAFETY: the caller's promise.
    let Some(domain) = (unsafe { domain.as_ref::<'static>() }) else {
        return crate::reader::qsc_rcu_read_unlock();
    };
    let Some(word) = NonNull::new(ptr::with_exposed_provenance_mut::<()>(opened)) else {
        return;
    };
    if let Some(counted) = domain.readers.counted() {
        // SAFETY: the caller's promise: of a section that is open.
        let entered = unsafe { Entered::of(word) };
        if section::leave(counted, entered) {
            domain.state().may_be_empty(counted, entered.count());
        }
        return;
    }
    // SAFETY: as above; words live for ever.
    let reader: &'static Reader = unsafe { word.cast::<Reader>().as_ref() };
    if word::end(reader) {
        domain.unlock_slowly(&local(), reader);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_srcu_down_read(srcu: *const Domain) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { srcu.as_ref::<'static>() }.and_then(|it| it.readers.counted()) {
        Some(counted) => section::enter_sent(counted) as c_int,
        None => code::INVALID,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_srcu_up_read(srcu: *const Domain, count: c_int) {
    // SAFETY: the caller's promise.
    let Some(domain) = (unsafe { srcu.as_ref::<'static>() }) else {
        return;
    };
    let Some(counted) = domain.readers.counted().filter(|_| count >= 0) else {
        return;
    };
    let count = count as usize & 1;
    if section::leave_sent(counted, count) {
        domain.state().may_be_empty(counted, count);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_domain_read_lock_held(domain: *const Domain) -> bool {
    // SAFETY: the caller's promise.
    unsafe { crate::domain_at(domain) }.caller_is_inside()
}

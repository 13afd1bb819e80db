//! Grace periods, cookies, barriers, the end of the library's threads.

use std::ffi::{c_int, c_uint};

use quiescent::SyncError;
use quiescent_core::domain::driver::How;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::points::Point;

use crate::{code, domain_at, time};

/// A time-out that never comes.
const FOREVER: u64 = u64::MAX;
/// A flag of `qsc_synchronize`: spin longer before sleeping.
const EXPEDITED: c_uint = 1;

/// `struct qsc_cookie`. All zeros is one that is done.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Cookie {
    domain: Option<&'static Domain>,
    point: Point,
}

const _: () = assert!(size_of::<Cookie>() <= 24 && align_of::<Cookie>() <= 8);

fn how(timeout_ns: u64, flags: c_uint) -> How {
    let mut how = match timeout_ns {
        FOREVER => How::default(),
        ns => How::within(time(ns)),
    };
    how.expedited = flags & EXPEDITED != 0;
    how
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_synchronize(
    domain: *const Domain,
    timeout_ns: u64,
    flags: c_uint,
) -> c_int {
    if flags & !EXPEDITED != 0 {
        return code::INVALID;
    }
    // SAFETY: the caller's promise.
    let state = unsafe { domain_at(domain) }.state();
    code::of(state.synchronize(how(timeout_ns, flags)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_barrier(domain: *const Domain) -> c_int {
    // SAFETY: the caller's promise.
    code::of(unsafe { domain_at(domain) }.barrier())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_start_poll(domain: *const Domain) -> Cookie {
    // SAFETY: the caller's promise.
    let domain = unsafe { domain_at(domain) };
    Cookie {
        domain: Some(domain),
        point: domain.point(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_poll(cookie: Cookie) -> bool {
    let done = |domain: &'static Domain| domain.poll(cookie.point).unwrap_or(false);
    cookie.domain.is_none_or(done)
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_cond_synchronize(cookie: Cookie, timeout_ns: u64) -> c_int {
    match cookie.domain {
        Some(domain) if !domain.is_done(cookie.point) => {
            code::of(domain.state().synchronize(how(timeout_ns, 0)))
        }
        _ => 0,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_shutdown(timeout_ns: u64) -> c_int {
    match quiescent::shutdown(time(timeout_ns)) {
        Ok(done) if done.is_complete() => 0,
        Ok(_) => code::TIMED_OUT,
        Err(error) => code::of::<()>(Err::<(), SyncError>(error)),
    }
}

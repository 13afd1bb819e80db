//! Settings, counters, reports.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use quiescent::report::Report;
use quiescent::stats::Statistics;
use quiescent::{FenceMode, Options, Runner};
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::settings::Settings;

use crate::{code, domain_at};

/// What was set of the start-up so far: each call applies all of it.
static OPTIONS: Mutex<Options> = Mutex::new(Options::new());

/// The longest time of a setting, as in `quiescent::tuning`: a hundred years.
const LONGEST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

fn runner(value: u64) -> Option<Runner> {
    [Runner::Owner, Runner::Worker, Runner::Drained]
        .get(usize::try_from(value).ok()?)
        .copied()
}

/// Changes a setting of a domain. False: no such setting or value.
fn change(it: &mut Settings, setting: c_int, value: u64) -> bool {
    let ns = value.min(LONGEST_NS);
    match (setting, runner(value)) {
        (1, _) => it.budget_bytes = value,
        (2, _) => it.budget_count = value,
        (3, _) => it.lazy_ns = ns,
        (4, _) => it.prompt_ns = ns,
        (5, _) => it.stall_ns = ns,
        (6, Some(runner)) => it.set_closures(runner),
        (7, Some(runner)) => it.set_destructors(runner),
        (8, _) if value < 2 => it.set_offload(value != 0),
        _ => return false,
    }
    true
}

/// Sets one of the process's settings at start-up.
fn set_option(setting: c_int, value: u64) -> c_int {
    let mut options = OPTIONS.lock().unwrap_or_else(|it| it.into_inner());
    let is = value != 0;
    let changed = match (setting, value) {
        (32, 0) => options.fence(FenceMode::Membarrier),
        (32, 1) => options.fence(FenceMode::Fenced),
        (33, 1..=0xffff_ffff) => options.max_threads(value as u32),
        (34, 0 | 1) => options.inherit_callbacks(is),
        (35, 0 | 1) => options.ignore_forks(is),
        (36, 0 | 1) => options.memory_pressure(is),
        _ => return code::INVALID,
    };
    let result = changed.apply();
    if result.is_ok() {
        *options = changed;
    }
    code::of_init(result)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_set(domain: *const Domain, setting: c_int, value: u64) -> c_int {
    if setting >= 32 && domain.is_null() {
        return set_option(setting, value);
    }
    let mut changed = false;
    // SAFETY: the caller's promise.
    unsafe { domain_at(domain) }.set(|it| changed = change(it, setting, value));
    if changed { 0 } else { code::INVALID }
}

/// The counters of a domain in JSON.
fn json(domain: &'static Domain) -> String {
    let mut text = String::from("{");
    // A `String` takes everything.
    Statistics::publish(domain, &mut |name, part, value| {
        let _ = write!(text, "\"{name}{part}\": {value}, ");
    });
    let (queued, bytes) = domain.held();
    let fenced = domain.env().threads.mode.resolve() == FenceMode::Fenced;
    let _ = write!(
        text,
        "\"queued\": {queued}, \"queued_bytes\": {bytes}, \"fenced\": {fenced}}}"
    );
    text
}

/// # Safety
/// `buffer` has room for `size` bytes, or `size` is 0.
unsafe fn copy_to(buffer: *mut c_char, size: usize, text: &str) -> usize {
    if let (false, Some(most)) = (buffer.is_null(), size.checked_sub(1)) {
        let length = most.min(text.len());
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, length);
            *buffer.add(length) = 0;
        }
    }
    text.len()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_statistics(
    domain: *const Domain,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { copy_to(buffer, size, &json(domain_at(domain))) }
}

type Reporter = unsafe extern "C-unwind" fn(c_int, *const c_char, *mut c_void);

/// The function that gets reports, and the address that it is called with.
static REPORTER: Mutex<Option<(Reporter, usize)>> = Mutex::new(None);

fn tell(report: &Report) {
    let set = *REPORTER.lock().unwrap_or_else(|it| it.into_inner());
    let Some((reporter, data)) = set else {
        return;
    };
    let kind = match report {
        Report::Stalled(_) => 1,
        Report::OverBudget { .. } => 2,
        Report::Stuck { .. } | Report::StuckInPlace { .. } => 3,
        Report::Slow { .. } => 4,
        _ => 0,
    };
    let text = CString::new(report.to_string()).unwrap_or_default();
    // SAFETY: the caller of `qsc_on_report` has given them for this.
    unsafe {
        reporter(
            kind,
            text.as_ptr(),
            std::ptr::with_exposed_provenance_mut(data),
        )
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_on_report(reporter: Option<Reporter>, data: *mut c_void) {
    *REPORTER.lock().unwrap_or_else(|it| it.into_inner()) =
        reporter.map(|reporter| (reporter, data.expose_provenance()));
    quiescent::report::on_report(tell);
}

type Ready = unsafe extern "C-unwind" fn();

static READY: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn qsc_on_ready(ready: Option<Ready>) {
    let ready = ready.map_or(std::ptr::null_mut(), |it| it as *mut ());
    READY.store(ready, Ordering::Release);
    quiescent::tuning::on_ready(|| {
        let ready = READY.load(Ordering::Acquire);
        if !ready.is_null() {
            // SAFETY: `qsc_on_ready` stored a function of this type.
            unsafe { std::mem::transmute::<*mut (), Ready>(ready)() };
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_fork_generation() -> u64 {
    u64::from(quiescent::fork_generation())
}

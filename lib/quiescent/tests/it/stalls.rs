//! Stall reports: the thread that detects a stall names the reader, as often as specified, and no other
//! thread does.
//!
//! No test here measures time: the engine counts and numbers reports, and a test waits for them.

mod features;
#[cfg(target_os = "linux")]
mod forks;
mod noticing;
mod repeats;
mod reporters;

use std::sync::Mutex;
use std::time::Duration;

use crate::common::healed;
use crate::common::until;
use quiescent::report::{Report, StallReport, on_report, set_stall_after};

/// A stall time that a test need not wait for for long.
const TIME: Duration = Duration::from_millis(20);

/// A report, and the thread that made it.
type Cursor = (StallReport, u32);

static REPORTED: Mutex<Vec<Cursor>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    if let Report::Stalled(stall) = report {
        let report = (stall.clone(), crate::common::thread_id());
        REPORTED.lock().expect("no panic").push(report);
    }
}

/// Reports stalls after `time`, and remembers them.
fn listen(time: Duration) {
    healed::expected();
    on_report(remember);
    set_stall_after(time);
}

/// The reports so far.
fn reported() -> Vec<Cursor> {
    REPORTED.lock().expect("no panic").clone()
}

/// Waits for so many reports.
fn until_reported(count: usize) -> Vec<Cursor> {
    until("a stall is reported", || reported().len() >= count);
    reported()
}

//! The list of KernelShark: columns, with blanks or tabs between them.
//!
//! ```text
//! 2  10498.892424  rcuop/2  33  d..1  rcu/rcu_batch_start  rcu_preempt CBs=32 bl=10
//! ```
//!
//! CPU, time, task, pid, latency flags, `system/event`, text; the number of the row may stand before. The
//! task is what stands between the time and the first pid, flags and event in a row, so its name may have
//! blanks.

use super::{Pieces, is_flags, is_number, is_time, record_of, time_of, word};
use crate::Fault;

/// A row; `None` for anything else.
pub(super) fn listed(line: &str) -> Option<Result<Pieces<'_>, Fault>> {
    let (mut cpu, mut after) = word(line);
    let (mut time, mut rest) = word(after);
    if !is_time(time) {
        cpu = time; // the row's number came first
        after = rest;
        (time, rest) = word(after);
    }
    if !is_number(cpu) || !is_time(time) {
        return None;
    }
    let task = rest;
    let (mut pid, mut flags) = ("", "");
    loop {
        let (found, after) = word(rest);
        if found.is_empty() {
            return None;
        }
        if is_number(pid) && (flags == "-" || is_flags(flags)) && is_event(found) {
            let end = pid.as_ptr() as usize - task.as_ptr() as usize;
            let task = task[..end].trim_ascii();
            let event = found.rsplit('/').next().unwrap_or(found);
            let (Ok(pid), false) = (pid.parse(), task.is_empty()) else {
                return Some(Err(Fault::Shape));
            };
            let flags = flags.trim_matches('-');
            let event = Some((event, after));
            return Some(record_of((task, pid, cpu), flags, time_of(time), event));
        }
        (pid, flags, rest) = (flags, found, after);
    }
}

/// `system/event`.
fn is_event(text: &str) -> bool {
    let name =
        |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    text.split_once('/')
        .is_some_and(|(system, event)| name(system) && name(event))
}

//! This machine's own kernel, waiting for its own grace period.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL)` returns after every CPU has passed a quiescent state; the kernel
//! implements it with a grace period of its own (membarrier(2): "an expensive, system-wide operation"). An
//! unprivileged program has no other way to time one. It does *not* wait when only one CPU is on line, and is
//! refused when the kernel was booted with `nohz_full`; [`standing`] reports that.
//!
//! Its guarantee differs from this library's: the kernel's call waits for every CPU of the machine and
//! contains the kernel's own pauses between scans (milliseconds, so that readers and idle CPUs are not
//! disturbed); the library's waits for the readers of one process.

pub mod beside;
pub mod calls;
pub mod facts;
pub mod load;
pub mod place;
pub mod predict;
pub mod show;
pub mod verdict;

use quiescent_live::Machine;
use quiescent_live::files::cpu_list;
use std::io;
use std::time::Instant;

/// The start of the names of `kernel bench`'s measured rows.
const CASE: &str = "synchronize";

/// `MEMBARRIER_CMD_GLOBAL` of membarrier(2).
const GLOBAL: libc::c_int = 1;

/// Whether the call waits for a kernel grace period here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Waits,
    /// It returns at once; the text is the reason, and its latency is not that of a grace period.
    ReturnsAtOnce(String),
    /// It is refused; the text is the reason.
    Refused(String),
}

/// Whether the call waits on this machine.
pub fn standing() -> Standing {
    let machine = Machine::here();
    let nohz_full = machine.root.line("/sys/devices/system/cpu/nohz_full");
    let has_cpus =
        |list: &String| cpu_list(list, facts::MOST_CPUS).is_some_and(|it| !it.is_empty());
    let online = machine.online.as_ref().map(Vec::len);
    let query = machine.membarrier.clone();
    let query = query.unwrap_or_else(|| Err("it was not asked".into()));
    judge(query, nohz_full.filter(has_cpus), online)
}

fn judge(query: Result<i64, String>, nohz_full: Option<String>, online: Option<usize>) -> Standing {
    match query {
        Err(why) => Standing::Refused(format!(
            "membarrier is refused ({why}): a sandbox, or a kernel without it"
        )),
        Ok(_) if nohz_full.is_some() => Standing::Refused(format!(
            "MEMBARRIER_CMD_GLOBAL is disabled (EINVAL) because the kernel runs with nohz_full={}",
            nohz_full.unwrap_or_default()
        )),
        Ok(commands) if commands & i64::from(GLOBAL) == 0 => Standing::Refused(
            "MEMBARRIER_CMD_GLOBAL is not among this kernel's commands (EINVAL): nohz_full is set"
                .into(),
        ),
        Ok(_) if online == Some(1) => Standing::ReturnsAtOnce(
            "only one CPU is on line, so the kernel returns without waiting for a grace period"
                .into(),
        ),
        Ok(_) => Standing::Waits,
    }
}

/// The duration of one call, in µs.
fn timed() -> io::Result<f64> {
    let begin = Instant::now();
    // SAFETY: membarrier takes three plain numbers.
    if unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(begin.elapsed().as_nanos() as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Control;
    use std::time::Duration;

    #[test]
    fn each_reason_is_said() {
        let all = 1023;
        let one_cpu = judge(Ok(all), None, Some(1));
        assert!(matches!(one_cpu, Standing::ReturnsAtOnce(why) if why.contains("one CPU")));
        let isolated = judge(Ok(all), Some("1-3".into()), Some(4));
        assert!(matches!(isolated, Standing::Refused(why) if why.contains("nohz_full=1-3")));
        let missing = judge(Ok(all & !1), None, Some(4));
        assert!(matches!(missing, Standing::Refused(why) if why.contains("EINVAL")));
        let refused = judge(Err("not permitted".into()), None, Some(4));
        assert!(matches!(refused, Standing::Refused(why) if why.contains("sandbox")));
        assert_eq!(judge(Ok(all), None, Some(4)), Standing::Waits);
        assert_eq!(judge(Ok(all), None, None), Standing::Waits);
    }

    #[test]
    fn a_stopped_measurement_is_empty() {
        if matches!(standing(), Standing::Refused(_)) {
            return;
        }
        let plan = calls::Plan {
            runs: 2,
            calls: 2,
            pause: Duration::ZERO,
            budget: Duration::from_secs(1),
            thread: None,
        };
        let runs = calls::measure(&plan, Control::cancelled()).unwrap();
        assert!(runs.is_empty());
    }
}

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

/// The start of the names of `kernel bench`'s measured rows.
const CASE: &str = "synchronize";

/// `MEMBARRIER_CMD_GLOBAL` of membarrier(2).
const GLOBAL: i64 = 1;

/// Whether the call waits for a kernel grace period here: none if it does; the reason if it returns at once,
/// so that its latency is not that of a grace period.
///
/// # Errors
/// The reason why the call is refused.
fn standing(machine: &Machine) -> Result<Option<String>, String> {
    let nohz_full = machine.root.line("/sys/devices/system/cpu/nohz_full");
    // `(null)` is none.
    let nohz_full = nohz_full.filter(|it| it.starts_with(|it: char| it.is_ascii_digit()));
    let online = machine.online.as_ref().map(Vec::len);
    match (&machine.membarrier, nohz_full) {
        (Some(Err(why)), _) => Err(format!(
            "membarrier is refused ({why}): a sandbox, or a kernel without it"
        )),
        (_, Some(list)) => Err(format!(
            "MEMBARRIER_CMD_GLOBAL is disabled (EINVAL) because the kernel runs with nohz_full={list}"
        )),
        (Some(Ok(commands)), _) if commands & GLOBAL == 0 => Err(
            "MEMBARRIER_CMD_GLOBAL is not among this kernel's commands (EINVAL): nohz_full is set"
                .into(),
        ),
        _ => Ok((online == Some(1)).then(|| {
            "only one CPU is on line, so the kernel returns without waiting for a grace period"
                .into()
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_live::files::Root;
    use std::fs;

    #[test]
    fn each_reason_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = folder.path().join("sys/devices/system/cpu");
        fs::create_dir_all(&cpus).unwrap();
        let all: Result<i64, String> = Ok(1023);
        for (query, online, nohz_full, words) in [
            (all.clone(), "0", "(null)", Ok(Some("one CPU"))),
            (all.clone(), "0-3", "1-3", Err("nohz_full=1-3")),
            (Ok(1023 & !1), "0-3", "", Err("EINVAL")),
            (Err("not permitted".into()), "0-3", "", Err("sandbox")),
            (all.clone(), "0-3", "(null)", Ok(None)),
            (all, "x", "", Ok(None)),
        ] {
            fs::write(cpus.join("online"), online).unwrap();
            fs::write(cpus.join("nohz_full"), nohz_full).unwrap();
            let mut machine = Machine::read(Root::new(folder.path()));
            machine.membarrier = Some(query);
            match (standing(&machine), words) {
                (Ok(None), Ok(None)) => {}
                (Ok(Some(why)), Ok(Some(words))) | (Err(why), Err(words)) => {
                    assert!(why.contains(words), "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

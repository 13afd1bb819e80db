//! The CPUs on which the kernel's grace-period thread and the caller run.
//!
//! The thread (`rcu_preempt`, or `rcu_sched` where the kernel is not preemptible) is woken on the CPU where
//! it ran last, and the scheduler moves it now and then. `/proc/PID/stat` has that CPU (field 39,
//! proc_pid_stat(5)).

use quiescent_live::{Machine, Task};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The kernel's grace-period thread, if it is visible.
#[derive(Debug)]
pub struct GpThread {
    /// Its number.
    pub pid: u32,
    stat: File,
}

impl GpThread {
    /// Finds it; none in a container that shows only its own processes.
    pub fn find(machine: &Machine) -> Option<Self> {
        let pid = gp_thread(machine)?.pid;
        let stat = File::open(machine.root.path(&format!("/proc/{pid}/stat"))).ok()?;
        Some(GpThread { pid, stat })
    }

    /// The CPU on which it ran last.
    pub fn cpu(&self) -> Option<u32> {
        let mut line = [0; 1024];
        let read = self.stat.read_at(&mut line, 0).ok()?;
        processor(std::str::from_utf8(&line[..read]).ok()?)
    }
}

/// The thread of grace periods: its name says whether readers are preemptible.
pub(super) fn gp_thread(machine: &Machine) -> Option<&Task> {
    let tasks = machine.tasks.as_ref()?;
    let names = ["rcu_preempt", "rcu_sched"];
    names
        .iter()
        .find_map(|name| tasks.iter().find(|it| it.name == *name))
}

/// Field 39 of a line of `/proc/PID/stat`; the name in brackets may contain anything.
fn processor(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

/// The CPU on which this thread runs.
pub fn here() -> Option<u32> {
    // SAFETY: the call has no arguments and returns a number, or -1.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Keeps this thread on one CPU for as long as it lives.
#[derive(Debug)]
pub struct Pinned {
    before: libc::cpu_set_t,
}

fn allowed() -> Option<libc::cpu_set_t> {
    // SAFETY: a set of bits, for which all zeros is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's, with the given size.
    let got = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    (got == 0).then_some(set)
}

/// The CPUs on which this thread may run.
pub fn usable() -> Vec<u32> {
    let Some(set) = allowed() else {
        return Vec::new();
    };
    // SAFETY: the number is below the size of the set.
    let has = |cpu: &u32| unsafe { libc::CPU_ISSET(*cpu as usize, &set) };
    (0..libc::CPU_SETSIZE as u32).filter(has).collect()
}

impl Pinned {
    /// Pins it to that CPU.
    ///
    /// # Errors
    /// The kernel's error if it refuses.
    pub fn to(cpu: u32) -> std::io::Result<Self> {
        let before = allowed().ok_or_else(std::io::Error::last_os_error)?;
        if cpu >= libc::CPU_SETSIZE as u32 {
            return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: as in `allowed`.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the number is below the size of the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
        set_affinity(&set)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The set was allowed before; an error now has no remedy.
        let _ = set_affinity(&self.before);
    }
}

fn set_affinity(set: &libc::cpu_set_t) -> std::io::Result<()> {
    // SAFETY: the set has the given size, and is only read.
    match unsafe { libc::sched_setaffinity(0, size_of_val(set), set) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_field_39() {
        let numbers: Vec<String> = (4..=52).map(|it| it.to_string()).collect();
        let line = format!("15 (rcu) x (S) I {}", numbers.join(" "));
        assert_eq!(processor(&line), Some(39));
        assert_eq!(processor("15 (rcu) I 1 2"), None);
        assert_eq!(processor(""), None);
    }

    #[test]
    fn a_pinned_thread_stays_and_is_free_again() {
        let usable_before = usable();
        let last = *usable_before.last().unwrap();
        {
            let _pinned = Pinned::to(last).unwrap();
            assert_eq!((usable(), here()), (vec![last], Some(last)));
        }
        assert_eq!(usable(), usable_before);
        assert!(Pinned::to(1_000_000).is_err());
    }
}

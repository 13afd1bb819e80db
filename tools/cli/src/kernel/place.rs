//! The CPUs on which the kernel's grace-period thread and the caller run.
//!
//! The thread (`rcu_preempt`, or `rcu_sched` where the kernel is not preemptible) is woken on the CPU where
//! it ran last, and the scheduler moves it now and then. `/proc/PID/stat` has that CPU (field 39,
//! proc_pid_stat(5)).

use quiescent_live::{Machine, Task, listed};
use quiescent_report::Error;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The kernel's grace-period thread, if it is visible: its file.
#[derive(Debug)]
pub struct GpThread(File);

impl GpThread {
    /// Finds it; none in a container that shows only its own processes.
    pub fn find(machine: &Machine) -> Option<Self> {
        let thread = machine.tasks.as_deref().and_then(Task::of_grace_periods)?;
        let stat = format!("/proc/{}/stat", thread.pid);
        File::open(machine.root.path(&stat)).ok().map(GpThread)
    }

    /// The CPU on which it ran last.
    pub fn cpu(&self) -> Option<u32> {
        let mut line = [0; 1024];
        let read = self.0.read_at(&mut line, 0).ok()?;
        processor(std::str::from_utf8(&line[..read]).ok()?)
    }
}

/// Field 39 of a line of `/proc/PID/stat`; the name in brackets may contain anything.
fn processor(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

/// Keeps this thread on that CPU from now on.
///
/// # Errors
/// [`Error::Usage`] names the CPUs on which it may run; [`Error::Failed`] if the kernel refuses.
pub fn pin(cpu: u32) -> Result<(), Error> {
    let refused = |why| {
        let what = format!("cannot stay on CPU {cpu}");
        Error::failed(what, why, "has it gone off line? leave out --cpu")
    };
    let allowed = sched_getaffinity(None).map_err(refused)?;
    let usable = (0..CpuSet::MAX_CPU).filter(|it| allowed.is_set(*it));
    let usable: Vec<u32> = usable.map(|it| it as u32).collect();
    if !usable.contains(&cpu) {
        let usable = listed(&usable);
        let why = format!("--cpu {cpu}: this process may run on {usable}; give one of these");
        return Err(Error::Usage(why));
    }
    let mut one = CpuSet::new();
    one.set(cpu as usize);
    sched_setaffinity(None, &one).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getcpu;

    #[test]
    fn the_processor_is_field_39() {
        let numbers: Vec<String> = (4..=52).map(|it| it.to_string()).collect();
        let line = format!("15 (rcu) x (S) I {}", numbers.join(" "));
        assert_eq!(processor(&line), Some(39));
        assert_eq!(processor("15 (rcu) I 1 2"), None);
        assert_eq!(processor(""), None);
    }

    #[test]
    fn a_pinned_thread_stays() {
        let cpu = sched_getcpu() as u32;
        pin(cpu).unwrap();
        assert_eq!(sched_getcpu() as u32, cpu);
        let said = pin(4_000_000).unwrap_err().to_string();
        assert!(said.contains(&format!("may run on {cpu};")), "{said}");
    }
}

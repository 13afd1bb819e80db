//! Rules on RCU's threads: CPUs of the offload threads, priorities, and RCU's soft interrupt as threads.

use super::{Finding, Rule};
use crate::Machine;
use crate::state::cpus::{common, known_list, listed};
use crate::state::machine::CPU;
use crate::state::task::Task;

pub(super) fn inspect(machine: &Machine) -> Vec<Finding> {
    let Some(tasks) = &machine.tasks else {
        return Vec::new(); // `offload` has said so
    };
    let mut found = Vec::new();
    found.extend(places(machine, tasks));
    found.extend(priority(machine, tasks));
    found.extend(softirq(machine, tasks));
    found
}

/// CPUs that were set apart, and threads of offloading that may run there all the same.
fn places(machine: &Machine, tasks: &[Task]) -> Option<Finding> {
    let lists =
        ["nohz_full", "isolated"].map(|it| known_list(&machine.root, &format!("{CPU}/{it}")));
    let mut apart: Vec<u32> = lists.into_iter().flatten().flatten().collect();
    apart.sort_unstable();
    apart.dedup();
    let offloaders: Vec<&Task> = tasks.iter().filter(|it| it.is_offloader()).collect();
    if apart.is_empty() || offloaders.is_empty() {
        return None;
    }
    let may_run_there = |it: &&&Task| {
        let allowed = it.allowed.as_deref().unwrap_or_default();
        !common(allowed, &apart).is_empty()
    };
    let intruders = offloaders.iter().filter(may_run_there).count();
    let asked = format!("CPUs {} set apart (nohz_full, isolcpus)", listed(&apart));
    let rule = Rule::of("threads of offloading", asked);
    Some(match intruders {
        0 => rule.fine("none may run there"),
        count => rule.note(
            format!("{count} of {} threads rcuog/N and rcuop/N may run there", offloaders.len()),
            "for p in $(pgrep 'rcuo[bgps]'); do taskset -pc CPUS $p; done, with the CPUs that are left for \
             such work",
        ),
    })
}

/// `rcutree.kthread_prio`.
fn priority(machine: &Machine, tasks: &[Task]) -> Option<Finding> {
    let value = machine.asked("rcutree.kthread_prio")?;
    let wanted: u32 = value.parse().ok()?;
    let of_periods = Task::of_grace_periods(tasks)?;
    let rule = Rule::on_line("priority", format!("rcutree.kthread_prio={value}"));
    let Some(policy) = &of_periods.policy else {
        return Some(rule.cannot_tell(
            format!("not known: /proc/{}/stat cannot be read", of_periods.pid),
            "copy that file too",
        ));
    };
    let in_force = format!("{} runs as `{policy}`", of_periods.name);
    let is_so = match wanted {
        0 => policy == "other",
        wanted => *policy == format!("fifo {wanted}"),
    };
    // With priority boosting the kernel takes at least 1, or 2 in its own tests.
    Some(match is_so {
        true => rule.fine(in_force),
        false => rule.without_effect(
            in_force,
            format!(
                "give 1 to 99; or at run time: chrt -f -p {} {}",
                wanted.clamp(1, 99),
                of_periods.pid
            ),
        ),
    })
}

/// `rcutree.use_softirq`.
fn softirq(machine: &Machine, tasks: &[Task]) -> Option<Finding> {
    let threads = tasks
        .iter()
        .filter(|it| it.name.starts_with("rcuc/"))
        .count();
    let asked = machine.asked("rcutree.use_softirq");
    let wants_threads = asked.and_then(super::parameters::truth) == Some(false);
    let rule = Rule::of(
        "soft interrupt",
        match asked.is_some() || threads == 0 {
            true => "rcutree.use_softirq=0 on the command line",
            false => "a real-time kernel, or rcutree.use_softirq=0",
        },
    );
    match (wants_threads, threads) {
        (true, 0) => Some(rule.without_effect(
            "RCU's work is done in soft interrupts: there is no thread rcuc/N",
            "does this kernel have /sys/module/rcutree/parameters/use_softirq?",
        )),
        (_, 0) => None,
        (_, count) => Some(rule.fine(format!(
            "{count} threads rcuc/N do RCU's work on their CPUs"
        ))),
    }
}

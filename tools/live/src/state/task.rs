//! RCU's own threads: names, CPUs that they serve, affinity, scheduling class.

use crate::state::cpus::{cpu_numbers, listed};
use crate::state::files::Root;
use quiescent_trace::{Role, role};

/// A thread of the kernel's RCU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// CPUs it may run on; none if it is not known.
    pub allowed: Option<Vec<u32>>,
    /// How it is scheduled: `other`, `fifo 1`…; none if it is not known.
    pub policy: Option<String>,
}

impl Task {
    /// All of RCU's threads; none where the kernel's threads are not visible, as in a container.
    pub(crate) fn all(root: &Root) -> Option<Vec<Task>> {
        let all = root.tasks();
        let is_seen = all.iter().any(|it| role(&it.1) == Role::GracePeriods);
        let own = all.into_iter().filter(|it| role(&it.1) != Role::Other);
        let mut own: Vec<Task> = own.map(|(pid, name)| Task::read(root, pid, name)).collect();
        own.sort_by(|a, b| (a.kind(), a.number(), a.pid).cmp(&(b.kind(), b.number(), b.pid)));
        is_seen.then_some(own)
    }

    fn read(root: &Root, pid: u32, name: String) -> Task {
        let status = root.text(&format!("/proc/{pid}/status"));
        let status = status.unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|it| it.strip_prefix(name));
        let stat = root.line(&format!("/proc/{pid}/stat")).unwrap_or_default();
        Task {
            pid,
            name,
            allowed: field("Cpus_allowed_list:").and_then(|it| cpu_numbers(it, None)),
            policy: policy(&stat),
        }
    }

    fn kind(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    fn number(&self) -> Option<u32> {
        self.name.split_once('/')?.1.parse().ok()
    }

    /// The thread of grace periods: its name says whether readers are preemptible.
    pub fn of_grace_periods(all: &[Task]) -> Option<&Task> {
        all.iter().find(|it| role(&it.name) == Role::GracePeriods)
    }

    /// The CPU whose callbacks it invokes.
    pub fn invokes(&self) -> Option<u32> {
        self.number().filter(|_| self.is_invoker())
    }

    /// `rcuop/N`.
    pub fn is_invoker(&self) -> bool {
        role(&self.name) == Role::OffloadInvoker
    }

    /// `rcuog/N`, or `rcuop/N`.
    pub fn is_offloader(&self) -> bool {
        self.is_invoker() || role(&self.name) == Role::OffloadGroup
    }

    /// Its purpose, in words; `all` are RCU's other threads.
    pub fn serves(&self, all: &[Task]) -> String {
        let number = self.number();
        match (role(&self.name), self.kind(), number) {
            (Role::GracePeriods, ..) => "grace periods of all CPUs".to_owned(),
            (Role::OffloadInvoker, _, Some(cpu)) => format!("callbacks of CPU {cpu}"),
            (Role::OffloadGroup, _, Some(first)) => {
                let leaders = all.iter().filter(|it| role(&it.name) == Role::OffloadGroup);
                let next = leaders.filter_map(Task::number).filter(|&it| it > first);
                let next = next.min().unwrap_or(u32::MAX);
                let own = all.iter().filter_map(Task::invokes);
                let own: Vec<u32> = own.filter(|it| (first..next).contains(it)).collect();
                format!("grace periods for callbacks of CPUs {}", listed(&own))
            }
            (_, "rcuc", Some(cpu)) => format!("RCU's soft interrupt of CPU {cpu}"),
            (_, "rcub", Some(node)) => format!("priority of preempted readers, node {node}"),
            (_, "rcu_exp_gp_kthread_worker" | "rcu_exp_par_gp_kthread_worker", _) => {
                "expedited grace periods".to_owned()
            }
            _ if self.name.starts_with("rcu_tasks") => "grace periods of tasks".to_owned(),
            _ => "-".to_owned(),
        }
    }
}

/// The policy and priority in a line of `/proc/PID/stat` (proc(5): fields 40 and 41).
fn policy(stat: &str) -> Option<String> {
    // Names may have blanks and brackets in them.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(37);
    let (priority, policy): (u32, u32) =
        (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(match policy {
        0 => "other".to_owned(),
        1 => format!("fifo {priority}"),
        2 => format!("round robin {priority}"),
        3 => "batch".to_owned(),
        5 => "idle".to_owned(),
        6 => "deadline".to_owned(),
        7 => "ext".to_owned(),
        _ => format!("policy {policy}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_policies() {
        let task = |name: &str| Task {
            pid: 1,
            name: name.to_owned(),
            allowed: None,
            policy: None,
        };
        let all = ["rcuog/0", "rcuog/4", "rcuop/0", "rcuop/2", "rcuop/5"].map(task);
        assert!(all[0].serves(&all).ends_with("CPUs 0,2"));
        assert!(all[1].serves(&all).ends_with("CPUs 5"));
        assert_eq!(all[4].invokes(), Some(5));
        let old = ["rcu_bh", "rcuob/3", "rcu_sched", "rcuos/3", "rcuc/3"].map(task);
        let served = old.each_ref().map(|it| it.serves(&old));
        let (all_cpus, own) = ("grace periods of all CPUs", "callbacks of CPU 3");
        assert_eq!(
            served,
            ["-", own, all_cpus, own, "RCU's soft interrupt of CPU 3"]
        );
        assert_eq!(Task::of_grace_periods(&old), Some(&old[2]));
        let stat = "15 (rcu) preempt) I 2 0 0 0 -1 2129984 0 0 0 0 31 4567 0 0 -2 0 1 0 8 0 0 \
         18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 3 1 0 0 0 0 0 0 0 0 0 0 0";
        assert_eq!(policy(stat).as_deref(), Some("fifo 3"));
        assert_eq!(policy("15 (x) I 2"), None);
    }
}

//! Which CPUs are offloaded: threads invoke their callbacks.
//!
//! | seen of CPU N | it is offloaded |
//! |---|---|
//! | `rcuop/N` invokes, or `rcu_nocb_wake` is about N's callbacks | yes |
//! | callbacks are invoked on it, not by such a thread | no |
//! | `rcuop/N` is woken | yes |
//! | nothing | as others: yes if threads invoke on all CPUs of which it is seen |
//!
//! The first line that applies decides. `rcuop/N` may exist for a CPU that is not offloaded, so that a
//! wake-up says less than an invocation. A group's thread sleeps and wakes in the name of the group's first
//! CPU, which need not be offloaded.

use crate::{CpuSet, Event, Record, Role, role};

/// Follows a trace; what it says holds for the part that was seen.
#[derive(Debug, Default)]
pub(crate) struct Offloading {
    by_thread: CpuSet,
    by_itself: CpuSet,
    woken: CpuSet,
}

impl Offloading {
    /// The next event.
    #[inline(always)]
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match *event {
            Event::NocbWake { cpu, what } if !is_of_group(what) => self.by_thread.insert(cpu),
            Event::BatchStart { .. } => match invoker(record.task()) {
                Some(cpu) => self.by_thread.insert(cpu),
                None => self.by_itself.insert(record.cpu),
            },
            Event::Wakeup {
                task, new: false, ..
            }
            | Event::Waking { task, .. } => invoker(task)
                .into_iter()
                .for_each(|it| self.woken.insert(it)),
            _ => {}
        }
    }

    /// Is this CPU?
    pub(crate) fn is(&self, cpu: u32) -> bool {
        let as_others = || self.by_itself.is_empty() && !self.by_thread.is_empty();
        let may_be = || self.woken.contains(cpu) || as_others();
        self.by_thread.contains(cpu) || !self.by_itself.contains(cpu) && may_be()
    }
}

fn is_of_group(what: &str) -> bool {
    matches!(what, "Sleep" | "EndSleep" | "Timer" | "Poll")
}

/// The CPU whose callbacks a thread of this name invokes.
fn invoker(task: &str) -> Option<u32> {
    let number = || task.rsplit('/').next()?.parse::<u16>().ok();
    (role(task) == Role::OffloadInvoker)
        .then(number)?
        .map(u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    /// Of four CPUs, those that are offloaded.
    fn offloaded(lines: &[&str]) -> String {
        let text: String = lines
            .iter()
            .zip(1..)
            .map(|(line, n)| {
                let (head, event) = line.split_once(": ").expect("has an event");
                format!("{head} d..1. {n}.000000: {event}\n")
            })
            .collect();
        let mut reader = Reader::new("t", text.as_bytes());
        let mut offloading = Offloading::default();
        while let Some(record) = reader.next_record().expect("is a trace") {
            let event = record.decode().expect("is an event");
            offloading.see(&record, &event);
        }
        let those = (0..4).filter(|cpu| offloading.is(*cpu));
        those.map(|cpu| cpu.to_string()).collect()
    }

    const THREAD: &str = "rcuop/1-20 [003]: rcu_batch_start: rcu_preempt CBs=4 bl=10";
    const ITSELF: &str = "<idle>-0 [000]: rcu_batch_start: rcu_preempt CBs=4 bl=10";
    const WOKEN: &str = "<idle>-0 [000]: sched_wakeup: comm=rcuop/2 pid=21 prio=120 target_cpu=003";

    #[test]
    fn who_invokes_decides_and_cpus_of_which_nothing_is_seen_are_as_all_others() {
        assert_eq!(offloaded(&[ITSELF]), "");
        assert_eq!(offloaded(&[THREAD]), "0123");
        assert_eq!(offloaded(&[THREAD, ITSELF]), "1");
        assert_eq!(offloaded(&[THREAD, ITSELF, WOKEN]), "12");
    }

    #[test]
    fn a_wakeup_says_less_than_an_invocation() {
        assert_eq!(offloaded(&[WOKEN]), "2");
        assert_eq!(offloaded(&[WOKEN, &ITSELF.replace("[000]", "[002]")]), "");
        assert_eq!(offloaded(&[&WOKEN.replace("wakeup", "waking")]), "2");
        assert_eq!(offloaded(&[&WOKEN.replace("wakeup", "wakeup_new")]), "");
    }

    #[test]
    fn a_group_sleeps_in_the_name_of_its_first_cpu() {
        let of = |cpu, what| format!("rcuog/0-16 [000]: rcu_nocb_wake: rcu_preempt {cpu} {what}");
        assert_eq!(offloaded(&[ITSELF, &of(0, "Sleep")]), "");
        assert_eq!(offloaded(&[ITSELF, &of(1, "Check")]), "1");
    }
}

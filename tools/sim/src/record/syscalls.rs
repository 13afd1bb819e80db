//! System calls of a run with the callbacks that they have queued; and the same from a trace alone.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;

use super::notes::{Level, NotePlace, What};
use crate::input::op::SysCallName;

/// A callback that a system call has queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Its function: an index of [`Stats::funcs`](crate::Stats::funcs).
    pub func: usize,
    /// When it was queued, in nanoseconds.
    pub queued: u64,
    /// When it was invoked; none if it had not been when the run ended.
    pub invoked: Option<u64>,
}

/// A system call, and what it has queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysCall {
    /// Its number among all calls of the run, from 0: its identity.
    pub number: u64,
    /// Which call.
    pub name: SysCallName,
    /// Its argument: of `close` the descriptor.
    pub argument: u64,
    /// The calling task: an index of [`Stats::wakeups`](crate::Stats::wakeups), which has the name.
    pub task: usize,
    /// Where.
    pub cpu: CpuId,
    /// When it was entered, in nanoseconds.
    pub entered: u64,
    /// When it was left; none if it had not been when the run ended.
    pub left: Option<u64>,
    /// What it has queued.
    pub callbacks: Vec<Owed>,
}

impl SysCall {
    /// Nanoseconds from the call until the last of its callbacks has been invoked: so long what it gave back
    /// was kept. None if one has not been, or there are none.
    ///
    /// ```
    /// use quiescent_sim::{SysCall, SysCallName, SysCallback};
    /// let owed = |invoked| SysCallback { func: 0, queued: 110, invoked };
    /// let mut call = SysCall {
    ///     number: 0, name: SysCallName::Close, argument: 3, task: 0, cpu: 0, entered: 100, left: Some(120),
    ///     callbacks: vec![owed(Some(5100)), owed(Some(5200))],
    /// };
    /// assert_eq!(call.freed_after(), Some(5100));
    /// call.callbacks.push(owed(None));
    /// assert_eq!(call.freed_after(), None);
    /// ```
    pub fn freed_after(&self) -> Option<u64> {
        let all: Option<Vec<u64>> = self.callbacks.iter().map(|it| it.invoked).collect();
        let last = all?.into_iter().max()?;
        Some(last - self.entered)
    }
}

/// A call, as a reader of the trace finds it: its task, when it was entered, and its callbacks in the order
/// in which they were queued, with when they were invoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedCall {
    pub task: usize,
    pub entered: u64,
    pub callbacks: Vec<(usize, Option<u64>)>,
}

/// Joins callbacks to calls by what is traced, and nothing else: a callback is the call's that the task was
/// in who queued it, and is known again by its address. (An address is used again once its callback has been
/// invoked, in a kernel as here.)
pub(crate) fn join(lines: &[(NotePlace, What)]) -> Vec<JoinedCall> {
    let mut all: Vec<JoinedCall> = Vec::new();
    let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
    let mut waiting: BTreeMap<(CpuId, u64), (usize, usize)> = BTreeMap::new();
    for (place, what) in lines {
        match (what, place.task) {
            (&What::SysEnter(..), Some(task)) => {
                inside.insert(task, all.len());
                all.push(JoinedCall {
                    task,
                    entered: place.at,
                    callbacks: Vec::new(),
                });
            }
            (&What::SysExit(_), Some(task)) => {
                inside.remove(&task);
            }
            (
                &What::Queued {
                    whose, pos, func, ..
                },
                task,
            ) => {
                let queuer = task.filter(|_| place.level == Level::Task);
                let call = queuer.and_then(|it| inside.get(&it)).copied();
                let Some(call) = call else { continue };
                let callbacks = &mut all[call].callbacks;
                waiting.insert((whose, pos), (call, callbacks.len()));
                callbacks.push((func, None));
            }
            (&What::Invoke { whose, pos, .. }, _) => {
                if let Some((call, index)) = waiting.remove(&(whose, pos)) {
                    all[call].callbacks[index].1 = Some(place.at);
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at: u64, task: Option<usize>) -> NotePlace {
        NotePlace {
            at,
            task,
            ..NotePlace::default()
        }
    }

    fn queued(pos: u64) -> What {
        What::Queued {
            whose: 0,
            pos,
            func: pos as usize,
            n_cbs: 1,
        }
    }

    fn invoke(pos: u64) -> What {
        What::Invoke {
            whose: 0,
            pos,
            func: pos as usize,
        }
    }

    #[test]
    fn a_callback_is_joined_by_who_queued_it_between_enter_and_exit() {
        let interrupt = NotePlace {
            level: Level::Irq,
            ..at(3, Some(7))
        };
        let (enter, exit) = (
            What::SysEnter(SysCallName::Close, 3),
            What::SysExit(SysCallName::Close),
        );
        let lines = [
            (at(1, Some(7)), enter.clone()),
            (at(2, Some(7)), queued(0)),
            (at(2, Some(8)), queued(1)), // another task, at the same time
            (interrupt, queued(2)),      // what has interrupted it
            (at(4, Some(7)), exit),
            (at(5, Some(7)), queued(3)), // the same task, after its call
            (at(6, Some(8)), enter),
            (at(7, Some(8)), queued(4)),
            (at(8, None), invoke(0)),
            (at(9, Some(7)), invoke(3)),
        ];
        let found = join(&lines);
        let call = |task, entered, callbacks| JoinedCall {
            task,
            entered,
            callbacks,
        };
        assert_eq!(
            found,
            [call(7, 1, vec![(0, Some(8))]), call(8, 6, vec![(4, None)])]
        );
    }

    /// As a tool would that has the text and nothing else: by the number of the task, between its two lines.
    #[test]
    fn in_the_text_of_a_trace_callbacks_stand_between_enter_and_exit() {
        let workload = crate::Workload::named("display-pipeline").unwrap();
        let mut plan = workload.plan(&[("rcu", "offload")]).unwrap();
        (plan.warm_up, plan.length) = (0, 200_000_000);
        let mut machine = plan.machine();
        machine.keep_trace();
        assert!(plan.run_on(&mut machine, || false));
        let mut text = Vec::new();
        machine.write_trace(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (mut inside, mut calls) = (BTreeMap::new(), 0);
        let (mut callbacks, mut works) = (0, 0);
        for line in text.lines().filter(|it| !it.starts_with('#')) {
            let who = line.split_once(" [").unwrap().0.trim();
            let event = line.split(": ").nth(1).unwrap();
            match event {
                "sys_enter" => {
                    assert!(line.contains(" ....."), "{line}");
                    assert!(line.contains(": NR 3 (") && inside.insert(who, 0).is_none());
                }
                "sys_exit" => {
                    assert!(line.ends_with(": NR 3 = 0"));
                    calls += 1;
                    callbacks += inside.remove(who).expect("it was entered");
                }
                "rcu_callback" => match inside.get_mut(who) {
                    Some(queued) => *queued += 1,
                    None => works += u64::from(line.contains("rcu_work_rcufn")),
                },
                _ => {}
            }
        }
        // Five cycles of fifteen closes, two callbacks of files and, in no call, three of work items.
        assert!((70..=90).contains(&calls), "{calls}");
        assert!((10..=12).contains(&callbacks), "{callbacks} of {calls}");
        assert!((13..=18).contains(&works), "{works}");
        assert_eq!(machine.stats().syscalls.len(), calls);
    }
}

//! Waits: from each place where one may begin, the events behind it are searched for what ends it.

use super::{Case, GP, TASKS, Table, What, cases, config, mean, most, ms, percentile};
use proptest::prelude::*;
use quiescent_trace::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Events of those who wait, and of what RCU does for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Request,
    Complete,
    Queue,
    Expedited { seq: u32, what: usize },
    Barrier { what: usize },
    Leaves { state: char, next: usize },
    Works { starts: bool },
    Stack,
}

const EXPEDITED: [&str; 4] = ["snap", "done", "end", "start"];
const BARRIER: [&str; 4] = ["Begin", "Inc1", "Inc2", "EarlyExit"];

pub(super) fn step(a: u32, b: usize) -> Step {
    let next = b % TASKS.len();
    match a {
        0..2 => Step::Request,
        2 => Step::Complete,
        3..5 => Step::Queue,
        5..8 => Step::Expedited {
            seq: 4 * (b as u32 % 3),
            what: b / 3 % 4,
        },
        8..10 => Step::Barrier { what: b % 4 },
        10..17 => Step::Leaves {
            state: ['D', 'D', 'D', 'S', 'R'][b / 5 % 5],
            next,
        },
        17..19 => Step::Works {
            starts: !b.is_multiple_of(3),
        },
        _ => Step::Stack,
    }
}

impl Step {
    pub(super) fn words(self, task: usize) -> String {
        match self {
            Step::Request => "rcu_sr_normal: rcu_preempt rhp=0xff10 event=request".to_owned(),
            Step::Complete => "rcu_sr_normal: rcu_preempt rhp=0xff10 event=complete".to_owned(),
            Step::Queue => "rcu_callback: rcu_preempt rhp=ff20 func=wakeme_after_rcu 1".to_owned(),
            Step::Expedited { seq, what } => {
                let what = EXPEDITED[what];
                format!("rcu_exp_grace_period: rcu_preempt {seq} {what}")
            }
            Step::Barrier { what } => {
                let what = BARRIER[what];
                format!("rcu_barrier: rcu_preempt {what} cpu -1 remaining 0 # 4")
            }
            Step::Leaves { state, next } => {
                let ((prev, prev_pid), (next, next_pid)) = (TASKS[task], TASKS[next]);
                format!(
                    "sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> \
                     next_comm={next} next_pid={next_pid} next_prio=120"
                )
            }
            Step::Works { starts: true } => {
                "workqueue_execute_start: work struct 00f1: function rcu_sr_normal_gp_cleanup_work"
                    .to_owned()
            }
            Step::Works { starts: false } => "workqueue_execute_end: work struct 00f1".to_owned(),
            Step::Stack => "<stack trace>\n => schedule\n => synchronize_rcu".to_owned(),
        }
    }
}

/// A wait that is over: where its end was seen, how it was recognised, and its time.
struct Over {
    begins: usize,
    seen: usize,
    by: &'static str,
    until: u64,
}

/// What begins with an event of the task, and what it is recognised by; nothing is known of a sleep.
fn beginning(case: &Case, task: usize, i: usize) -> Option<&'static str> {
    let entry = case.entries[i];
    let begins = match entry.what {
        What::Wait(Step::Request) => "rcu_sr_normal",
        What::Wait(Step::Queue) => "wakeme_after_rcu",
        What::Wait(Step::Expedited { what: 0, .. }) => "rcu_exp_grace_period",
        What::Wait(Step::Barrier { what: 0 }) => "rcu_barrier",
        What::Wait(Step::Leaves { state: 'D', .. }) => "",
        _ => return None,
    };
    (entry.task == task).then_some(begins)
}

/// The task leaves its CPU here, in such a state.
fn left(case: &Case, task: usize, i: usize, sleeps: bool) -> bool {
    let entry = case.entries[i];
    let state = match entry.what {
        What::Wait(Step::Leaves { state, .. }) => state,
        What::Switch { .. } => 'S',
        _ => return false,
    };
    entry.task == task && (!sleeps || state != 'R')
}

fn comes(case: &Case, task: usize, i: usize) -> bool {
    match case.entries[i].what {
        What::Wait(Step::Leaves { next, .. }) | What::Switch { next } => next == task,
        _ => false,
    }
}

fn is_woken(case: &Case, task: usize, i: usize) -> bool {
    match case.entries[i].what {
        What::Wakeup { task: woken, .. }
        | What::FirstRun { task: woken, .. }
        | What::Waking { task: woken } => woken == task,
        _ => false,
    }
}

/// Who wakes here does it for RCU: the grace-period thread, or its work item.
fn waker(case: &Case, i: usize) -> Option<&'static str> {
    let entry = case.entries[i];
    let works = || {
        let same = |k: &usize| case.entries[*k].task == entry.task;
        let starts = |k: usize| match case.entries[k].what {
            What::Wait(Step::Works { starts }) => Some(starts),
            What::Other => None,
            _ => None,
        };
        (0..i).rev().filter(same).find_map(starts) == Some(true)
    };
    match (entry.context, TASKS[entry.task].0) {
        ('h' | 's', _) => None,
        (_, "rcu_preempt") => Some("woken by rcu_preempt"),
        _ => works().then_some("woken by rcu_sr_normal"),
    }
}

/// The task itself does something here, and is not about to leave its CPU.
fn acts(case: &Case, task: usize, i: usize) -> bool {
    let entry = case.entries[i];
    let leaves = matches!(
        entry.what,
        What::Switch { .. } | What::Wait(Step::Leaves { .. } | Step::Stack)
    );
    entry.task == task && !matches!(entry.context, 'h' | 's') && !leaves
}

fn says(case: &Case, task: usize, i: usize, by: &str) -> bool {
    let entry = case.entries[i];
    let says = match entry.what {
        What::Wait(Step::Complete) => !matches!(by, "rcu_exp_grace_period" | "rcu_barrier"),
        What::Wait(Step::Expedited { what: 1, .. }) => by == "rcu_exp_grace_period",
        What::Wait(Step::Barrier { what: 2 | 3 }) => by == "rcu_barrier",
        _ => false,
    };
    says && entry.task == task
}

/// Where an expedited wait's task ran again after the end of its number, having slept.
fn back(case: &Case, task: usize, begins: usize, until: usize) -> Option<usize> {
    let What::Wait(Step::Expedited { seq: wanted, .. }) = case.entries[begins].what else {
        return None;
    };
    let ended = |i: usize| {
        let number = |k: usize| match case.entries[k].what {
            What::Wait(Step::Expedited { seq, what: 2 }) => Some(seq),
            _ => None,
        };
        (0..i).rev().find_map(number).is_some_and(|it| it >= wanted)
    };
    let slept = |i: usize| {
        let sleeps = (begins + 1..=i).any(|k| left(case, task, k, true));
        sleeps || (begins + 1..i).any(|k| is_woken(case, task, k))
    };
    (begins + 1..until).find(|i| comes(case, task, *i) && slept(*i) && ended(*i))
}

/// From a beginning on: the wait, if it is one, and where to look for the next one.
fn follow(case: &Case, task: usize, begins: usize) -> (Option<Over>, usize) {
    let mut by = beginning(case, task, begins).unwrap_or_default();
    let mut recognised = begins;
    let normal = |by: &str| !matches!(by, "rcu_exp_grace_period" | "rcu_barrier");
    for i in begins + 1..case.entries.len() {
        let over = |by, at: usize| {
            let until = case.entries[at].time_us;
            let seen = i;
            Some(Over {
                begins,
                seen,
                by,
                until,
            })
        };
        let woken = (recognised + 1..i).any(|k| is_woken(case, task, k));
        let asleep =
            by.starts_with("woken") || (begins + 1..=i).any(|k| left(case, task, k, true)) || woken;
        let known = !by.is_empty();
        if known && normal(by) && woken && acts(case, task, i) {
            return (over(by, i), i);
        }
        if says(case, task, i, by) && known {
            return (over(by, i), i + 1);
        }
        let back = back(case, task, begins, i);
        match beginning(case, task, i) {
            Some("") | None => {}
            Some("wakeme_after_rcu") if known && normal(by) && !asleep => {}
            Some(_) => return (back.and_then(|at| over(by, at)), i),
        }
        if left(case, task, i, false) {
            if let Some(at) = back {
                // The sleep that ends it is no wait.
                return (over(by, at), i + 1);
            }
            if !known {
                return (None, i);
            }
        }
        if !known && is_woken(case, task, i) {
            match waker(case, i) {
                Some(name) => (by, recognised) = (name, i),
                None => return (None, i + 1),
            }
            continue;
        }
        if comes(case, task, i) && asleep && known && normal(by) {
            return (over(by, i), i + 1);
        }
        if comes(case, task, i) && !known {
            return (None, i + 1);
        }
    }
    (None, case.entries.len())
}

fn waits(case: &Case, task: usize) -> Vec<Over> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(begins) =
        (from..case.entries.len()).find(|i| beginning(case, task, *i).is_some())
    {
        // A task that leaves its CPU for itself is back at once.
        let at_once = beginning(case, task, begins) == Some("") && comes(case, task, begins);
        let (over, next) = match at_once {
            true => (None, begins + 1),
            false => follow(case, task, begins),
        };
        all.extend(over.filter(|over| case.inside(over.seen)));
        from = next.max(begins + 1);
        if next > begins && beginning(case, task, next.min(case.entries.len() - 1)).is_some() {
            from = next;
        }
    }
    all
}

/// Grace periods, or scans, that end in between.
fn passed(case: &Case, over: &Over, what: &str) -> usize {
    let says = |i: usize| match case.entries[i].what {
        What::Gp { what } => GP[what],
        _ => "",
    };
    let ends = |i: &usize| match what {
        "scans" => {
            let before = (0..*i).rev().map(says);
            let mut before = before.filter(|it| ["start", "fqsstart", "fqsend"].contains(it));
            says(*i) == "fqsend" && before.next() == Some("fqsstart")
        }
        "expedited" => matches!(
            case.entries[*i].what,
            What::Wait(Step::Expedited { what: 2, .. })
        ),
        _ => says(*i) == "end",
    };
    (over.begins + 1..over.seen).filter(ends).count()
}

fn call(by: &str) -> &'static str {
    match by {
        "rcu_exp_grace_period" => "expedited",
        "rcu_barrier" => "barrier",
        _ => "normal",
    }
}

fn put(table: &mut Table, name: &str, case: &Case, waits: &[&Over]) {
    let any = |what| case.places().any(|i| case.entries[i].what == what);
    let (ends, ended) = match call(waits[0].by) {
        "expedited" => (
            "expedited",
            (0..3).any(|n| {
                any(What::Wait(Step::Expedited {
                    seq: 4 * n,
                    what: 2,
                }))
            }),
        ),
        _ => ("end", any(What::Gp { what: 5 })),
    };
    let long = waits
        .iter()
        .map(|it| it.until - case.entries[it.begins].time_us);
    let long: Vec<u64> = long.collect();
    table.put(name, "waits", Some(waits.len() as f64));
    table.put(
        name,
        "wait_ms_total",
        ms(Some(long.iter().sum::<u64>() as f64)),
    );
    table.put(name, "wait_ms_avg", ms(mean(&long)));
    table.put(name, "wait_ms_p50", ms(percentile(&long, 50)));
    table.put(name, "wait_ms_max", ms(most(&long)));
    let each = |what: &str| {
        let passed = waits.iter().map(|it| passed(case, it, what) as u64);
        mean(&passed.collect::<Vec<_>>()).filter(|_| ended)
    };
    table.put(name, "gps_per_wait", each(ends));
    table.put(
        name,
        "scans_per_wait",
        each("scans").filter(|_| ends == "end"),
    );
}

fn slow(case: &Case, _: (u64, u64)) -> Table {
    // Two tasks called `a`; the others are RCU's.
    let all = [1, 2].map(|task| waits(case, task));
    let mut table = Table::default();
    let both = all.iter().all(|waits| !waits.is_empty());
    let calls: BTreeSet<&str> = all.iter().flatten().map(|it| call(it.by)).collect();
    let of = |call_wanted: &str, waits: &'_ [Over]| -> Vec<usize> {
        let those = waits.iter().enumerate();
        those
            .filter(|it| call(it.1.by) == call_wanted)
            .map(|it| it.0)
            .collect()
    };
    for wanted in calls {
        let mut sum: Vec<&Over> = Vec::new();
        for (waits, pid) in all.iter().zip([5, 6]) {
            let those: Vec<&Over> = of(wanted, waits).into_iter().map(|i| &waits[i]).collect();
            if those.is_empty() {
                continue;
            }
            let name = if both {
                format!("a-{pid} {wanted}")
            } else {
                format!("a {wanted}")
            };
            table.put(&name, "pid", Some(f64::from(pid)));
            put(&mut table, &name, case, &those);
            sum.extend(those);
        }
        put(&mut table, &format!("(all) {wanted}"), case, &sum);
    }
    let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter()
        .flatten()
        .for_each(|it| *ways.entry(it.by).or_default() += 1);
    for (by, n) in ways {
        table.put(&format!("seen {} {by}", call(by)), "waits", Some(n as f64));
    }
    table
}

proptest! {
    #![proptest_config(config(6000))]

    #[test]
    fn waits_by_task(case in cases(&[19, 19, 19, 19, 13, 13, 15, 18, 18])) {
        case.compare(Kind::Waits, &["a", "(all)", "seen "], slow)?;
    }
}

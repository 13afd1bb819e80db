//! Idle CPUs: a segment is looked for from its end.

use super::{Case, Entry, TASKS, Table, What, cases, config, mean, most, ms, percentile};
use proptest::prelude::*;
use quiescent_trace::Kind;
use std::collections::BTreeSet;

/// A CPU begins to be idle (in this state), or is not.
#[derive(Clone, Copy)]
struct Edge {
    place: usize,
    enters: Option<u32>,
}

/// The edges of a CPU, as `cpu_idle` tells them.
fn by_event(case: &Case, of: u32) -> Vec<Edge> {
    let edge = |place: usize| {
        let enters = match case.entries[place].what {
            What::IdleEntry { cpu, state } if cpu == of => Some(state),
            What::IdleExit { cpu } if cpu == of => None,
            _ => return None,
        };
        Some(Edge { place, enters })
    };
    case.places().filter_map(edge).collect()
}

/// As `sched_switch` and the ids of tasks tell them; none without a switch to or from the idle loop.
fn by_switch(case: &Case, of: u32) -> Vec<Edge> {
    let mut found = false;
    let mut edges = Vec::new();
    for place in case.places() {
        let entry = case.entries[place];
        if entry.cpu != of {
            continue;
        }
        let enters = match entry.what {
            What::Switch { next: 0 } => Some(0),
            What::Switch { .. } if entry.task == 0 => None,
            _ if entry.task != 0 => {
                edges.push(Edge {
                    place,
                    enters: None,
                });
                continue;
            }
            _ => continue,
        };
        found = true;
        edges.push(Edge { place, enters });
    }
    if found { edges } else { Vec::new() }
}

/// What segments make.
#[derive(Default)]
struct Sums {
    entries: usize,
    idle_us: u64,
    lengths: Vec<u64>,
}

/// Of the segments in this state, or in any.
fn sums(case: &Case, (start, end): (u64, u64), edges: &[Edge], state: Option<u32>) -> Sums {
    let mut sums = Sums::default();
    for (n, edge) in edges.iter().enumerate() {
        if edge.enters.is_none() || state.is_some() && edge.enters != state {
            continue;
        }
        sums.entries += usize::from(case.inside(edge.place));
        if case.is_after(edge.place) {
            continue;
        }
        let time = |edge: &Edge| case.entries[edge.place].time_us;
        // What follows behind the window cannot take anything from it.
        let next = edges[n + 1..]
            .iter()
            .find(|next| next.enters.is_none() || !case.is_after(next.place));
        let until = match next {
            // The exit was lost: its time is not known.
            Some(next) if next.enters.is_some() => continue,
            Some(next) if !case.is_after(next.place) => time(next),
            _ => end,
        };
        if let Some(next) = next.filter(|next| case.inside(next.place) && case.inside(edge.place)) {
            sums.lengths.push(time(next) - time(edge));
        }
        sums.idle_us += until.min(end).saturating_sub(time(edge).max(start));
    }
    sums
}

fn share(us: u64, (start, end): (u64, u64), cpus: usize) -> Option<f64> {
    let whole = (end - start) * cpus as u64;
    (whole > 0).then(|| us as f64 * 100.0 / whole as f64)
}

/// By all that the trace has; CPU 1 alone has a thread that invokes.
fn offloaded(case: &Case, at: u32) -> bool {
    let is_thread = |task: usize| TASKS[task].0 == "rcuop/1";
    let any = |of: &dyn Fn(&Entry) -> bool| case.entries.iter().any(of);
    let batch = |it: &Entry| matches!(it.what, What::BatchStart { .. });
    let by_thread = |cpu| {
        any(&|it| it.what == What::Offload { cpu })
            || cpu == 1 && any(&|it| batch(it) && is_thread(it.task))
    };
    let by_itself = |cpu| any(&|it| batch(it) && it.cpu == cpu && !is_thread(it.task));
    let woken = at == 1
        && any(&|it| match it.what {
            What::Wakeup { task, .. } | What::Waking { task } => is_thread(task),
            _ => false,
        });
    let as_others = || (0..4).any(by_thread) && !(0..4).any(by_itself);
    by_thread(at) || !by_itself(at) && (woken || as_others())
}

/// A tick that hit the idle loop: what was it for?
fn reason(case: &Case, tick: usize) -> String {
    let at = case.entries[tick].cpu;
    let here = |place: &usize| case.entries[*place].cpu == at;
    if let Some(oldest) = waiting(case, tick, at).filter(|_| !offloaded(case, at)) {
        return format!("tick callbacks {oldest}");
    }
    let over = |place: &usize| match case.entries[*place].what {
        What::IdleEntry { cpu, .. } | What::IdleExit { cpu } => cpu == at,
        What::Switch { .. } | What::Tick => here(place),
        _ => false,
    };
    let end = (tick + 1..case.entries.len())
        .find(over)
        .unwrap_or(case.entries.len());
    let meanwhile = || (tick + 1..end).filter(here).map(|i| case.entries[i].what);
    let timer = meanwhile().find_map(|what| match what {
        What::Timer { function } => Some(function),
        _ => None,
    });
    if let Some(function) = timer {
        return format!("tick timer t{function}");
    }
    if meanwhile().any(|what| what == What::Softirq) {
        return "tick RCU softirq".to_owned();
    }
    let since = (0..tick)
        .rev()
        .filter(here)
        .find(|i| case.entries[*i].what == What::Tick)
        .unwrap_or(0);
    let ran = (since..tick)
        .filter(here)
        .any(|i| case.entries[i].task != 0 && case.entries[i].context == '.');
    let reason = if ran { "after a task" } else { "nothing seen" };
    format!("tick {reason}")
}

/// The function of the callback that was queued on a CPU when none waited there, if some still wait.
fn waiting(case: &Case, before: usize, cpu: u32) -> Option<String> {
    let queued_at = |i: usize| match case.entries[i].what {
        What::Queue { head, function } => Some((head, format!("f{function}"))),
        What::QueueBlock { head } => Some((head, "kvfree".to_owned())),
        _ => None,
    };
    let ended = |i: usize, of: u32| match case.entries[i].what {
        What::Invoke { head, .. } | What::InvokeBlock { head } => head == of,
        _ => queued_at(i).is_some_and(|(head, _)| head == of),
    };
    // Those that wait here just before `place`.
    let here = |place: usize| {
        (0..place).filter(|i| case.entries[*i].cpu == cpu).any(|i| {
            queued_at(i).is_some_and(|(head, _)| !(i + 1..place).any(|later| ended(later, head)))
        })
    };
    if !here(before) {
        return None;
    }
    let first = (0..before)
        .rev()
        .filter(|i| case.entries[*i].cpu == cpu)
        .filter_map(|i| Some((i, queued_at(i)?)))
        .find(|(i, (again, _))| {
            // One that is queued again waits no longer when it is.
            let others = (0..*i).filter(|j| case.entries[*j].cpu == cpu).any(|j| {
                queued_at(j).is_some_and(|(head, _)| {
                    head != *again && !(j + 1..*i).any(|later| ended(later, head))
                })
            });
            !others
        });
    first.map(|(_, (_, function))| function)
}

fn slow(case: &Case, window: (u64, u64)) -> Table {
    let mut table = Table::default();
    let (mut all_entries, mut all_ticks) = (0, 0);
    let (mut states, mut with_events) = (BTreeSet::new(), Vec::new());
    for cpu in 0..4 {
        let (events, switches) = (by_event(case, cpu), by_switch(case, cpu));
        let (edges, source) = match events.is_empty() {
            true => (switches, "sched_switch"),
            false => (events.clone(), "cpu_idle"),
        };
        if edges.is_empty() {
            continue;
        }
        if !events.is_empty() {
            states.extend(events.iter().filter_map(|edge| edge.enters));
            with_events.push(events);
        }
        let row = format!("CPU {cpu} {source}");
        let of = sums(case, window, &edges, None);
        let ticks = hits(case).filter(|i| case.entries[*i].cpu == cpu).count();
        all_entries += of.entries;
        all_ticks += ticks;
        let metrics = ["idle_entries", "idle_entries_per_s"];
        table.rate(&row, metrics, of.entries, window);
        table.rate(&row, ["idle_ticks", "idle_ticks_per_s"], ticks, window);
        table.put(&row, "idle_pct", share(of.idle_us, window, 1));
        table.put(&row, "idle_ms_avg", ms(mean(&of.lengths)));
        table.put(&row, "idle_ms_p50", ms(percentile(&of.lengths, 50)));
        table.put(&row, "idle_ms_max", ms(most(&of.lengths)));
    }
    let metrics = ["idle_entries", "idle_entries_per_s"];
    table.rate("CPU (all)", metrics, all_entries, window);
    let ticks = ["idle_ticks", "idle_ticks_per_s"];
    table.rate("CPU (all)", ticks, all_ticks, window);
    for state in states {
        let row = format!("state {state}");
        let (mut entries, mut idle_us, mut lengths) = (0, 0, Vec::new());
        for edges in &with_events {
            let of = sums(case, window, edges, Some(state));
            entries += of.entries;
            idle_us += of.idle_us;
            lengths.extend(of.lengths);
        }
        table.rate(&row, metrics, entries, window);
        let residency = share(idle_us, window, with_events.len());
        table.put(&row, "residency_pct", residency);
        table.put(&row, "idle_ms_avg", ms(mean(&lengths)));
    }
    let reasons: Vec<String> = hits(case).map(|tick| reason(case, tick)).collect();
    for row in reasons.iter().collect::<BTreeSet<_>>() {
        let n = reasons.iter().filter(|reason| *reason == row).count();
        table.rate(row, ticks, n, window);
    }
    table
}

/// Ticks of the window that hit the idle loop.
fn hits(case: &Case) -> impl Iterator<Item = usize> {
    let hits = |i: &usize| case.entries[*i].what == What::Tick && case.entries[*i].task == 0;
    case.places().filter(|i| case.inside(*i)).filter(hits)
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn idle_segments_and_states(case in cases(&[0, 1, 0, 1, 2, 2])) {
        case.compare(Kind::Idle, &["CPU ", "state "], slow)?;
    }

    #[test]
    fn ticks_on_idle_cpus(case in cases(&[0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11])) {
        case.compare(Kind::Idle, &["CPU ", "state ", "tick "], slow)?;
    }
}

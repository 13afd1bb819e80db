use super::*;
use crate::experiments::data::published;
use crate::load::workload::Workload;

const SECOND: u64 = 1_000_000_000;

/// A line of the published trace: time, CPU, thread, event, and a callback's function.
#[derive(serde::Deserialize)]
struct Line(f64, usize, String, String, String);

#[derive(serde::Deserialize)]
struct Trace {
    rows: Vec<Line>,
}

fn rows() -> Vec<Line> {
    published::<Trace>("display-pipeline").rows
}

/// Forty seconds of frames, and what the reader of the events makes of them.
fn shoot(seed: &str) -> (Machine, Stats, Vec<JoinedCall>) {
    let workload = Workload::named("display-pipeline").unwrap();
    let sets = [("rcu", "offload"), ("stop", "42s"), ("seed", seed)];
    let mut machine = workload.plan(&sets).unwrap().machine();
    machine.window(2 * SECOND, 42 * SECOND);
    machine.keep_calls();
    machine.run(65 * SECOND);
    let stats = machine.stats();
    let mut read = join(&machine.kept());
    read.retain(|it| stats.counts(it.entered));
    (machine, stats, read)
}

/// By thread and kind, how many there are in one cycle: from the last but one `file_free_rcu` of the
/// DrmThread to the last.
fn published_cycle() -> BTreeMap<(String, String), u64> {
    let rows = rows();
    let ends = rows
        .iter()
        .filter(|it| it.2 == "DrmThread" && it.4 == "file_free_rcu");
    let ends: Vec<f64> = ends.map(|it| it.0).collect();
    let [.., from, until] = ends[..] else {
        panic!("two files");
    };
    let mut counts = BTreeMap::new();
    for it in rows.iter().filter(|it| from < it.0 && it.0 <= until) {
        let what = if it.4.is_empty() { &it.3 } else { &it.4 };
        let thread = it.2.split('/').next().unwrap().to_owned();
        *counts.entry((thread, what.clone())).or_default() += 1;
    }
    counts
}

#[test]
fn the_workload_has_the_published_cycle() {
    let rows = rows();
    let count = |kind: &str| {
        rows.iter()
            .filter(|it| it.3 == kind || it.4 == kind)
            .count()
    };
    let published = ["close", "file_free_rcu", "rcu_work_rcufn"].map(count);
    assert_eq!(published, [25, 4, 6]);
    let (_, stats, _) = shoot("1");
    let mut counts = BTreeMap::new();
    let mut add = |thread: &str, what: &str, n: u64| {
        let thread = thread.split('/').next().unwrap().to_owned();
        *counts.entry((thread, what.to_owned())).or_default() += n;
    };
    for call in &stats.syscalls {
        let thread = &stats.wakeups[call.task].0;
        add(thread, "close", 1);
        for it in &call.callbacks {
            // Nothing else is queued in a call: the work items' callbacks are joined to none.
            assert_eq!(stats.funcs[it.func].name, "file_free_rcu");
            add(thread, "file_free_rcu", 1);
        }
    }
    let works = stats.funcs.iter().find(|it| it.name == "rcu_work_rcufn");
    add("kworker", "rcu_work_rcufn", works.unwrap().queued);
    for (what, published) in published_cycle() {
        let model = counts.remove(&what).unwrap_or(0) as f64 / (30.0 * 40.0);
        let off = (model - published as f64).abs();
        assert!(off < 0.01, "{what:?}: {model} and {published}");
    }
    assert!(counts.is_empty(), "{counts:?}");
}

#[test]
fn each_thread_closes_on_the_published_cpu() {
    let (machine, _, calls) = shoot("1");
    for it in rows().iter().filter(|it| it.3 == "close") {
        let model = |task: &usize| machine.sys.tasks[*task].name.starts_with(&it.2);
        let theirs: Vec<usize> = calls.iter().map(|it| it.task).filter(model).collect();
        assert!(theirs.len() > 30, "{}", it.2);
        let there = |&task: &usize| machine.sys.tasks[task].cpu == Some(it.1 as u32);
        assert!(theirs.iter().all(there), "{} is not on CPU {}", it.2, it.1);
    }
}

#[test]
fn a_callback_of_another_call_is_not_joined() {
    let (_, stats, read) = shoot("2");
    assert_eq!(joined_pct(&stats.syscalls, &read), 100.0);
    let share = 100.0 / read.len() as f64;
    let without = |change: &dyn Fn(&mut Vec<SysCall>, &mut Vec<JoinedCall>)| {
        let (mut known, mut read) = (stats.syscalls.clone(), read.clone());
        change(&mut known, &mut read);
        let lost = 100.0 - joined_pct(&known, &read);
        assert!((lost - share).abs() < 1e-9, "{lost}");
    };
    let owes = |it: &SysCall| !it.callbacks.is_empty();
    let at = stats.syscalls.iter().position(owes).unwrap();
    // Never invoked; lost; invoked at another time; of another task; and a call that the events have not.
    without(&|known, _| known[at].callbacks[0].invoked = None);
    without(&|known, _| known[at].callbacks.clear());
    without(&|_, read| read[at].callbacks[0].1 = read[at].entered.checked_sub(1));
    without(&|_, read| read[at].task += 1);
    without(&|_, read| read.truncate(read.len() - 1));
}

#[test]
fn each_table_of_callbacks_has_its_functions_and_no_others() {
    #[derive(serde::Deserialize)]
    struct Tables {
        before: BTreeMap<String, BTreeMap<String, u64>>,
        lazy: BTreeMap<String, BTreeMap<String, u64>>,
    }
    let functions = |sets: &[(&str, &str)]| {
        let plan = Workload::named("chromeos-idle").unwrap().plan(sets);
        let stats = plan.unwrap().machine().stats();
        let mut names: Vec<String> = stats.funcs.into_iter().map(|it| it.name).collect();
        names.sort_unstable();
        names
    };
    let published: Tables = published("chromeos-idle");
    assert!(functions(&[]).iter().eq(published.before["queued"].keys()));
    let lazy = functions(&[("before", "0"), ("after", "1")]);
    assert!(lazy.iter().eq(published.lazy["executed"].keys()));
}

/// A figure that a file sums over all functions, or all threads, occurs once for each.
#[test]
fn a_figure_is_there_once_for_each_subject() {
    let plan = Workload::named("churn").unwrap().plan(&[]).unwrap();
    let load = Load {
        plan,
        counted: None,
        keep: None,
    };
    let it = Run::of(&[Planned::Load(Box::new(load))], 1, 1);
    let mut seen = std::collections::BTreeSet::new();
    for figure in &it.figures {
        let once = seen.insert((name(&figure.about), figure.metric));
        assert!(once, "{} {}", name(&figure.about), figure.metric);
    }
    let functions = it.values("executed", "function *");
    assert!(functions.len() > 1 && functions.iter().sum::<f64>() == it.values("executed", "")[0]);
}

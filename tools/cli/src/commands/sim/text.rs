//! The text output of `sim`: tables with a column for each variant. The first screen has a choice of them;
//! `--full` has all, and every assumption and setting.

use super::{Variant, first, saved};
use quiescent_report::text::number::{short, spread};
use quiescent_report::text::{Table, folded};
use quiescent_report::{Report, Row};
use quiescent_sim::{Options, Workload, settings};
use serde_json::json;

/// Printed under the figures of a machine.
pub const LEAVES_OUT: &str = "A model: it leaves out caches and memory, frequency, idle states unless \
                              idle_table names some, all other work of a kernel, and the work of a task \
                              in a section. Costs are medians of traces of one virtual machine.";

/// Machines with more CPUs have no table of their CPUs; the JSON has the rows.
const MOST_CPUS: u64 = 8;

/// The workloads, and the settings of a machine.
pub fn list(width: usize) -> String {
    let mut text = String::from("Workloads:\n");
    for workload in Workload::built_in() {
        let about = workload.about().unwrap_or_default();
        text += &format!("\n  {}: {about}\n", workload.name);
        for it in workload.parameters() {
            text += &format!("    {}={}  {}\n", it.name, it.value(), it.about);
        }
        let machine = workload.plan(&[]).map(|it| it.options);
        let machine = machine.unwrap_or_else(|_| Options::kernel_6_12(8, 1000));
        let changed = changed(&machine);
        text += &format!("    on a machine with {changed}\n");
    }
    text += "\n  replay: a machine replays a kernel's recorded trace\n    \
             trace=FILE  ftrace text, plain or .xz\n";
    text += "\nSettings (--set KEY=VALUE), with their defaults:\n\n";
    let options = Options::kernel_6_12(8, 1000);
    for (head, _) in GROUPS {
        let own = settings::SETTINGS.iter().filter(|it| group(it.key) == head);
        text += &format!("{head}:\n");
        for it in own {
            let (key, value) = (it.key, it.get(&options));
            text += &format!("  {key}={value}  {}; {}\n", it.about(), it.allowed);
        }
        text += "\n";
    }
    text += &versions();
    folded(&text, width, 6)
}

/// The model's own settings: those that no other group has.
const MODELS: &str = "The model's own: no kernel has a parameter of this name";

/// The groups of settings, with their keys or what these begin with.
const GROUPS: [(&str, &str); 5] = [
    ("Short for several settings", "kernel rcu"),
    (
        "The machine, its ticks and its idle states",
        "cpus hz nohz nohz_full preempt fast_no_hz idle_table governor cpu_dma_latency package_limit power",
    ),
    (
        "RCU, as a kernel's parameters and build options",
        "jiffies_till_first_fqs jiffies_till_next_fqs rcu_strict_grace_period blimit qhimark qlowmark \
         rcu_normal_wake_from_gp rcu_expedited rcu_normal rcu_nocbs rcu_nocb_default_all rcu_nocb_poll \
         nohz_full_patience_delay rcu_lazy rcu_fanout_leaf rcu_fanout",
    ),
    (MODELS, ""),
    ("The model's own: what its work costs", "cost."),
];

/// The group of a setting.
fn group(key: &str) -> &'static str {
    let is_key = |it: &str| it == key || it.ends_with('.') && key.starts_with(it);
    let group = GROUPS.iter().find(|it| it.1.split_whitespace().any(is_key));
    group.map_or(MODELS, |it| it.0)
}

/// The same as one line of JSON: in `options`, lists of objects.
pub fn list_json() -> Report {
    let entry = |key: &str, value: String, about: &str, allowed: Option<&str>| {
        let mut entry = json!({ "key": key, "value": value, "about": about });
        entry["allowed"] = allowed.into();
        entry
    };
    let options = Options::kernel_6_12(8, 1000);
    let settings = settings::SETTINGS.iter().map(|it| {
        let mut entry = entry(it.key, it.get(&options), &it.about(), Some(it.allowed));
        entry["group"] = group(it.key).into();
        entry
    });
    let workloads = Workload::built_in().map(|workload| {
        let parameters = workload.parameters().iter();
        let parameters =
            parameters.map(|it| entry(&it.name, it.value().to_owned(), &it.about, None));
        json!({
            "name": workload.name,
            "about": workload.about().unwrap_or_default(),
            "parameters": parameters.collect::<Vec<_>>(),
        })
    });
    let mut report = Report::new("sim --list", 0);
    report.option("workloads", workloads.collect::<Vec<_>>());
    report.option("settings", settings.collect::<Vec<_>>());
    report
}

/// What each version of a kernel decides.
fn versions() -> String {
    let [first, last] = settings::RELEASES;
    let mut text = format!("Decided by kernel={first} to {last}:\n\n");
    for it in settings::HISTORY.iter() {
        let values = it.values.iter().map(|it| match &it.beyond_16 {
            Some(large) => format!(
                "{} up to 16 CPUs and {large} beyond from {} on",
                it.is, it.since
            ),
            None => format!("{} from {} on", it.is, it.since),
        });
        let values: Vec<String> = values.collect();
        text += &format!("  {}  {}; {}\n", it.key, values.join(", "), it.why);
    }
    text
}

/// The settings of a workload's machine.
fn changed(machine: &Options) -> String {
    let plain = settings::listed(&Options::kernel_6_12(8, machine.hz));
    let differs = settings::listed(machine).into_iter().zip(plain);
    let differs = differs.filter(|(set, plain)| set != plain || ["cpus", "hz"].contains(&set.0));
    let words = differs.map(|((key, value), _)| format!("{key}={value}"));
    words.collect::<Vec<_>>().join(" ")
}

/// A variant's case, and the part of it in which variants differ.
pub type Names<'a> = (&'a str, &'a str);

/// The report as text: the first screen, or with a variant and the number of seeds everything.
pub fn screen(
    report: &Report,
    variants: &[Names],
    full: Option<(&Variant, u64)>,
    width: usize,
) -> String {
    let about = report.options["about"].as_str().unwrap_or_default();
    let workload = report.options["workload"].as_str().unwrap_or_default();
    let mut text = match report.options["recommend"] == true {
        true => saved::recommendation(report, variants, width) + "\n",
        false => String::new(),
    };
    text += &lines(about, &format!("{workload}: "), width);
    if let Some((first, seeds)) = full {
        text += &assumptions(report, width);
        text += &settings(first, seeds, report.seed, width);
    }
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    for (key, before) in [("version", "kernel: "), ("warnings", "warning: ")] {
        for line in report.options[key].as_array().into_iter().flatten() {
            text += &lines(&word(line), before, width);
        }
    }
    let said = saved::sentence(report, variants);
    if !said.is_empty() {
        text += "\n";
        text += &lines(said.trim_end(), "  ", width);
    }
    let saved = format!("{workload}{}", saved::SAVED);
    let mut columns: Vec<Names> = variants.to_vec();
    if report.rows.iter().any(|it| it.case.starts_with(&saved)) {
        columns.push((&saved, "saved, %"));
    }
    let cases: Vec<&str> = columns.iter().map(|it| it.0).collect();
    let shown: Vec<&Row> = match full {
        Some(_) => report.rows.iter().collect(),
        None => first::rows(report, &cases),
    };
    let cpus = report.options.get("cpus").and_then(|it| it.as_u64());
    let are_few = |part: &(&str, &str)| part.1 != "cpu" || cpus <= Some(MOST_CPUS);
    for part in parts(report).into_iter().filter(are_few) {
        let mut table = table(&shown, &columns, part);
        if variants.len() > 2 {
            table = table.turned(full.is_some()); // each variant is a line
        }
        if !table.is_empty() {
            text += &format!("\n{}", table.within(width));
        }
    }
    text += &("\n".to_owned() + &lines(LEAVES_OUT, "  ", width));
    if full.is_none() {
        let more = report.rows.len() - shown.len();
        let assumed = report.options["assumes"].as_array().map_or(0, Vec::len);
        text +=
            &format!("  --full: {more} more figures, {assumed} assumptions, and every setting.\n");
    }
    text
}

/// What the workload and the tables of the machine assume, and what was fitted.
fn assumptions(report: &Report, width: usize) -> String {
    let mut text = String::new();
    for (name, sentences) in [("assumes", "assumes"), ("FITTED", "fitted")] {
        for sentence in report.options[sentences].as_array().into_iter().flatten() {
            let sentence = sentence.as_str().unwrap_or_default();
            text += &lines(sentence, &format!("  {name}: "), width);
        }
    }
    text
}

/// Every setting.
fn settings(first: &Variant, seeds: u64, seed: u64, width: usize) -> String {
    let text = match seeds {
        1 => format!("\nseed {seed}\n"),
        _ => format!("\nseeds {seed} to {}\n", seed.wrapping_add(seeds - 1)),
    };
    let own = first
        .plan
        .parameters
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    let machine = settings::listed(&first.plan.options)
        .into_iter()
        .filter(|it| it.0 != "seed");
    let all: Vec<_> = own
        .chain(machine)
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    text + &lines(&all.join(" "), "  ", width)
}

/// Words, in lines of at most so many columns, below each other.
fn lines(words: &str, before: &str, width: usize) -> String {
    folded(&format!("{before}{words}"), width, before.len()) + "\n"
}

/// The rows of each table: the text between case and name, the column's head.
pub const PARTS: [(&str, &str); 11] = [
    ("", "figure"),
    (THREAD, "thread"),
    (FUNCTION, "function"),
    (", cpu ", "cpu"),
    (", state ", "idle state of CPUs"),
    (", core state ", "idle state of cores"),
    (PACKAGE_STATE, "package state"),
    (", idle for ", "idle for"),
    (KEPT_OUT, "package state not reached, and why"),
    (WOKEN_BY, "package woken by"),
    (POWER, "power by the profile"),
];

/// The parts, watts first where they were asked for.
fn parts(report: &Report) -> Vec<(&'static str, &'static str)> {
    let power = |part: &(&str, &str)| part.0 == POWER;
    let wanted = report.rows.iter().any(|row| row.case.contains(POWER));
    let mut parts = PARTS.to_vec();
    parts.sort_by_key(|part| !(wanted && power(part)));
    parts
}

/// What stands before a name of the part.
pub const THREAD: &str = ", thread";
pub const FUNCTION: &str = ", function ";
pub const PACKAGE_STATE: &str = ", package state ";
pub const WOKEN_BY: &str = ", package woken by ";
pub const POWER: &str = ", power ";

/// Smaller shares of time, in per cent, in which the package was kept out of a state are left out.
pub const KEPT_OUT: &str = ", kept out of ";
const LEAST_PCT: f64 = 0.05;

/// A line of a table: name, metric, unit.
type Line<'a> = (&'a str, &'a str, &'a str);

/// The lines that the rows of a part make.
fn lines_of<'a>(rows: &[&'a Row], cases: &[&str], part: &str) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        for case in cases.iter().filter(|it| !it.ends_with(saved::SAVED)) {
            let Some(name) = named(row, case, part) else {
                continue;
            };
            let line = (name, row.metric.as_str(), row.unit.as_str());
            let shown = part != KEPT_OUT || row.max >= LEAST_PCT;
            if shown && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// A table of the rows of a part: a line for each row of the report, a column for each variant. A figure that
/// is that of all names stands in the head.
fn table(rows: &[&Row], all: &[Names], (part, head): (&str, &str)) -> Table {
    let cases: Vec<&str> = all.iter().map(|it| it.0).collect();
    let lines = lines_of(rows, &cases, part);
    let first = lines.first().filter(|_| !part.is_empty());
    let only = first.filter(|first| lines.iter().all(|it| it.1 == first.1));
    let only = only.map(|(_, metric, unit)| format!("{head}: {metric}, {unit}"));
    let words: &[&str] = match (part, &only) {
        ("", _) => &[head, "unit"],
        (_, Some(only)) => &[only],
        (_, None) => &[head, "figure", "unit"],
    };
    let heads = all.iter().map(|it| match it.1 {
        "" => "value", // nothing varies
        varies => varies,
    });
    let heads: Vec<&str> = words.iter().copied().chain(heads).collect();
    let mut table = Table::new(&heads, words.len());
    for (name, metric, unit) in lines {
        let words: &[&str] = match (part, &only) {
            ("", _) => &[metric, unit],
            (_, Some(_)) => &[name],
            (_, None) => &[name, metric, unit],
        };
        let mut cells: Vec<String> = words.iter().map(|it| (*it).into()).collect();
        for case in &cases {
            let of = |row: &&&Row| named(row, case, part) == Some(name) && row.metric == metric;
            let row = rows.iter().find(of);
            cells.push(row.map_or("-".into(), |row| match row.n {
                _ if case.ends_with(saved::SAVED) => saved::cell(row),
                1 => short(row.median),
                _ if row.min == row.max => short(row.median),
                _ => spread(row.median, row.min, row.max),
            }));
        }
        table.row(cells);
    }
    table
}

/// The name behind the case, if the row belongs to this case and part.
pub fn named<'a>(row: &'a Row, case: &str, part: &str) -> Option<&'a str> {
    let rest = row.case.strip_prefix(case)?;
    match part {
        "" => rest.is_empty().then_some(""),
        THREAD => {
            let rest = rest.strip_prefix(part)?;
            rest.strip_prefix("s ").or(rest.strip_prefix(' '))
        }
        part => rest.strip_prefix(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_of_a_group_is_there_and_those_of_the_model_are_marked() {
        for key in GROUPS[..3].iter().flat_map(|it| it.1.split_whitespace()) {
            assert!(settings::SETTINGS.iter().any(|it| it.key == key), "{key}");
        }
        for key in ["early_qs", "idle_loop", "smp", "gp_cpu"] {
            assert_eq!(group(key), MODELS);
        }
        let text = list(80);
        let at = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words} in {text}"))
        };
        assert!(
            at(MODELS) < at("\n  smp=") && at("\n  smp=") < at(GROUPS[4].0),
            "{text}"
        );
        for it in settings::SETTINGS {
            assert_eq!(
                text.matches(&format!("\n  {}=", it.key)).count(),
                1,
                "{}",
                it.key
            );
        }
    }
}

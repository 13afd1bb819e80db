//! `quiescent sim`: questions before a setting is chosen.

use crate::common::{nonsense, quiescent, report, run, text};
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn of_two_variants_it_says_what_the_second_saves_seed_by_seed() {
    let words = "sim laptop-idle --set callbacks_per_s=20 --compare rcu=offload,lazy --seconds 15 --seeds 2";
    let words: Vec<&str> = words.split(' ').collect();
    let output = run(&words);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    let place = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("no `{words}` in {said}"))
    };
    assert!(place("rcu=lazy saves ") < place("power by the profile"));
    assert!(
        place("power by the profile") < place("grace_periods_per_s"),
        "watts first"
    );
    assert!(
        said.lines().all(|line| line.chars().count() <= 120),
        "{said}"
    );
    let head = said
        .lines()
        .find(|line| line.starts_with("power by"))
        .unwrap();
    let heads: Vec<&str> = head
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(
        heads[3..],
        ["rcu=offload", "rcu=lazy", "saved, %"],
        "only what varies"
    );
    assert!(
        said.lines().count() <= 55 && !said.contains("assumes: "),
        "one screen: {said}"
    );
    for threads in ["rcu_preempt ", "rcuog/* ", "rcuop/* "] {
        place(threads);
    }
    let full = text(&run(&[&words[..], &["--full"]].concat()).stdout);
    assert!(full.contains("assumes: ") && full.contains("jiffies_till_first_fqs=default"));
    for line in said.lines().filter(|it| it.contains(" [")) {
        let begin = line.split(" [").next().unwrap().trim_end();
        let begin = begin.split("  ").next().unwrap();
        assert!(
            full.contains(begin),
            "a row of the first screen is in --full: {line}"
        );
    }
    let report = report(&run(&[&words[..], &["--json"]].concat()));
    let value = |case: &str| {
        let case = format!("laptop-idle {case}, power two-states");
        report
            .find("model", &case, "watts_at_most")
            .unwrap_or_else(|| panic!("{case}"))
    };
    let own = "callbacks_per_s=20 rcu=";
    let (before, after) = (
        value(&format!("{own}offload")),
        value(&format!("{own}lazy")),
    );
    let saved = value("saved");
    assert_eq!((saved.n, saved.unit.as_str()), (2, "%"));
    let by_medians = 100.0 * (1.0 - after.median / before.median);
    assert!(
        (saved.median - by_medians).abs() < 2.0,
        "{} and {by_medians}",
        saved.median
    );
    assert!(saved.min > 0.0 && saved.min <= saved.max);
}

#[test]
fn of_many_variants_one_is_recommended_and_the_others_are_beside_it() {
    let words = "sim screen-off --sweep jiffies_till_first_fqs=3,8,32 --recommend --seconds 10";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    let first = said.lines().next().unwrap_or_default();
    let name = "Recommended: jiffies_till_first_fqs=";
    let best = first.strip_prefix(name).expect("one of them");
    let best = best.split(',').next().expect("its value");
    for other in ["3", "8", "32"].iter().filter(|it| **it != best) {
        let line = format!("\n  jiffies_till_first_fqs={other}: watts_at_most ");
        assert!(said.contains(&line), "{other}: {said}");
    }
    assert_eq!(said.matches(name).count(), 1, "{said}");
    // The rows of the tables are the variants; what is the same for all is not there.
    let is_head =
        |it: &str| it.starts_with("jiffies_till_first_fqs ") && it.contains(" delay_ms_mean");
    assert!(said.lines().any(is_head), "{said}");
    assert!(said.contains("\n32    "), "{said}");
    nonsense(&[
        (&["sim", "sync", "--recommend"], "--sweep"),
        (&["sim", "sync", "--compare", "rcu=offload"], "two values"),
        (
            &["sim", "sync", "--compare", "rcu=offload,lazy,default"],
            "two values",
        ),
    ]);
}

/// What a command prints on a terminal of so many columns, line by line.
fn on_a_terminal(columns: u16, arguments: &[&str]) -> Vec<String> {
    const END: &[u8] = b"the end";
    let (mut ours, mut theirs) = crate::kernel::terminal(50, columns);
    let mut child = quiescent()
        .args(arguments)
        .stdout(theirs.try_clone().expect("a terminal"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the command");
    let reading = std::thread::spawn(move || {
        let (mut said, mut part) = (Vec::new(), [0; 4096]);
        while !said.ends_with(END) {
            let n = ours.read(&mut part).expect("an open terminal");
            said.extend(&part[..n]);
        }
        said
    });
    let end = child.wait().expect("it ends");
    theirs.write_all(END).expect("an open terminal");
    let said = reading.join().expect("what it printed");
    assert!(end.success(), "{arguments:?}");
    let said = text(&said[..said.len() - END.len()]);
    said.lines().map(|it| it.trim_end().to_owned()).collect()
}

#[test]
fn on_a_terminal_every_line_fits() {
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/classic-b-nocb-file100.txt.xz"
    );
    let compared = "sim laptop-idle --compare rcu=offload,lazy --seeds 2 --seconds 5";
    let (listed, scenarios) = ("sim --list", "torture --list");
    let batches = format!("trace {trace} batches");
    let changed = format!("whatif {trace} --set early_qs=init");
    let (measured, machines) = ("bench read -q --rounds 1", "torture --sim -q --seeds 1");
    for words in [
        compared, listed, scenarios, &batches, &changed, measured, machines,
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = on_a_terminal(80, &words);
        assert!(said.len() > 5, "{words:?}: {said:?}");
        let wide = said.iter().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{words:?}");
    }
    // The name of a file is shortened in the middle, and where there is room nothing is.
    let folder = std::env::temp_dir().join(format!(
        "long-name-{}{}",
        std::process::id(),
        "-".repeat(80)
    ));
    std::fs::create_dir(&folder).expect("a place for a file");
    let copy = folder.join("file100.txt.xz");
    std::fs::copy(trace, &copy).expect("a copy");
    let copy = copy.to_str().expect("a plain name");
    let words = ["trace", copy, "batches"];
    let head = |columns| on_a_terminal(columns, &words)[0].clone();
    assert!(head(80).contains('…') && head(80).contains("file100.txt.xz: ftrace text, xz"));
    assert_eq!(head(1000), format!("{copy}: ftrace text, xz"));
    let tables = |columns| {
        let said = on_a_terminal(columns, &words);
        said.iter()
            .filter(|line| line.starts_with("invoker "))
            .count()
    };
    assert_eq!([80, 1000].map(tables), [2, 1]);
    std::fs::remove_dir_all(&folder).expect("our own");
}

use super::*;

const SMALL: &str = r#"
about = "one"
assumes = ["nothing"]
until = "tasks"
[parameters]
calls = { value = 3, about = "calls" }
[[task]]
work = "rounds"
name = "caller"
calls = "$calls"
"#;

fn read(text: &str) -> Result<Workload, Error> {
    Workload::read("x", "x.toml", text)
}

/// The error that a change of the file gives.
#[track_caller]
fn wrong(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from));
    read(&SMALL.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn every_workload_that_is_part_of_the_program_runs() {
    let mut names = Vec::new();
    for it in Workload::built_in() {
        assert!(!it.about().unwrap().is_empty() && !it.assumes().is_empty());
        let mut plan = it.plan(&[("cpus", "16")]).unwrap();
        (plan.length, plan.warm_up) = (300_000_000, 100_000_000);
        let stats = plan.run(|| false).unwrap();
        let srcu = stats.srcu.iter().any(|it| !it.grace_periods.is_empty());
        let lazy = stats.funcs.iter().any(|it| it.lazily > 0);
        let does = !stats.grace_periods.is_empty() || srcu || lazy;
        assert!(does, "{}", it.name);
        names.push(it.name);
    }
    assert_eq!(names, BUILT_IN.iter().map(|it| it.0).collect::<Vec<_>>());
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    for it in Workload::built_in() {
        let trace = |seed: &str| {
            let mut plan = it.plan(&[("seed", seed), ("cpus", "12")]).unwrap();
            (plan.length, plan.warm_up) = (200_000_000, 0);
            let mut machine = plan.machine();
            machine.keep_trace();
            assert!(plan.run_on(&mut machine, || false));
            let mut text = Vec::new();
            machine.write_trace(&mut text).unwrap();
            text
        };
        let first = trace("1");
        assert_eq!(first, trace("1"), "{}", it.name);
        assert_ne!(first, trace("2"), "{}", it.name);
    }
}

#[test]
fn a_run_can_be_stopped() {
    let plan = Workload::named("churn").unwrap().plan(&[]).unwrap();
    let looks = std::cell::Cell::new(0);
    let stop = || looks.replace(looks.get() + 1) == 2;
    assert_eq!(plan.run(stop), None);
    assert_eq!(looks.get(), 3);
}

#[test]
fn parameters_and_settings_are_changed_by_name() {
    let it = read(SMALL).unwrap();
    let plan = it
        .plan(&[("calls", "7"), ("hz", "250"), ("calls", "2")])
        .unwrap();
    assert_eq!(plan.options.hz, 250);
    assert_eq!(plan.parameters, [("calls".to_owned(), "2".to_owned())]);
    assert_eq!(plan.run(|| false).unwrap().calls.len(), 2);
    let said = |key, value| it.plan(&[(key, value)]).unwrap_err().to_string();
    assert!(said("cals", "1").contains("did you mean `calls`"));
    assert!(said("calls", "many").contains("`calls=many`: calls takes a number"));
    assert!(said("cpus", "0").contains("1 to 1048576"));
}

#[test]
fn what_is_wrong_in_a_file_has_a_line_and_a_column() {
    for (from, to, said) in [
        ("calls = {", "calls = [", "line 6, column"),
        (
            "\"tasks\"",
            "\"never\"",
            "line 4, column 9: `until = never`: until takes tasks, time",
        ),
        (
            "until",
            "untill",
            "line 4, column 1: unknown field `untill`, expected one of",
        ),
        (
            "\"$calls\"",
            "\"$call\"",
            "line 10, column 9: `$call`: no such parameter; did you mean `$calls`",
        ),
        (
            "value = 3",
            "value = -3",
            "line 6, column 19: `calls = -3`: calls takes a number",
        ),
        (
            "\"rounds\"",
            "\"round\"",
            "line 8, column 8: `work = round`",
        ),
        ("name = \"caller\"\n", "", "`name` is missing here"),
        (
            "name",
            "nam",
            "`nam` is no field here; did you mean `name`?",
        ),
        ("[\"nothing\"]", "[]", "says what it assumes"),
        ("[\"nothing\"]", "\"nothing\"", "line 3, column 11"),
        ("[[task]]", "[task]", "write [[…]]"),
        (
            "[parameters]",
            "[machine]\nhz = 0\n[parameters]",
            "line 6, column 6",
        ),
        (
            "[parameters]",
            "[machine]\ncpus = 10000000\n[parameters]",
            "line 6, column 8: `cpus=10000000`: idle,",
        ),
        (
            "[parameters]",
            "[machine]\nhzz = 0\n[parameters]",
            "did you mean `hz`",
        ),
        (
            "[parameters]",
            "[machine]\nhz = 250\nenable_rcu_lazy = 7\n[parameters]",
            "line 7, column 19",
        ),
        (
            "[parameters]",
            "[machine]\nhz = 250\ngp_cpu = 9\n[parameters]",
            "line 7, column 10: `gp_cpu=9`: there is no such CPU",
        ),
        (
            "calls = { value",
            "hz = { value",
            "is a setting of the machine",
        ),
        ("about = \"calls\"", "abut = 1", "did you mean `about`"),
        ("about = \"one\"", "about = [1]", "give a text or a number"),
    ] {
        let error = wrong(from, to);
        assert!(
            error.contains(said) && error.contains("x.toml: line"),
            "{to}: {error}"
        );
    }
}

/// A workload of so many sections, on a machine of so many CPUs.
fn sections(cpus: u32, n: usize, section: &str) -> Result<Workload, Error> {
    let head = format!("about = \"x\"\nassumes = [\"x\"]\n[machine]\ncpus = {cpus}\n");
    read(&(head + &format!("[[task]]\nname = \"a\"\n{section}\n").repeat(n)))
}

#[test]
fn what_a_few_bytes_ask_for_is_bounded_in_sum() {
    let refused = |cpus, n, section: &str| {
        let why = sections(cpus, n, section).unwrap_err().to_string();
        assert!(why.starts_with("x.toml: line "), "{why}");
        why
    };
    let tasks = "work = \"rounds\"\ntasks = 50000";
    assert!(sections(4, 2, tasks).is_ok());
    let why = refused(4, 3, tasks);
    assert!(
        why.contains("line 13, column 1: 150000 tasks") && why.contains("100000"),
        "{why}"
    );
    // Each names all CPUs, for one task.
    let list = "work = \"turns\"\ncompute = \"1ms\"\nsleep = \"1ms\"\ntasks = 1\ncpu = \"0-N\"";
    assert!(sections(1 << 20, 4, list).is_ok());
    assert!(refused(1 << 20, 5, list).contains("lists and callbacks of tasks make 5242880"));
    // Each task has a copy of what it plugs, and of its callbacks.
    let plug = "work = \"plug\"\nwhich = \"0-N\"\ntasks = 1000";
    assert!(sections(4096, 1, plug).is_ok());
    assert!(refused(8192, 1, plug).contains("make 8192000"));
    let callbacks = "work = \"queue\"\nrate = 1\ntasks = 100000\ncallbacks = [";
    let callbacks = callbacks.to_owned() + &"{ func = \"f\" },".repeat(50) + "]";
    assert!(refused(4, 1, &callbacks).contains("make 5000000"));
    let name = format!(
        "work = \"rounds\"\n[[task]]\nwork = \"rounds\"\nname = \"{}\"",
        "x".repeat(300)
    );
    assert!(refused(4, 1, &name).contains("a name of 300 bytes: give 256"));
}

/// One task, and callbacks of every CPU in its list; without `roams` it is a task on each.
#[test]
fn a_task_that_roams_queues_wherever_it_wakes_up() {
    let text = |roams: &str| {
        let task = format!(
            "work = \"queue\"\nname = \"daemon\"\ncpu = \"1-3\"\nroams = {roams}\nrate = 500\ncallbacks = \
             [{{ func = \"f\" }}]\n"
        );
        let head = "about = \"one\"\nassumes = [\"nothing\"]\nuntil = \"time\"\nseconds = 1\n";
        format!("{head}[machine]\nrcu = \"offload\"\n[[task]]\n{task}")
    };
    let woken = |roams: &str, threads: &str| {
        let stats = read(&text(roams)).unwrap().plan(&[]).unwrap().run(|| false);
        let woken = stats.unwrap().wakeups.into_iter().filter(|it| it.1 > 0);
        let names = woken.map(|it| it.0).filter(|it| it.starts_with(threads));
        names.collect::<Vec<_>>()
    };
    let mut invokers = woken("1", "rcuop/");
    invokers.sort_unstable();
    assert_eq!(invokers, ["rcuop/1", "rcuop/2", "rcuop/3"]);
    assert_eq!(woken("1", "daemon"), ["daemon"]);
    assert_eq!(woken("0", "daemon").len(), 3);
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let error = Workload::named("/nowhere/at.all").unwrap_err().to_string();
    assert!(
        error.contains("/nowhere/at.all") && error.contains("torture5s"),
        "{error}"
    );
}

#[test]
fn a_switch_of_two_callbacks_is_refused() {
    let two = "callbacks = [{ func = \"a\" }, { func = \"b\" }]";
    let text = SMALL
        .replace("rounds", "switch")
        .replace("calls = \"$calls\"", two);
    let error = read(&text).unwrap_err().to_string();
    assert!(
        error.contains("has one callback") && error.contains("line 7"),
        "{error}"
    );
}

/// Damage to a text: what is cut out, and what is put there.
fn damaged(text: &str, at: usize, cut: usize, put: &str) -> String {
    let text: Vec<char> = text.chars().collect();
    let at = at % (text.len() + 1);
    let end = (at + cut).min(text.len());
    let (before, after) = (text[..at].iter(), text[end..].iter());
    before
        .copied()
        .chain(put.chars())
        .chain(after.copied())
        .collect()
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_workload_or_an_error(cut in 0..SMALL.len(), text in "[\\[\\]{}=\"$a-z0-9\n .]{0,12}") {
        let mut changed = SMALL.to_owned();
        changed.insert_str(cut, &text);
        let _ = read(&changed);
    }

    #[test]
    fn a_damaged_workload_is_read_or_refused_with_its_place(
        which in 0..BUILT_IN.len(),
        at in proptest::num::usize::ANY,
        cut in 0..40usize,
        put in "[\\[\\]{}=\"$a-z0-9\n .é-]{0,8}",
    ) {
        let text = damaged(BUILT_IN[which].1, at, cut, &put);
        let lines = text.split('\n').count();
        match read(&text) {
            Ok(_) => {}
            Err(Error::File { line, column, .. }) => {
                proptest::prop_assert!((1..=lines).contains(&line) && column >= 1, "line {line} of {lines}, \
                    column {column}");
            }
            Err(other) => proptest::prop_assert!(false, "without a place: {other}"),
        }
    }
}

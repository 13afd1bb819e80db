use super::*;

#[test]
fn all_that_are_part_of_the_program_are_right_and_say_what_they_stress() {
    let mut seen = Cast([0; ROLES]);
    let mut kinds = 0;
    for name in names() {
        let scenario = Scenario::named(name).unwrap_or_else(|why| panic!("{why}"));
        assert!(!scenario.about.is_empty() && !scenario.stresses.is_empty());
        for role in Role::ALL {
            seen.set(role, seen.of(role) + scenario.options.cast.of(role));
        }
        let lazy = scenario.options.kinds.iter().any(|kind| kind.is_lazy());
        let writers = [Role::Writer, Role::SrcuWriter, Role::DomainWriter];
        let writes = writers
            .into_iter()
            .any(|it| scenario.options.cast.of(it) > 0);
        assert!(
            scenario.options.cast.of(Role::Lazy) > 0 || (writes && lazy),
            "{name}: nothing in it is lazy"
        );
        kinds += scenario.options.kinds.len();
    }
    for role in Role::ALL {
        assert!(seen.of(role) > 0, "no scenario has a {}", role.name());
    }
    assert!(kinds > BUILT_IN.len());
}

#[test]
fn every_file_of_the_folder_is_part_of_the_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/torture");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the scenarios")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut known: Vec<&str> = names().collect();
    known.sort();
    assert_eq!(files, known);
}

#[test]
fn the_legend_has_all_actors() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verification.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for name in Role::ALL.map(Role::name) {
        assert!(
            page.contains(&format!("`{name}`")),
            "{name}: not in docs/verification.md"
        );
    }
}

fn error(text: &str) -> String {
    match Scenario::read("X", "x.toml", text) {
        Ok(_) => panic!("taken: {text}"),
        Err(why) => why.to_string(),
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let good = "about = \"a\"\nstresses = [\"b\"]\n[actors]\nwriter = 1\n";
    assert!(Scenario::read("X", "x.toml", good).is_ok());
    for (text, at, words) in [
        ("about = ", "line 1, column 9", "string"),
        (
            "stresses = []\n[actors]\n",
            "line 1",
            "missing field `about`",
        ),
        (
            &good.replace("writer", "writter"),
            "line 4, column 1",
            "no such actor",
        ),
        (
            &good.replace("= 1", "= 5000"),
            "line 4, column 1",
            "too many",
        ),
        (&good.replace("= 1", "= 0"), "line 3", "actors: give 1 to"),
        (&good.replace("= 1", "= -1"), "line 4, column 10", "-1"),
        (
            &format!("kinds = [\"defer\", \"sing\"]\n{good}"),
            "line 1, column 19",
            "no such way",
        ),
        (
            &format!("kinds = []\n{good}"),
            "line 1, column 9",
            "need one",
        ),
        (
            &format!("expects = [\"luck\"]\n{good}"),
            "line 1, column 12",
            "no such counter",
        ),
        (
            &format!("slots = 0\n{good}"),
            "line 1, column 9",
            "1 to 65534",
        ),
        (
            &format!("fence = \"wooden\"\n{good}"),
            "line 1, column 9",
            "wooden",
        ),
        (
            &format!("fences = 1\n{good}"),
            "line 1, column 1",
            "unknown field `fences`",
        ),
        (
            &format!("{good}[delays]\nnap_us = 3\n"),
            "line 6, column 1",
            "unknown field `nap_us`",
        ),
    ] {
        let error = error(text);
        assert!(
            error.starts_with("x.toml: line") && error.contains(at) && error.contains(words),
            "{text}\n{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let unknown = Scenario::named("TREE99").unwrap_err().to_string();
    assert!(unknown.contains("TREE99") && unknown.contains("TREE01, TREE02"));
}

#[test]
fn a_run_is_as_the_file_says() {
    let text = "about = \"a\"\nstresses = [\"b\"]\nfence = \"fenced\"\nslots = 62\nkinds = [\"defer_lazy\"]\n\
                expects = [\"flushes.lazy\"]\n[actors]\nreader = 3\n[delays]\nsection_us = 7\n\
                [library]\nlazy_ms = 300\nstall_after_ms = 200\nbudget_bytes = 4096\n";
    let options = Scenario::read("X", "x.toml", text).unwrap().options();
    assert_eq!(options.library.fence, Some(FenceMode::Fenced));
    assert_eq!(options.library.max_threads, Some(62));
    assert_eq!(options.library.budget_bytes, Some(4096));
    assert_eq!(
        options.library.stall_after,
        Some(Duration::from_millis(200))
    );
    assert_eq!(options.kinds, [Kind::DeferLazy]);
    assert_eq!(
        (options.cast.of(Role::Reader), options.cast.of(Role::Writer)),
        (3, 0)
    );
    assert_eq!(
        (options.delays.section_us, options.delays.pause_ms),
        (7, 1500)
    );
    assert_eq!(
        options.flush.map(|it| it.lazy),
        Some(Duration::from_millis(300))
    );
    assert_eq!(options.expects[0].name, "flushes.lazy");
    assert_eq!(options.long_enough(), Duration::from_secs(2));
}

proptest::proptest! {
    #[test]
    fn a_damaged_scenario_is_read_or_refused_with_its_place(
        which in 0..BUILT_IN.len(),
        at in proptest::num::usize::ANY,
        cut in 0..40usize,
        put in "[\\[\\]{}=\"a-z0-9\n .é-]{0,8}",
    ) {
        let text: Vec<char> = BUILT_IN[which].1.chars().collect();
        let at = at % (text.len() + 1);
        let end = (at + cut).min(text.len());
        let (before, after) = (text[..at].iter(), text[end..].iter());
        let text: String = before.copied().chain(put.chars()).chain(after.copied()).collect();
        let lines = text.split('\n').count();
        match Scenario::read("X", "x.toml", &text) {
            Ok(it) => {
                let options = it.options();
                proptest::prop_assert!(options.cast.0.iter().sum::<usize>() > 0);
                proptest::prop_assert!(options.long_enough() >= Duration::from_secs(2));
            }
            Err(Error::File { line, column, .. }) => {
                proptest::prop_assert!(
                    (1..=lines).contains(&line) && column >= 1,
                    "line {line} of {lines}, column {column}"
                );
            }
            Err(other) => proptest::prop_assert!(false, "without a place: {other}"),
        }
    }
}

//! Rules of the project that a program can check: sizes of files, ordering edges that are explained, listed
//! and removed once, planted bugs that stay small.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The largest number of lines of a source file; a larger one has more than one job. What a crate has in all
/// is bounded by `ci/size.limits`.
const MOST_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust source below a folder of the workspace.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root().join(folder)];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the workspace") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Ids of the form `AB-1` in `text`, where `open` precedes and `close` follows them.
fn ids(text: &str, open: &str, close: char) -> BTreeSet<String> {
    let is_id = |id: &&str| {
        let mut parts = id.split('-');
        let (letters, number) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        parts.next().is_none()
            && (2..=4).contains(&letters.len())
            && letters.chars().all(|c| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    };
    let pieces = text
        .split(open)
        .skip(1)
        .filter_map(|rest| rest.split(close).next());
    pieces
        .map(str::trim)
        .filter(is_id)
        .map(str::to_owned)
        .collect()
}

#[test]
fn files_have_one_job() {
    for path in ["lib", "check", "tools"].into_iter().flat_map(sources) {
        let lines = read(&path).lines().count();
        assert!(
            lines <= MOST_LINES,
            "{}: {lines} lines, more than {MOST_LINES}",
            path.display()
        );
    }
}

/// A file that no module names is not compiled: its tests pass without having run.
#[test]
fn every_source_is_in_a_module() {
    let all: Vec<_> = ["lib", "check", "tools"]
        .into_iter()
        .flat_map(sources)
        .map(|path| (read(&path), path))
        .collect();
    let text = |path: &Path| all.iter().find(|(_, it)| it == path).map(|(text, _)| text);
    let by_path = |path: &Path| {
        let end = format!(
            "{}\"",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        let names = |line: &str| line.contains("path = \"") && line.contains(&end);
        all.iter().any(|(text, _)| text.lines().any(names))
    };
    let is_root = |path: &Path| {
        let folder = path.parent().unwrap_or(path);
        let roots = ["tests", "examples", "benches", "bin", "refused", "accepted"];
        [
            "lib.rs",
            "main.rs",
            "build.rs",
            "switch.rs",
            "attributes.rs",
        ]
        .iter()
        .any(|it| path.ends_with(it))
            || roots.iter().any(|it| folder.ends_with(it)) && !folder.with_extension("rs").exists()
            || folder.ends_with("fuzz_targets")
            || path.to_string_lossy().contains("check/downstream/") // their manifests name them
    };
    for (_, path) in all.iter().filter(|(_, path)| !is_root(path)) {
        let module = match path.ends_with("mod.rs") {
            true => path.parent().unwrap_or(path).to_path_buf(),
            false => path.with_extension(""),
        };
        let folder = module.parent().unwrap_or(&module);
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|it| folder.join(it));
        let named = parents
            .into_iter()
            .chain([folder.with_extension("rs")])
            .filter_map(|parent| text(&parent))
            .any(|text| text.contains(&format!("mod {name};")));
        let shown = path.display();
        assert!(named || by_path(path), "{shown}: no module names it");
    }
}

#[test]
fn every_ordering_edge_is_explained_listed_and_removed_once() {
    let listed = ids(&read(&root().join("docs/ordering.md")), "\n| ", '|');
    assert!(
        listed.len() > 10,
        "the table of edges was found: {listed:?}"
    );
    let mut used = BTreeSet::new();
    for path in ["lib/core/src", "lib/quiescent/src", "lib/collections/src"]
        .into_iter()
        .flat_map(sources)
    {
        used.extend(ids(&read(&path), "[", ']'));
    }
    used.retain(|id| LISTS.iter().all(|(prefix, _)| !id.starts_with(prefix))); // below
    assert_eq!(used, listed, "ids in the sources, and in docs/ordering.md");
    for id in listed {
        let prefix = format!("edge-{}", id.to_lowercase());
        let removed = fs::read_dir(root().join("check/mutations"))
            .expect("the planted bugs")
            .filter_map(Result::ok)
            .any(|e| e.file_name().to_string_lossy().starts_with(&prefix));
        assert!(
            removed,
            "{id}: no check/mutations/{prefix}*.patch removes it"
        );
    }
}

/// Edges that have lists of their own, and the sources that have them: planted bugs remove those that a model
/// finds.
const LISTS: [(&str, &[&str]); 2] = [
    ("MAP-", &["lib/collections/src"]),
    ("FR-", &["lib/core/src", "lib/urcu-abi/src"]),
];

#[test]
fn edges_with_lists_of_their_own_are_explained_and_listed() {
    let listed = ids(&read(&root().join("docs/ordering.md")), "\n* **", '*');
    for (prefix, folders) in LISTS {
        let listed = listed.iter().filter(|id| id.starts_with(prefix)).cloned();
        let mut used = BTreeSet::new();
        for path in folders.iter().flat_map(|it| sources(it)) {
            used.extend(ids(&read(&path), "[", ']'));
        }
        used.retain(|id| id.starts_with(prefix));
        assert_eq!(
            used,
            listed.collect(),
            "ids in the sources, and in docs/ordering.md"
        );
    }
}

/// The patches of a folder of planted bugs, with their texts.
fn planted(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(root().join(folder)).expect("the planted bugs");
    let patches = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "patch"));
    patches.map(|path| (path.clone(), read(&path))).collect()
}

fn assert_small(path: &Path, text: &str) {
    let changed = |sign: char| {
        let twice = format!("{sign}{sign}");
        text.lines()
            .filter(|l| l.starts_with(sign) && !l.starts_with(&twice))
            .count()
    };
    assert!(
        changed('+') <= 3 && changed('-') <= 3,
        "{}: more than three lines",
        path.display()
    );
}

#[test]
fn planted_bugs_are_small_and_say_what_they_break() {
    let mut bugs = 0;
    let is_rung = |line: &str| {
        let rung = line.strip_prefix("rung: ");
        let names_a_program = |it: &str| {
            let kinds = [" --lib", " --test ", " --bin ", " --example "];
            it.contains("cargo test -p ") && kinds.iter().any(|kind| it.contains(kind))
        };
        rung.is_some_and(names_a_program)
    };
    for (path, text) in planted("check/mutations") {
        let name = path.display();
        assert!(
            text.starts_with("why: ") && text.lines().any(is_rung),
            "{name}: header"
        );
        assert_small(&path, &text);
        bugs += usize::from(!name.to_string().contains("edge-"));
    }
    assert!(bugs >= 6, "{bugs} planted bugs");
}

/// The folders of packages with this name, among the zones: exactly one, unless a name is used twice.
fn packages(name: &str) -> Vec<PathBuf> {
    let line = format!("name = \"{name}\"");
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = ["lib", "check", "tools"].map(|it| root().join(it)).into();
    while let Some(folder) = left.pop() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        if manifest.lines().take(3).any(|it| it == line) {
            found.push(folder.clone());
        }
        let entries = fs::read_dir(&folder).expect("a folder of the workspace");
        let entries = entries.map(|entry| entry.expect("a readable folder").path());
        left.extend(entries.filter(|path| path.is_dir() && !path.ends_with("src")));
    }
    found
}

/// A rung that names a test which does not exist any more passes, and catches nothing.
#[test]
fn every_rung_names_a_test_that_is_there() {
    let zones = ["lib", "check", "tools"].into_iter().flat_map(sources);
    let all: Vec<String> = zones.map(|path| read(&path)).collect();
    for (path, text) in planted("check/mutations") {
        let rung = text.lines().find(|line| line.starts_with("rung: "));
        let mut words = rung.expect("a rung").split(' ').peekable();
        let (mut package, mut filter) = (None, None);
        while let Some(word) = words.next() {
            match word {
                "-p" => package = words.next().map(packages),
                "--test" => {
                    let (name, [folder]) = (
                        words.next().expect("a name"),
                        package.as_deref().expect("-p"),
                    ) else {
                        panic!("{}: which package?", path.display());
                    };
                    let manifest = read(&folder.join("Cargo.toml"));
                    let is_there = manifest.contains(&format!("\nname = \"{name}\"\n"))
                        || [format!("tests/{name}.rs"), format!("tests/{name}/main.rs")]
                            .iter()
                            .any(|file| folder.join(file).exists());
                    assert!(is_there, "{}: no test program {name}", path.display());
                    filter = words.next_if(|it| !it.starts_with('-'));
                }
                "--lib" => filter = words.next_if(|it| !it.starts_with('-')),
                _ => {}
            }
        }
        // The last part is a function, or the end of its name; or a module.
        let last = filter
            .unwrap_or_default()
            .trim_end_matches("::")
            .rsplit("::")
            .next();
        let last = last.unwrap_or_default();
        let is_there = all.iter().any(|source| source.contains(last));
        assert!(is_there, "{}: no test {last}", path.display());
    }
}

#[test]
fn every_sanitizer_has_a_planted_bug_that_says_what_is_to_be_reported() {
    let all = planted("check/mutations/sanitizers");
    for (path, text) in &all {
        let name = path.display();
        assert!(text.starts_with("why: "), "{name}: header");
        for field in ["sanitizer", "program", "report", "frame"] {
            assert!(
                text.contains(&format!("\n{field}: ")),
                "{name}: no `{field}:`"
            );
        }
        assert_small(path, text);
    }
    for sanitizer in ["asan", "lsan", "tsan"] {
        let line = format!("\nsanitizer: {sanitizer}\n");
        let own = all.iter().filter(|(_, text)| text.contains(&line)).count();
        assert!(own > 0, "{sanitizer}: nothing is planted for it");
    }
}

#[test]
fn every_fuzz_target_has_a_planted_bug() {
    let mut all = planted("check/mutations/fuzz");
    for (path, text) in &all {
        let header = text.starts_with("why: ") && text.contains("\nfuzz: ");
        assert!(header, "{}: header", path.display());
        assert_small(path, text);
    }
    all.extend(planted("check/mutations"));
    let targets = fs::read_dir(root().join("check/fuzz/fuzz_targets")).expect("the targets");
    let mut count = 0;
    for target in targets {
        let target = target.expect("a file").path();
        let name = target.file_stem().expect("a name").display();
        let line = format!("\nfuzz: {name}\n");
        let own = all.iter().filter(|(_, text)| text.contains(&line)).count();
        assert!(own > 0, "{name}: nothing is planted for it");
        count += 1;
    }
    assert!(count >= 6, "{count} targets");
}

//! One scene in every form in which people have a trace: figures and counts are those of the plain form, or a
//! message says what to do.
//!
//! `data/scene.txt` is the plain form: five wake-ups, two callbacks and a grace period on two CPUs, with
//! invented names. The other forms are made of it here, as atrace, systrace, Chrome, trace-cmd and an editor
//! write them.

use quiescent_trace::{Analysis, Error, Filter, Findings, Kind, Reader, Table, Thread, from_read};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

const SCENE: &str = include_str!("../data/scene.txt");

/// What an analysis finds in these bytes.
fn found(kind: Kind, bytes: impl Into<Vec<u8>>) -> Result<Findings, Error> {
    found_in(kind, bytes, Filter::default())
}

fn found_in(kind: Kind, bytes: impl Into<Vec<u8>>, filter: Filter) -> Result<Findings, Error> {
    let mut reader = Reader::new("scene", from_read("scene", Cursor::new(bytes.into()))?);
    let mut analysis = Analysis::new(kind, filter);
    while let Some(record) = reader.next_record()? {
        analysis.feed(&record);
    }
    analysis.finish(reader.summary())
}

const KINDS: [Kind; 4] = [Kind::Wakeups, Kind::Callbacks, Kind::Gps, Kind::Idle];

/// The tables of all analyses; `unread` lines and fields are not read.
fn tables(bytes: &[u8], unread: u64) -> Vec<Table> {
    let of = |kind| {
        let found = found(kind, bytes).expect("is read");
        let about = found.about;
        assert_eq!(about.unparsed.count() + about.undecoded.count(), unread);
        assert_eq!(about.records, 41);
        found.tables
    };
    KINDS.into_iter().flat_map(of).collect()
}

fn zlib(text: &str) -> Vec<u8> {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(text.as_bytes()).expect("packs");
    zlib.finish().expect("packs")
}

/// As in JSON, with every letter that may be written in two ways written in the longer one.
fn json(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        let _always = match letter {
            '\n' => write!(out, "\\n"),
            '<' => write!(out, "\\u003c"),
            '/' => write!(out, "\\/"),
            letter => write!(out, "{letter}"),
        };
    }
    let events = r#"{"name": "a \"systemTraceEvents\": \"x", "args": {"systemTraceEvents": "y"}}"#;
    format!("{{ \"traceEvents\": [{events}], \"systemTraceEvents\" : \"{out}\", \"z\": [1]}}\n")
}

#[test]
fn every_form_has_the_figures_of_the_plain_one() {
    let plain = tables(SCENE.as_bytes(), 0);
    let atrace = format!("capturing trace... done\nTRACE:\n{SCENE}");
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<script>var x = \"a-1 [000] d..2. 9.0: a: b\";\n{}\n</script>\n\
         <script class=\"trace-data\" type=\"application/text\">\n{SCENE}  </script>\n\
         <script class=\"trace-data\" type=\"application/text\">\nPROCESS DUMP\nUSER PID\n</script>\n\
         </html>\n",
        "x".repeat(200_000)
    );
    let packed = [b"capturing trace... done\nTRACE:\n", &zlib(SCENE)[..]].concat();
    // As zlib's levels 2 to 5 begin: this crate's do not say which they are.
    let mut level_5 = zlib(SCENE);
    level_5[1] = b'^';
    let mark = "\u{feff}";
    for (form, bytes) in [
        ("atrace", atrace.clone().into_bytes()),
        ("atrace -z", packed),
        ("zlib", zlib(SCENE)),
        ("zlib, level 5", level_5),
        ("zlib of a page", zlib(&page)),
        ("a page", page.into_bytes()),
        ("JSON", json(SCENE).into_bytes()),
        ("a mark", format!("{mark}{SCENE}").into_bytes()),
        (
            "a mark, JSON",
            format!("{mark}{}", json(SCENE)).into_bytes(),
        ),
    ] {
        assert!(tables(&bytes, 0) == plain, "{form}");
    }
}

#[test]
fn a_time_of_many_digits_touches_the_flags() {
    let later = |gap: &str| SCENE.replace(".   100.", &format!("{gap}1831645."));
    let plain = tables(later(". ").as_bytes(), 0);
    assert!(tables(later(".").as_bytes(), 0) == plain);
    // The last flag may be a digit: a task that may not be migrated.
    let digit = later(".").replace("[000] d..2.1", "[000] d..211");
    assert!(tables(digit.as_bytes(), 0) == plain);
}

#[test]
fn names_that_look_like_fields_are_parsed_from_the_right() {
    let plain = tables(SCENE.as_bytes(), 0);
    for name in [
        "[b]: c-7 pid=9",
        "x prev_pid=3",
        "x next_pid=3",
        "p pid=9 prio=1",
        "a target_cpu=7",
    ] {
        let column = |pid| format!("{:>16}-{pid}", name);
        let named = SCENE.replace("          worker-41", &column(41));
        let named = named.replace("comm=worker", &format!("comm={name}"));
        let mut named = tables(named.as_bytes(), 0);
        for row in named.iter_mut().flat_map(|table| &mut table.rows) {
            row.labels
                .iter_mut()
                .filter(|it| *it == name)
                .for_each(|it| *it = "worker".into());
        }
        assert!(named == plain, "{name}");
    }
}

#[test]
fn what_cannot_be_read_names_its_cause() {
    let unknown =
        format!("{SCENE}          worker-41    [001] d..2.   100.050000: [UNKNOWN EVENT]\n");
    let about = found(Kind::Wakeups, unknown).expect("is read").about;
    let said = about.unparsed.first()[0].to_string();
    assert!(said.contains("had no format for this event"), "{said}");
    let said = found(Kind::Wakeups, r#"{"traceEvents": []}"#)
        .expect_err("has none")
        .to_string();
    assert!(
        said.contains("JSON without a text `systemTraceEvents`"),
        "{said}"
    );
    let cut = json(SCENE);
    let said = found(Kind::Wakeups, &cut[..cut.len() / 2])
        .expect_err("is cut")
        .to_string();
    assert!(said.contains("has no end"), "{said}");
    let packed = zlib(SCENE);
    let said = found(Kind::Wakeups, &packed[..packed.len() / 2])
        .expect_err("is cut")
        .to_string();
    assert!(said.contains("cut short or damaged"), "{said}");
}

/// The lines of the scene that are kept.
fn only(keep: impl Fn(&str) -> bool) -> String {
    let kept = SCENE
        .lines()
        .filter(|line| line.starts_with('#') || keep(line));
    kept.map(|line| format!("{line}\n")).collect()
}

fn time(line: &str) -> &str {
    let at = line.find(" 100.").expect("has a time");
    &line[at + 1..][..10]
}

/// What is said of CPUs that cover different times, and what they are.
fn said(found: &Findings) -> &str {
    let about = found.about.doubts.iter();
    about
        .map(String::as_str)
        .find(|it| it.starts_with("CPUs cover"))
        .unwrap_or("")
}

#[test]
fn rates_are_over_the_time_that_each_cpu_covers() {
    let one = |line: &str| line.contains("[001]");
    let marked = only(|line| !one(line) || time(line) >= "100.030020").replacen(
        "          <idle>-0       [001]",
        "##### CPU 1 buffer started ####\n          <idle>-0       [001]",
        1,
    );
    // Woken twice, and did not run in between.
    let late = marked.replace("#####", "#");
    let early = only(|line| !one(line) || time(line) <= "100.020350");
    let (started, ended) = ("100.030020 --to 100.040350", "100.000000 --to 100.020350");
    for (form, text, common, n, seconds) in [
        ("marked", &marked, started, 2, 0.010_330),
        ("late", &late, started, 2, 0.010_330),
        ("early", &early, ended, 3, 0.020_350),
    ] {
        let (wakeups, idle) = (found(Kind::Wakeups, &**text), found(Kind::Idle, &**text));
        let (wakeups, idle) = (wakeups.expect("is read"), idle.expect("is read"));
        let rate = Some(f64::from(n) / seconds);
        for case in ["worker", "(all)"] {
            assert_eq!(
                wakeups.tables[0].figure(case, "wakeups_per_s"),
                rate,
                "{form}"
            );
        }
        for case in ["CPU 1 cpu_idle", "CPU (all)"] {
            assert_eq!(
                idle.tables[0].figure(case, "idle_entries_per_s"),
                rate,
                "{form}"
            );
        }
        let states = &idle.tables[1];
        assert_eq!(
            states.figure("state 1", "idle_entries_per_s"),
            rate,
            "{form}"
        );
        let part = states.figure("state 1", "residency_pct").expect("is known");
        assert!((93.0..100.0).contains(&part), "{form}: {part}");
        let said = said(&wakeups);
        assert!(
            said.contains(&format!("--from {common}")) && said.contains("CPU 1 from"),
            "{said}"
        );
        // With these ends there is nothing to say.
        let [from, to] = [0, 2].map(|word| common.split(' ').nth(word).expect("is there"));
        let ns = |time: &str| {
            time.replace('.', "")
                .parse::<u64>()
                .ok()
                .map(|us| us * 1000)
        };
        let (from_ns, to_ns) = (ns(from), ns(to));
        let filter = Filter {
            from_ns,
            to_ns,
            ..Filter::default()
        };
        let common = found_in(Kind::Wakeups, &**text, filter).expect("is read");
        assert_eq!(self::said(&common), "", "{form}");
        assert_eq!(
            common.tables[0].figure("(all)", "wakeups_per_s"),
            rate,
            "{form}"
        );
    }
    // A mark stands before the first event of each CPU once any has lost some: a CPU that was idle until then
    // lost none, one on which a task ran did.
    let uncalled = |from: &str| {
        only(|line| match one(line) {
            true => time(line) >= from,
            false => !line.contains("worker"),
        })
    };
    let [idle, busy] = ["100.030020", "100.030300"].map(|from| {
        let at = from.split('.').nth(1).expect("a part of a second");
        let text = uncalled(from);
        let line = text
            .lines()
            .find(|line| line.contains(at))
            .expect("is there");
        text.replacen(line, &format!("##### CPU 1 buffer started ####\n{line}"), 1)
    });
    assert_eq!(said(&found(Kind::Wakeups, idle).expect("is read")), "");
    let lost = found(Kind::Wakeups, busy).expect("is read");
    assert!(
        said(&lost).contains("CPU 1 from 100.030300 s"),
        "{}",
        said(&lost)
    );
    // A CPU that is idle, and is not called, covers the whole time.
    let quiet = only(|line| time(line) < "100.020000" || line.contains("rcu_preempt-15"));
    assert_eq!(said(&found(Kind::Wakeups, quiet).expect("is read")), "");
}

#[test]
fn several_traces_in_one_file() {
    let cpus = ["[000]", "[001]"].map(|cpu| only(|line| line.contains(cpu)));
    let error = found(Kind::Wakeups, cpus.concat()).expect_err("is not in order");
    let said = error.to_string();
    assert!(said.contains("another trace begins at line 18"), "{said}");
    // The command that is named makes the plain form of it.
    let command = said.split('`').nth(3).expect("a command");
    let (command, _) = command.rsplit_once(" | quiescent").expect("a pipe");
    let path = std::env::temp_dir().join(format!("quiescent-forms-{}", std::process::id()));
    std::fs::write(&path, cpus.concat()).expect("is written");
    let command = command.replace("FILE", &path.display().to_string());
    let sorted = std::process::Command::new("sh")
        .args(["-c", &command])
        .output();
    let sorted = sorted.expect("runs").stdout;
    std::fs::remove_file(&path).expect("is there");
    let header: String = SCENE
        .lines()
        .take(7)
        .map(|line| format!("{line}\n"))
        .collect();
    let sorted = [header.as_bytes(), &sorted].concat();
    assert!(tables(&sorted, 0) == tables(SCENE.as_bytes(), 0));

    // Two recordings, in either order; thousands of records of one change nothing.
    let later = SCENE.replace(" 100.", " 200.");
    let long: String = (0..5000)
        .map(|n| {
            let time = format!("300.{n:06}");
            format!("          <idle>-0       [001] d..1.   {time}: cpu_idle: state=1 cpu_id=1\n")
        })
        .collect();
    for [first, second] in [
        [later.clone(), SCENE.to_owned()],
        [later.clone() + &long, SCENE.to_owned()],
        [SCENE.to_owned(), later.clone() + &long],
    ] {
        let error = found(Kind::Wakeups, format!("{first}{second}")).expect_err("are two");
        let said = error.to_string();
        let line = first.lines().count() + 1;
        assert!(said.contains(&format!("tail -n +{line} FILE")), "{said}");
    }
    // One of them, by its time.
    let (from_ns, to_ns) = (Some(200_000_000_000), Some(200_040_350_000));
    let filter = Filter {
        from_ns,
        to_ns,
        ..Filter::default()
    };
    let of_one = found_in(Kind::Idle, format!("{SCENE}{later}"), filter).expect("is one");
    let alone = found(Kind::Idle, SCENE).expect("is read");
    let rates = |found: &Findings| found.tables[0].figure("CPU (all)", "idle_entries_per_s");
    assert_eq!(rates(&of_one), rates(&alone));
}

#[test]
fn an_analysis_that_shows_nothing_says_why() {
    let why = |kind, filter| {
        let found = found_in(kind, only(|line| !line.contains("rcu_")), filter).expect("is read");
        assert!(found.tables.iter().all(Table::is_empty), "{found:?}");
        found.notes.join("; ")
    };
    for (kind, event) in [
        (Kind::Callbacks, "no rcu_callback event"),
        (Kind::Batches, "no rcu_batch_start event"),
        (Kind::Gps, "no rcu_grace_period event"),
    ] {
        let why = why(kind, Filter::default());
        assert!(why.contains(event) && why.contains("by probes"), "{why}");
    }
    let cpus = Some([7].into_iter().collect());
    let on_7 = Filter {
        cpus,
        ..Filter::default()
    };
    assert!(why(Kind::Idle, on_7.clone()).contains("no such CPU in this trace; CPUs 0, 1 wrote"));
    assert!(why(Kind::Wakeups, on_7).contains("no such CPU"));
    let threads = vec![Thread::Name("wrker".into())];
    let of = Filter {
        threads,
        ..Filter::default()
    };
    assert!(why(Kind::Wakeups, of).contains("no thread of this name"));
    let threads = vec![Thread::Name("feeder".into())];
    let of = Filter {
        threads,
        ..Filter::default()
    };
    assert_eq!(
        why(Kind::Wakeups, of),
        "nothing of this kind in the counted part"
    );
}

//! A correct run finds nothing; each misuse is found by its oracle. Runs are child processes: a process has
//! one run.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use quiescent::stats::guarantees;
use quiescent_core::needs;
use quiescent_report::Report;
use quiescent_torture::{Broken, Finding, Kind, Role};

fn torture(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiescent-torture"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> (Output, String) {
    let output = torture(arguments).output().expect("the program is built");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[test]
fn a_good_run_finds_nothing_and_says_what_it_did() {
    let mut missing = String::new();
    // How much a run does in two seconds depends on the load of the machine.
    for seconds in ["2", "10", "40"] {
        missing = good_run(seconds);
        if missing.is_empty() {
            return;
        }
    }
    panic!("never tried, or never read: {missing}");
}

/// Checks what every run must print; returns the names of what this one has not tried.
fn good_run(seconds: &str) -> String {
    let (output, text) = output(&["--duration", seconds, "--seed", "1", "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}\n{errors}");
    let report = Report::from_json(&text).expect("the shape that every command shares");
    let value = |case: &str, metric: &str| {
        let row = report.find("quiescent", case, metric);
        row.unwrap_or_else(|| panic!("no row {case}, {metric}"))
            .median
    };
    assert_eq!((report.seed, value("all", "errors")), (1, 0.0));
    let mut missing = String::new();
    for kind in Kind::ALL {
        let name = kind.name();
        if value(name, "ops") == 0.0 || value(name, "age_0") == 0.0 {
            missing += &format!("{name} ");
        } else if kind.is_timed() {
            let at = |metric| value(name, metric);
            assert!(at("latency_us_p50") <= at("latency_us_p99"), "{name}");
            assert!(at("latency_us_p99") <= at("latency_us_max"), "{name}");
        }
        assert_eq!(
            (value(name, "age_2_up"), value(name, "backlog")),
            (0.0, 0.0)
        );
    }
    for case in ["reader", "signal handler", "callback"] {
        let can_read = case != "signal handler" || guarantees().signal_handlers;
        if can_read && value(case, "reads") == 0.0 {
            missing += &format!("{case} ");
        }
    }
    for case in ["barrier", "drain", "short-lived thread"] {
        if value(case, "ops") == 0.0 {
            missing += &format!("{case} ");
        }
    }
    missing
}

/// What a run of three seconds, which finds nothing, says of a scenario.
fn reported(scenario: &str) -> (Report, String) {
    let arguments = "--duration 3 --seed 1 --json --scenario".split(' ');
    let (output, text) = output(&arguments.chain([scenario]).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{text}");
    let report = Report::from_json(&text).expect("the shape that every command shares");
    (report, text)
}

#[test]
fn maps_are_among_what_a_run_uses() {
    let (report, text) = reported("MAP01");
    let of = |metric| report.find("quiescent", Kind::Mapped.name(), metric);
    for metric in ["ops", "age_0"] {
        assert!(of(metric).is_some_and(|row| row.median > 0.0), "{text}");
    }
}

/// One of each actor, and two readers.
const ALL_ACTORS: &str = "about = \"a little of everything\"\nstresses = [\"what there is\"]\n[actors]\n\
    reader = 2\nwriter = 1\nfake = 1\nbarrier = 1\ndrain = 1\nquiet = 1\nlazy = 1\nchurn = 1\nflood = 1\n\
    dropper = 1\nstall = 1\nfork = 1\npressure = 1\nbudget = 1\ntoggle = 1\nsignal = 1\n\
    srcu-reader = 1\nsrcu-writer = 1\nsrcu-flood = 1\nsrcu-stall = 1\nsrcu-task = 1\nsrcu-maker = 1\n\
    domain-reader = 1\ndomain-writer = 1\ndomain-flood = 1\ndomain-stall = 1\ndomain-maker = 1\n\
    domain-policy = 1\n\
    [library]\nlazy_ms = 300\nstall_after_ms = 100\n";

#[test]
fn every_actor_acts() {
    let file = std::env::temp_dir().join(format!("torture-{}.toml", std::process::id()));
    std::fs::write(&file, ALL_ACTORS).expect("a place for a file");
    let path = file.to_str().expect("a plain name");
    // Long enough that a missing action is waited for, and found missing; the common pause is after two.
    let (report, text) = reported(path);
    std::fs::remove_file(&file).expect("it was there");
    let here = guarantees();
    for role in Role::ALL {
        let (case, metric) = match role {
            Role::Signal if !here.signal_handlers => continue,
            Role::Fork if !here.forks => continue,
            Role::Reader => ("reader", "reads"),
            Role::Signal => ("signal handler", "reads"),
            Role::Churn => ("short-lived thread", "ops"),
            _ => (role.name(), "ops"),
        };
        let row = report.find("quiescent", case, metric);
        assert!(row.is_some_and(|row| row.median > 0.0), "{case}: {text}");
    }
    for case in ["lazily", "pause", "stall report"] {
        let row = report.find("quiescent", case, "ops");
        assert!(row.is_some_and(|row| row.median > 0.0), "{case}: {text}");
    }
}

/// Runs the program with a misuse; it must end with code 1 and find at least one of these.
fn must_find(broken: Broken, seconds: &str, stall: &str, expected: &[Finding]) {
    let more = ["--duration", seconds, "--stall", stall, "--seed", "1"];
    found_in(broken, &more, expected);
}

fn found_in(broken: Broken, more: &[&str], expected: &[Finding]) {
    let name = broken.name();
    let (output, text) = output(&[&["--broken", name], more].concat());
    assert_eq!(
        output.status.code(),
        Some(1),
        "{name} was not found: {text}"
    );
    let found = |finding: &Finding| text.contains(&format!("FOUND {}", finding.text()));
    assert!(
        expected.iter().any(found),
        "{name} was found by another oracle: {text}"
    );
    let events = text.split("the last events").nth(1);
    assert!(events.is_some_and(|it| it.contains("FOUND")), "{text}");
}

#[test]
fn a_grace_period_left_out_is_found() {
    let expected = [Finding::TooShort, Finding::Poisoned];
    must_find(Broken::NoGracePeriod, "20", "30", &expected);
    must_find(Broken::WrongCookie, "20", "30", &expected);
}

#[test]
fn a_block_that_readers_still_find_is_found() {
    let expected = [Finding::Poisoned, Finding::TooShort];
    must_find(Broken::RetireBeforeUnlink, "20", "30", &expected);
}

#[test]
fn callbacks_too_early_too_often_or_never_are_found() {
    let expected = [Finding::InsideSection, Finding::TooShort];
    must_find(Broken::CallNow, "20", "30", &expected);
    must_find(Broken::RunTwice, "20", "30", &[Finding::RanTwice]);
    must_find(Broken::NeverRun, "2", "30", &[Finding::NeverRan]);
}

#[test]
fn a_barrier_that_does_not_wait_is_found() {
    must_find(Broken::SkipBarrier, "20", "30", &[Finding::BarrierEarly]);
}

#[test]
fn blocks_freed_twice_or_never_are_found() {
    must_find(Broken::DoubleFree, "20", "30", &[Finding::DoubleFree]);
    must_find(Broken::Leak, "2", "30", &[Finding::Leaked]);
}

#[test]
fn what_is_left_when_all_is_over_is_found() {
    must_find(Broken::LeftOver, "1", "10", &[Finding::NotIdle]);
    must_find(Broken::SecretPanic, "2", "30", &[Finding::PanicsMiscounted]);
}

#[test]
fn a_reader_that_stays_for_ever_is_found() {
    let expected = [Finding::Hang, Finding::Late];
    must_find(Broken::StuckReader, "60", "3", &expected);
}

#[test]
fn an_element_that_is_found_before_it_is_fit_is_found() {
    must_find(Broken::PublishFirst, "20", "30", &[Finding::Unfit]);
}

#[test]
fn a_cookie_that_is_done_inside_its_section_is_found() {
    must_find(Broken::FalseCookie, "20", "30", &[Finding::Cookie]);
}

#[test]
fn stalls_that_are_not_reported_or_too_early_are_found() {
    let run = ["--scenario", "STALL01", "--seed", "1", "--duration", "20"];
    let deaf = [&run[..], &["--stall", "10"]].concat();
    found_in(Broken::DeafToStalls, &deaf, &[Finding::StallUnreported]);
    found_in(Broken::EarlyStall, &run, &[Finding::StallTooEarly]);
}

#[test]
fn a_child_in_which_a_callback_runs_twice_is_found() {
    needs!(fork);
    let run = ["--scenario", "FORK01", "--seed", "1", "--duration", "20"];
    found_in(Broken::ChildTwice, &run, &[Finding::ForkedChild]);
}

#[test]
fn a_flood_that_does_not_run_off_is_found() {
    must_find(Broken::LostFlood, "60", "3", &[Finding::Hang]);
}

#[test]
fn a_run_in_which_nothing_is_lazy_is_found() {
    let run = [
        "--scenario",
        "TREE05",
        "--seed",
        "1",
        "--duration",
        "2",
        "--stall",
        "10",
    ];
    found_in(Broken::NeverLazy, &run, &[Finding::NotExercised]);
}

/// The same oracles under `Srcu`s.
#[test]
fn misuses_of_srcus_are_found() {
    let run = ["--scenario", "SRCU-N", "--seed", "1", "--duration", "20"];
    let early = [Finding::TooShort, Finding::Poisoned];
    let inside = [Finding::InsideSection, Finding::TooShort];
    for (broken, expected) in [
        (Broken::NoGracePeriod, &early[..]),
        (Broken::WrongCookie, &early),
        (Broken::CallNow, &inside),
        (Broken::RunTwice, &[Finding::RanTwice]),
        (Broken::SkipBarrier, &[Finding::BarrierEarly]),
        (Broken::DoubleFree, &[Finding::DoubleFree]),
        (Broken::PublishFirst, &[Finding::Unfit]),
        (Broken::FalseCookie, &[Finding::Cookie]),
    ] {
        found_in(broken, &run, expected);
    }
}

#[test]
fn what_is_lost_under_srcus_is_found() {
    let run = ["--scenario", "SRCU-N", "--seed", "1", "--duration", "60"];
    let brief = ["--scenario", "SRCU-N", "--seed", "1", "--duration", "2"];
    let within = |run: [&'static str; 6], stall| [&run[..], &["--stall", stall]].concat();
    found_in(Broken::NeverRun, &within(brief, "10"), &[Finding::NeverRan]);
    found_in(Broken::Leak, &within(brief, "10"), &[Finding::Leaked]);
    found_in(Broken::LostFlood, &within(brief, "3"), &[Finding::Hang]);
    let stuck = [Finding::Hang, Finding::Late];
    found_in(Broken::StuckReader, &within(run, "9"), &stuck);
    found_in(
        Broken::WrongSrcu,
        &within(run, "9"),
        &[Finding::NotIsolated],
    );
}

#[test]
fn what_is_lost_under_domains_is_found() {
    let run = ["--scenario", "DOMAIN-N", "--seed", "1", "--duration", "60"];
    let brief = ["--scenario", "DOMAIN-N", "--seed", "1", "--duration", "2"];
    let within = |run: [&'static str; 6], stall| [&run[..], &["--stall", stall]].concat();
    let expected = [Finding::TooShort, Finding::Poisoned];
    found_in(Broken::NoGracePeriod, &run, &expected);
    found_in(Broken::NeverRun, &within(brief, "10"), &[Finding::NeverRan]);
    let stuck = [Finding::Hang, Finding::Late];
    found_in(Broken::StuckReader, &within(run, "9"), &stuck);
    found_in(
        Broken::WrongSrcu,
        &within(run, "9"),
        &[Finding::NotIsolated],
    );
}

#[test]
fn nonsense_is_refused() {
    for arguments in [
        ["--threads", "0"],
        ["--duration", "-1"],
        ["--broken", "honest"],
        ["--stall", "0"],
        ["--scenario", "TREE99"],
    ] {
        let (output, _) = output(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn an_interrupt_ends_the_run_with_the_summary() {
    let mut child = torture(&["--duration", "3600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    // The seed is printed once the handler is installed.
    let mut seed = [0; 4];
    let stderr = child.stderr.as_mut().expect("piped");
    std::io::Read::read_exact(stderr, &mut seed).expect("the seed");
    assert_eq!(&seed, b"seed");
    thread::sleep(Duration::from_millis(300));
    // SAFETY: two integers; the child has not been waited for, so the number is still its own.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    assert_eq!(sent, 0);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("stopped early") && text.contains("nothing found"),
        "{text}"
    );
}

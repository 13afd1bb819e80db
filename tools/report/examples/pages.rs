//! Writes a page of every kind that this crate makes into a folder, with hostile names and figures of every
//! size: the input of `ci/browser`.
//!
//! ```text
//! cargo run -p quiescent-report --example pages -- FOLDER
//! ```

use quiescent_report::pages::{About, Found, machines, measured, torture};
use quiescent_report::{Occasion, Report, Row};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Names that end an attribute, an element, a style or a line, that are too wide, or that have no letters.
const ODD: [&str; 8] = [
    "</title></style><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onload='alert(1)",
    "a name that is much longer than there is room for beside a bar, and goes on, and on, and on, until no \
     reader is left",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "日本語の名前はとても長いので折り返す必要があります、折り返す必要があります",
    "\u{202e}backwards\u{202c} &amp; `code` {} %s \\",
    " ",
];

fn main() {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("give a folder to write to");
        std::process::exit(2);
    };
    let folder = Path::new(&folder);
    for (name, page) in pages() {
        let path = folder.join(format!("sample-{name}.html"));
        if let Err(why) = std::fs::write(&path, page) {
            eprintln!("{}: {why}; is the folder there?", path.display());
            std::process::exit(1);
        }
    }
}

fn pages() -> Vec<(&'static str, String)> {
    let found = Found {
        line: ODD[0].into(),
        words: ODD.map(String::from).into(),
        case: ODD.join("\n"),
        again: format!("quiescent torture --sim --replay '{}'", ODD[1]),
    };
    vec![
        (
            "bench",
            measured(&plain(), "What a command measures", &occasion(false)),
        ),
        ("bench-odd", measured(&odd(), ODD[0], &occasion(true))),
        (
            "bench-nothing",
            measured(&Report::new("bench read", 1), "Nothing", &occasion(true)),
        ),
        (
            "torture",
            torture(&tortured(&[]), &abouts(), &occasion(false)),
        ),
        (
            "torture-found",
            torture(&tortured(&ODD), &abouts(), &occasion(true)),
        ),
        ("sim", machines(&simulated(), None, &occasion(false))),
        (
            "sim-found",
            machines(&simulated(), Some(&found), &occasion(false)),
        ),
    ]
}

fn occasion(odd: bool) -> Occasion {
    Occasion {
        began: UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        elapsed: Duration::from_millis(154_321),
        command_line: match odd {
            true => format!("quiescent {}", ODD.join(" ")),
            false => "quiescent bench read --compare".into(),
        },
        version: "9.8.7".into(),
        stopped: odd,
    }
}

fn put(
    report: &mut Report,
    subject: &str,
    case: &str,
    (metric, unit): (&str, &str),
    samples: &[f64],
) {
    report
        .rows
        .extend(Row::of(subject, case, metric, unit, samples));
}

/// As a command measures: narrow and wide spans, one sample and many, counts, a target met and one not met.
fn plain() -> Report {
    let mut report = Report::new("bench sample", 7);
    report.option("method", "made up, for a browser");
    report.option("rounds", 3);
    for (index, subject) in ["quiescent", "a peer", "another peer", "a third peer"]
        .into_iter()
        .enumerate()
    {
        let factor = 1.0 + 3.0 * index as f64;
        let wide = 40f64.powi(index as i32);
        for case in ["empty", "nested", "load"] {
            put(
                &mut report,
                subject,
                case,
                ("cpu_ns", "ns/pair"),
                &[1.25 * factor, 1.5 * factor, 1.75 * factor],
            );
            put(
                &mut report,
                subject,
                case,
                ("latency_us", "us"),
                &[0.02 * wide, 0.03 * wide, 0.5 * wide],
            );
            put(
                &mut report,
                subject,
                case,
                ("latency_us_p99", "us"),
                &[4.0 * wide],
            );
        }
        put(
            &mut report,
            subject,
            "retire",
            ("peak_rss_bytes", "bytes"),
            &[wide * 5e6],
        );
        put(
            &mut report,
            subject,
            "retire",
            ("ops_per_s", "objects/s"),
            &[8e6 / factor],
        );
        put(
            &mut report,
            subject,
            "at rest",
            ("wakeups", "wake-ups"),
            &[index as f64],
        );
        put(
            &mut report,
            subject,
            "at rest",
            ("timers", "timers"),
            &[0.0],
        );
    }
    for (what, ratio) in [("at most 2 ns", 0.7), ("at most 1 us", 12.5)] {
        put(
            &mut report,
            "quiescent",
            &format!("target: {what}"),
            ("ratio", "of the bound"),
            &[ratio],
        );
    }
    report
}

/// Odd names everywhere, and the smallest and largest figures.
fn odd() -> Report {
    let mut report = Report::new(&format!("bench {}", ODD[1]), u64::MAX);
    report.host.model = ODD[0].into();
    report.host.more.insert(ODD[2].into(), ODD[4].into());
    report
        .host
        .more
        .insert("absent_peers".into(), serde_json::json!({ ODD[0]: ODD[1] }));
    report.option(ODD[0], ODD[3]);
    report.option("method", ODD[6]);
    let figures = [0.0, 1e-300, 1e-9, 0.5, 1.0, 7e4, 1e12, 1e300];
    for subject in ODD.iter().chain(&["quiescent"]) {
        for (case, figure) in ODD.iter().zip(figures) {
            put(
                &mut report,
                subject,
                case,
                ("latency_us", "us"),
                &[figure / 2.0, figure, figure * 1.5],
            );
        }
        put(&mut report, subject, "x", (ODD[0], ODD[4]), &[3.0]);
    }
    report
}

fn abouts() -> Vec<About> {
    let about = |name: &str, about: &str| About {
        name: name.into(),
        about: about.into(),
        stresses: vec!["one thing".into(), ODD[3].into()],
    };
    vec![about("TREE01", "everything at once"), about(ODD[0], ODD[1])]
}

fn tortured(findings: &[&str]) -> Report {
    let mut report = Report::new("torture", 5);
    report.option("scenarios", vec!["TREE01", ODD[0]]);
    let run = |name: &str, findings: &[&str]| {
        let events: Vec<String> = findings
            .iter()
            .map(|it| format!("  0.002257 {it:<12} disposes of {it} 0x9"))
            .collect();
        serde_json::json!({"scenario": name, "seed": 5, "seconds": 2.5, "fence": "membarrier",
                           "line": "4.7 s gp 9000", "findings": findings,
                           "notes": findings.join("\n"), "events": events,
                           "again": format!("quiescent torture --scenario '{name}' --seed 5")})
    };
    report.option("runs", vec![run("TREE01", &[]), run(ODD[0], findings)]);
    let rows = [
        ("all", "errors", "findings", findings.len() as f64),
        ("all", "runs", "times", 2.0),
        ("all", "grace_periods", "times", 90_000.0),
        ("all", "reads", "times", 1.5e9),
        ("reader", "reads", "times", 1.5e9),
        ("short-lived thread", "ops", "times", 17.0),
        ("synchronize", "ops", "disposals", 120.0),
        ("synchronize", "age_0", "sections", 5e8),
        ("synchronize", "age_1", "sections", 700.0),
        ("spans 0", "sections", "times", 5e8),
        ("spans 3 or more", "sections", "times", 1.0),
        (ODD[1], "ops", "disposals", 3.0),
        (ODD[3], "ops", "times", 2.0),
    ];
    for (case, metric, unit, value) in rows {
        put(&mut report, "quiescent", case, (metric, unit), &[value]);
    }
    if !findings.is_empty() {
        put(
            &mut report,
            "quiescent",
            ODD[1],
            ("age_2_up", "sections"),
            &[2.0],
        );
    }
    for power in 0..24 {
        let case = format!("waited {} us and more", 0.256 * f64::from(1 << power));
        put(
            &mut report,
            "quiescent",
            &case,
            ("histogram", "grace periods"),
            &[f64::from(power * power)],
        );
    }
    report
}

fn simulated() -> Report {
    let mut report = Report::new("torture --sim", 1);
    report.option(
        "trace_points_never_reached",
        vec!["rcu_stall_warning:SelfDetected", ODD[1]],
    );
    let counts = [
        ("machines", 2500.0),
        ("errors", 0.0),
        ("distinct_states", 60_000.0),
        ("trace_points", 73.0),
        ("events", 8e8),
        ("faults", 200.0),
        ("ksoftirqd_wakeups", 3.0),
    ];
    for (metric, count) in counts {
        put(&mut report, "model", "all", (metric, "times"), &[count]);
    }
    report
}

use super::*;
use std::time::Duration;

use quiescent_live::telemetry::What;

use crate::interval::{Order, Row, ThreadRow, View};
use crate::sample::{Holdout, Subject};

fn row(name: &str, queued: f64) -> Row {
    Row {
        name: name.into(),
        domain: "process".into(),
        what: What::Code,
        queued_per_s: Some(queued),
        executed_per_s: queued,
        held: Some(17),
        held_bytes: Some(17 * 96),
        delay_ms: Some(12.5),
        lazy_pct: Some(100.0),
        broke_per_s: Some(0.0),
    }
}

fn state() -> State {
    let mut state = State::new(
        "process 7 (server), counted exactly".into(),
        View::default(),
        Duration::from_secs(1),
    );
    state.interval = Some(Interval {
        subject: Subject::Process,
        length: Duration::from_secs(1),
        functions: vec![
            row("server::routes::Table", 12.0),
            row("block of 64 bytes", 1000.0),
            row(
                "a::function::whose::name::is::longer::than::a::small::terminal::is::wide",
                3.0,
            ),
        ],
        threads: vec![ThreadRow {
            id: 71,
            name: "quiescent".into(),
            wakeups_per_s: 20.0,
            cpu_pct: 0.4,
        }],
        more_threads: 0,
        counters: vec![
            ("grace_periods".into(), 100, 10.0),
            ("worker_wakeups.timer".into(), 40, 4.0),
            ("budget_bytes".into(), 64 << 20, 0.0),
        ],
        holdouts: vec![Holdout::Thread {
            id: 77,
            name: Some("reader".into()),
            nesting: 1,
        }],
    });
    state
}

fn drawn(state: &State, width: usize, height: usize) -> Vec<String> {
    let seen = |it: Line| it.text.chars().take(width).collect::<String>();
    let seen = lines(state, width, height).into_iter().map(seen);
    seen.map(|it| it.trim_end().to_owned()).collect()
}

#[test]
fn a_small_terminal_has_what_matters() {
    let lines = drawn(&state(), 80, 24);
    assert!(lines[0].starts_with("quiescent top   process 7 (server)"));
    assert!(lines[1].starts_with("held 51, 4.8 KiB of 64.0 MiB   grace periods/s 10.0"));
    assert!(lines[1].ends_with("fences/s 0 + 0"), "{}", lines[1]);
    assert!(lines[2].contains("timer 4.00"));
    let heading = lines.iter().position(|it| it.starts_with("Callback"));
    let heading = heading.expect("the table");
    assert!(lines[heading].contains("▼Queued/s"), "{}", lines[heading]);
    assert!(lines[heading + 1].starts_with("block of 64 bytes"));
    assert!(lines[heading + 1].contains("1000"));
    let long = &lines[heading + 3];
    assert!(long.starts_with("a::…::is::wide "), "{long}");
    assert!(lines.iter().any(|it| it.starts_with("quiescent ")));
    assert!(lines.contains(&"in the way: thread 77 \"reader\", nesting 1".to_owned()));
    assert!(lines[23].contains("q quit"));
}

#[test]
fn a_wide_one_has_all_columns_and_whole_names() {
    let lines = drawn(&state(), 200, 50);
    let all = lines.join("\n");
    for text in [
        "Domain",
        "Lazy",
        "Broke/s",
        "a::function::whose::name::is::longer",
    ] {
        assert!(all.contains(text), "{text}\n{all}");
    }
}

#[test]
fn whatever_the_size_nothing_breaks() {
    let mut state = state();
    for (width, height) in [(1, 1), (10, 3), (40, 10), (79, 23), (300, 5)] {
        for help in [false, true] {
            state.help = help;
            assert_eq!(drawn(&state, width, height).len(), height);
        }
    }
}

#[test]
fn a_filter_and_trouble_are_shown() {
    let mut state = state();
    state.view.filter = "routes".into();
    let all = drawn(&state, 100, 24).join("\n");
    assert!(all.contains("server::routes") && !all.contains("block of 64"));
    state.trouble = Some("there is no process 7".into());
    assert!(drawn(&state, 100, 24)[23].contains("there is no process 7"));
}

/// Every figure is as long as it may get, so that a cut one is seen.
fn extreme() -> State {
    let mut state = state();
    let interval = state.interval.as_mut().expect("set above");
    for (n, it) in interval.functions.iter_mut().enumerate() {
        it.domain = format!("srcu 12345{n}");
        it.queued_per_s = Some(999_999.4);
        it.executed_per_s = 123_456_789_123.0;
        it.held = Some(123_456_789);
        it.held_bytes = Some((1 << 20) - 1);
        it.delay_ms = Some(987_654_321.0);
        it.broke_per_s = Some(912_345.0);
    }
    interval.functions[0].name = "head at 0x55d0c81a7e40".into();
    let thread = interval.threads[0].clone();
    interval.threads = (0..40)
        .map(|n| ThreadRow {
            id: 4_194_000 + n,
            cpu_pct: 12_799.25,
            wakeups_per_s: 999_999.0,
            ..thread.clone()
        })
        .collect();
    let causes = ["timer", "kick", "pressure", "backlog"];
    for cause in causes {
        interval
            .counters
            .push((format!("worker_wakeups.{cause}"), 1, 123_456.0));
        interval
            .counters
            .push((format!("flushes.{cause}"), 1, 345_678.0));
    }
    interval
        .counters
        .push(("budget_callbacks".into(), 1 << 20, 0.0));
    state.about = "process 4194303 (fifteen-letters), counted exactly".into();
    state
}

#[test]
fn on_a_small_terminal_whole_columns_go_and_no_digit_is_cut() {
    for order in Order::ALL {
        let mut state = extreme();
        state.view.order = order;
        state.paused = true;
        let lines = drawn(&state, 80, 24);
        let all = lines.join("\n");
        // What is shown is shown to its last digit.
        for (heading, figure) in [
            ("Queued/s", "999999"),
            ("Executed/s", "123456.8M"),
            ("Held", "123456789"),
            ("Bytes", "1024.0 KiB"),
            ("Delay ms", "987.7M"),
            ("Broke/s", "912345"),
        ] {
            let row = lines
                .iter()
                .find(|it| it.starts_with("head at 0x55d0c81a7e40"));
            let row = row.unwrap_or_else(|| panic!("{all}"));
            let is_there = lines
                .iter()
                .any(|it| it.contains("Callback") && it.contains(heading));
            let figures = row.split_whitespace().filter(|it| figure.starts_with(it));
            let whole = row.contains(&format!(" {figure}"));
            assert_eq!(whole, is_there, "{heading} {row}");
            assert!(whole || figures.count() == 0, "{heading} {row}");
        }
        let sorted = [
            "Callback", "Queued", "Executed", "Held", "Bytes", "Delay", "Broke",
        ];
        let at = Order::ALL
            .iter()
            .position(|&it| it == order)
            .expect("one of all");
        assert!(all.contains(&format!("▼{}", sorted[at])), "{all}");
        // Above and below the table too.
        for part in [
            "process 4194303 (fifteen-letters), counted exactly   every 1.0 s  PAUSED",
            "in other domains 370370367, 3.0 MiB",
            "held 0 of 1048576, 0 B of 64.0 MiB",
            "pressure 123456, ",
            "backlog 345678\n",
            "  4194000      999999 12799.25\n",
        ] {
            assert!(all.contains(part), "{part}\n{all}");
        }
        assert!(lines[23].starts_with("s sort ("), "{all}");
    }
}

#[test]
fn a_large_terminal_is_used() {
    let mut state = extreme();
    let interval = state.interval.as_mut().expect("set above");
    interval.functions[1].domain = "a domain with a long name".into();
    let rows = interval.functions.clone();
    for n in 0..40 {
        let mut row = rows[1].clone();
        row.name = format!("more::of::them::{n}");
        interval.functions.push(row);
    }
    let lines = drawn(&state, 200, 50);
    let all = lines.join("\n");
    assert!(
        all.contains("a::function::whose::name::is::longer::than::a::small::terminal::is::wide")
    );
    assert!(all.contains("a domain with a long name"), "{all}");
    let headings = lines.iter().find(|it| it.starts_with("Callback"));
    let headings = headings.expect("the table");
    for heading in [
        "Domain",
        "Queued/s",
        "Executed/s",
        "Held",
        "Bytes",
        "Delay ms",
        "Lazy",
        "Broke/s",
    ] {
        assert!(headings.contains(heading), "{headings}");
    }
    // Threads stand in four blocks.
    let heading = lines.iter().find(|it| it.starts_with("Thread "));
    assert_eq!(
        heading.map(|it| it.matches("Thread ").count()),
        Some(4),
        "{all}"
    );
    assert_eq!(all.matches("12799.25").count(), 36, "{all}");
    // And more rows than a small one has lines.
    let shown = lines.iter().filter(|it| it.contains("123456789"));
    assert!(shown.count() >= 30, "{all}");
}

#[test]
fn long_trouble_takes_the_lines_it_needs() {
    let mut state = state();
    state.trouble = Some(
        "process 4194303 counts nothing: start it with QUIESCENT_TELEMETRY=1, or have it call \
         quiescent::telemetry::start()"
            .into(),
    );
    let lines = drawn(&state, 80, 24);
    assert!(lines[22].starts_with("process 4194303"), "{lines:#?}");
    assert!(
        lines[23].ends_with("quiescent::telemetry::start()"),
        "{lines:#?}"
    );
    state.help = true;
    assert!(drawn(&state, 80, 24).join("\n").contains("Ctrl-Z   stop"));
}

#[test]
fn what_names_contain_is_escaped_and_does_not_reach_the_screen() {
    let hostile = "\x1b]0;x\x07\u{9b}2J\u{202e}\n";
    let escaped = r"\x1b]0;x\x07\u{9b}2J\u{202e}\n";
    let mut state = state();
    state.about = hostile.into();
    state.view.filter = String::new();
    let interval = state.interval.as_mut().expect("set above");
    interval.functions[0].name = hostile.into();
    interval.threads[0].name = hostile.into();
    interval.holdouts = vec![Holdout::Preempted {
        name: hostile.into(),
    }];
    let lines = drawn(&state, 120, 40).join("\n");
    // The about line, the callback and the holdout; a thread's name has 16 columns.
    assert_eq!(lines.matches(escaped).count(), 3, "{lines:?}");
    assert!(
        !lines.contains("in the way: \x1b") && lines.contains(r"\x1b]"),
        "{lines:?}"
    );
    let batch = crate::text::text(state.interval.as_ref().expect("set"), &state.view, 120);
    assert!(batch.contains(escaped), "{batch:?}");
    state.trouble = Some(hostile.into());
    assert!(drawn(&state, 120, 40).join("\n").ends_with(escaped));
    state.typing = true;
    state.view.filter = hostile.into();
    assert!(
        drawn(&state, 120, 40)
            .join("\n")
            .contains(&format!("filter: {escaped}_"))
    );
}

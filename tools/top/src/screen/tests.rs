use super::*;
use std::time::Duration;

use quiescent::telemetry::What;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::interval::View;
use crate::interval::{Row, ThreadRow};
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

fn drawn(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, state)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(move |x| buffer[(x, y)].symbol());
    (0..height)
        .map(|y| line(y).collect::<String>().trim_end().to_owned())
        .collect()
}

#[test]
fn a_small_terminal_has_what_matters() {
    let lines = drawn(&state(), 80, 24);
    assert!(lines[0].starts_with("quiescent top   process 7 (server)"));
    assert!(lines[1].starts_with("held 51, 4.8 KiB of 64.0 MiB   grace periods/s 10.0"));
    assert!(lines[2].contains("timer 4.00"));
    let heading = lines.iter().position(|it| it.starts_with("Callback"));
    let heading = heading.expect("the table");
    assert!(lines[heading].contains("▼Queued/s"), "{}", lines[heading]);
    assert!(lines[heading + 1].starts_with("block of 64 bytes"));
    assert!(lines[heading + 1].contains("1000"));
    assert!(
        lines[heading + 3].starts_with('…'),
        "{}",
        lines[heading + 3]
    );
    assert!(lines.iter().any(|it| it.starts_with("quiescent ")));
    assert!(lines.contains(&"in the way: thread 77 \"reader\", nesting 1".to_owned()));
    assert!(lines[23].contains("q quit"));
}

#[test]
fn a_wide_one_has_all_columns_and_whole_names() {
    let lines = drawn(&state(), 200, 60);
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
            assert_eq!(drawn(&state, width, height).len(), usize::from(height));
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

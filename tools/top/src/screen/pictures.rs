//! Pictures of the screen for the documents: drawn by the screen's own code from an invented program, and
//! compared with the files in `docs/pictures`.
//!
//! `QUIESCENT_BLESS=1 cargo test pictures` writes them again after an intended change.

use super::*;
use std::path::Path;
use std::time::Duration;

use quiescent_live::telemetry::What;
use quiescent_report::html::terminal::{Piece, Screen};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};

use crate::interval::View;
use crate::interval::{Row, ThreadRow};
use crate::sample::{Holdout, Subject};

/// Name, domain, queued and executed a second, held, bytes a piece, delay, lazy, what broke laziness.
type Made = (
    &'static str,
    &'static str,
    f64,
    f64,
    u64,
    u64,
    Option<f64>,
    f64,
    f64,
);

const ROWS: [Made; 9] = [
    (
        "server::routes::Table",
        "process",
        12.0,
        12.0,
        6,
        4096,
        Some(4870.0),
        100.0,
        0.0,
    ),
    (
        "block of 64 bytes",
        "process",
        48_200.0,
        47_900.0,
        1630,
        80,
        Some(21.4),
        0.0,
        0.0,
    ),
    (
        "server::session::Session",
        "process",
        910.0,
        905.0,
        1220,
        288,
        Some(640.0),
        100.0,
        0.0,
    ),
    (
        "cache::evict::{closure}",
        "cache",
        130.0,
        131.0,
        14,
        96,
        Some(48.2),
        0.0,
        19.8,
    ),
    (
        "block of 512 bytes",
        "cache",
        75.0,
        75.0,
        310,
        528,
        Some(2210.0),
        100.0,
        0.0,
    ),
    (
        "alloc::sync::Arc<config::Tree>",
        "process",
        0.2,
        0.0,
        1,
        1152,
        None,
        100.0,
        0.0,
    ),
    (
        "metrics::flush::{closure}",
        "process",
        1.0,
        1.0,
        0,
        96,
        Some(0.3),
        0.0,
        1.0,
    ),
    (
        "head at 0x55d0c81a7e40",
        "process",
        260.0,
        262.0,
        41,
        48,
        Some(122.0),
        0.0,
        0.0,
    ),
    (
        "index::merge::Segment",
        "srcu 1",
        3.5,
        3.5,
        2,
        8192,
        Some(310.0),
        100.0,
        0.0,
    ),
];

fn state() -> State {
    let row = |made: &Made| {
        let &(name, domain, queued, executed, held, bytes, delay, lazy, broke) = made;
        Row {
            name: name.into(),
            domain: domain.into(),
            what: match name.starts_with("block") {
                true => What::Memory,
                false => What::Code,
            },
            queued_per_s: Some(queued),
            executed_per_s: executed,
            held: Some(held),
            held_bytes: Some(held * bytes),
            delay_ms: delay,
            lazy_pct: Some(lazy),
            broke_per_s: Some(broke),
        }
    };
    let thread = |id, name: &str, wakeups_per_s, cpu_pct| ThreadRow {
        id,
        name: name.into(),
        wakeups_per_s,
        cpu_pct,
    };
    let about = "process 4711 (server), made up".into();
    let mut state = State::new(about, View::default(), Duration::from_secs(2));
    state.interval = Some(Interval {
        subject: Subject::Process,
        length: Duration::from_secs(2),
        functions: ROWS.iter().map(row).collect(),
        threads: vec![
            thread(4712, "quiescent", 20.6, 0.4),
            thread(4713, "quiescent-2", 0.0, 0.0),
        ],
        more_threads: 0,
        counters: vec![
            ("grace_periods".into(), 48, 24.0),
            ("scans".into(), 91, 45.5),
            ("worker_wakeups.timer".into(), 2, 1.0),
            ("worker_wakeups.hurry".into(), 39, 19.5),
            ("fences_gp".into(), 48, 24.0),
            ("wakeups".into(), 15, 7.5),
            ("reader_wakeups".into(), 9, 4.5),
            ("flushes.hurry".into(), 39, 19.5),
            ("budget_bytes".into(), 64 << 20, 0.0),
            ("budget_callbacks".into(), 1 << 20, 0.0),
        ],
        holdouts: vec![Holdout::Thread {
            id: 4731,
            name: Some("reader 3".into()),
            nesting: 1,
        }],
    });
    state
}

fn looks_like(a: &Cell, b: &Cell) -> bool {
    a.modifier == b.modifier
}

/// What is drawn, as a picture.
fn picture(buffer: &Buffer) -> Screen {
    let (columns, height) = (buffer.area.width, buffer.area.height);
    let line = |y| {
        let cells: Vec<&Cell> = (0..columns).map(|x| &buffer[(x, y)]).collect();
        let pieces = cells.chunk_by(|a, b| looks_like(a, b));
        let piece = |cells: &[&Cell]| Piece {
            text: cells.iter().map(|it| it.symbol()).collect(),
            bold: cells[0].modifier.contains(Modifier::BOLD),
            reversed: cells[0].modifier.contains(Modifier::REVERSED),
        };
        pieces.map(piece).collect()
    };
    Screen {
        title: format!("quiescent top on a terminal of {columns} by {height}"),
        about:
            "Callbacks by function, with how often they are queued and executed and what is held; \
         threads of the library below; a reader in the way"
                .into(),
        columns: usize::from(columns),
        lines: (0..height).map(line).collect(),
    }
}

/// The picture of a size, and its file.
fn check(width: u16, height: u16) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, &state())).expect("drawn");
    let file = format!("../../docs/pictures/top-{width}x{height}.svg");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let again = std::env::var_os("QUIESCENT_BLESS").is_some();
    let picture = picture(terminal.backend().buffer());
    picture
        .compare(&file, again)
        .unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_documents_have_what_is_drawn() {
    check(80, 24);
    check(200, 50);
}

//! The terminal display: the words of the text, fitted to the size of the terminal.

mod state;
mod watch;

pub use watch::watch;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Row as TableRow, Table};

use crate::interval::Interval;
use crate::interval::Order;
use crate::screen::state::State;
use crate::text;
use crate::text::columns::Columns;
use crate::text::names::{shortened, wrapped};
use crate::text::summary::summary;
use quiescent_report::text::shown;

/// Lines for threads with their heading, and for holdouts, on any screen; a large one has more.
const THREAD_LINES: usize = 6;
const HOLDOUT_LINES: usize = 3;

/// Columns between two blocks of threads.
const BETWEEN: usize = 4;

const KEYS: &str = "\
s        sort by the next column        r   the other way round
/ or f   filter: type, Enter; Esc ends  p   pause
+ -      longer, shorter intervals      Up, Down, PgUp, PgDn, Home
Ctrl-Z   stop; the shell's fg resumes   q   quit
h or ?   this";

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let (width, height) = (
        usize::from(frame.area().width),
        usize::from(frame.area().height),
    );
    let interval = state.interval.as_ref();
    let above = match interval {
        Some(interval) => summary(interval, width),
        None => vec!["the first interval is not over yet".to_owned()],
    };
    let threads = interval.map_or(Vec::new(), |it| threads(it, width, height));
    let holdouts = interval.map_or(&[][..], |it| &it.holdouts);
    let holdouts = &holdouts[..holdouts.len().min(HOLDOUT_LINES.max(height / 10))];
    let foot = last_lines(state, width);
    let [title, totals, table, below, readers, last] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(lines(&above).min(3.max(height as u16 / 3))),
        Constraint::Min(3),
        Constraint::Length(lines(&threads)),
        Constraint::Length(lines(holdouts)),
        Constraint::Length(lines(&foot)),
    ])
    .areas(frame.area());
    frame.render_widget(Line::styled(title_line(state, width), bold), title);
    frame.render_widget(Paragraph::new(above.join("\n")), totals);
    if let Some(interval) = interval {
        functions(frame, table, state, interval);
    }
    let mut threads: Vec<Line<'_>> = threads.into_iter().map(Line::from).collect();
    if let Some(heading) = threads.first_mut() {
        heading.style = bold;
    }
    frame.render_widget(Paragraph::new(threads), below);
    let named = holdouts.iter().map(text::holdout);
    let named: Vec<String> = named
        .map(|it| format!("in the way: {}", shown(&it)))
        .collect();
    frame.render_widget(Paragraph::new(named.join("\n")), readers);
    let style = match state.trouble.is_some() && !state.typing {
        true => Style::new().add_modifier(Modifier::REVERSED),
        false => Style::new(),
    };
    frame.render_widget(Paragraph::new(foot.join("\n")).style(style), last);
    if state.help {
        let area = frame.area();
        let help = Rect {
            y: area.y + 1,
            height: 7.min(area.height.saturating_sub(1)),
            ..area
        };
        frame.render_widget(Clear, help);
        frame.render_widget(Paragraph::new(KEYS), help);
    }
}

fn lines<T>(all: &[T]) -> u16 {
    u16::try_from(all.len()).unwrap_or(u16::MAX)
}

/// What is shown, and how often; on a narrow screen without the command's name.
fn title_line(state: &State, width: usize) -> String {
    let about = shown(&state.about);
    let paused = if state.paused { "  PAUSED" } else { "" };
    let every = format!("   every {:.1} s{paused}", state.every.as_secs_f64());
    let line = format!("quiescent top   {about}{every}");
    match line.chars().count() <= width {
        true => line,
        false => {
            let room = width.saturating_sub(every.chars().count());
            format!("{}{every}", shortened(&about, room))
        }
    }
}

/// Threads with their heading, in as many blocks as the width has room for: down, then across.
fn threads(interval: &Interval, width: usize, height: usize) -> Vec<String> {
    let block = text::THREAD_HEADING.chars().count();
    let most = ((width + BETWEEN) / (block + BETWEEN)).max(1);
    let count = interval.threads.len();
    let rows = (THREAD_LINES.max(height / 5) - 1).min(count.div_ceil(most).max(1));
    let blocks = most.min(count.div_ceil(rows)).max(1);
    let gap = " ".repeat(BETWEEN);
    let mut lines = vec![vec![text::THREAD_HEADING.to_owned(); blocks].join(&gap)];
    for row in 0..rows {
        let of_row = interval.threads.iter().skip(row).step_by(rows);
        let cells: Vec<String> = of_row.take(blocks).map(text::thread).collect();
        lines.push(cells.join(&gap));
    }
    lines
}

fn functions(frame: &mut Frame<'_>, area: Rect, state: &State, interval: &Interval) {
    let rows = state.view.rows(interval);
    let sorted = state.view.order;
    let Columns { names, shown } = Columns::of(&rows, sorted, usize::from(area.width));
    let mark = if state.view.reversed { "▲" } else { "▼" };
    let callback = match sorted {
        Order::Name => format!("{mark}Callback"),
        _ => "Callback".to_owned(),
    };
    let mut headings = vec![callback];
    headings.extend(shown.iter().map(|it| it.heading(sorted, mark)));
    let mut widths = vec![Constraint::Length(names as u16)];
    widths.extend(shown.iter().map(|it| Constraint::Length(it.width as u16)));
    let none = text::nothing(interval, rows.len());
    if !none.is_empty() {
        let below = Rect {
            y: area.y + 1.min(area.height),
            height: area.height.saturating_sub(1),
            ..area
        };
        frame.render_widget(none, below);
    }
    let rows = rows.iter().skip(state.first).map(|row| {
        let mut cells = vec![shortened(&row.name, names)];
        cells.extend(shown.iter().map(|it| it.cell(row)));
        TableRow::new(cells)
    });
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let table = Table::new(rows, widths).header(TableRow::new(headings).style(bold));
    frame.render_widget(table.column_spacing(1), area);
}

/// A filter that is being typed, trouble in as many lines as it needs, or the keys.
fn last_lines(state: &State, width: usize) -> Vec<String> {
    if state.typing {
        let line = format!(
            "filter: {}_   (Enter: done, Esc: none)",
            shown(&state.view.filter)
        );
        return vec![line];
    }
    if let Some(trouble) = &state.trouble {
        return wrapped(trouble, width, &[" "]);
    }
    let keys = format!(
        "s sort ({})  r reverse  / filter  p pause  h help  q quit",
        state.view.order.word()
    );
    let room = width.saturating_sub(keys.chars().count() + "   only \"\"".len());
    vec![match state.view.filter.as_str() {
        "" => keys,
        filter => format!("{keys}   only \"{}\"", shortened(filter, room)),
    }]
}

#[cfg(test)]
mod pictures;
#[cfg(test)]
mod tests;

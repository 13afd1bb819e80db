//! The terminal display: the words of the text, fitted to the size of the terminal.

mod state;
mod watch;

pub use watch::watch;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Row as TableRow, Table};

use crate::interval::Interval;
use crate::interval::Order;
use crate::screen::state::State;
use crate::text;
use crate::text::summary::summary;

/// Lines for threads, with their heading.
const THREAD_LINES: u16 = 6;

const KEYS: &str = "\
s        sort by the next column        r   the other way round
/ or f   filter: type, Enter; Esc ends  p   pause
+ -      longer, shorter intervals      Up, Down, PgUp, PgDn, Home
h or ?   this                           q   quit";

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let holdouts = state.interval.as_ref().map_or(0, |it| it.holdouts.len());
    let [title, above, table, threads, readers, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Min(3),
        Constraint::Length(THREAD_LINES),
        Constraint::Length(holdouts.min(3) as u16),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let paused = if state.paused { "  PAUSED" } else { "" };
    let every = state.every.as_secs_f64();
    let line = format!(
        "quiescent top   {}   every {every:.1} s{paused}",
        state.about
    );
    frame.render_widget(Line::styled(line, bold), title);
    if let Some(interval) = &state.interval {
        let lines = summary(interval).into_iter().map(Line::from);
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
        functions(frame, table, state, interval);
        let mut lines = vec![Line::styled(text::THREAD_HEADING, bold)];
        let shown = interval.threads.iter().map(text::thread);
        lines.extend(shown.map(Line::from));
        frame.render_widget(Paragraph::new(lines), threads);
        let named = interval.holdouts.iter().map(text::holdout);
        let named: Vec<Line<'_>> = named
            .map(|it| Line::from(format!("in the way: {it}")))
            .collect();
        frame.render_widget(Paragraph::new(named), readers);
    } else {
        frame.render_widget("the first interval is not over yet", above);
    }
    frame.render_widget(last_line(state), foot);
    if state.help {
        let area = frame.area();
        let help = Rect {
            y: area.y + 1,
            height: 6.min(area.height.saturating_sub(1)),
            ..area
        };
        frame.render_widget(Clear, help);
        frame.render_widget(Paragraph::new(KEYS), help);
    }
}

fn functions(frame: &mut Frame<'_>, area: Rect, state: &State, interval: &Interval) {
    let width = usize::from(area.width);
    let names = text::name_width(width);
    let arrow = if state.view.reversed { '▲' } else { '▼' };
    let heading = |text: &str, width: usize, order: Option<Order>| {
        let text = match order == Some(state.view.order) {
            true => format!("{arrow}{text}"),
            false => text.to_owned(),
        };
        format!("{:>width$}", text::short(&text, width))
    };
    let callback = heading("Callback", 9, Some(Order::Name));
    let mut headings = vec![callback.trim().to_owned()];
    let mut widths = vec![Constraint::Length(names as u16)];
    for (n, name, width) in text::columns(width) {
        headings.push(heading(name, width, text::COLUMNS[n].2));
        widths.push(Constraint::Length(width as u16));
    }
    let rows = state.view.rows(interval);
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
        let mut cells = vec![text::short(&row.name, names)];
        let others = text::columns(width);
        cells.extend(others.map(|(n, _, width)| format!("{:>width$}", text::cell(row, n))));
        TableRow::new(cells)
    });
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let table = Table::new(rows, widths).header(TableRow::new(headings).style(bold));
    frame.render_widget(table.column_spacing(1), area);
}

/// A filter that is being typed, trouble, or the keys.
fn last_line(state: &State) -> Line<'static> {
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    if state.typing {
        return Line::from(format!(
            "filter: {}_   (Enter: done, Esc: none)",
            state.view.filter
        ));
    }
    if let Some(trouble) = &state.trouble {
        return Line::from(Span::styled(trouble.clone(), reversed));
    }
    let filter = match state.view.filter.as_str() {
        "" => String::new(),
        filter => format!("   only \"{filter}\""),
    };
    Line::from(format!(
        "s sort ({})  r reverse  / filter  p pause  h help  q quit{filter}",
        state.view.order.word()
    ))
}

#[cfg(test)]
mod pictures;
#[cfg(test)]
mod tests;

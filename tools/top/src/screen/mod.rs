//! The terminal display: the words of the text, fitted to the size of the terminal.

mod state;
mod terminal;
mod watch;

pub use watch::watch;

use crate::interval::Interval;
use crate::screen::state::State;
use crate::screen::terminal::{Line, Look};
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

/// All of it, in so many lines of so many columns. The table has what the other parts leave of the height.
pub(crate) fn lines(state: &State, width: usize, height: usize) -> Vec<Line> {
    let interval = state.interval.as_ref();
    let mut above = match interval {
        Some(interval) => summary(interval, width),
        None => vec!["the first interval is not over yet".to_owned()],
    };
    above.truncate(3.max(height / 3));
    let mut below = interval.map_or(Vec::new(), |it| threads(it, width, height));
    if let Some(heading) = below.first_mut() {
        heading.look = Look::Bold;
    }
    let holdouts = interval.map_or(&[][..], |it| &it.holdouts);
    let named = holdouts.iter().take(HOLDOUT_LINES.max(height / 10));
    below.extend(named.map(|it| Line::from(format!("in the way: {}", shown(&text::holdout(it))))));
    let foot = last_lines(state, width);
    let others = 1 + above.len() + below.len() + foot.len();
    let room = height.saturating_sub(others).max(3);
    let mut table = interval.map_or(Vec::new(), |it| functions(it, state, width));
    table.resize(room, String::new().into());
    let title = Line {
        text: title_line(state, width),
        look: Look::Bold,
    };
    let mut lines = vec![title];
    lines.extend(above.into_iter().map(Line::from));
    lines.extend(table);
    lines.extend(below);
    lines.truncate(height.saturating_sub(foot.len()));
    let look = match state.trouble.is_some() && !state.typing {
        true => Look::Reversed,
        false => Look::Plain,
    };
    lines.extend(foot.into_iter().map(|text| Line { text, look }));
    if state.help {
        let keys = KEYS
            .lines()
            .map(|it| it.to_owned().into())
            .chain([String::new().into()]);
        lines
            .iter_mut()
            .skip(1)
            .zip(keys)
            .for_each(|(line, key)| *line = key);
    }
    lines.truncate(height);
    lines
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
fn threads(interval: &Interval, width: usize, height: usize) -> Vec<Line> {
    let block = text::THREAD_HEADING.chars().count();
    let most = ((width + BETWEEN) / (block + BETWEEN)).max(1);
    let count = interval.threads.len();
    let rows = (THREAD_LINES.max(height / 5) - 1).min(count.div_ceil(most).max(1));
    let blocks = most.min(count.div_ceil(rows)).max(1);
    let gap = " ".repeat(BETWEEN);
    let mut lines = vec![Line::from(vec![text::THREAD_HEADING; blocks].join(&gap))];
    for row in 0..rows {
        let of_row = interval.threads.iter().skip(row).step_by(rows);
        let cells: Vec<String> = of_row.take(blocks).map(text::thread).collect();
        lines.push(cells.join(&gap).into());
    }
    lines
}

/// The table, from its first row that is shown.
fn functions(interval: &Interval, state: &State, width: usize) -> Vec<Line> {
    let rows = state.view.rows(interval);
    let columns = Columns::of(&rows, state.view.order, width);
    let mark = if state.view.reversed { "▲" } else { "▼" };
    let mut lines = vec![Line {
        text: columns.head(state.view.order, mark),
        look: Look::Bold,
    }];
    let none = text::nothing(interval, rows.len());
    lines.extend(none.lines().map(|it| it.to_owned().into()));
    let rows = rows.iter().skip(state.first);
    lines.extend(rows.map(|row| columns.row(row).into()));
    lines
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
mod tests;

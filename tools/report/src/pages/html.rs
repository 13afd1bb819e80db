//! Text and tables as HTML: every text is escaped, and a table scrolls inside itself where the screen is
//! narrow, so that the page does not.

use crate::text::{shown, shown_lines};

/// A table under construction. It has a name for screen readers.
pub(super) struct Table {
    name: String,
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// The markup of a cell, and its class.
pub(super) struct Cell(String, &'static str);

impl Cell {
    /// Words stand left.
    pub(super) fn words(text: &str) -> Self {
        Cell(escaped(text), "")
    }

    /// A figure stands right.
    pub(super) fn figure(text: impl AsRef<str>) -> Self {
        Cell(escaped(text.as_ref()), "n")
    }

    /// A bar of a length from 0 to 1; the figure stands beside it.
    pub(super) fn bar(length: f64, ours: bool) -> Self {
        let class = if ours { "ours" } else { "other" };
        let percent = 100.0 * length;
        let bar = format!("<i class=\"{class}\" style=\"width:{percent:.2}%\"></i>");
        Cell(bar, "bar")
    }
}

impl Table {
    pub(super) fn new(name: &str, head: &[&str]) -> Self {
        Table {
            name: name.into(),
            head: head.iter().map(|it| it.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn render(&self) -> String {
        let class = |of: &str| match of {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let first = self.rows.first();
        let head = self.head.iter().enumerate().map(|(index, text)| {
            let of = first.and_then(|row| row.get(index)).map_or("", |it| it.1);
            format!("<th scope=\"col\"{}>{}</th>", class(of), escaped(text))
        });
        let head: String = head.collect();
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter();
            let cells = cells.map(|it| format!("<td{}>{}</td>", class(it.1), it.0));
            format!("<tr>{}</tr>", cells.collect::<String>())
        });
        let rows: String = rows.collect();
        let table = format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>");
        scrolled(&self.name, &table)
    }

    /// The table behind a line that opens it: the number of its rows, and what they are; nothing if empty.
    pub(super) fn folded(&self, what: &str) -> String {
        match self.len() {
            0 => String::new(),
            rows => {
                let table = self.render();
                format!("<details><summary>{rows} {what}</summary>{table}</details>")
            }
        }
    }
}

/// A box that scrolls inside itself, in the tab order, so that it can be scrolled with a keyboard.
pub(super) fn scrolled(name: &str, body: &str) -> String {
    let name = escaped(name);
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">{body}</div>"
    )
}

/// Text that may stand between tags and in an attribute.
pub(super) fn escaped(text: &str) -> String {
    marked(&shown(text))
}

/// The same for several lines.
pub(super) fn lines(text: &str) -> String {
    marked(&shown_lines(text))
}

fn marked(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

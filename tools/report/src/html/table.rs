//! A table: words left, figures right. Where the screen is narrow the table scrolls inside itself, and the
//! page does not.

use maud::{Markup, html};

/// A table under construction.
#[derive(Debug, Default, Clone)]
pub struct Table {
    name: String,
    head: Vec<String>,
    words: usize,
    rows: Vec<Vec<Cell>>,
}

/// The text of a cell, and its look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    look: Look,
}

/// The look of a cell; its text has the same meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Good,
    Bad,
    Faint,
}

impl Cell {
    /// A good value.
    pub fn good(text: impl Into<String>) -> Self {
        Cell::of(text, Look::Good)
    }

    /// A bad value.
    pub fn bad(text: impl Into<String>) -> Self {
        Cell::of(text, Look::Bad)
    }

    /// A neutral value.
    pub fn faint(text: impl Into<String>) -> Self {
        Cell::of(text, Look::Faint)
    }

    fn of(text: impl Into<String>, look: Look) -> Self {
        let text = text.into();
        Cell { text, look }
    }

    fn class(&self, word: bool) -> Option<&'static str> {
        match (self.look, word) {
            (Look::Plain, true) => None,
            (Look::Plain, false) => Some("n"),
            (Look::Good, true) => Some("good"),
            (Look::Bad, true) => Some("bad"),
            (Look::Faint, true) => Some("faint"),
            (Look::Good, false) => Some("n good"),
            (Look::Bad, false) => Some("n bad"),
            (Look::Faint, false) => Some("n faint"),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::of(text, Look::Plain)
    }
}

impl Table {
    /// A table with a name (for screen readers) and column heads, the first `words` of which are over words.
    pub fn new(name: &str, head: &[&str], words: usize) -> Self {
        Table {
            name: name.into(),
            head: head.iter().map(|text| text.to_string()).collect(),
            words,
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty, surplus ones dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        let mut cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.head.len(), Cell::from(""));
        self.rows.push(cells);
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Does it have no row?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The markup; without a row, a line that says so.
    pub fn render(&self) -> Markup {
        if self.is_empty() {
            return html! { p class="empty" { (self.name) ": no figures." } };
        }
        html! {
            // In the tab order, so that it can be scrolled with a keyboard.
            div class="scroll" tabindex="0" role="region" aria-label=(self.name) {
                table {
                    thead { tr {
                        @for (column, text) in self.head.iter().enumerate() {
                            th scope="col" class=[(column >= self.words).then_some("n")] { (text) }
                        }
                    } }
                    tbody {
                        @for row in &self.rows { tr {
                            @for (column, cell) in row.iter().enumerate() {
                                td class=[cell.class(column < self.words)] { (cell.text) }
                            }
                        } }
                    }
                }
            }
        }
    }

    /// The table, folded behind a line that opens it.
    pub fn folded(&self, line: &str) -> Markup {
        html! { details { summary { (line) } (self.render()) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_rows_filled() {
        let mut table = Table::new("a \"name\"", &["<head>", "ns"], 1);
        table.row(["a & b"]);
        table.row(["c", "1", "surplus"]);
        let text = table.render().into_string();
        let read = roxmltree::Document::parse(&text).unwrap();
        let cells: Vec<&str> = read
            .descendants()
            .filter(|it| it.has_tag_name("td") || it.has_tag_name("th"))
            .map(|it| it.text().unwrap_or(""))
            .collect();
        assert_eq!(cells, ["<head>", "ns", "a & b", "", "c", "1"]);
        let name = read.root_element().attribute("aria-label");
        assert_eq!(name, Some("a \"name\""));
    }

    #[test]
    fn news_is_good_or_bad_and_said() {
        let mut table = Table::new("verdicts", &["what", "met?", "by"], 2);
        table.row([Cell::from("x"), Cell::bad("NO"), Cell::bad("7")]);
        table.row([Cell::from("y"), Cell::good("yes")]);
        let text = table.render().into_string();
        assert!(text.contains(r#"<td class="bad">NO</td>"#), "{text}");
        assert!(
            text.contains(r#"<td class="n bad">7</td>"#),
            "figures stand right: {text}"
        );
        assert!(text.contains(r#"<td class="good">yes</td>"#), "{text}");
    }

    #[test]
    fn an_empty_table_says_so() {
        let text = Table::new("Nothing", &["x"], 1).render().into_string();
        assert!(text.contains("Nothing: no figures."), "{text}");
    }
}

//! Text tables: the first column left, figures right, a rule under the head; no other decoration, so that
//! they can be pasted.

/// A table under construction.
#[derive(Debug, Default, Clone)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table with these column heads; the first `left` columns are words (left-aligned), the others
    /// figures.
    pub fn new(head: &[&str], left: usize) -> Self {
        Table {
            head: head.iter().map(|text| text.to_string()).collect(),
            rows: Vec::new(),
            left,
        }
    }

    /// Adds a row; missing cells are empty, surplus ones dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// Does it have no row?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text, one line for each row, each ending in a line feed.
    pub fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                std::iter::once(&self.head)
                    .chain(&self.rows)
                    .map(|row| row[column].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = self.line(&self.head, &widths);
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        text += &self.line(&rule, &widths);
        for row in &self.rows {
            text += &self.line(row, &widths);
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            if column < self.left {
                line += &format!("{cell:<width$}");
            } else {
                line += &format!("{cell:>width$}");
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["subject", "ns"], 1);
        table.row(["quiescent", "1.4"]);
        table.row(["ck", "17.9"]);
        assert_eq!(
            table.render(),
            "subject      ns\n---------  ----\nquiescent   1.4\nck         17.9\n"
        );
    }

    #[test]
    fn short_rows_are_filled_and_nothing_trails() {
        let mut table = Table::new(&["a", "b", "c"], 3);
        table.row(["x"]);
        assert!(!table.is_empty());
        assert_eq!(table.render(), "a  b  c\n-  -  -\nx\n");
    }

    #[test]
    fn width_is_in_characters() {
        let mut table = Table::new(&["µs"], 1);
        table.row(["≤ 9"]);
        assert_eq!(table.render(), "µs\n---\n≤ 9\n");
    }
}

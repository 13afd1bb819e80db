//! Text tables: the first column left, figures right, a rule under the head; no other decoration, so that
//! they can be pasted.

use super::{folded, shown};

/// Columns of a terminal.
const NARROW: usize = 80;

/// A column of words is not made narrower than this.
const WORDS: usize = 24;

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

    /// Adds a row; missing cells are empty, surplus ones dropped. A cell is one line, and what a terminal
    /// would obey is an escape in it ([`shown`]).
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells = cells
            .into_iter()
            .map(|cell| shown(&cell.into()).into_owned());
        let mut cells: Vec<String> = cells.collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// Does it have no row?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its rows as columns: what headed a column of figures begins a row. The last of several words of a row,
    /// its unit, is left out, and unless `all` a row whose figures are all the same.
    pub fn turned(&self, all: bool) -> Table {
        let words = self.left;
        let differs = |row: &&Vec<String>| all || row[words..].iter().any(|it| *it != row[words]);
        let kept: Vec<&Vec<String>> = self.rows.iter().filter(differs).collect();
        let named = kept.iter().map(|row| row[..words.max(2) - 1].join(", "));
        let columns = (words..self.head.len()).filter(|_| !kept.is_empty());
        let rows = columns.map(|column| {
            let figures = kept.iter().map(|row| row[column].clone());
            std::iter::once(self.head[column].clone())
                .chain(figures)
                .collect()
        });
        Table {
            rows: rows.collect(),
            head: std::iter::once(self.head[0].clone()).chain(named).collect(),
            left: 1,
        }
    }

    /// The table as text, one line for each row, each ending in a line feed.
    pub fn render(&self) -> String {
        let all: Vec<usize> = (0..self.head.len()).collect();
        self.part(&all, &self.widths())
    }

    /// The same for a terminal of 80 columns.
    pub fn fitted(&self) -> String {
        self.within(NARROW)
    }

    /// The same under a title, after an empty line; nothing if it has no row.
    pub fn titled(&self, title: &str) -> String {
        match self.is_empty() {
            true => String::new(),
            false => format!("\n{title}\n\n{}", self.fitted()),
        }
    }

    /// As [`Table::render`], in lines of at most `most` columns. In a table that is wider the last column of
    /// words is folded, if that leaves enough room for them. Otherwise it goes on below with its other
    /// figures, after an empty line; each part has the columns of words, or, where these leave no room for a
    /// figure, the first.
    pub fn within(&self, most: usize) -> String {
        let mut widths = self.widths();
        let all = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if let Some(words) = self.words() {
            let room = most.saturating_add(widths[words]).saturating_sub(all);
            if (WORDS..widths[words]).contains(&room) {
                widths[words] = room;
            }
        }
        let room = |columns: &[usize]| columns.iter().map(|it| widths[*it] + 2).sum::<usize>();
        let mut words: Vec<usize> = (0..self.left.min(self.head.len())).collect();
        let widest = widths[words.len()..].iter().max();
        if room(&words) + widest.unwrap_or(&0) > most {
            words.truncate(1);
        }
        let mut parts = vec![words.clone()];
        for (column, width) in widths.iter().enumerate().skip(words.len()) {
            let part = parts
                .last_mut()
                .filter(|part| part.len() == words.len() || room(part) + width <= most);
            match part {
                Some(part) => part.push(column),
                None => parts.push([&words[..], &[column]].concat()),
            }
        }
        let parts: Vec<String> = parts.iter().map(|part| self.part(part, &widths)).collect();
        parts.join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let rows = std::iter::once(&self.head).chain(&self.rows);
            rows.map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        (0..self.head.len()).map(width).collect()
    }

    /// Some of the columns.
    fn part(&self, columns: &[usize], widths: &[usize]) -> String {
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let rows = [&self.head, &rule].into_iter().chain(&self.rows);
        let lines = rows.flat_map(|row| self.lines(row, widths));
        lines
            .map(|line| self.line(&line, columns, widths))
            .collect()
    }

    /// The last column of words, which may be folded.
    fn words(&self) -> Option<usize> {
        self.left.min(self.head.len()).checked_sub(1)
    }

    /// A row's lines: words that are too wide go on below, and so does a part of one, such as a path.
    fn lines(&self, cells: &[String], widths: &[usize]) -> Vec<Vec<String>> {
        let Some(words) = self.words() else {
            return vec![cells.to_vec()];
        };
        let parted = |word: &str| {
            let letters: Vec<char> = word.chars().collect();
            if letters.len() <= widths[words] {
                return word.to_owned();
            }
            let parts = letters.chunks(widths[words] - 2).map(String::from_iter);
            parts.collect::<Vec<_>>().join(" ")
        };
        let text: Vec<String> = cells[words].split(' ').map(parted).collect();
        let folded = folded(&text.join(" "), widths[words], 2);
        let line = |(n, part): (usize, &str)| {
            let mut line = match n {
                0 => cells.to_vec(),
                _ => vec![String::new(); cells.len()],
            };
            line[words] = part.to_owned();
            line
        };
        folded.split('\n').enumerate().map(line).collect()
    }

    fn line(&self, cells: &[String], columns: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, &column) in columns.iter().enumerate() {
            let (cell, width) = (&cells[column], widths[column]);
            if place > 0 {
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
    fn a_cell_stays_in_its_place_whatever_is_in_it() {
        let mut table = Table::new(&["task", "wake-ups"], 1);
        table.row(["\x1b[2J\nroot 9", "1"]);
        table.row(["init", "2"]);
        assert_eq!(
            table.render(),
            "task             wake-ups\n\
             ---------------  --------\n\
             \\x1b[2J\\nroot 9         1\n\
             init                    2\n"
        );
    }

    #[test]
    fn rows_become_columns() {
        let mut table = Table::new(&["figure", "unit", "a=1", "a=2", "a=3"], 2);
        table.row(["calls", "calls", "9", "9", "9"]);
        table.row(["latency_us", "us", "1", "2", "3"]);
        let turned =
            "figure  latency_us\n------  ----------\na=1              1\na=2              2\n";
        assert!(table.turned(false).render().starts_with(turned));
        assert!(
            table
                .turned(true)
                .render()
                .starts_with("figure  calls  latency_us\n")
        );
        assert!(Table::new(&["figure", "a"], 1).turned(true).is_empty());
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

    #[test]
    fn wide_words_go_on_below() {
        let mut table = Table::new(&["target", "measured", "met?"], 1);
        table.row(["memory of each of a thousand at rest: at most", "9", "NO"]);
        assert_eq!(table.within(61), table.render(), "it fits");
        assert_eq!(
            table.within(42),
            "target                      measured  met?\n\
             --------------------------  --------  ----\n\
             memory of each of a                9    NO\n  \
               thousand at rest: at\n  most\n"
        );
        // A path has no blank to be parted at.
        table.row(["in /sys/devices/system/cpu/cpuidle/current_driver", "9"]);
        let text = table.within(42);
        assert!(text.lines().all(|it| it.chars().count() <= 42), "{text}");
        assert_eq!(text.lines().filter(|it| it.contains("/c")).count(), 2);
        // Where fewer than 24 columns would be left, the figures go below.
        assert_eq!(table.within(39).split("\n\n").count(), 2);
    }

    #[test]
    fn words_that_leave_no_room_for_a_figure_go_on_below_too() {
        let mut table = Table::new(&["no", "holdout", "callback", "start s"], 3);
        table.row(["1", "CPU 0, found by scan 2", "inode_free_by_rcu", "9.6"]);
        assert_eq!(table.within(54), table.render(), "it fits");
        let text = table.within(36);
        let parts: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(parts.len(), 2, "{text}");
        assert!(parts[1].starts_with("no  callback"), "{text}");
        assert!(parts.iter().all(|it| it.contains("\n1 ")), "{text}");
        assert!(text.lines().all(|it| it.chars().count() <= 36), "{text}");
    }

    #[test]
    fn a_wide_table_goes_on_below() {
        let heads = ["subject", "a", "b", "c", "d"];
        let mut table = Table::new(&heads, 1);
        table.row(["quiescent", "1", "2", "3", "4"]);
        assert_eq!(table.fitted(), table.render(), "it fits");
        // 9 and three of 22 with two blanks each: 81 columns; and one that never fits.
        let wide = |n: usize| "7".repeat(n);
        table.row(["ck", &wide(22), &wide(22), &wide(22), &wide(90)]);
        let text = table.fitted();
        let parts: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(parts.len(), 3, "{text}");
        let heads: Vec<String> = parts
            .iter()
            .map(|part| {
                part.lines()
                    .next()
                    .unwrap_or("")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(heads, ["subject a b", "subject c", "subject d"]);
        assert!(
            parts[..2]
                .iter()
                .all(|part| part.lines().all(|line| line.chars().count() <= NARROW))
        );
    }
}

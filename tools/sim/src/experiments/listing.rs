//! Tables in the form in which they were published, with the model's figures beside: functions or threads, a line each.
//!
//! A published table has a dozen lines, and what is said of it is said of the whole ([`Claim`](super::Claim), [`Comparison`](super::Comparison)).
//! The lines themselves pass no verdict: some of their figures are the model's input, and which is noted beside the table. What one side does not have
//! is left out there.

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The variant.
    pub case: String,
    /// What each line is about: `function` or `thread`.
    pub about: &'static str,
    /// Figures of a line: their names, and units in words.
    pub columns: Vec<(&'static str, &'static str)>,
    /// The lines, in their order.
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The function or the thread.
    pub name: String,
    /// Published figures, one a column, if the line was published.
    pub published: Option<Vec<f64>>,
    /// The model's, one a column; no number where there is none.
    pub model: Vec<f64>,
}

impl Listing {
    /// The case of a line, as reports have it.
    ///
    /// ```
    /// use quiescent_sim::experiments::{Line, Listing};
    /// let columns = vec![("queued", "callbacks"), ("executed", "callbacks")];
    /// let line = Line { name: "i_callback".into(), published: Some(vec![55.0, 0.0]), model: vec![54.5, 0.0] };
    /// let listing = Listing { case: "chromeos-idle rcu=lazy".into(), about: "function", columns, lines: vec![line] };
    /// assert_eq!(listing.case_of(&listing.lines[0]), "chromeos-idle rcu=lazy, function i_callback");
    /// ```
    pub fn case_of(&self, line: &Line) -> String {
        format!("{}, {} {}", self.case, self.about, line.name)
    }

    /// The model's line of this name.
    #[cfg(test)]
    pub(super) fn line(&self, name: &str) -> &Line {
        let found = self.lines.iter().find(|it| it.name == name);
        found.unwrap_or_else(|| panic!("{name} is not in {}", self.case))
    }
}

//! Tables in their published form, with the model's figures beside: functions or threads, a line each.
//!
//! A published table has a dozen lines, and statements are about the whole table ([`Claim`](super::Claim),
//! [`Comparison`](super::Comparison)). The lines themselves have no verdict: some of their figures are the
//! model's input, as noted beside the table. Figures that one side does not have are left out there.

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
    /// let model = vec![54.5, 0.0];
    /// let line = Line { name: "i_callback".into(), published: Some(vec![55.0, 0.0]), model };
    /// let case = "chromeos-idle rcu=lazy".into();
    /// let listing = Listing { case, about: "function", columns, lines: vec![line] };
    /// assert_eq!(listing.case_of(&listing.lines[0]), "chromeos-idle rcu=lazy, function i_callback");
    /// ```
    pub fn case_of(&self, line: &Line) -> String {
        format!("{}, {} {}", self.case, self.about, line.name)
    }
}

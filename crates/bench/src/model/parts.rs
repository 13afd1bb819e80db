//! What was run, for those who show it otherwise than as text: experiment by experiment, and figure by figure.

use super::{Modelled, what};
use quiescent_sim::experiments::{Comparison, Outcome};

impl Modelled {
    /// Each experiment: its name, what it is about, what it has shown.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &'static str, &Outcome)> {
        let parts = self.outcomes.iter();
        parts.map(|(name, outcome)| (*name, what(name), outcome))
    }

    /// Every figure beside the model's.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.outcomes.iter().flat_map(|it| &it.1.comparisons)
    }

    /// These outcomes, run or made up.
    #[cfg(test)]
    pub(crate) fn of(outcomes: Vec<(&'static str, Outcome)>) -> Self {
        Modelled { outcomes }
    }
}

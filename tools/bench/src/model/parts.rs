//! What was run, for those who show it otherwise than as text: experiment by experiment, and figure by figure.

use super::{Modelled, what};
use quiescent_sim::experiments::{Comparison, Listing, Outcome, Shown};

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

    /// Every figure of the model alone.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.outcomes.iter().flat_map(|it| &it.1.shown)
    }

    /// Every published table that has the model's beside it.
    pub fn listings(&self) -> impl Iterator<Item = &Listing> {
        self.outcomes.iter().flat_map(|it| &it.1.listings)
    }

    /// Sentences that the model contradicts.
    pub fn untrue(&self) -> impl Iterator<Item = &Shown> {
        self.shown().filter(|it| it.holds() == Some(false))
    }

    /// These outcomes, run or made up.
    #[cfg(test)]
    pub(crate) fn of(outcomes: Vec<(&'static str, Outcome)>) -> Self {
        Modelled { outcomes }
    }
}

//! Experiments: figures of real machines, beside those of the model.
//!
//! An experiment sets a machine up as a publication or a measurement describes it, lists its assumptions,
//! runs it, and compares the model's figure with the real one. A statement in words is a [`Claim`]. Nothing
//! here is computed from a formula: every figure comes from a run. A figure to which a parameter was fitted
//! is marked, and is no prediction.

use serde::Deserialize;

mod catalogue;
mod claims;
mod data;
mod expression;
mod listing;
pub mod replays;
mod run;
mod script;
pub mod show;
mod sources;

pub(crate) use crate::base::mean::{mean, median};

pub use catalogue::{Modelled, Part, of, run};
pub use claims::{Bound, Claim, Shown, Verdict};
pub use listing::{Line, Listing};
pub use script::Script;
pub use sources::Found;

/// Where a real figure comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Measured on a real kernel, for this project; the model's rules were inferred with it in view.
    Kernel,
    /// Measured on a real kernel, and no rule and no number of the model was set with it in view.
    Unseen,
    /// Published by others.
    #[default]
    Published,
}

/// What the model's figure is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Nothing in the model was set by it.
    Predicted,
    /// Something that the publication leaves open was assumed.
    #[default]
    Assumed,
    /// The model's rules were inferred from this recording: it shows how well they describe it.
    InSample,
    /// A parameter was set so that it comes out.
    Fitted,
    /// It was given to the run.
    Input,
    /// An assumed number alone decides it.
    ByAssumption,
    /// It follows from other rows, and these count.
    Derived,
}

impl Basis {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Predicted => "predicted",
            Basis::Assumed => "assumed",
            Basis::InSample => "in-sample",
            Basis::Fitted => "fitted",
            Basis::Input => "input",
            Basis::ByAssumption => "by-assumption",
            Basis::Derived => "derived",
        }
    }

    /// Can a figure on this basis be met?
    pub const fn is_judged(self) -> bool {
        matches!(self, Basis::Predicted | Basis::Assumed | Basis::InSample)
    }

    /// The verdict of a figure, from that of its bound: none for what was given, or counts elsewhere. What
    /// was fitted is never met, and missed if it is off all the same.
    pub const fn verdict(self, of_bound: Verdict) -> Verdict {
        match self {
            Basis::Input | Basis::ByAssumption | Basis::Derived => Verdict::None,
            Basis::Fitted if matches!(of_bound.holds(), Some(true)) => Verdict::Fitted,
            _ => of_bound,
        }
    }
}

/// A figure of a real machine and the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Its variant.
    pub case: String,
    /// What is compared; ends in its unit.
    pub metric: &'static str,
    /// The unit in words.
    pub unit: &'static str,
    /// Where the real figure comes from.
    pub source: Source,
    /// The real figure.
    pub real: f64,
    /// The model's.
    pub model: f64,
    /// How far the model may be off, as a share of the real figure.
    pub allowed: f64,
    /// What the model's figure is worth.
    pub basis: Basis,
}

impl Comparison {
    /// The model's figure over the real one; 1 where both are nothing.
    pub fn ratio(&self) -> f64 {
        match self.model == self.real {
            true => 1.0,
            false => self.model / self.real,
        }
    }

    /// Is the model's figure within the bound?
    pub fn is_near(&self) -> bool {
        (self.ratio() - 1.0).abs() <= self.allowed
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        let of_bound = [Verdict::Missed, Verdict::Met][usize::from(self.is_near())];
        self.basis.verdict(of_bound)
    }

    /// Is that met? None for a fitted figure that comes out: a parameter was set so.
    ///
    /// ```
    /// use quiescent_sim::experiments::{Basis, Comparison, Source};
    /// let (real, model, allowed) = (24.2, 24.0, 0.15);
    /// let (case, source, basis) = ("bridge".into(), Source::Published, Basis::Assumed);
    /// let (experiment, metric, unit) = ("bridge", "total_s", "s");
    /// let it = Comparison { experiment, case, metric, unit, source, real, model, allowed, basis };
    /// assert_eq!(it.holds(), Some(true));
    /// assert_eq!(Comparison { basis: Basis::Fitted, ..it }.holds(), None);
    /// ```
    pub fn holds(&self) -> Option<bool> {
        self.verdict().holds()
    }
}

/// What an experiment has shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Figures beside each other.
    pub comparisons: Vec<Comparison>,
    /// Figures of the model alone: sentences and whether they are true, and what has to be seen beside them.
    pub shown: Vec<Shown>,
    /// Published tables, line by line, with the model's figures beside.
    pub listings: Vec<Listing>,
    /// What was assumed, and what else has to be known.
    pub notes: Vec<String>,
}

//! Results without a real figure: statements that a run can contradict, and figures shown beside others.
//!
//! Where a publication says something in words ("instead of every tick", "in proportion to"), the experiment
//! names the figure that judges the statement and its bounds ([`Claim`]). The bounds are in the experiment's
//! source with their reason, and were set before the run. A figure without a claim ([`Shown::claim`] is none)
//! has no verdict: it is needed beside one, such as the cost of a gain.

use super::Basis;

/// Between which bounds a figure has to lie; the bounds themselves are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less.
    AtLeast(f64),
    /// Neither less than the first nor more than the second.
    Between(f64, f64),
}

impl Bound {
    /// Does the figure lie there? One that is no number does not.
    ///
    /// ```
    /// use quiescent_sim::experiments::Bound;
    /// assert!(Bound::Between(4.0, 7.0).holds(7.0) && !Bound::AtMost(1.0).holds(1.01));
    /// assert!(!Bound::AtLeast(0.0).holds(f64::NAN));
    /// ```
    pub fn holds(self, figure: f64) -> bool {
        let (least, most) = self.ends();
        let low = least.is_none_or(|it| figure >= it);
        let high = most.is_none_or(|it| figure <= it);
        !figure.is_nan() && low && high
    }

    /// The least and the most that it may be, where there is one.
    pub const fn ends(self) -> (Option<f64>, Option<f64>) {
        match self {
            Bound::AtMost(most) => (None, Some(most)),
            Bound::AtLeast(least) => (Some(least), None),
            Bound::Between(least, most) => (Some(least), Some(most)),
        }
    }
}

/// What is said of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The sentence.
    pub says: &'static str,
    /// When it is true.
    pub bound: Bound,
}

/// A figure of the model's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The variant.
    pub case: String,
    /// What it is; ends in its unit where it has one.
    pub metric: &'static str,
    /// The unit in words.
    pub unit: &'static str,
    /// The figure.
    pub model: f64,
    /// What it is worth.
    pub basis: Basis,
    /// What is said of it; none if it is only shown.
    pub claim: Option<Claim>,
}

impl Shown {
    /// A figure that stands beside others.
    pub(super) fn beside(case: &str, (metric, unit): Named, model: f64) -> Shown {
        Shown {
            case: case.to_owned(),
            metric,
            unit,
            model,
            basis: Basis::Assumed,
            claim: None,
        }
    }

    /// A figure of which something is said.
    pub(super) fn claimed(
        case: &str,
        named: Named,
        model: f64,
        says: &'static str,
        bound: Bound,
    ) -> Shown {
        Shown {
            claim: Some(Claim { says, bound }),
            ..Shown::beside(case, named, model)
        }
    }

    /// Is what is said of it true? None if nothing is.
    pub fn holds(&self) -> Option<bool> {
        let claim = self.claim.as_ref();
        claim.map(|it| it.bound.holds(self.model))
    }
}

/// A figure's name and its unit.
pub(super) type Named = (&'static str, &'static str);

//! Results without a real figure: statements that a run can contradict, and figures shown beside others.
//!
//! Where a publication says something in words ("instead of every tick", "in proportion to"), the experiment
//! names the figure that judges the statement and its bounds ([`Claim`]). The bounds are in the experiment's
//! source with their reason, and were set before the run. A figure without a claim ([`Shown::claim`] is none)
//! has no verdict: it is needed beside one, such as the cost of a gain.

use super::Basis;

/// A figure that keeps a published bound by more than this factor meets it in part only.
const PART: f64 = 1.5;

/// What a run says of a published figure or a sentence, in the order in which they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The model's figure is within the bound.
    Met,
    /// It keeps a one-sided published bound, and is further than one and a half times from it.
    Part,
    /// It is not within the bound.
    Missed,
    /// It is not, and facts about the kernel say that the sentence is wrong.
    Contradicted,
    /// A parameter was set so that it comes out.
    Fitted,
    /// An input, what an assumption decides, what counts elsewhere, or nothing that is said.
    None,
}

impl Verdict {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Part => "part",
            Verdict::Missed => "MISSED",
            Verdict::Contradicted => "contradicted",
            Verdict::Fitted => "fitted",
            Verdict::None => "none",
        }
    }

    /// Is the bound kept? None if that says nothing about the model.
    pub const fn holds(self) -> Option<bool> {
        match self {
            Verdict::Met | Verdict::Part => Some(true),
            Verdict::Missed => Some(false),
            Verdict::Contradicted | Verdict::Fitted | Verdict::None => None,
        }
    }
}

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

    /// By which factor a figure keeps a one-sided bound; less than 1 if it does not. None for two bounds, and
    /// for a bound of 0.
    ///
    /// ```
    /// use quiescent_sim::experiments::Bound;
    /// assert_eq!(Bound::AtLeast(2500.0).factor(5000.0), Some(2.0));
    /// assert_eq!(Bound::AtMost(2.0).factor(0.5), Some(4.0));
    /// assert_eq!(Bound::AtMost(0.0).factor(0.0), None);
    /// ```
    pub fn factor(self, figure: f64) -> Option<f64> {
        match self {
            Bound::AtLeast(least) if least != 0.0 => Some(figure / least),
            Bound::AtMost(most) if most != 0.0 && figure > 0.0 => Some(most / figure),
            Bound::AtMost(most) if most > 0.0 => Some(f64::INFINITY),
            _ => None,
        }
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
    /// The publication has words only ("fewer", "longer"), and the bound is this project's.
    pub words: bool,
    /// The facts, where they are known to be others.
    pub contradicted: Option<&'static str>,
}

impl Claim {
    /// What a figure says of it.
    pub fn verdict(&self, figure: f64) -> Verdict {
        let factor = self.bound.factor(figure).filter(|_| !self.words);
        match (self.bound.holds(figure), self.contradicted) {
            (true, _) if factor.is_some_and(|it| it > PART) => Verdict::Part,
            (true, _) => Verdict::Met,
            (false, Some(_)) => Verdict::Contradicted,
            (false, None) => Verdict::Missed,
        }
    }
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

    /// The verdict; none if nothing is said of it.
    pub fn verdict(&self) -> Verdict {
        let of_bound = self.claim.as_ref().map(|it| it.verdict(self.model));
        of_bound.map_or(Verdict::None, |it| self.basis.verdict(it))
    }

    /// Is what is said of it true? None if nothing is.
    pub fn holds(&self) -> Option<bool> {
        self.verdict().holds()
    }
}

/// A figure's name and its unit.
pub(super) type Named = (&'static str, &'static str);

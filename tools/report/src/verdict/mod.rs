//! Targets: a figure of quiescent, a bound on one side of it, and whether it was met.
//!
//! A bound is a number, or a figure of another subject *of the same run* times a factor; a figure of another
//! run is never a bound. Where a figure is missing (a package is not installed, the run was stopped) the
//! target is "not measured", never met. A target not met is printed; the command does not fail, since timing
//! targets are medians on a shared machine.

use crate::text::Table;
use crate::text::number::short;
use crate::{OURS, Row};

/// A target and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The bound, as a text.
    pub what: String,
    /// This project's figure; `None` when not measured.
    pub ours: Option<f64>,
    /// The largest or the smallest figure that meets the target; `None` when it was not measured.
    pub bound: Option<f64>,
    /// Which of the two.
    pub sense: Sense,
    /// The unit of both.
    pub unit: &'static str,
}

/// The side of its bound on which a figure has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Smaller is better.
    AtMost,
    /// Larger is better.
    AtLeast,
}

impl Target {
    /// Was it met? `None` when it could not be measured.
    pub fn met(&self) -> Option<bool> {
        let (ours, bound) = (self.ours?, self.bound?);
        Some(match self.sense {
            Sense::AtMost => ours <= bound,
            Sense::AtLeast => ours >= bound,
        })
    }

    /// The figure over the bound, or the bound over the figure: at most 1 when met. `None` without both, or
    /// over 0.
    pub fn ratio(&self) -> Option<f64> {
        let (ours, bound) = (self.ours?, self.bound?);
        let (over, under) = match self.sense {
            Sense::AtMost => (ours, bound),
            Sense::AtLeast => (bound, ours),
        };
        (under > 0.0).then(|| over / under)
    }

    /// A target with a lower bound.
    pub fn at_least(
        what: String,
        ours: Option<f64>,
        bound: Option<f64>,
        unit: &'static str,
    ) -> Self {
        Target {
            what,
            ours,
            bound,
            sense: Sense::AtLeast,
            unit,
        }
    }
}

/// Rows for the targets that were measured against a bound above 0: `ratio`, at most 1 when met.
pub fn rows(targets: &[Target]) -> Vec<Row> {
    targets
        .iter()
        .filter_map(|target| {
            let case = format!("target: {}", target.what);
            Row::single(OURS, &case, "ratio", "of the bound", target.ratio()?)
        })
        .collect()
}

/// The targets for `options.targets` of a report, including those without a ratio and those not measured.
pub fn json(targets: &[Target]) -> Vec<serde_json::Value> {
    let one = |target: &Target| {
        serde_json::json!({
            "what": target.what,
            "measured": target.ours,
            "bound": target.bound,
            "met": target.met(),
        })
    };
    targets.iter().map(one).collect()
}

/// The targets as a section of a report; nothing when no measured figure has one.
pub fn section(targets: &[Target]) -> String {
    match targets.iter().any(|target| target.ours.is_some()) {
        true => format!("\nTargets\n\n{}", text(targets)),
        false => String::new(),
    }
}

/// The targets as text.
pub fn text(targets: &[Target]) -> String {
    let mut table = Table::new(&["target", "measured", "bound", "of bound", "met?"], 1);
    let figure = |value: Option<f64>| value.map_or("-".into(), short);
    for target in targets {
        let measured = target.ours.map_or("-".into(), |value| {
            format!("{} {}", short(value), target.unit)
        });
        let met = match target.met() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not measured",
        };
        table.row([
            target.what.clone(),
            measured.trim_end().into(),
            figure(target.bound),
            figure(target.ratio()),
            met.into(),
        ]);
    }
    table.fitted()
}

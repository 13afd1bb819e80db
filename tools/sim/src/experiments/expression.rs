//! Expressions of an experiment's file: figures of its runs, published figures, and what is computed of them.
//!
//! `+ - * /`, brackets and numbers; `RUN.METRIC` or `RUN.METRIC[ABOUT]`; `published.PATH`; `A ?? B` (B where
//! A is missing); `min`, `max`, `median` and `sum` of all values in brackets, or, as in `max6`, of six at a
//! time; `A > B`: 1 or 0 for each value of A. A figure with several values counts with their mean.

use serde::de::{Deserialize, Deserializer, Error as _};

use super::{mean, median};
use crate::text::file::Text;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number(f64),
    Figure(Reference),
    /// All values of these become one, or each so many of them do.
    Of(Fold, usize, Vec<Expression>),
    /// For each value of the first 1 if it is more than the second, and 0 if not.
    More(Box<[Expression; 2]>),
    Both(Operator, Box<[Expression; 2]>),
    /// The second where the first is missing.
    Instead(Box<[Expression; 2]>),
}

/// `RUN.METRIC[ABOUT]`.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub run: String,
    pub metric: String,
    pub about: String,
}

/// The values of a figure; none if it is missing.
pub(super) type Values = Vec<f64>;

/// Bytes of an expression: each bracket takes a level of the stack.
const LONGEST: usize = 1000;

type Fold = fn(Values) -> f64;
type Operator = fn(f64, f64) -> f64;

const FOLDS: [(&str, Fold); 4] = [
    ("min", |it| it.into_iter().fold(f64::INFINITY, f64::min)),
    ("max", |it| it.into_iter().fold(f64::NEG_INFINITY, f64::max)),
    ("median", median),
    ("sum", |it| it.into_iter().sum()),
];

/// Each level binds tighter than the one before.
const LEVELS: [&[(&str, Operator)]; 2] = [
    &[("+", |a, b| a + b), ("-", |a, b| a - b)],
    &[("*", |a, b| a * b), ("/", |a, b| a / b)],
];

/// The mean; no number of none.
pub(super) fn number(values: Values) -> f64 {
    match values.is_empty() {
        true => f64::NAN,
        false => mean(values),
    }
}

impl Expression {
    /// Its value, where `of` has the values of figures.
    pub fn value(&self, of: &impl Fn(&Reference) -> Values) -> f64 {
        number(self.values(of))
    }

    fn values(&self, of: &impl Fn(&Reference) -> Values) -> Values {
        match self {
            Expression::Number(it) => vec![*it],
            Expression::Figure(it) => of(it),
            Expression::Of(fold, each, all) => {
                let all: Values = all.iter().flat_map(|it| it.values(of)).collect();
                all.chunks(*each).map(|it| fold(it.to_vec())).collect()
            }
            Expression::More(it) => {
                let (all, limit) = (it[0].values(of), it[1].value(of));
                all.into_iter().map(|it| f64::from(it > limit)).collect()
            }
            Expression::Both(operator, it) => vec![operator(it[0].value(of), it[1].value(of))],
            Expression::Instead(it) => match it[0].values(of) {
                missing if missing.is_empty() => it[1].values(of),
                found => found,
            },
        }
    }

    /// Each figure in it, and whether it may be missing.
    pub fn figures(&self) -> Vec<(&Reference, bool)> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Figure(it) => vec![(it, false)],
            Expression::Of(.., all) => all.iter().flat_map(Expression::figures).collect(),
            Expression::More(it) | Expression::Both(_, it) => {
                [it[0].figures(), it[1].figures()].concat()
            }
            Expression::Instead(it) => {
                let first = it[0].figures().into_iter().map(|it| (it.0, true));
                first.chain(it[1].figures()).collect()
            }
        }
    }

    /// Reads one.
    pub fn read(text: &str) -> Result<Expression, String> {
        if text.len() > LONGEST {
            return Err(format!(
                "an expression of {} bytes: {LONGEST} at most",
                text.len()
            ));
        }
        let mut parser = Parser { rest: text };
        let it = parser.whole()?;
        match parser.rest.trim() {
            "" => Ok(it),
            rest => Err(format!(
                "`{text}`: expected an operator (+ - * / > ??) before `{rest}`"
            )),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(token);
        after.inspect(|it| self.rest = it).is_some()
    }

    fn whole(&mut self) -> Result<Expression, String> {
        let first = self.binary(&LEVELS)?;
        match self.takes(">") {
            true => Ok(Expression::More(Box::new([first, self.binary(&LEVELS)?]))),
            false => Ok(first),
        }
    }

    fn binary(&mut self, levels: &[&[(&str, Operator)]]) -> Result<Expression, String> {
        let [level, rest @ ..] = levels else {
            let first = self.one()?;
            return match self.takes("??") {
                true => Ok(Expression::Instead(Box::new([first, self.binary(&[])?]))),
                false => Ok(first),
            };
        };
        let mut it = self.binary(rest)?;
        while let Some(found) = level.iter().find(|operator| self.takes(operator.0)) {
            it = Expression::Both(found.1, Box::new([it, self.binary(rest)?]));
        }
        Ok(it)
    }

    fn closed(&mut self, end: char) -> Result<(), String> {
        match self.takes(end.encode_utf8(&mut [0; 4])) {
            true => Ok(()),
            false => Err(format!("expected `{end}` before `{}`", self.rest.trim())),
        }
    }

    fn one(&mut self) -> Result<Expression, String> {
        if self.takes("(") {
            let it = self.whole()?;
            return self.closed(')').map(|()| it);
        }
        let text = self.rest.trim_start();
        let end = text.find(|it: char| !it.is_alphanumeric() && !matches!(it, '.' | '_'));
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return Ok(Expression::Number(number));
        }
        let name = word.trim_end_matches(|it: char| it.is_ascii_digit());
        let fold = FOLDS.iter().find(|it| it.0 == name);
        if let Some((_, fold)) = fold.filter(|_| self.takes("(")) {
            let each = word[name.len()..].parse().unwrap_or(usize::MAX).max(1);
            let mut all = vec![self.whole()?];
            while self.takes(",") {
                all.push(self.whole()?);
            }
            self.closed(')')?;
            return Ok(Expression::Of(*fold, each, all));
        }
        let Some((run, metric)) = word.split_once('.') else {
            return Err(format!(
                "`{word}{rest}` begins with no figure: write a number, RUN.METRIC, or RUN.METRIC[ABOUT]"
            ));
        };
        let mut about = "";
        if self.takes("[") {
            let end = self.rest.find(']').unwrap_or(self.rest.len());
            (about, self.rest) = self.rest.split_at(end);
            self.closed(']')?;
        }
        Ok(Expression::Figure(Reference {
            run: run.into(),
            metric: metric.into(),
            about: about.into(),
        }))
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Text(given) = Text::deserialize(from)?;
        match given.parse::<f64>().ok().filter(|it| it.is_finite()) {
            Some(number) => Ok(Expression::Number(number)),
            None => Expression::read(&given).map_err(D::Error::custom),
        }
    }
}

/// A text with figures in it: `{EXPRESSION}`, or with a number of decimals, `{EXPRESSION:1}`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sentence {
    /// Text, and what stands after it.
    parts: Vec<(String, Option<(Expression, usize)>)>,
}

impl Sentence {
    pub fn read(text: &str) -> Result<Sentence, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, after)) = after.split_once('}') else {
                return Err(format!("`{rest}`: a `{{` has no `}}`"));
            };
            let (expression, decimals) = inside.rsplit_once(':').unwrap_or((inside, "0"));
            let decimals = decimals.parse().ok().filter(|it| *it <= 17);
            let decimals = decimals.ok_or_else(|| format!("`{inside}`: decimals are 0 to 17"))?;
            parts.push((
                before.to_owned(),
                Some((Expression::read(expression)?, decimals)),
            ));
            rest = after;
        }
        parts.push((rest.to_owned(), None));
        Ok(Sentence { parts })
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts
            .iter()
            .filter_map(|it| it.1.as_ref())
            .map(|it| &it.0)
    }

    /// With the values in their places.
    pub fn text(&self, of: &impl Fn(&Reference) -> Values) -> String {
        let each = self.parts.iter().map(|(text, it)| match it {
            Some((it, decimals)) => format!("{text}{:.decimals$}", it.value(of)),
            None => text.clone(),
        });
        each.collect()
    }
}

impl<'de> Deserialize<'de> for Sentence {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Sentence::read(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(it: &Reference) -> Values {
        match (&*it.run, &*it.metric, &*it.about) {
            ("a", "x", "") => vec![1.0, 3.0, 8.0],
            ("a", "x", "thread b/*") => vec![10.0],
            _ => Vec::new(),
        }
    }

    #[test]
    fn expressions_are_computed() {
        for (text, value) in [
            ("2 + 3 * 4 - 6 / 3", 12.0),
            ("(2 + 3) * 4", 20.0),
            ("a.x", 4.0),
            ("a.x[thread b/*] - max(a.x) + min(a.x)", 3.0),
            ("median(a.x) + sum(a.x)", 15.0),
            ("max(a.x, a.x[thread b/*]) + max2(a.x)", 15.5),
            ("sum(a.x > 2) + 10 * (a.x > 7 + 2)", 2.0),
            ("a.y ?? 7 * 2", 14.0),
            ("100 * (1 - a.x / 8)", 50.0),
        ] {
            assert_eq!(Expression::read(text).unwrap().value(&of), value, "{text}");
        }
        assert!(Expression::read("a.y + 1").unwrap().value(&of).is_nan());
    }

    #[test]
    fn what_is_no_expression_says_what_would_be() {
        for (text, said) in [
            ("a.x b", "expected an operator"),
            ("(a.x", "expected `)`"),
            ("a.x[thread", "expected `]`"),
            ("calls / 2", "RUN.METRIC"),
            ("", "RUN.METRIC"),
        ] {
            let why = Expression::read(text).unwrap_err();
            assert!(why.contains(said), "{text}: {why}");
        }
        assert!(Sentence::read("it is {a.x").is_err());
        let it = Sentence::read("it is {a.x:1} of {8}.").unwrap();
        assert_eq!(it.text(&of), "it is 4.0 of 8.");
    }
}

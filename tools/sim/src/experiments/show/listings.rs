//! Published tables with the model's figures beside, as text and as rows.

use crate::experiments::{Line, Listing, Modelled};
use quiescent_report::Row;
use quiescent_report::text::Table;
use quiescent_report::text::number::short;

/// A figure of a line, as text; nothing where there is none.
fn cell(figures: Option<&Vec<f64>>, column: usize) -> String {
    let value = figures.and_then(|it| it.get(column).copied());
    let value = value.filter(|it| it.is_finite());
    value.map_or(String::new(), short)
}

/// Has any line of it been published? An unpublished variant has the model's columns only.
fn is_published(listing: &Listing) -> bool {
    listing.lines.iter().any(|it| it.published.is_some())
}

/// What stands above a table.
pub(super) fn title(listing: &Listing) -> String {
    match is_published(listing) {
        true => format!("{}: as published, and the model's", listing.case),
        false => format!("{}: the model's, in the published form", listing.case),
    }
}

/// The heads of a table: what the lines are, and each figure, twice if it was published.
pub(super) fn heads(listing: &Listing) -> Vec<String> {
    let published = is_published(listing);
    let pair = |&(metric, _): &(&str, &str)| {
        let name = metric.replace('_', " ");
        match published {
            true => vec![format!("{name}: published"), "model".to_owned()],
            false => vec![name],
        }
    };
    let figures = listing.columns.iter().flat_map(pair);
    std::iter::once(listing.about.to_owned())
        .chain(figures)
        .collect()
}

/// The cells of a line, below [`heads`].
pub(super) fn cells(listing: &Listing, line: &Line) -> Vec<String> {
    let published = is_published(listing);
    let pair = |column| {
        let theirs = published.then(|| cell(line.published.as_ref(), column));
        theirs.into_iter().chain([cell(Some(&line.model), column)])
    };
    let figures = (0..listing.columns.len()).flat_map(pair);
    std::iter::once(line.name.clone()).chain(figures).collect()
}

/// All tables; empty if there are none.
pub(super) fn text(modelled: &Modelled, width: usize) -> String {
    let mut text = String::new();
    for it in modelled.listings() {
        let heads = heads(it);
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = Table::new(&heads, 1);
        for line in &it.lines {
            table.row(cells(it, line));
        }
        text += &format!("\n{}\n\n{}", title(it), table.within(width));
    }
    text
}

/// Every figure of every line. What was published and is not the model's is no row, so that each has its
/// partner.
pub(super) fn rows(modelled: &Modelled) -> impl Iterator<Item = Row> {
    modelled.listings().flat_map(of).flatten()
}

fn of(listing: &Listing) -> Vec<Option<Row>> {
    let mut rows = Vec::new();
    for line in &listing.lines {
        let case = listing.case_of(line);
        for (column, &(metric, unit)) in listing.columns.iter().enumerate() {
            let model = line.model[column];
            if !model.is_finite() {
                continue;
            }
            let real = line.published.as_ref().map(|it| it[column]);
            rows.extend(real.map(|it| Row::single("published", &case, metric, unit, it)));
            rows.push(Row::single("model", &case, metric, unit, model));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{Outcome, Part};

    fn made_up() -> Modelled {
        let line = |name: &str, published: Option<Vec<f64>>, model| Line {
            name: name.into(),
            published,
            model,
        };
        let listing = Listing {
            case: "x rcu=lazy".into(),
            about: "thread",
            columns: vec![("wakeups", "wake-ups"), ("interval_us_min", "us")],
            lines: vec![
                line("idd", Some(vec![10.0, 3.0]), vec![12.0, f64::NAN]),
                line("other", None, vec![5.0, 7.0]),
            ],
        };
        let listings = vec![listing];
        let outcome = Outcome {
            listings,
            ..Outcome::default()
        };
        Modelled::of(vec![Part {
            name: "x",
            what: "",
            outcome,
        }])
    }

    #[test]
    fn a_published_figure_is_a_row_if_the_model_has_one() {
        let rows: Vec<Row> = rows(&made_up()).collect();
        let said = rows.iter().map(|it| {
            (
                it.subject.as_str(),
                it.case.as_str(),
                it.metric.as_str(),
                it.median,
            )
        });
        let expected = [
            ("published", "x rcu=lazy, thread idd", "wakeups", 10.0),
            ("model", "x rcu=lazy, thread idd", "wakeups", 12.0),
            ("model", "x rcu=lazy, thread other", "wakeups", 5.0),
            ("model", "x rcu=lazy, thread other", "interval_us_min", 7.0),
        ];
        assert_eq!(said.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_table_has_a_line_each_and_nothing_where_there_is_nothing() {
        let text = text(&made_up(), 110);
        let words = |it: &str| it.split_whitespace().map(str::to_owned).collect();
        let lines: Vec<Vec<String>> = text.lines().map(words).collect();
        assert!(lines.contains(&words("idd 10.0 12.0 3.00")), "{text}");
        assert!(lines.contains(&words("other 5.00 7.00")), "{text}");
    }

    #[test]
    fn what_was_not_published_has_the_models_columns_only() {
        let all = made_up();
        let mut listing = all.listings().next().unwrap().clone();
        assert_eq!(heads(&listing).len(), 5);
        listing.lines[0].published = None;
        assert_eq!(heads(&listing), ["thread", "wakeups", "interval us min"]);
        assert_eq!(
            cells(&listing, &listing.lines[1]),
            ["other", "5.00", "7.00"]
        );
        assert!(title(&listing).contains("in the published form"));
    }
}

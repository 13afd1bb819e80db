//! Tables in the form in which they were published, the model's figures beside the published ones.

use super::super::listings::{cells, heads, title};
use crate::experiments::Listing;
use quiescent_report::html::table::Table;
use quiescent_report::html::{Markup, html};

fn table(listing: &Listing) -> Table {
    let heads = heads(listing);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&title(listing), &heads, 1);
    for line in &listing.lines {
        table.row(cells(listing, line));
    }
    table
}

/// Each table below its variant; the first is open, the others are folded away.
pub(super) fn body(all: &[Listing]) -> Markup {
    html! {
        @for (index, it) in all.iter().enumerate() {
            @if index == 0 {
                p { strong { (title(it)) } }
                (table(it).render())
            } @else {
                (table(it).folded(&format!("{} ({} lines)", title(it), it.lines.len())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Line;

    #[test]
    fn the_first_table_is_open_and_the_others_can_be_opened() {
        let listing = |case: &str| Listing {
            case: case.into(),
            about: "function",
            columns: vec![("queued", "callbacks")],
            lines: vec![Line {
                name: "i_callback".into(),
                published: Some(vec![55.0]),
                model: vec![54.5],
            }],
        };
        let text = body(&[listing("x rcu=offload"), listing("x rcu=lazy")]).0;
        assert_eq!(text.matches("<details").count(), 1);
        assert_eq!(text.matches("54.5").count(), 2);
        assert!(text.contains("queued: published") && text.contains("(1 lines)"));
        assert!(body(&[]).0.is_empty());
    }
}

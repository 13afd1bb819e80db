//! The layout of a page: the run, its machine, its result, and the sections below. Every command's page has
//! this layout.
//!
//! A head has, from the top: a title, a sentence about the command, an alarm if the whole run is affected (it
//! was stopped, it found something), a few numbers, and the facts (command, machine, seed, versions). A
//! section without content is neither on the page nor among the links of the head.

use crate::html::document::Document;
use maud::{Markup, html};

/// A page under construction.
#[derive(Debug, Clone)]
pub struct Page {
    /// The title of the browser's window.
    pub title: String,
    /// The program that made it; see [`made_by`](crate::html::document::made_by).
    pub generator: String,
    /// The beginning.
    pub head: Head,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// The beginning of a page.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The heading.
    pub title: String,
    /// A sentence about the command.
    pub lead: Option<Markup>,
    /// A word about the whole run, and details.
    pub alarm: Option<(String, String)>,
    /// A few numbers.
    pub counts: Vec<Count>,
    /// Command, machine, seed, versions.
    pub facts: Vec<Fact>,
}

/// A number in the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub number: String,
    /// What it counts.
    pub what: String,
    /// Is it good, bad or neither?
    pub news: News,
}

/// Good, bad, or neither: a colour, which is never the only sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum News {
    /// Good.
    Good,
    /// Bad.
    Bad,
    /// Neither.
    #[default]
    None,
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
    /// Is it text to type, such as a command?
    pub code: bool,
}

/// A part of the page.
#[derive(Debug, Clone)]
pub struct Section {
    /// The target of links; unique on the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its content; a section without content is left out.
    pub body: Option<Markup>,
}

impl Count {
    /// A number that is bad if it is above 0.
    pub fn of(news: News, number: usize, what: &str) -> Self {
        let news = if number > 0 { news } else { News::None };
        Count::text(news, number.to_string(), what)
    }

    /// Words in place of a number.
    pub fn text(news: News, number: impl Into<String>, what: &str) -> Self {
        Count {
            number: number.into(),
            what: what.into(),
            news,
        }
    }

    fn class(&self) -> &'static str {
        match self.news {
            News::Good => "count good",
            News::Bad => "count bad",
            News::None => "count",
        }
    }
}

impl Fact {
    /// A value as a text.
    pub fn text(name: impl Into<String>, value: impl Into<String>) -> Self {
        Fact {
            name: name.into(),
            value: value.into(),
            code: false,
        }
    }

    /// A value to type.
    pub fn code(name: impl Into<String>, value: impl Into<String>) -> Self {
        Fact {
            code: true,
            ..Fact::text(name, value)
        }
    }
}

impl Section {
    /// A section with this link target, heading and body.
    pub fn new(id: &str, title: &str, body: Option<Markup>) -> Self {
        Section {
            id: id.into(),
            title: title.into(),
            body,
        }
    }
}

impl Head {
    fn render(&self) -> Markup {
        html! {
            h1 { (self.title) }
            @if let Some(lead) = &self.lead { p class="soft" { (lead) } }
            @if let Some((word, more)) = &self.alarm {
                p class="alarm" role="note" { strong { (word) ": " } (more) }
            }
            @if !self.counts.is_empty() {
                div class="counts" {
                    @for it in &self.counts {
                        div class=(it.class()) { b { (it.number) } span { (it.what) } }
                    }
                }
            }
            @if !self.facts.is_empty() {
                dl class="facts" {
                    @for it in &self.facts {
                        dt { (it.name) }
                        dd { @if it.code { code { (it.value) } } @else { (it.value) } }
                    }
                }
            }
        }
    }
}

impl Page {
    /// The whole file.
    pub fn render(&self) -> String {
        let shown = || {
            let sections = self.sections.iter();
            sections.filter_map(|it| it.body.as_ref().map(|body| (it, body)))
        };
        let body = html! {
            header {
                (self.head.render())
                @if shown().next().is_some() {
                    nav aria-label="Sections" { ul {
                        @for (it, _) in shown() { li { a href={ "#" (it.id) } { (it.title) } } }
                    } }
                }
            }
            @for (it, body) in shown() {
                section id=(it.id) { h2 { (it.title) } (body) }
            }
        };
        Document::new(&self.title, &self.generator).render(body)
    }
}

/// Notes as a list; text in backquotes becomes code.
pub fn notes(notes: &[String]) -> Markup {
    html! {
        ul class="notes" { @for note in notes { li { (prose(note)) } } }
    }
}

/// A line of prose; text in backquotes becomes code.
pub fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Lines unchanged, in a box that scrolls inside itself. The name is for screen readers.
pub fn verbatim(name: &str, text: &str) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(name) { pre { (text) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let page = Page {
            title: "a & b".into(),
            generator: "test".into(),
            head: Head {
                title: "<h1>".into(),
                lead: Some(prose("what `code` <is>")),
                alarm: Some(("Incomplete".into(), "it was <stopped>".into())),
                counts: vec![
                    Count::of(News::Bad, 2, "bad ones"),
                    Count::of(News::Bad, 0, "worse ones"),
                ],
                facts: vec![Fact::code("Command", "x '<y>'"), Fact::text("Seed", "7")],
            },
            sections: vec![
                Section::new("one", "First", Some(notes(&["a `b`".into()]))),
                Section::new("none", "Absent", None),
                Section::new("two", "Last", Some(verbatim("lines", "a\n  <b>"))),
            ],
        };
        page.render()
    }

    #[test]
    fn everything_is_there_escaped_and_in_order() {
        let page = page();
        for words in [
            "<h1>&lt;h1&gt;</h1>",
            "what <code>code</code> &lt;is&gt;",
            "<strong>Incomplete: </strong>it was &lt;stopped&gt;",
            "<div class=\"count bad\"><b>2</b><span>bad ones</span></div>",
            "<div class=\"count\"><b>0</b><span>worse ones</span></div>",
            "<dd><code>x '&lt;y&gt;'</code></dd>",
            "<pre>a\n  &lt;b&gt;</pre>",
            "<li>a <code>b</code></li>",
        ] {
            assert!(page.contains(words), "no `{words}` in {page}");
        }
        let body = page.find("<body>").unwrap()..page.find("</html>").unwrap();
        roxmltree::Document::parse(&page[body]).unwrap();
    }

    #[test]
    fn what_has_nothing_to_show_is_not_linked_to() {
        let page = page();
        assert!(!page.contains("Absent") && !page.contains("#none"));
        assert!(page.contains("href=\"#one\"") && page.contains("<section id=\"two\"><h2>Last"));
    }
}

//! The file around the body: one HTML document that loads nothing.
//!
//! It names the program that made it (`<meta name="generator">`): [`made_by`] reads that back, so that a
//! program can distinguish its own page from another file. Colours are custom properties with two sets of
//! values, and charts use nothing else, so that they follow the reader's light or dark setting; printed pages
//! are light.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A document under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    title: String,
    generator: String,
}

impl Document {
    /// A document with a title, made by this program.
    pub fn new(title: &str, generator: &str) -> Self {
        Document {
            title: title.into(),
            generator: generator.into(),
        }
    }

    /// The whole file.
    pub fn render(&self, body: Markup) -> String {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="generator" content=(self.generator);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body { main { (body) } }
            }
        }
        .into_string()
    }
}

/// Is this a page whose generator's name begins with these words?
pub fn made_by(page: &str, beginning: &str) -> bool {
    let mark = html! { meta name="generator" content=(beginning); }.into_string();
    let mark = mark.trim_end_matches('>').trim_end_matches('"');
    let head = page.split_once("<title>").map_or("", |(head, _)| head);
    !beginning.is_empty() && head.contains(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        Document::new("A <title> & more", "some \"program\"").render(html! { p { "body" } })
    }

    #[test]
    fn it_is_recognised_and_others_are_not() {
        let foreign = "<html><title>x</title><meta name=\"generator\" content=\"other\">";
        for text in ["", "plain text", foreign] {
            assert!(!made_by(text, "other"), "{text}");
        }
        assert!(made_by(&page(), "some ") && made_by(&page(), "some \"program\""));
        assert!(!made_by(&page(), "program") && !made_by(&page(), ""));
    }

    #[test]
    fn the_head_is_whole() {
        let page = page();
        for words in [
            "<!DOCTYPE html><html lang=\"en\">",
            "name=\"viewport\" content=\"width=device-width",
            "<title>A &lt;title&gt; &amp; more</title>",
            "prefers-color-scheme: dark",
        ] {
            assert!(page.contains(words), "no `{words}`");
        }
    }

    #[test]
    fn nothing_is_loaded() {
        for word in [
            "src=", "href=", "url(", "@import", "<script", "<link", "http",
        ] {
            assert!(!page().contains(word), "{word}");
        }
    }
}

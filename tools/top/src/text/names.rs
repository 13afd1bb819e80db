//! Names that are too long, and lines that are too long. All of them are shown without what a terminal would
//! obey: they come from the process that is watched.

use quiescent_report::text::{self, shown};
use std::collections::{BTreeMap, BTreeSet};

/// A name in at most so many letters. Of a path its crate and its function stay, and what fits of the part
/// behind the crate: `crate::…::module::function`. Any other name loses its middle.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let name = &*shown(name);
    match length(name) <= width {
        true => name.to_owned(),
        false => {
            let form = forms(name).into_iter().find(|it| length(it) <= width);
            form.unwrap_or_else(|| text::shortened(name, width))
        }
    }
}

/// The letters that a path needs to keep its crate and its function.
pub(crate) fn least(name: &str) -> usize {
    let forms = forms(&shown(name));
    forms.iter().map(|it| length(it)).min().unwrap_or(0)
}

/// These names in at most so many letters, by name. Those that are the same when they are short have a number.
pub(crate) fn distinct<'a>(
    names: impl Iterator<Item = &'a str>,
    width: usize,
) -> BTreeMap<String, String> {
    let all: BTreeSet<&str> = names.collect();
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in all {
        alike.entry(shortened(name, width)).or_default().push(name);
    }
    let mut distinct = BTreeMap::new();
    for (short, names) in alike {
        for (number, name) in (1..).zip(&names) {
            let end = format!(" #{number}");
            let room = width.saturating_sub(length(&end));
            let short = match names.len() {
                1 => short.clone(),
                _ => shortened(name, room) + &end,
            };
            distinct.insert((*name).to_owned(), short);
        }
    }
    distinct
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A path's forms with its crate and its function; none if it has no crate.
fn forms(name: &str) -> Vec<String> {
    let parts = parts(name);
    // Closures are parts of the function before them.
    let function = parts.iter().rposition(|it| !it.starts_with('{'));
    let Some(function @ 1..) = function else {
        return Vec::new();
    };
    let behind = |from: usize, tail: &str| {
        let cut = if from > 1 { "…::" } else { "" };
        format!("{}::{cut}{tail}", parts[0])
    };
    let rest = |from: usize, name: &str| [&[name], &parts[from + 1..]].concat().join("::");
    let name = parts[function];
    let bare = match name.find('<') {
        Some(at @ 1..) => format!("{}<…>", &name[..at]),
        _ => name.to_owned(),
    };
    let mut tails: Vec<(usize, String)> = (2..=function)
        .map(|from| (from, rest(from, parts[from])))
        .collect();
    tails.push((function, rest(function, &bare)));
    // Of closures inside closures the innermost, or none.
    let closures = &parts[function + 1..];
    let innermost = closures.get(1..).and_then(<[&str]>::last);
    let ends = innermost.map(|it| format!("…::{it}")).into_iter();
    for end in ends.chain(closures.first().map(|_| "…".to_owned())) {
        tails.extend([name, &bare].map(|it| (function, format!("{it}::{end}"))));
    }
    tails
        .iter()
        .map(|(from, tail)| behind(*from, tail))
        .collect()
}

/// The parts of a path: `::` inside brackets does not part it.
fn parts(name: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && at >= from && name[at..].starts_with("::") => {
                parts.push(&name[from..at]);
                from = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&name[from..]);
    parts
}

/// A line in lines that are short enough, the later ones indented, parted behind one of the marks.
pub(crate) fn wrapped(line: &str, width: usize, marks: &[&str]) -> Vec<String> {
    let mut lines = vec![String::new()];
    let line = &*shown(line);
    let mut rest = line;
    while !rest.is_empty() {
        let ends = marks
            .iter()
            .filter_map(|mark| Some(rest.find(mark)? + mark.len()));
        let (word, after) = rest.split_at(ends.min().unwrap_or(rest.len()));
        let last = lines.len() - 1;
        let is_begun = !lines[last].trim().is_empty();
        if is_begun && length(&lines[last]) + length(word.trim_end()) > width {
            lines.push("  ".to_owned());
        }
        let last = lines.len() - 1;
        lines[last] += word;
        rest = after;
    }
    lines.iter().map(|it| it.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_crate_and_its_function() {
        let name = "server::routes::table::evict::{{closure}}";
        for (width, short) in [
            (41, name),
            (40, "server::…::table::evict::{{closure}}"),
            (35, "server::…::evict::{{closure}}"),
            (28, "server::…::evict::…"),
            (19, "server::…::evict::…"),
            (18, "serve…:{{closure}}"),
        ] {
            assert_eq!(shortened(name, width), short, "{width}");
        }
        let held = "alloc::sync::Arc<config::tree::Tree<u64>>";
        assert_eq!(
            shortened(held, 38),
            "alloc::…::Arc<config::tree::Tree<u64>>"
        );
        assert_eq!(shortened(held, 22), "alloc::…::Arc<…>");
        assert_eq!(shortened("cache::evict::{closure}", 22), "cache::evict::…");
        let both = "it::top::beside<alloc::string::String>::{{closure}}";
        assert_eq!(shortened(both, 35), "it::…::beside<…>::{{closure}}");
        assert_eq!(shortened(both, 28), "it::…::beside<…>::…");
        let nested = "it::top::f::{{closure}}::{{closure}}::{{closure}}";
        assert_eq!(shortened(nested, 30), "it::…::f::…::{{closure}}");
    }

    #[test]
    fn names_that_are_alike_when_short_are_told_apart() {
        let names = [
            "server::routes::put::{{closure}}",
            "server::tables::put::{{closure}}",
            "x",
        ];
        let short = distinct(names.into_iter().chain(names), 20);
        let short: Vec<&str> = short.values().map(String::as_str).collect();
        assert_eq!(short, ["server::…::put::… #1", "server::…::put::… #2", "x"]);
        assert_eq!(distinct(names.into_iter(), 40)[names[1]], names[1]);
        assert_eq!(least(names[0]), "server::…::put::…".chars().count());
        assert_eq!((least("kfree"), least("a::f")), (0, 4));
    }

    #[test]
    fn other_names_lose_their_middle() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(
            shortened("kfree by security_cred_free", 13),
            "kfre…red_free"
        );
        assert_eq!(shortened("what", 1), "…");
        assert_eq!(shortened("what", 0), "");
    }

    #[test]
    fn lines_part_behind_marks() {
        let line = "held 1, 2 KiB   scans/s 3   lazy 4, hurry 5";
        assert_eq!(wrapped(line, 80, &["   ", ", "]), [line]);
        let parted = wrapped(line, 20, &["   ", ", "]);
        assert_eq!(
            parted,
            ["held 1, 2 KiB", "  scans/s 3", "  lazy 4, hurry 5"]
        );
        assert_eq!(wrapped("", 20, &[", "]), [""]);
    }
}

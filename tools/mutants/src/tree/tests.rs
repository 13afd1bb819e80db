use super::*;
use crate::list::{Genre, Mutant};

fn mutant(id: u32, genre: Genre, text: &str, what: &str, nth: usize, replacement: &str) -> Mutant {
    let (start, _) = text.match_indices(what).nth(nth).expect("it is there");
    Mutant {
        id,
        genre,
        file: "a.rs".to_owned(),
        start,
        end: start + what.len(),
        replacement: replacement.to_owned(),
        name: String::new(),
        key: String::new(),
    }
}

fn rendered(text: &str, mutants: &[Mutant]) -> (String, Written, wraps::Wraps) {
    let found = wraps::wraps(text, &mutants.iter().collect::<Vec<_>>()).expect("it parses");
    let mut again = wraps::wraps(text, &mutants.iter().collect::<Vec<_>>()).expect("it parses");
    let (new, written) = render(text, std::mem::take(&mut again.inserts), &again.wrapped);
    syn::parse_file(&new).unwrap_or_else(|e| panic!("{e}: {new}"));
    (new, written, found)
}

#[test]
fn operators_have_the_original_text_in_their_branches() {
    let text = "fn f(a: u8, b: u8) -> bool { !(a + b < b) }";
    let mutants = [
        mutant(1, Genre::Unary, text, "!", 0, ""),
        mutant(2, Genre::Binary, text, "<", 0, "<="),
        mutant(3, Genre::Binary, text, "+", 0, "-"),
    ];
    let (new, written, _) = rendered(text, &mutants);
    let sum = "(if ::mutant::on(3) { a - b } else { a + b })";
    let less = format!("(if ::mutant::on(2) {{ a + b <= b }} else {{ {sum} < b }})");
    let not = format!("(if ::mutant::on(1) {{ (a + b < b) }} else {{ !({less}) }})");
    assert_eq!(new, format!("fn f(a: u8, b: u8) -> bool {{ {not} }}"));
    let of = |id| {
        written
            .claims
            .iter()
            .find(|(i, _)| *i == id)
            .map(|(_, r)| &new[r.clone()])
    };
    assert_eq!(
        (of(1), of(3)),
        (Some(" (a + b < b)".trim_start()), Some("a - b"))
    );
    let around = written
        .around
        .iter()
        .find(|(i, _)| *i == 3)
        .map(|(_, r)| &new[r.clone()]);
    let around = around.expect("it is wrapped");
    assert!(
        around.ends_with(sum),
        "where neither of the branches is at fault: {around}"
    );
}

#[test]
fn bodies_arms_guards_and_fields() {
    let text =
        "fn f(a: u8) -> S { match a { 1 => S { x: a, ..S::new() }, 2 if a > 0 => s(), _ => t() } }";
    let mutants = [
        mutant(1, Genre::Body, text, "match", 0, "S::default()"),
        mutant(2, Genre::Arm, text, "1 =>", 0, ""),
        mutant(3, Genre::Arm, text, "2 if", 0, ""),
        mutant(4, Genre::Guard, text, "a > 0", 0, "true"),
        mutant(5, Genre::Guard, text, "a > 0", 0, "false"),
        mutant(6, Genre::Field, text, "x: a", 0, ""),
    ];
    let (new, ..) = rendered(text, &mutants);
    let has = |part: &str| assert!(new.contains(part), "{part} in {new}");
    has("{ if ::mutant::on(1) { return S::default(); } match");
    has(
        "1 if !::mutant::on(2) => S { x: if ::mutant::on(6) { (S { ..S::new() }).x } else { a }, ..",
    );
    has("2 if !::mutant::on(3) && ((::mutant::on(4) || ((!::mutant::on(5) && (a > 0))))) => s()");
}

#[test]
fn an_iterator_without_a_name() {
    let text = "fn f() -> impl Iterator<Item = u8> { a.iter() }";
    let (new, ..) = rendered(
        text,
        &[mutant(7, Genre::Body, text, "a.iter()", 0, "empty()")],
    );
    let body = "{ if ::mutant::on(7) { ::mutant::Either::Left(empty()) } else { ::mutant::Either::Right({ a.iter() }) } }";
    assert!(new.ends_with(body), "{new}");
}

#[test]
fn constants_are_the_rest_and_chains_with_a_let_do_not_compile() {
    let text =
        "const A: u8 = 1 + 2; fn f(a: Option<u8>) { if a == b && let Some(c) = a && c > 1 {} }";
    let mutants = [
        mutant(1, Genre::Binary, text, "+", 0, "-"),
        mutant(2, Genre::Binary, text, "&&", 0, "||"),
        mutant(3, Genre::Binary, text, "&&", 1, "||"),
        mutant(4, Genre::Binary, text, ">", 1, "=="),
    ];
    let (_, _, found) = rendered(text, &mutants);
    assert_eq!(found.unviable.into_iter().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(
        found.wrapped.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        [4]
    );
}

//! Finds what each mutant of a file changes in its syntax tree, and says what to insert so that both can be chosen.
//!
//! | genre | what is inserted |
//! |---|---|
//! | another operator | `(if on(1) { a - b } else if on(2) { a * b } else { a + b })` |
//! | an operator less | `(if on(1) { x } else { !x })` |
//! | a body | `if on(1) { return VALUE; }` at its beginning |
//! | a body that is `impl Iterator` | `if on(1) { Either::Left(VALUE) } else { Either::Right({ body }) }` |
//! | a guard | `(on(1) \|\| !on(2) && (guard))` |
//! | an arm less | `!on(1)` as its guard, or before it |
//! | a field less | `field: if on(1) { (S { ..base }).field } else { value }` |
//!
//! The branches of mutants have the original text of their operands; only the last has mutants inside. So the text grows with
//! the depth of expressions and not exponentially.
//!
//! What is evaluated by the compiler (constants, lengths, discriminants), and what stands in a macro, cannot be
//! wrapped, and is the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::list::{Genre, Mutant};

/// Text to insert before a byte of the original, and which of its bytes are whose.
pub struct Insert {
    pub at: usize,
    /// Ends what an earlier one begins.
    pub closes: bool,
    /// Earlier ones are outside.
    pub turn: usize,
    pub text: String,
    pub claims: Vec<(u32, Range<usize>)>,
}

/// What became of the mutants of a file.
#[derive(Default)]
pub struct Wraps {
    pub inserts: Vec<Insert>,
    /// The mutants that are wrapped, and the bytes of the original that decide whether they compile.
    pub wrapped: Vec<(u32, Range<usize>)>,
    /// Those that cannot compile, whatever is done: `||` between conditions of which one is a `let`.
    pub unviable: BTreeSet<u32>,
}

/// Wraps those `mutants` that are in `file`.
pub fn wraps(text: &str, mutants: &[&Mutant]) -> Result<Wraps, String> {
    let file = syn::parse_file(text).map_err(|e| e.to_string())?;
    let mut at = BTreeMap::<_, Vec<&Mutant>>::new();
    for mutant in mutants {
        at.entry((mutant.genre, mutant.start))
            .or_default()
            .push(mutant);
    }
    let mut finder = Finder {
        text,
        at,
        constant: 0,
        turn: 0,
        found: Wraps::default(),
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'a> {
    text: &'a str,
    at: BTreeMap<(Genre, usize), Vec<&'a Mutant>>,
    /// So many constants are around.
    constant: usize,
    turn: usize,
    found: Wraps,
}

/// The bytes of a node, by its first and its last token.
fn bytes(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// A piece of text with the claims in it.
#[derive(Default)]
struct Piece {
    text: String,
    claims: Vec<(u32, Range<usize>)>,
}

impl Piece {
    fn add(mut self, text: &str) -> Piece {
        self.text += text;
        self
    }

    /// Text that is there for `id`'s sake: where it does not compile, that mutant does not.
    fn claim(mut self, id: u32, text: &str) -> Piece {
        let start = self.text.len();
        self.text += text;
        self.claims.push((id, start..self.text.len()));
        self
    }
}

impl<'a> Finder<'a> {
    /// Those that begin at `start`, if they can be wrapped here.
    fn take(&mut self, genre: Genre, start: usize) -> Vec<&'a Mutant> {
        if self.constant > 0 {
            return Vec::new();
        }
        self.at.remove(&(genre, start)).unwrap_or_default()
    }

    fn turn(&mut self) -> usize {
        self.turn += 1;
        self.turn
    }

    fn insert(&mut self, at: usize, piece: Piece) {
        let turn = self.turn();
        let Piece { text, claims } = piece;
        self.found.inserts.push(Insert {
            at,
            closes: false,
            turn,
            text,
            claims,
        });
    }

    fn wrap(&mut self, range: Range<usize>, before: Piece, after: &str) {
        self.insert(range.start, before);
        let (turn, text) = (self.turn, after.to_owned());
        self.found.inserts.push(Insert {
            at: range.end,
            closes: true,
            turn,
            text,
            claims: Vec::new(),
        });
    }

    fn wrapped(&mut self, mutants: &[&Mutant], range: &Range<usize>) {
        self.found
            .wrapped
            .extend(mutants.iter().map(|m| (m.id, range.clone())));
    }

    /// The body of a function: a value instead of it.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else {
            return;
        };
        let whole = bytes(first).start..bytes(last).end;
        let returned = bytes(&signature.output);
        let opaque = self.text[returned].contains("impl Iterator");
        let mutants = self.take(Genre::Body, whole.start);
        for m in &mutants {
            let condition = format!("if ::mutant::on({}) {{ ", m.id);
            if opaque {
                let before = Piece::default()
                    .add(&condition)
                    .add("::mutant::Either::Left(");
                let before = before
                    .claim(m.id, &m.replacement)
                    .add(") } else { ::mutant::Either::Right({ ");
                self.wrap(whole.clone(), before, " }) }");
            } else {
                let text = format!("{condition}return {}; }} ", m.replacement);
                self.insert(whole.start, Piece::default().claim(m.id, &text));
            }
        }
        self.wrapped(&mutants, &bytes(block));
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.constant += 1;
        visit(self);
        self.constant -= 1;
    }

    /// A chain of `&&` in which one condition is a `let`.
    fn has_let(expr: &syn::Expr) -> bool {
        let mut left = expr;
        loop {
            match left {
                syn::Expr::Let(_) => return true,
                syn::Expr::Binary(b) if matches!(b.op, syn::BinOp::And(_)) => {
                    if matches!(*b.right, syn::Expr::Let(_)) {
                        return true;
                    }
                    left = &b.left;
                }
                _ => return false,
            }
        }
    }
}

fn first_byte(span: Span) -> usize {
    span.byte_range().start
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.body(&f.sig, &f.block);
        visit::visit_item_fn(self, f);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.body(&f.sig, &f.block);
        visit::visit_impl_item_fn(self, f);
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.body(&f.sig, block);
        }
        visit::visit_trait_item_fn(self, f);
    }

    fn visit_item_const(&mut self, c: &'ast syn::ItemConst) {
        self.constant(|finder| visit::visit_item_const(finder, c));
    }

    fn visit_item_static(&mut self, s: &'ast syn::ItemStatic) {
        self.constant(|finder| visit::visit_item_static(finder, s));
    }

    fn visit_impl_item_const(&mut self, c: &'ast syn::ImplItemConst) {
        self.constant(|finder| visit::visit_impl_item_const(finder, c));
    }

    fn visit_trait_item_const(&mut self, c: &'ast syn::TraitItemConst) {
        self.constant(|finder| visit::visit_trait_item_const(finder, c));
    }

    fn visit_expr_const(&mut self, c: &'ast syn::ExprConst) {
        self.constant(|finder| visit::visit_expr_const(finder, c));
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.constant(|finder| visit::visit_type_array(finder, array));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.constant(|finder| visit::visit_variant(finder, variant));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.constant(|finder| visit::visit_generic_argument(finder, argument));
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.constant(|finder| finder.visit_expr(&repeat.len));
    }

    fn visit_expr_binary(&mut self, b: &'ast syn::ExprBinary) {
        let mutants = self.take(Genre::Binary, first_byte(b.op.span()));
        if Self::has_let(&b.left) || matches!(*b.right, syn::Expr::Let(_)) {
            self.found.unviable.extend(mutants.iter().map(|m| m.id));
        } else if !mutants.is_empty() {
            let whole = bytes(b);
            let mut before = Piece::default().add("(");
            for m in mutants {
                let (left, right) = (
                    &self.text[whole.start..m.start],
                    &self.text[m.end..whole.end],
                );
                let other = format!("{left}{}{right}", m.replacement);
                if syn::parse_str::<syn::Expr>(&other).is_err() {
                    self.found.unviable.insert(m.id); // `a as u8 < b`
                    continue;
                }
                let condition = format!("if ::mutant::on({}) {{ ", m.id);
                before = before.add(&condition).claim(m.id, &other).add(" } else ");
                self.wrapped(&[m], &whole);
            }
            self.wrap(whole, before.add("{ "), " })");
        }
        visit::visit_expr_binary(self, b);
    }

    fn visit_expr_unary(&mut self, u: &'ast syn::ExprUnary) {
        let mutants = self.take(Genre::Unary, first_byte(u.op.span()));
        for m in &mutants {
            let whole = bytes(u);
            let before = Piece::default()
                .add(&format!("(if ::mutant::on({}) {{ ", m.id))
                .claim(m.id, &self.text[m.end..whole.end])
                .add(" } else { ");
            self.wrap(whole.clone(), before, " })");
            self.wrapped(&[m], &whole);
        }
        visit::visit_expr_unary(self, u);
    }

    fn visit_expr_match(&mut self, m: &'ast syn::ExprMatch) {
        // Whether an arm less compiles is said of the value that is matched.
        let value = bytes(&m.expr);
        for arm in &m.arms {
            let mutants = self.take(Genre::Arm, bytes(arm).start);
            for m in &mutants {
                match &arm.guard {
                    None => {
                        let text = format!(" if !::mutant::on({})", m.id);
                        self.insert(bytes(&arm.pat).end, Piece::default().claim(m.id, &text));
                    }
                    Some((_, guard)) => {
                        let before =
                            Piece::default().claim(m.id, &format!("!::mutant::on({}) && (", m.id));
                        self.wrap(bytes(guard), before, ")");
                    }
                }
                self.wrapped(&[m], &value);
            }
        }
        visit::visit_expr_match(self, m);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let whole = bytes(guard);
            for m in self.take(Genre::Guard, whole.start) {
                let (text, after) = match m.replacement.as_str() {
                    "true" => (format!("(::mutant::on({}) || (", m.id), "))"),
                    _ => (format!("(!::mutant::on({}) && (", m.id), "))"),
                };
                self.wrap(whole.clone(), Piece::default().add(&text), after);
                self.wrapped(&[m], &whole);
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, s: &'ast syn::ExprStruct) {
        for field in &s.fields {
            let whole = bytes(field);
            let (Some(base), mutants) = (&s.rest, self.take(Genre::Field, whole.start)) else {
                continue;
            };
            for m in &mutants {
                let (name, path) = (&self.text[bytes(&field.member)], &self.text[bytes(&s.path)]);
                let other = format!("({path} {{ ..{} }}).{name}", &self.text[bytes(base)]);
                let label = if field.colon_token.is_none() {
                    format!("{name}: ")
                } else {
                    String::new()
                };
                let before = Piece::default()
                    .add(&format!("{label}if ::mutant::on({}) {{ ", m.id))
                    .claim(m.id, &other)
                    .add(" } else { ");
                self.wrap(bytes(&field.expr), before, " }");
                self.wrapped(&[m], &whole);
            }
        }
        visit::visit_expr_struct(self, s);
    }
}

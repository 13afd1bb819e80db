//! The kernel's text of an event, by the kernel's own recipe: its `print fmt`.
//!
//! A recipe is a C format string with an expression for each conversion. Both are parsed once
//! ([`Print::parse`]) and evaluated for each event; `expr` has the supported expressions. A recipe with
//! anything else (an array, a bitmap, an enumerator that the kernel left unresolved, `%pI4`) is rejected:
//! such events are written as `name=value` of all their fields, as `trace-cmd report -R` does.

use super::expr::{Context, Expr, Parser};
use super::format::{Field, Format, Kind};
use super::walk::lossy;
use std::fmt::Write;

/// Conversions of a recipe.
const PIECES_MOST: usize = 128;

/// Width or precision.
const WIDTH_MOST: usize = 64;

#[derive(Debug)]
enum Piece {
    Literal(String),
    Conversion(Conversion),
}

#[derive(Debug)]
struct Conversion {
    left: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    kind: ConversionKind,
    value: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConversionKind {
    Signed { bits: u32 },
    Unsigned { bits: u32, base: Base },
    Character,
    Text,
    Pointer,
    Function { offset: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Decimal,
    Octal,
    Hex,
    UpperHex,
}

/// A recipe.
#[derive(Debug)]
pub(super) struct Print {
    pieces: Vec<Piece>,
}

impl Print {
    /// `"vec=%u [action=%s]", REC->vec, __print_symbolic(...)`.
    pub(super) fn parse(recipe: &str, fields: &[Field]) -> Option<Print> {
        let mut parser = Parser::new(recipe, fields);
        let format = parser.string()?;
        let mut pieces = Vec::new();
        let mut rest = format.as_str();
        while !rest.is_empty() {
            let Some(at) = rest.find('%') else {
                pieces.push(Piece::Literal(rest.to_owned()));
                break;
            };
            if at > 0 {
                pieces.push(Piece::Literal(rest[..at].to_owned()));
            }
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                pieces.push(Piece::Literal("%".to_owned()));
                rest = after;
                continue;
            }
            let (conversion, after) = conversion(rest, &mut parser)?;
            pieces.push(Piece::Conversion(conversion));
            rest = after;
            if pieces.len() > PIECES_MOST {
                return None;
            }
        }
        parser.ends().then_some(Print { pieces })
    }

    /// Writes what stands behind `prev_state=`, up to the next text between conversions.
    pub(super) fn write_state(&self, context: &Context<'_>, out: &mut String) -> Option<()> {
        let named =
            |piece: &Piece| matches!(piece, Piece::Literal(it) if it.ends_with("prev_state="));
        let start = self.pieces.iter().position(named)?;
        for piece in &self.pieces[start + 1..] {
            match piece {
                Piece::Literal(_) => break,
                Piece::Conversion(c) => c.write(context, out)?,
            }
        }
        Some(())
    }

    /// Writes the text of an event; `None`, with something written perhaps, if its bytes do not have what it
    /// takes.
    pub(super) fn write(&self, context: &Context<'_>, out: &mut String) -> Option<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Conversion(c) => c.write(context, out)?,
            }
        }
        Some(())
    }
}

/// What follows a `%`.
fn conversion<'t>(text: &'t str, parser: &mut Parser<'_>) -> Option<(Conversion, &'t str)> {
    let count = text.bytes().take_while(|b| b"-+ #0".contains(b)).count();
    let (flags, rest) = text.split_at(count);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (width, mut rest) = rest.split_at(digits);
    let width = if width.is_empty() {
        0
    } else {
        width.parse().ok().filter(|w| *w <= WIDTH_MOST)?
    };
    if let Some(after) = rest.strip_prefix('.') {
        // A precision only matters for text that is longer, which the kernel has cut already.
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let count = rest.bytes().take_while(|b| b"hlLqzjt".contains(b)).count();
    let (length, rest) = rest.split_at(count);
    let bits = match length {
        "" => 32,
        "h" => 16,
        "hh" => 8,
        "l" | "z" | "t" => parser.long_bits(),
        _ => 64,
    };
    let letter = rest.chars().next()?;
    let mut after = &rest[letter.len_utf8()..];
    let unsigned = |base| ConversionKind::Unsigned { bits, base };
    let kind = match letter {
        'd' | 'i' => ConversionKind::Signed { bits },
        'u' => unsigned(Base::Decimal),
        'o' => unsigned(Base::Octal),
        'x' => unsigned(Base::Hex),
        'X' => unsigned(Base::UpperHex),
        'c' => ConversionKind::Character,
        's' => ConversionKind::Text,
        'p' => {
            let count = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let (extension, rest) = after.split_at(count);
            let shape = match extension {
                "" | "x" | "K" => ConversionKind::Pointer,
                "s" | "f" => ConversionKind::Function { offset: false },
                "S" | "F" | "B" => ConversionKind::Function { offset: true },
                _ => return None,
            };
            after = rest;
            shape
        }
        _ => return None,
    };
    let conversion = Conversion {
        left: flags.contains('-'),
        zero: flags.contains('0'),
        alternate: flags.contains('#'),
        width,
        kind,
        value: parser.next_argument()?,
    };
    Some((conversion, after))
}

impl Conversion {
    fn write(&self, context: &Context<'_>, out: &mut String) -> Option<()> {
        let start = out.len();
        match self.kind {
            ConversionKind::Text => self.value.write_text(context, out)?,
            ConversionKind::Character => {
                let byte = self.value.number(context)? as u8;
                out.push(if byte.is_ascii_graphic() {
                    byte as char
                } else {
                    '?'
                });
            }
            ConversionKind::Signed { bits } => {
                let unused = 64 - bits;
                let value = (self.value.number(context)? as i64) << unused >> unused;
                write!(out, "{value}").ok()?;
            }
            ConversionKind::Unsigned { bits, base } => {
                let unused = 64 - bits;
                let value = (self.value.number(context)? as u64) << unused >> unused;
                match (base, self.alternate) {
                    (Base::Decimal, _) => write!(out, "{value}"),
                    (Base::Octal, _) => write!(out, "{value:o}"),
                    (Base::Hex, false) => write!(out, "{value:x}"),
                    (Base::Hex, true) => write!(out, "{value:#x}"),
                    (Base::UpperHex, _) => write!(out, "{value:X}"),
                }
                .ok()?;
            }
            ConversionKind::Pointer => {
                let value = self.value.number(context)? as u64;
                write!(out, "{value:0width$x}", width = context.long * 2).ok()?;
            }
            ConversionKind::Function { offset } => {
                let address = self.value.number(context)? as u64;
                context.write_function(address, offset, out);
            }
        }
        self.pad(start, out);
        Some(())
    }

    fn pad(&self, start: usize, out: &mut String) {
        let missing = self.width.saturating_sub(out.len() - start);
        if missing == 0 {
            return;
        }
        let number = matches!(
            self.kind,
            ConversionKind::Signed { .. } | ConversionKind::Unsigned { .. }
        );
        if self.left {
            out.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero && number {
            // Zeros go behind a sign or `0x`.
            let text = &out[start..];
            let head = usize::from(text.starts_with('-')) + 2 * usize::from(text.starts_with("0x"));
            let zeros = "0".repeat(missing);
            out.insert_str(start + head, &zeros);
        } else {
            out.insert_str(start, &" ".repeat(missing));
        }
    }
}

/// All fields as `name=value`.
pub(super) fn write_fields(format: &Format, context: &Context<'_>, out: &mut String) {
    for (i, field) in format.fields[format.common..].iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&field.name);
        out.push('=');
        write_field(field, context, out);
    }
}

fn write_field(field: &Field, context: &Context<'_>, out: &mut String) {
    match field.kind {
        Kind::Text | Kind::Elsewhere { text: true, .. } => {
            if let Some(bytes) = field.text(context.event, context.big) {
                out.push_str(&lossy(bytes));
            }
        }
        Kind::Elsewhere { .. } => out.push_str("[...]"),
        Kind::Pointer | Kind::Number => match field.number(context.event, context.big) {
            Some(value) => {
                let known = (field.kind == Kind::Pointer)
                    .then(|| context.strings.get(&(value as u64)))
                    .flatten();
                let _always = match known {
                    Some(text) => write!(out, "{text}"),
                    None if field.address => {
                        // Where a function starts there is nothing else.
                        match context.symbols.find(value as u64) {
                            Some((name, 0)) => write!(out, "{name}"),
                            _ => write!(out, "{:#x}", value as u64),
                        }
                    }
                    None => write!(out, "{value}"),
                };
            }
            None => out.push_str("[...]"),
        },
    }
}

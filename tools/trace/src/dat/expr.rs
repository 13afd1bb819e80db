//! The C expressions of the kernel's `print fmt`, as far as they are pure: numbers, fields, operators, casts,
//! tables.
//!
//! Taken apart by precedence, evaluated in 128 bits so that no difference of signs matters; a cast to a
//! narrower type cuts, everything else goes on as it is. Nesting is bounded (`parse`), so that no text can
//! exhaust the stack, and so is the size of a tree. Division by zero and overflow give nothing: the event is
//! then printed by its fields.

use super::format::{Field, Kind};
use super::symbols::Symbols;
use super::walk::lossy;
use std::collections::HashMap;
use std::fmt::Write;

pub(super) use parse::Parser;

/// What the evaluation of an event needs.
pub(super) struct Context<'a> {
    pub(super) event: &'a [u8],
    pub(super) fields: &'a [Field],
    pub(super) big: bool,
    /// Bytes of the kernel's `long`.
    pub(super) long: usize,
    pub(super) symbols: &'a Symbols,
    pub(super) strings: &'a HashMap<u64, String>,
}

impl Context<'_> {
    /// The function at an address, or the address.
    pub(super) fn write_function(&self, address: u64, offset: bool, out: &mut String) {
        let _always = match self.symbols.find(address) {
            Some((name, into)) if offset && into > 0 => write!(out, "{name}+{into:#x}"),
            Some((name, _)) if offset => write!(out, "{name}+0x0"),
            Some((name, _)) => write!(out, "{name}"),
            None => write!(out, "{address:#x}"),
        };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    Both,
    Either,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Number(i128),
    Text(String),
    Field(usize),
    Element(usize, Box<Expr>),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Complement(Box<Expr>),
    Cast {
        bits: u32,
        signed: bool,
        of: Box<Expr>,
    },
    Binary(Op, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `__print_symbolic`: the name of a number.
    Symbolic(Box<Expr>, Vec<(i128, String)>),
    /// `__print_flags`: the names of its bits.
    Flags(Box<Expr>, String, Vec<(i128, String)>),
}

impl Expr {
    pub(super) fn number(&self, context: &Context<'_>) -> Option<i128> {
        let truth = |b: bool| Some(i128::from(b));
        match self {
            Expr::Number(n) => Some(*n),
            Expr::Field(at) => context.fields.get(*at)?.number(context.event, context.big),
            Expr::Element(at, index) => {
                let index = usize::try_from(index.number(context)?).ok()?;
                let field = context.fields.get(*at)?;
                field.element(context.event, index, context.big)
            }
            Expr::Not(of) => truth(of.number(context)? == 0),
            Expr::Minus(of) => of.number(context)?.checked_neg(),
            Expr::Complement(of) => Some(!of.number(context)?),
            Expr::Cast { bits, signed, of } => {
                let unused = 128 - bits;
                let n = of.number(context)?;
                Some(if *signed {
                    n << unused >> unused
                } else {
                    ((n as u128) << unused >> unused) as i128
                })
            }
            Expr::Binary(op, a, b) => binary(*op, a, b, context),
            Expr::Choice(which, a, b) => {
                let branch = if which.number(context)? != 0 { a } else { b };
                branch.number(context)
            }
            Expr::Text(_) | Expr::Symbolic(..) | Expr::Flags(..) => None,
        }
    }

    pub(super) fn write_text(&self, context: &Context<'_>, out: &mut String) -> Option<()> {
        match self {
            Expr::Text(text) => out.push_str(text),
            Expr::Field(at) => {
                let field = context.fields.get(*at)?;
                if field.kind == Kind::Pointer {
                    let address = field.number(context.event, context.big)? as u64;
                    match context.strings.get(&address) {
                        Some(text) => out.push_str(text),
                        None => write!(out, "({address:#x})").ok()?,
                    }
                } else {
                    out.push_str(&lossy(field.text(context.event, context.big)?));
                }
            }
            Expr::Cast { of, .. } => of.write_text(context, out)?,
            Expr::Choice(which, a, b) => {
                let branch = if which.number(context)? != 0 { a } else { b };
                branch.write_text(context, out)?;
            }
            Expr::Symbolic(of, names) => {
                let n = of.number(context)?;
                match names.iter().find(|(key, _)| *key == n) {
                    Some((_, name)) => out.push_str(name),
                    None => write!(out, "{:#x}", n as u64).ok()?,
                }
            }
            Expr::Flags(of, between, names) => flags(of.number(context)?, between, names, out)?,
            _ => return None,
        }
        Some(())
    }
}

/// Names of the bits that are set, and the others in hexadecimal.
fn flags(mut left: i128, between: &str, names: &[(i128, String)], out: &mut String) -> Option<()> {
    let mut first = true;
    let mut gap = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push_str(between);
        }
    };
    for (mask, name) in names {
        let whole = left & mask == *mask && (*mask != 0 || left == 0);
        if whole {
            left &= !mask;
            gap(out);
            out.push_str(name);
            if *mask == 0 {
                return Some(());
            }
        }
    }
    if left != 0 {
        gap(out);
        write!(out, "{:#x}", left as u64).ok()?;
    }
    Some(())
}

fn binary(op: Op, a: &Expr, b: &Expr, context: &Context<'_>) -> Option<i128> {
    let a = a.number(context)?;
    match op {
        Op::Both if a == 0 => return Some(0),
        Op::Either if a != 0 => return Some(1),
        _ => {}
    }
    let b = b.number(context)?;
    let bits = || u32::try_from(b).ok().filter(|b| *b < 64);
    Some(match op {
        Op::Mul => a.checked_mul(b)?,
        Op::Div => a.checked_div(b)?,
        Op::Rem => a.checked_rem(b)?,
        Op::Add => a.checked_add(b)?,
        Op::Sub => a.checked_sub(b)?,
        Op::Shl => a.checked_mul(1i128 << bits()?)?,
        Op::Shr => a >> bits()?,
        Op::And => a & b,
        Op::Xor => a ^ b,
        Op::Or => a | b,
        Op::Lt => i128::from(a < b),
        Op::Le => i128::from(a <= b),
        Op::Gt => i128::from(a > b),
        Op::Ge => i128::from(a >= b),
        Op::Eq => i128::from(a == b),
        Op::Ne => i128::from(a != b),
        Op::Both | Op::Either => i128::from(b != 0),
    })
}

mod parse;

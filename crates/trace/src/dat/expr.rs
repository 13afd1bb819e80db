//! The C expressions of the kernel's `print fmt`, as far as they are pure: numbers, fields, operators, casts, tables.
//!
//! Taken apart by precedence, evaluated in 128 bits so that no difference of signs matters; a cast to a narrower type
//! cuts, everything else goes on as it is. Nesting is bounded ([`DEPTH_MOST`]), so that no text can exhaust the stack,
//! and so is the size of a tree. Division by zero and overflow give nothing: the event is then printed by its fields.

use super::format::{Field, Kind};
use super::symbols::Symbols;
use super::walk::lossy;
use std::collections::HashMap;
use std::fmt::Write;

/// How deeply brackets and operators may nest.
const DEPTH_MOST: u32 = 48;

/// Operators of one chain: it becomes a tree that is as deep.
const CHAIN_MOST: u32 = 128;

/// Nodes of all expressions of a recipe.
const NODES_MOST: u32 = 4096;

/// What an event is looked at with.
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

/// Operators with how tightly they bind; longer ones first.
const OPERATORS: [(&str, Op, u8); 18] = [
    ("<<", Op::Shl, 8),
    (">>", Op::Shr, 8),
    ("<=", Op::Le, 7),
    (">=", Op::Ge, 7),
    ("==", Op::Eq, 6),
    ("!=", Op::Ne, 6),
    ("&&", Op::Both, 2),
    ("||", Op::Either, 1),
    ("*", Op::Mul, 10),
    ("/", Op::Div, 10),
    ("%", Op::Rem, 10),
    ("+", Op::Add, 9),
    ("-", Op::Sub, 9),
    ("<", Op::Lt, 7),
    (">", Op::Gt, 7),
    ("&", Op::And, 5),
    ("^", Op::Xor, 4),
    ("|", Op::Or, 3),
];

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

/// Takes a recipe apart, from left to right.
pub(super) struct Parser<'a> {
    rest: &'a str,
    fields: &'a [Field],
    depth: u32,
    nodes: u32,
}

/// Words that types are made of, with their bits where that matters.
const TYPES: [(&str, u32); 22] = [
    ("unsigned", 0),
    ("signed", 0),
    ("const", 0),
    ("char", 8),
    ("short", 16),
    ("int", 32),
    ("long", 64),
    ("void", 64),
    ("u8", 8),
    ("u16", 16),
    ("u32", 32),
    ("u64", 64),
    ("s8", 8),
    ("s16", 16),
    ("s32", 32),
    ("s64", 64),
    ("__u32", 32),
    ("__u64", 64),
    ("size_t", 64),
    ("ssize_t", 64),
    ("pid_t", 32),
    ("bool", 8),
];

impl<'a> Parser<'a> {
    pub(super) fn new(recipe: &'a str, fields: &'a [Field]) -> Self {
        Parser {
            rest: recipe,
            fields,
            depth: 0,
            nodes: 0,
        }
    }

    /// Bits of the kernel's `long`, as its events show it: a field `unsigned long` says so, or an address.
    pub(super) fn long_bits(&self) -> u32 {
        let addresses = self.fields.iter().filter(|f| f.address);
        match addresses.map(Field::size).max() {
            Some(4) => 32,
            _ => 64,
        }
    }

    /// Whether nothing is left.
    pub(super) fn ends(&mut self) -> bool {
        self.space();
        self.rest.is_empty()
    }

    /// `, expression`.
    pub(super) fn next_argument(&mut self) -> Option<Expr> {
        self.eat(",")?;
        self.expression(0)
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    fn word(&mut self) -> Option<&'a str> {
        self.space();
        let rest = self.rest;
        let length = rest
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
        let (word, after) = rest.split_at(length);
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = after;
        Some(word)
    }

    /// One string literal or several side by side.
    pub(super) fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        self.eat("\"")?;
        loop {
            let at = self.rest.find(['"', '\\'])?;
            text.push_str(&self.rest[..at]);
            let escape = self.rest.as_bytes()[at] == b'\\';
            self.rest = &self.rest[at + 1..];
            if escape {
                let c = self.rest.chars().next()?;
                text.push(match c {
                    // A line is a record: none of its own.
                    'n' | 't' | 'r' => ' ',
                    c if c.is_ascii_digit() => return None,
                    c => c,
                });
                self.rest = &self.rest[c.len_utf8()..];
            } else if self.eat("\"").is_none() {
                return Some(text);
            }
        }
    }

    fn expression(&mut self, least: u8) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MOST {
            return None;
        }
        let mut left = self.operand()?;
        for links in 0.. {
            self.nodes += 1;
            if self.nodes > NODES_MOST || links > CHAIN_MOST {
                return None;
            }
            self.space();
            let Some((token, op, binds)) = OPERATORS
                .iter()
                .find(|(token, ..)| self.rest.starts_with(token))
            else {
                break;
            };
            if *binds <= least {
                break;
            }
            self.eat(token)?;
            let right = self.expression(*binds)?;
            left = Expr::Binary(*op, Box::new(left), Box::new(right));
        }
        if least == 0 && self.eat("?").is_some() {
            let yes = self.expression(0)?;
            self.eat(":")?;
            let no = self.expression(0)?;
            left = Expr::Choice(Box::new(left), Box::new(yes), Box::new(no));
        }
        self.depth -= 1;
        Some(left)
    }

    fn operand(&mut self) -> Option<Expr> {
        // A chain of signs is deep, too.
        self.depth += 1;
        if self.depth > DEPTH_MOST {
            return None;
        }
        let operand = self.operand_of_any_depth()?;
        self.depth -= 1;
        Some(operand)
    }

    fn operand_of_any_depth(&mut self) -> Option<Expr> {
        self.space();
        let first = self.rest.bytes().next()?;
        match first {
            b'"' => self.string().map(Expr::Text),
            b'0'..=b'9' => self.number(),
            b'!' => self.signed("!", Expr::Not),
            b'-' => self.signed("-", Expr::Minus),
            b'~' => self.signed("~", Expr::Complement),
            b'(' => self.bracket(),
            _ => self.named(),
        }
    }

    fn signed(&mut self, token: &str, make: fn(Box<Expr>) -> Expr) -> Option<Expr> {
        self.eat(token)?;
        self.operand().map(|of| make(Box::new(of)))
    }

    fn number(&mut self) -> Option<Expr> {
        let rest = self.rest;
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (word, after) = rest.split_at(length);
        self.rest = after;
        let word = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let n = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None if word.len() > 1 && word.starts_with('0') => u64::from_str_radix(word, 8).ok()?,
            None => word.parse().ok()?,
        };
        Some(Expr::Number(n.into()))
    }

    /// A cast, or brackets.
    fn bracket(&mut self) -> Option<Expr> {
        self.eat("(")?;
        let before = self.rest;
        if let Some((bits, signed)) = self.type_name() {
            let of = Box::new(self.operand()?);
            return Some(Expr::Cast { bits, signed, of });
        }
        self.rest = before;
        let inner = self.expression(0)?;
        self.eat(")")?;
        Some(inner)
    }

    /// `unsigned long long)`, `void *)`.
    fn type_name(&mut self) -> Option<(u32, bool)> {
        let (mut bits, mut signed, mut long) = (None, true, false);
        while let Some(word) = self.word() {
            let (_, of) = TYPES.iter().find(|(name, _)| *name == word)?;
            signed &= !(word == "unsigned" || word.trim_start_matches('_').starts_with('u'));
            signed &= !matches!(word, "size_t" | "bool" | "void");
            long |= word == "long";
            if *of > 0 && !(word == "int" && bits.is_some()) {
                bits = Some(*of);
            } else {
                bits = bits.or(Some(32));
            }
        }
        self.space();
        while self.eat("*").is_some() {
            (bits, signed) = (Some(64), false);
        }
        self.eat(")")?;
        let bits = if long && bits == Some(64) {
            self.long_bits()
        } else {
            bits?
        };
        Some((bits, signed))
    }

    fn named(&mut self) -> Option<Expr> {
        match self.word()? {
            "REC" => {
                self.eat("->")?;
                let at = self.field()?;
                if self.eat("[").is_none() {
                    return Some(Expr::Field(at));
                }
                let index = Box::new(self.expression(0)?);
                self.eat("]")?;
                Some(Expr::Element(at, index))
            }
            "__get_str" | "__get_rel_str" => {
                self.eat("(")?;
                let at = self.field()?;
                self.eat(")")?;
                Some(Expr::Field(at))
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                self.eat("(")?;
                let of = Box::new(self.expression(0)?);
                Some(Expr::Symbolic(of, self.names()?))
            }
            "__print_flags" | "__print_flags_u64" => {
                self.eat("(")?;
                let of = Box::new(self.expression(0)?);
                self.eat(",")?;
                let between = self.string()?;
                Some(Expr::Flags(of, between, self.names()?))
            }
            "__builtin_expect" => {
                self.eat("(")?;
                let of = self.expression(0)?;
                self.eat(",")?;
                self.expression(0)?;
                self.eat(")")?;
                Some(of)
            }
            _ => None,
        }
    }

    fn field(&mut self) -> Option<usize> {
        let name = self.word()?;
        self.fields.iter().position(|f| f.name == name)
    }

    /// `, { 0, "HI" }, { 1 << 1, "TIMER" })`: keys without fields in them.
    fn names(&mut self) -> Option<Vec<(i128, String)>> {
        let nothing = Context {
            event: &[],
            fields: &[],
            big: false,
            long: 8,
            symbols: &Symbols::default(),
            strings: &HashMap::new(),
        };
        let mut names = Vec::new();
        while self.eat(",").is_some() {
            self.eat("{")?;
            let key = self.expression(0)?.number(&nothing)?;
            self.eat(",")?;
            names.push((key, self.string()?));
            self.eat("}")?;
        }
        self.eat(")")?;
        Some(names)
    }
}

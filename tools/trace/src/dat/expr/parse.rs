//! Takes expressions apart, by precedence and from left to right. Nesting, chains and sizes are bounded, so
//! that no text can exhaust the stack, here or when the tree is followed.

use super::super::format::Field;
use super::super::symbols::Symbols;
use super::{Context, Expr, Op};
use std::collections::HashMap;

/// How deeply brackets and operators may nest.
const DEPTH_MOST: u32 = 48;

/// Operators of one chain: it becomes a tree that is as deep.
const CHAIN_MOST: u32 = 128;

/// Nodes of all expressions of a recipe.
const NODES_MOST: u32 = 4096;

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

/// Takes a recipe apart, from left to right.
pub(in crate::dat) struct Parser<'a> {
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
    pub(in crate::dat) fn new(recipe: &'a str, fields: &'a [Field]) -> Self {
        Parser {
            rest: recipe,
            fields,
            depth: 0,
            nodes: 0,
        }
    }

    /// Bits of the kernel's `long`, as its events show it: a field `unsigned long` says so, or an address.
    pub(in crate::dat) fn long_bits(&self) -> u32 {
        let addresses = self.fields.iter().filter(|f| f.address);
        match addresses.map(Field::size).max() {
            Some(4) => 32,
            _ => 64,
        }
    }

    /// Whether nothing is left.
    pub(in crate::dat) fn ends(&mut self) -> bool {
        self.space();
        self.rest.is_empty()
    }

    /// `, expression`.
    pub(in crate::dat) fn next_argument(&mut self) -> Option<Expr> {
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
    pub(in crate::dat) fn string(&mut self) -> Option<String> {
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
            let known = TYPES.iter().find(|(name, _)| *name == word);
            // Of any other type nothing is known but that it is one: it cuts nothing.
            let of = match known {
                Some((_, bits)) => bits,
                None if word.ends_with("_t") => &64,
                None => return None,
            };
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

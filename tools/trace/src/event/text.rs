//! Fields out of an event's text.

use super::table::{Number, Source, Text};
use super::words::{first_word, function_of, hex, number, pointed, task};
use crate::Fault;
use crate::base::bytes::{self, ONES, first};

/// The text as the tracefs file has it, of which this is left: every field at its place.
///
/// A name of a task with an equals sign in it is left to [`Loose`]: it may be something else that looks like
/// a field. All other words end at a blank, and what is in front of a field is known to the byte, so that no
/// field can stand there twice. Where this one succeeds, both give the same (checked on hundreds of events of
/// each kind, and on damaged ones).
pub(super) struct Exact<'a>(pub(super) &'a str);

/// Anything that is not as expected.
const ODD: Fault = Fault::Shape;

impl<'a> Source<'a> for Exact<'a> {
    type Wrong = Fault;

    #[inline(always)]
    fn number(&mut self, before: &str, _: &'static str, how: Number) -> Result<u64, Fault> {
        let text = self.0.strip_prefix(before).ok_or(ODD)?;
        let (number, rest) = match how {
            Number::Bits => hex_digits(text),
            Number::Plain | Number::Callbacks => digits(text),
            Number::Signed => match text.strip_prefix('-') {
                None => digits(text),
                Some(text) => digits(text).map(|(number, rest)| (number.wrapping_neg(), rest)),
            },
        }
        .ok_or(ODD)?;
        self.0 = rest;
        Ok(number)
    }

    #[inline(always)]
    fn text(&mut self, before: &str, _: &'static str, how: Text) -> Result<&'a str, Fault> {
        let text = self.0.strip_prefix(before).ok_or(ODD)?;
        let (piece, rest) = match how {
            Text::Word | Text::Dependency => word(text),
            Text::Task(next) => task_before(text, next),
            Text::Function => word(text).filter(|(name, _)| {
                let odd = |any, b| any | (b == b'+') | (b == b'/');
                !name.bytes().fold(false, odd)
            }),
            Text::State => letters(text),
            Text::Stack | Text::Whole => Some((text, "")),
        }
        .ok_or(ODD)?;
        self.0 = rest;
        Ok(piece)
    }

    #[inline(always)]
    fn skip(&mut self, before: &str) -> Result<(), Fault> {
        self.text(before, "", Text::Word).map(|_| ())
    }

    #[inline(always)]
    fn last(&mut self, before: &str, name: &'static str) -> Result<Option<u64>, Fault> {
        match self.0.is_empty() {
            true => Ok(None),
            false => self.number(before, name, Number::Plain).map(Some),
        }
    }

    #[inline(always)]
    fn end(&mut self) -> Result<(), Fault> {
        ends(self.0).ok_or(ODD)
    }
}

/// The word at the start, which is not empty, and what follows it.
#[inline(always)]
fn word(text: &str) -> Option<(&str, &str)> {
    // The least byte that is no blank of any kind: an exclamation mark.
    let below = |eight: u64| eight.wrapping_sub(ONES * 0x21) & !eight;
    let end = first(text.as_bytes(), 0, below, |b| b < 0x21);
    let (word, rest) = text.split_at(end);
    (end > 0 && ends(rest).is_some()).then_some((word, rest))
}

/// Nothing follows, or a blank.
#[inline(always)]
fn ends(rest: &str) -> Option<()> {
    matches!(rest.as_bytes().first(), None | Some(b' ')).then_some(())
}

/// The name of a task up to the first equals sign, in front of which this field is named; the sign follows.
#[inline(always)]
fn task_before<'a>(text: &'a str, field: &str) -> Option<(&'a str, &'a str)> {
    let signs = |eight: u64| {
        let sign = eight ^ (ONES * 0x3d);
        sign.wrapping_sub(ONES) & !sign
    };
    let (name, rest) = text.split_at(first(text.as_bytes(), 0, signs, |b| b == b'='));
    Some((name.strip_suffix(field)?.trim_ascii(), rest))
}

/// A letter, or a few: `R+`, `S|K`.
#[inline(always)]
fn letters(text: &str) -> Option<(&str, &str)> {
    let other = |b: u8| !(b.is_ascii_alphabetic() || b == b'+' || b == b'|');
    let end = text.bytes().take(8).position(other).filter(|at| *at > 0)?;
    text.split_at_checked(end)
}

/// A decimal number at the start, and the rest.
#[inline(always)]
fn digits(text: &str) -> Option<(u64, &str)> {
    let (value, end) = bytes::digits(text.as_bytes(), 0)?;
    Some((value, text.get(end..)?))
}

/// A hexadecimal number of at most sixteen digits, and what follows it.
#[inline(always)]
fn hex_digits(text: &str) -> Option<(u64, &str)> {
    let (mut value, mut at) = (0u64, 0);
    while let Some(digit) = text
        .as_bytes()
        .get(at)
        .and_then(|b| char::from(*b).to_digit(16))
    {
        value = value << 4 | u64::from(digit);
        at += 1;
        if at > 16 {
            return None;
        }
    }
    match at {
        0 => None,
        _ => Some((value, text.get(at..)?)),
    }
}

/// Text of any form.
///
/// Where all fields have names (the `fields` option, `trace-cmd report -R`, formats that cannot be followed)
/// a field is looked for by its name in the format; else by the name that the kernel prints, or, where it
/// prints none, by its place among the words. The `fields` option prints numbers as `pid=0xf (15)`: the first
/// form is read.
pub(super) struct Loose<'a> {
    text: &'a str,
    /// Behind the last field that was found by its place.
    rest: &'a str,
    /// All fields have names.
    named: bool,
}

impl<'a> Loose<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Loose {
            text,
            rest: text,
            named: first_word(text).contains('='),
        }
    }

    /// The name of a field in the text, if it has one there.
    fn name<'n>(&self, before: &'n str, name: &'n str) -> Option<&'n str> {
        let printed = before.strip_suffix('=');
        let printed = printed
            .and_then(|it| it.rsplit(' ').next())
            .filter(|it| !it.is_empty());
        match printed {
            Some(printed) if !self.named => Some(printed),
            _ => (self.named || before == "=").then_some(name),
        }
    }

    fn find(&mut self, before: &str, name: &'static str) -> Result<&'a str, Fault> {
        let found = match self.name(before, name) {
            Some(name) => pointed(self.text, name),
            None => self.next(before),
        };
        found.ok_or(Fault::Field(name))
    }

    /// The next word, behind those that `before` has.
    fn next(&mut self, before: &str) -> Option<&'a str> {
        match before {
            ">" => self.rest = self.rest.strip_prefix(before)?,
            _ => before
                .split_whitespace()
                .try_for_each(|_| self.next("").map(|_| ()))?,
        }
        let text = self.rest.trim_ascii_start();
        let end = text
            .bytes()
            .position(|b| b.is_ascii_whitespace() || b == b'>');
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

impl<'a> Source<'a> for Loose<'a> {
    type Wrong = Fault;

    fn number(&mut self, before: &str, name: &'static str, how: Number) -> Result<u64, Fault> {
        let word = self.find(before, name)?;
        let bare = word.strip_prefix("0x").unwrap_or(word);
        let found = match how {
            Number::Plain => number(word),
            // A probe sees what is taken off the length of a list.
            Number::Callbacks => {
                let word = word.rsplit('/').next().unwrap_or(word);
                number(word.trim_start_matches('-'))
            }
            Number::Signed => number::<i64>(word)
                .map(|it| it as u64)
                .or_else(|| hex(bare)),
            // Where fields have names, bits are decimal, or hexadecimal behind `0x`.
            Number::Bits if self.named => number(word).or_else(|| hex(bare)),
            Number::Bits => hex(bare),
        };
        match found {
            Some(number) => Ok(number),
            None if word.contains("ptrval") => Err(Fault::Hidden),
            None => Err(Fault::Field(name)),
        }
    }

    fn text(&mut self, before: &str, name: &'static str, how: Text) -> Result<&'a str, Fault> {
        match how {
            Text::Stack | Text::Whole => Ok(self.text),
            Text::Task(next) => {
                let (task, rest) = task(self.text, name, next.trim_start())?;
                // No field is looked for in the name, which may look like one.
                self.text = rest;
                Ok(task)
            }
            Text::Function => self.find(before, name).map(function_of),
            Text::Word | Text::Dependency => self.find(before, name),
            Text::State => Ok(state(self.find(before, name).unwrap_or(""))),
        }
    }

    fn skip(&mut self, before: &str) -> Result<(), Fault> {
        if self.name(before, "").is_none() {
            self.next(before);
        }
        Ok(())
    }
}

/// `R+`; where fields have names it is a number.
fn state(word: &str) -> &str {
    match number::<u64>(word).map(|bits| bits & 0xff) {
        Some(0) => "R",
        Some(1) => "S",
        Some(2) => "D",
        _ => word,
    }
}

/// trace-cmd's own text: `comm:pid [prio] success=1 CPU:000` of a wake-up, and `comm:pid [prio] S ==>
/// comm:pid [prio]` of a switch.
pub(super) struct Plugin<'a> {
    rest: &'a str,
    /// The id that stood behind the last name.
    pid: &'a str,
}

impl<'a> Plugin<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Plugin {
            rest: text,
            pid: "",
        }
    }
}

impl<'a> Source<'a> for Plugin<'a> {
    type Wrong = Fault;

    fn number(&mut self, before: &str, name: &'static str, _: Number) -> Result<u64, Fault> {
        let word = match before {
            "=" => Some(self.pid),
            _ => self.rest.rsplit_once("CPU:").map(|(_, cpu)| cpu.trim()),
        };
        word.and_then(number).ok_or(Fault::Field(name))
    }

    fn text(&mut self, _: &str, name: &'static str, how: Text) -> Result<&'a str, Fault> {
        let fault = Fault::Field(name);
        if how == Text::State {
            let (state, next) = self.rest.split_once(" ==> ").ok_or(fault)?;
            self.rest = next;
            return Ok(state.trim_end().rsplit(' ').next().unwrap_or(""));
        }
        // A name may have a bracket; an id stands in front of the right one.
        let brackets = self.rest.match_indices(" [");
        let parts = brackets.filter_map(|(at, _)| {
            let (task, pid) = self.rest[..at].rsplit_once(':')?;
            number::<u32>(pid).map(|_| (task, pid, &self.rest[at + 2..]))
        });
        let (task, pid, rest) = parts.into_iter().next().ok_or(fault)?;
        (self.rest, self.pid) = (rest, pid);
        Ok(task.trim())
    }
}

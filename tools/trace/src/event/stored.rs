//! Fields of events of traces that are no text: which are needed, and how they are kept.
//!
//! The text of such an event would be written only to be taken apart again. What an event asks for is found
//! out once for a format ([`needs`]); the reader of the trace stores that, in this order ([`Fields`]).

use super::table::{self, Number, Source, Text};
use super::words::{first_word, function_of};
use crate::Fault;
use crate::base::made::push_line;
use std::io::Write;

/// Fields of the event that needs the most.
const NEEDS_MOST: usize = 5;

/// The fields that the event of this name needs: a number, or a text of a kind.
pub(crate) fn needs(event: &str) -> Vec<(&'static str, Option<Text>)> {
    let mut needs = Needs(Vec::new());
    let _any = table::decode(event, &mut needs);
    needs.0.truncate(NEEDS_MOST);
    needs.0
}

struct Needs(Vec<(&'static str, Option<Text>)>);

impl<'a> Source<'a> for Needs {
    type Wrong = Fault;

    fn number(&mut self, _: &str, name: &'static str, _: Number) -> Result<u64, Fault> {
        self.0.push((name, None));
        Ok(0)
    }

    fn text(&mut self, _: &str, name: &'static str, how: Text) -> Result<&'a str, Fault> {
        self.0.push((name, Some(how)));
        Ok("")
    }
}

/// A range of the block's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span(pub(crate) u32, pub(crate) u32);

impl Span {
    /// Of a text's place among the numbers.
    pub(crate) fn range(number: u64) -> std::ops::Range<usize> {
        (number >> 32) as usize..number as u32 as usize
    }
}

/// The fields of an event, in the order of its needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Numbers, and places of text.
    values: [u64; NEEDS_MOST],
    /// Bits of those that it has.
    found: u8,
}

impl Fields {
    pub(crate) fn number(&mut self, place: usize, number: u64) {
        self.values[place] = number;
        self.found |= 1 << place;
    }

    pub(crate) fn text(&mut self, place: usize, span: Span) {
        self.number(place, u64::from(span.0) << 32 | u64::from(span.1));
    }

    /// The number at this place, or where its text stands.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<u64> {
        (self.found >> place & 1 == 1).then(|| self.values[place])
    }
}

/// The fields of one event.
pub(super) struct Stored<'f, 'a> {
    pub(super) fields: &'f Fields,
    /// The block's text, in which the fields' texts stand.
    pub(super) text: &'a str,
    /// The next one.
    pub(super) at: usize,
}

impl Stored<'_, '_> {
    #[inline]
    fn next(&mut self, name: &'static str) -> Result<u64, Fault> {
        self.at += 1;
        self.fields.at(self.at - 1).ok_or(Fault::Field(name))
    }
}

impl<'a> Source<'a> for Stored<'_, 'a> {
    type Wrong = Fault;

    #[inline]
    fn number(&mut self, _: &str, name: &'static str, how: Number) -> Result<u64, Fault> {
        let number = self.next(name)?;
        match how {
            Number::Plain | Number::Callbacks if (number as i64) < 0 => Err(Fault::Field(name)),
            _ => Ok(number),
        }
    }

    #[inline]
    fn text(&mut self, _: &str, name: &'static str, how: Text) -> Result<&'a str, Fault> {
        let span = self.next(name)?;
        let text = self.text.get(Span::range(span));
        let text = text.ok_or(Fault::Field(name))?;
        Ok(match how {
            Text::Task(_) | Text::Stack | Text::Whole => text.trim_ascii(),
            Text::Function => function_of(first_word(text)),
            Text::Word | Text::State | Text::Dependency => first_word(text),
        })
    }
}

/// The text that a number stands for; of a function its name, if it is known.
pub(crate) fn push_text(out: &mut Vec<u8>, how: Text, number: u64, function: Option<&[u8]>) {
    let _always = match (how, function) {
        (Text::Function | Text::Stack, Some(name)) => {
            push_line(out, name);
            return;
        }
        (Text::Function | Text::Stack, None) => write!(out, "{number:#x}"),
        (Text::State, _) => return push_state(out, number),
        (Text::Dependency, _) => out.write_all(match number {
            0 => b"NONE",
            1 => b"POSIX_TIMER",
            2 => b"PERF_EVENTS",
            4 => b"SCHED",
            8 => b"CLOCK_UNSTABLE",
            16 => b"RCU",
            32 => b"RCU_EXP",
            _ => b"?",
        }),
        (Text::Word | Text::Task(_) | Text::Whole, _) => write!(out, "{}", number as i64),
    };
}

/// `S`, `D`, `R+`: bits of the state as Linux has had them since 4.14; 0x100 is a task that was preempted.
fn push_state(out: &mut Vec<u8>, state: u64) {
    const LETTERS: [u8; 8] = *b"SDTtXZPI";
    if state & 0xff == 0 {
        out.push(b'R');
    }
    let mut first = true;
    for (bit, letter) in LETTERS.iter().enumerate() {
        if state & 1 << bit != 0 {
            if !first {
                out.push(b'|');
            }
            out.push(*letter);
            first = false;
        }
    }
    if state & 0x100 != 0 {
        out.push(b'+');
    }
}

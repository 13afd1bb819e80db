//! An event's name, and the fields that it needs.
//!
//! Three kinds of event, one mechanism. A message of a known type has fields by number, and the table
//! [`TYPED`] has their names. A generic event (field 327) has fields by name. A generic event of later
//! versions (numbers from 65536 on) has fields by number, and a descriptor in the trace has their names.

use super::names::Symbols;
use crate::base::made::push_line;
use crate::base::map::Map;
use crate::base::wire::{Fields, Torn, Value};
use crate::event::{self, Text, needs, push_text};
use crate::line::Draft;
use known::TYPED;

mod known;

pub(super) use known::{SWITCH, WAKING};

/// Formats that are kept: a damaged trace may have any number of names.
const FORMATS_MOST: usize = 4096;

/// From here on numbers of events are explained by descriptors in the trace.
const DESCRIBED_FROM: u32 = 65536;

/// Numbers of known messages are below.
const TYPED_MOST: u32 = 1024;

/// The generic event.
const GENERIC: u32 = 327;

/// A kind of event.
#[derive(Debug)]
pub(super) struct Format {
    name: Vec<u8>,
    /// What its event is made of: a field's name, what text it is, and its number in a message (0: none).
    needs: Vec<(&'static str, Option<Text>, u32)>,
}

/// The name of an event, and what is stored of it.
pub(super) type Said<'a> = (&'a [u8], event::Fields);

impl Format {
    /// By what is known of the event's name; `fields` are the numbers and names of what it has.
    fn new(name: &str, fields: &[(u32, &str)]) -> Self {
        let number = |name| {
            fields
                .iter()
                .find(|(_, it)| *it == name)
                .map_or(0, |it| it.0)
        };
        let needs = needs(name).into_iter();
        let mut clean = Vec::new();
        push_line(&mut clean, name.as_bytes());
        Format {
            needs: needs.map(|(name, how)| (name, how, number(name))).collect(),
            name: clean,
        }
    }

    /// Stores the value of what is needed at this place.
    #[inline]
    fn set(
        &self,
        at: usize,
        value: Value<'_>,
        symbols: &Symbols,
        fields: &mut event::Fields,
        out: &mut Draft,
    ) {
        match (self.needs[at].1, value) {
            (None, Value::Bytes(_)) => {}
            (None, Value::Number(it)) => fields.number(at, it),
            (Some(_), Value::Bytes(it)) => fields.text(at, out.span(it)),
            (Some(how), Value::Number(it)) => {
                let write = |out: &mut Vec<u8>| push_text(out, how, it, symbols.get(it));
                fields.text(at, out.span_of(write));
            }
        }
    }
}

/// All formats met so far.
#[derive(Debug)]
pub(super) struct Formats {
    typed: Vec<Format>,
    /// The place of a number's, as [`index`] counts; 0: there is none.
    places: Vec<u16>,
    generic: Vec<Format>,
    /// The place of a name's.
    names: Map<Vec<u8>, usize>,
}

/// Numbers of known messages, and then of those with descriptors; others are not kept.
fn index(number: u32) -> Option<usize> {
    match number {
        0..TYPED_MOST => Some(number as usize),
        DESCRIBED_FROM.. if number - DESCRIBED_FROM < FORMATS_MOST as u32 => {
            Some((TYPED_MOST + number - DESCRIBED_FROM) as usize)
        }
        _ => None,
    }
}

impl Default for Formats {
    fn default() -> Self {
        let mut formats = Formats {
            typed: Vec::new(),
            places: Vec::new(),
            generic: Vec::new(),
            names: Map::default(),
        };
        for (number, name, fields) in &TYPED {
            let fields = fields.iter().enumerate();
            let fields: Vec<_> = fields.map(|(at, it)| (at as u32 + 1, *it)).collect();
            formats.keep(*number, || Format::new(name, &fields));
        }
        formats
    }
}

impl Formats {
    /// A descriptor: `GenericEventDescriptor` of a bundle.
    pub(super) fn describe(&mut self, message: &[u8]) -> Result<(), Torn> {
        let (mut number, mut name, mut fields) = (0, "", Vec::new());
        for field in Fields(message) {
            match field? {
                (1, Value::Number(it)) => number = it as u32,
                (2, Value::Bytes(descriptor)) => {
                    for field in Fields(descriptor) {
                        match field? {
                            (1, Value::Bytes(it)) => name = text(it)?,
                            (2, Value::Bytes(it)) => fields.push(described(it)?),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if number < DESCRIBED_FROM || name.is_empty() {
            return Err(Torn);
        }
        self.keep(number, || Format::new(name, &fields));
        Ok(())
    }

    /// Keeps the first format of a number.
    fn keep(&mut self, number: u32, format: impl FnOnce() -> Format) {
        let Some(at) = index(number).filter(|_| self.typed(number).is_none()) else {
            return;
        };
        if self.places.len() <= at {
            self.places.resize(at + 1, 0);
        }
        self.typed.push(format());
        self.places[at] = self.typed.len() as u16;
    }

    /// The format of an event of a number; none of one that is not known.
    fn typed(&self, number: u32) -> Option<&Format> {
        let place = *self.places.get(index(number)?)?;
        self.typed.get(usize::from(place).checked_sub(1)?)
    }

    /// What the event says that this field of a `FtraceEvent` is.
    #[inline]
    pub(super) fn read(
        &mut self,
        number: u32,
        message: &[u8],
        symbols: &Symbols,
        out: &mut Draft,
    ) -> Result<Said<'_>, Torn> {
        let mut fields = event::Fields::default();
        if number == GENERIC {
            let format = self.generic(message)?;
            for field in Fields(message) {
                let (2, Value::Bytes(it)) = field? else {
                    continue;
                };
                let (name, value) = named(it)?;
                let at = format.needs.iter().position(|it| it.0.as_bytes() == name);
                if let (Some(at), Some(value)) = (at, value) {
                    format.set(at, value, symbols, &mut fields, out);
                }
            }
            return Ok((&format.name, fields));
        }
        let Some(format) = self.typed(number) else {
            // An analysis needs to know that there was one, and no more.
            return Ok((b"perfetto_event", fields));
        };
        for field in Fields(message) {
            let (field, value) = field?;
            if let Some(at) = format.needs.iter().position(|it| it.2 == field) {
                format.set(at, value, symbols, &mut fields, out);
            }
        }
        Ok((&format.name, fields))
    }

    /// What an event says that has these values, in the order of its needs.
    pub(super) fn with(
        &self,
        number: u32,
        values: &[Value<'_>],
        out: &mut Draft,
    ) -> Option<Said<'_>> {
        let mut fields = event::Fields::default();
        let format = self.typed(number)?;
        for (at, value) in values.iter().enumerate() {
            format.set(at, *value, &Symbols::default(), &mut fields, out);
        }
        Some((&format.name, fields))
    }

    /// The format of a generic event, by its name.
    fn generic(&mut self, message: &[u8]) -> Result<&Format, Torn> {
        let mut name: &[u8] = b"";
        for field in Fields(message) {
            if let (1, Value::Bytes(it)) = field? {
                name = it;
                break;
            }
        }
        let at = match self.names.get(name) {
            Some(at) => *at,
            None => {
                let known = Format::new(text(name)?, &[]);
                if name.is_empty() {
                    return Err(Torn);
                }
                if self.generic.len() == FORMATS_MOST {
                    self.generic.clear();
                    self.names.clear();
                }
                self.generic.push(known);
                self.names.insert(name.to_owned(), self.generic.len() - 1);
                self.generic.len() - 1
            }
        };
        Ok(&self.generic[at])
    }
}

/// A field of a descriptor: its number and its name.
fn described(message: &[u8]) -> Result<(u32, &str), Torn> {
    let (mut number, mut name) = (0, "");
    for field in Fields(message) {
        match field? {
            (1, Value::Bytes(it)) => name = text(it)?,
            (3, Value::Number(it)) => number = it as u32,
            _ => {}
        }
    }
    Ok((number, name))
}

/// A field of a generic event: its name and its value (3 text, 4 signed, 5 unsigned).
fn named(message: &[u8]) -> Result<(&[u8], Option<Value<'_>>), Torn> {
    let (mut name, mut found): (&[u8], _) = (b"", None);
    for field in Fields(message) {
        match field? {
            (1, Value::Bytes(it)) => name = it,
            (3..=5, value) => found = Some(value),
            _ => {}
        }
    }
    Ok((name, found))
}

fn text(bytes: &[u8]) -> Result<&str, Torn> {
    std::str::from_utf8(bytes).map_err(|_| Torn)
}

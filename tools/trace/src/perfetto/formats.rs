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
use crate::line::{Columns, Draft};
use known::TYPED;

mod known;

pub(super) use known::{SWITCH, WAKING};

/// Fields of an event that are looked at.
const FIELDS_MOST: usize = 12;

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
    /// The fields that are looked at: by number (0: by name only), by name.
    fields: Vec<(u32, String)>,
    /// What its event is made of, and the place of each field that it has.
    needs: Vec<(Option<Text>, Option<usize>)>,
}

/// The values of an event, by place in [`Format::fields`].
pub(super) type Values<'a> = [Option<Value<'a>>; FIELDS_MOST];

impl Format {
    /// By what is known of the event's name; `fields` are the numbers and names of what it has.
    fn new(name: &str, mut fields: Vec<(u32, String)>) -> Self {
        fields.truncate(FIELDS_MOST);
        let place = |name| fields.iter().position(|(_, it)| it == name);
        let needs = needs(name).into_iter();
        Format {
            needs: needs.map(|(name, how)| (how, place(name))).collect(),
            name: clean(name),
            fields,
        }
    }

    /// The place of a field of a message; nearly always its number's.
    #[inline]
    fn place(&self, number: u32) -> Option<usize> {
        let likely = (number as usize).wrapping_sub(1);
        if self.fields.get(likely).is_some_and(|(it, _)| *it == number) {
            return Some(likely);
        }
        self.fields.iter().position(|(it, _)| *it == number)
    }

    /// The record of an event with these values.
    pub(super) fn write(
        &self,
        values: &Values<'_>,
        symbols: &Symbols,
        columns: &Columns<'_>,
        out: &mut Draft,
    ) {
        let mut fields = event::Fields::default();
        for (at, (how, place)) in self.needs.iter().enumerate() {
            match (how, place.and_then(|place| values[place])) {
                (_, None) | (None, Some(Value::Bytes(_))) => {}
                (None, Some(Value::Number(it))) => fields.number(at, it),
                (Some(_), Some(Value::Bytes(it))) => fields.text(at, out.span(it)),
                (Some(how), Some(Value::Number(it))) => {
                    let write = |out: &mut Vec<u8>| push_text(out, *how, it, symbols.get(it));
                    fields.text(at, out.span_of(write));
                }
            }
        }
        out.record(columns, &self.name, fields);
    }
}

/// All formats met so far.
#[derive(Debug)]
pub(super) struct Formats {
    typed: Vec<Format>,
    /// The place of a number's, as [`index`] counts; 0: there is none.
    places: Vec<u16>,
    generic: Map<String, Format>,
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
            generic: Map::default(),
        };
        for (number, name, fields) in &TYPED {
            let fields = fields.iter().enumerate();
            let fields: Vec<_> = fields
                .map(|(at, it)| (at as u32 + 1, (*it).to_owned()))
                .collect();
            formats.keep(*number, || Format::new(name, fields));
        }
        formats
    }
}

impl Formats {
    /// A descriptor: `GenericEventDescriptor` of a bundle.
    pub(super) fn describe(&mut self, message: &[u8]) -> Result<(), Torn> {
        let (mut number, mut name, mut fields) = (0, String::new(), Vec::new());
        for field in Fields(message) {
            match field? {
                (1, Value::Number(it)) => number = it as u32,
                (2, Value::Bytes(descriptor)) => {
                    for field in Fields(descriptor) {
                        match field? {
                            (1, Value::Bytes(it)) => name = lossy(it),
                            (2, Value::Bytes(it)) if fields.len() < FIELDS_MOST => {
                                fields.push(described(it)?)
                            }
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
        self.keep(number, || Format::new(&name, fields));
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
    pub(super) fn typed(&self, number: u32) -> Option<&Format> {
        let place = *self.places.get(index(number)?)?;
        self.typed.get(usize::from(place).checked_sub(1)?)
    }

    /// The values of the event that this field of a `FtraceEvent` is, and its format if it is known.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        number: u32,
        message: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Option<&Format>, Torn> {
        if number == GENERIC {
            return self.read_generic(message, values).map(Some);
        }
        let Some(format) = self.typed(number) else {
            return Ok(None);
        };
        for field in Fields(message) {
            let (number, value) = field?;
            if let Some(place) = format.place(number) {
                values[place] = Some(value);
            }
        }
        Ok(Some(format))
    }

    fn read_generic<'a>(
        &mut self,
        message: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<&Format, Torn> {
        let mut name: &[u8] = b"";
        let mut found: [(&[u8], Option<Value<'_>>); FIELDS_MOST] = [(b"", None); FIELDS_MOST];
        let mut count = 0;
        for field in Fields(message) {
            match field? {
                (1, Value::Bytes(it)) => name = it,
                (2, Value::Bytes(it)) if count < FIELDS_MOST => {
                    found[count] = named(it)?;
                    count += 1;
                }
                _ => {}
            }
        }
        let name = std::str::from_utf8(name).map_err(|_| Torn)?;
        if name.is_empty() {
            return Err(Torn);
        }
        if !self.generic.contains_key(name) {
            if self.generic.len() == FORMATS_MOST {
                self.generic.clear();
            }
            let fields = found[..count].iter().map(|(name, _)| (0, lossy(name)));
            let format = Format::new(name, fields.collect());
            self.generic.insert(name.to_owned(), format);
        }
        let format = &self.generic[name];
        for (at, (name, value)) in found[..count].iter().enumerate() {
            // Nearly always in the order of the first one.
            let is = |(_, it): &(u32, String)| it.as_bytes() == *name;
            let place = match format.fields.get(at).is_some_and(is) {
                true => Some(at),
                false => format.fields.iter().position(is),
            };
            if let Some(place) = place {
                values[place] = *value;
            }
        }
        Ok(format)
    }
}

/// A field of a descriptor: its number and its name.
fn described(message: &[u8]) -> Result<(u32, String), Torn> {
    let (mut number, mut name) = (0, String::new());
    for field in Fields(message) {
        match field? {
            (1, Value::Bytes(it)) => name = lossy(it),
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

/// Without what would end a line.
fn clean(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_line(&mut out, text.as_bytes());
    out
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

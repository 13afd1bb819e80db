//! The text of an event out of its fields.
//!
//! Three kinds of event, one mechanism. A message of a known type has fields by number, and the table
//! [`TYPED`] has their names. A generic event (field 327) has fields by name. A generic event of later
//! versions (numbers from 65536 on) has fields by number, and a descriptor in the trace has their names. The
//! text is the kernel's own (`print fmt`), as a recipe with the names of fields; an event without a recipe is
//! its fields, `name=value`. A field that a recipe needs and the event lacks becomes `?`, so that the
//! decoder of the text counts it.

use super::names::Symbols;
use crate::base::made::{push_decimal, push_line};
use crate::base::map::Map;
use crate::base::wire::{Fields, Torn, Value};
use known::{RECIPES, TYPED};
use value::{Style, write_value};

mod known;
mod value;

pub(super) use known::{SWITCH, WAKING};

/// Fields of an event that are looked at.
const FIELDS_MOST: usize = 16;

/// Formats that are kept: a damaged trace may have any number of names.
const FORMATS_MOST: usize = 4096;

/// Bytes of an event's text; beyond it is cut.
const TEXT_MOST: usize = 32 << 10;

/// From here on numbers of events are explained by descriptors in the trace.
const DESCRIBED_FROM: u32 = 65536;

/// The generic event.
const GENERIC: u32 = 327;

#[derive(Debug)]
enum Piece {
    /// Nothing in it ends a line.
    Text(Vec<u8>),
    Field(usize, Style),
}

/// An event's name, and its recipe.
#[derive(Debug)]
pub(super) struct Format {
    /// `name: `
    name: Vec<u8>,
    /// The fields that are looked at: by number (0: by name only), by name.
    fields: Vec<(u32, String)>,
    pieces: Vec<Piece>,
}

/// The values of an event, by place in [`Format::fields`].
pub(super) type Values<'a> = [Option<Value<'a>>; FIELDS_MOST];

impl Format {
    /// By what is known of the event's name; `fields` are the numbers and names of what it has.
    fn new(name: &str, fields: &[(u32, String)]) -> Self {
        let recipe = RECIPES.iter().find(|(event, _)| *event == name);
        let mut format = Format {
            name: clean(&format!("{name}: ")),
            fields: fields.iter().take(FIELDS_MOST).cloned().collect(),
            pieces: Vec::new(),
        };
        match recipe {
            Some((_, recipe)) => format.cook(recipe),
            None => {
                for place in 0..format.fields.len() {
                    let blank = if place == 0 { "" } else { " " };
                    let text = format!("{blank}{}=", format.fields[place].1);
                    format.pieces.push(Piece::Text(clean(&text)));
                    format.pieces.push(Piece::Field(place, Style::Plain));
                }
            }
        }
        format
    }

    fn cook(&mut self, recipe: &str) {
        let mut rest = recipe;
        while let Some((text, after)) = rest.split_once('{') {
            self.pieces.push(Piece::Text(clean(text)));
            let (field, after) = after.split_once('}').unwrap_or((after, ""));
            let (name, style) = field.split_once(':').unwrap_or((field, ""));
            let place = match self.fields.iter().position(|(_, it)| it == name) {
                Some(place) => place,
                None => {
                    self.fields.push((0, name.to_owned()));
                    self.fields.len() - 1
                }
            };
            // No recipe has so many; a descriptor may.
            if place < FIELDS_MOST {
                self.pieces.push(Piece::Field(place, Style::named(style)));
            }
            rest = after;
        }
        self.pieces.push(Piece::Text(clean(rest)));
    }

    /// The place of a field of a message; nearly always its number's.
    #[inline]
    fn place(&self, number: u32) -> Option<usize> {
        let likely = (number as usize).wrapping_sub(1);
        if self.fields.get(likely).is_some_and(|(it, _)| *it == number) {
            return Some(likely).filter(|place| *place < FIELDS_MOST);
        }
        let found = self.fields.iter().position(|(it, _)| *it == number);
        found.filter(|place| *place < FIELDS_MOST)
    }

    /// `name: text`
    pub(super) fn write(&self, values: &Values<'_>, symbols: &Symbols, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name);
        let start = out.len();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Field(place, style) => write_value(values[*place], *style, symbols, out),
            }
        }
        out.truncate(start + TEXT_MOST);
        let end = out[start..].trim_ascii_end().len();
        out.truncate(start + end);
    }
}

/// All formats met so far.
#[derive(Debug)]
pub(super) struct Formats {
    typed: Map<u32, Format>,
    generic: Map<String, Format>,
}

impl Default for Formats {
    fn default() -> Self {
        let typed = TYPED.iter().map(|(number, name, fields)| {
            let fields = fields.iter().enumerate();
            let fields: Vec<_> = fields
                .map(|(at, it)| (at as u32 + 1, (*it).to_owned()))
                .collect();
            (*number, Format::new(name, &fields))
        });
        Formats {
            typed: typed.collect(),
            generic: Map::default(),
        }
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
        if self.typed.len() < FORMATS_MOST {
            self.typed
                .entry(number)
                .or_insert_with(|| Format::new(&name, &fields));
        }
        Ok(())
    }

    /// The format of an event of a number; none of one that is not known.
    pub(super) fn typed(&self, number: u32) -> Option<&Format> {
        self.typed.get(&number)
    }

    /// Writes `name: text` of the event that this field of a `FtraceEvent` is.
    pub(super) fn write(
        &mut self,
        number: u32,
        message: &[u8],
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<(), Torn> {
        let mut values = Values::default();
        if number == GENERIC {
            return self.write_generic(message, symbols, out);
        }
        let Some(format) = self.typed.get(&number) else {
            // An analysis needs to know that there was one, and no more.
            out.extend_from_slice(b"perfetto_event_");
            push_decimal(out, number.into(), 1);
            out.extend_from_slice(b": ");
            return Ok(());
        };
        for field in Fields(message) {
            let (number, value) = field?;
            if let Some(place) = format.place(number) {
                values[place] = Some(value);
            }
        }
        format.write(&values, symbols, out);
        Ok(())
    }

    fn write_generic(
        &mut self,
        message: &[u8],
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<(), Torn> {
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
            let format = Format::new(name, &fields.collect::<Vec<_>>());
            self.generic.insert(name.to_owned(), format);
        }
        let format = &self.generic[name];
        let mut values = Values::default();
        for (at, (name, value)) in found[..count].iter().enumerate() {
            // Nearly always in the order of the first one.
            let is = |(_, it): &(u32, String)| it.as_bytes() == *name;
            let place = match format.fields.get(at).is_some_and(is) {
                true => Some(at),
                false => format.fields.iter().take(FIELDS_MOST).position(is),
            };
            if let Some(place) = place {
                values[place] = *value;
            }
        }
        format.write(&values, symbols, out);
        Ok(())
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

//! An event out of its fields: those that it needs, or its text.
//!
//! Three kinds of event, one mechanism. A message of a known type has fields by number, and the table
//! [`TYPED`] has their names. A generic event (field 327) has fields by name. A generic event of later
//! versions (numbers from 65536 on) has fields by number, and a descriptor in the trace has their names. The
//! text is the kernel's own (`print fmt`), as a recipe with the names of fields; an event without a recipe is
//! its fields, `name=value`. A field that a recipe needs and the event lacks becomes `?`, so that the
//! decoder of the text counts it. An event that has all fields that a `Shape` wants is not written as text.

use super::names::Symbols;
use crate::base::made::push_line;
use crate::base::map::Map;
use crate::base::wire::{Fields, Torn, Value};
use crate::line::{self, Columns, Draft, How, Shape, shape_of};
use known::{RECIPES, TYPED};
use value::{Style, write_value};

mod known;
mod value;

pub(super) use known::{SWITCH, WAKING};

/// Fields of an event that are looked at.
const FIELDS_MOST: usize = 12;

/// Formats that are kept: a damaged trace may have any number of names.
const FORMATS_MOST: usize = 4096;

/// Bytes of an event's text; beyond it is cut.
const TEXT_MOST: usize = 32 << 10;

/// From here on numbers of events are explained by descriptors in the trace.
const DESCRIBED_FROM: u32 = 65536;

/// Numbers of known messages are below.
const TYPED_MOST: u32 = 1024;

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
    name: Vec<u8>,
    /// The fields that are looked at: by number (0: by name only), by name.
    fields: Vec<(u32, String)>,
    pieces: Vec<Piece>,
    /// What is made of its fields without a text, and the place of each that it needs.
    shape: Option<(&'static Shape, Vec<u8>)>,
}

/// The values of an event, by place in [`Format::fields`].
pub(super) type Values<'a> = [Option<Value<'a>>; FIELDS_MOST];

impl Format {
    /// By what is known of the event's name; `fields` are the numbers and names of what it has.
    fn new(name: &str, fields: &[(u32, String)]) -> Self {
        let recipe = RECIPES.iter().find(|(event, _)| *event == name);
        let mut format = Format {
            name: clean(name),
            fields: fields.iter().take(FIELDS_MOST).cloned().collect(),
            pieces: Vec::new(),
            shape: None,
        };
        format.shape = shape_of(name).and_then(|shape| {
            let needs = shape.needs.iter().map(|(name, _)| {
                let place = format.fields.iter().position(|(_, it)| it == name)?;
                Some(place as u8)
            });
            Some((shape, needs.collect::<Option<_>>()?))
        });
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

    /// The record of an event with these values.
    pub(super) fn write(
        &self,
        values: &Values<'_>,
        symbols: &Symbols,
        columns: &Columns<'_>,
        out: &mut Draft,
    ) {
        if let Some((shape, needs)) = &self.shape
            && let Some(shape) = out.takes(Some(*shape))
        {
            let mut fields = line::Fields::new(shape);
            for (at, ((_, how), place)) in shape.needs.iter().zip(needs).enumerate() {
                match (how, values[usize::from(*place)]) {
                    (_, None) | (How::Number, Some(Value::Bytes(_))) => {}
                    (How::Number, Some(Value::Number(it))) => fields.number(at, it),
                    (_, Some(Value::Bytes(it))) => fields.text(at, out.span(it)),
                    (how, value) => {
                        let style = match how {
                            How::Function => Style::Function,
                            How::State => Style::State,
                            How::Number | How::Text => Style::Plain,
                        };
                        let write = |out: &mut Vec<u8>| write_value(value, style, symbols, out);
                        fields.text(at, out.span_of(write));
                    }
                }
            }
            return out.with_fields(columns, fields);
        }
        out.with_text(columns, &self.name, |out| {
            let start = out.len();
            for piece in &self.pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Field(place, style) => write_value(values[*place], *style, symbols, out),
                }
            }
            out.truncate(start + TEXT_MOST);
        });
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
            formats.keep(*number, || Format::new(name, &fields));
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
        self.keep(number, || Format::new(&name, &fields));
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
            let format = Format::new(name, &fields.collect::<Vec<_>>());
            self.generic.insert(name.to_owned(), format);
        }
        let format = &self.generic[name];
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

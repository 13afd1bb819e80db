//! A field's value as the kernel writes it.

use crate::base::made::{push_decimal, push_line};
use crate::base::wire::Value;
use crate::perfetto::names::Symbols;

/// How a field is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Style {
    /// Text as it is, a number with its sign.
    Plain,
    /// A CPU in three digits.
    Cpu,
    /// A pointer.
    Hex,
    /// Bits.
    Bits,
    /// A function, by its number in the table of symbols.
    Function,
    /// The state in which a task left its CPU.
    State,
    /// The name of a soft interrupt.
    Softirq,
    /// What needs the tick.
    Needs,
}

impl Style {
    /// By its name in a recipe.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "cpu" => Style::Cpu,
            "hex" => Style::Hex,
            "bits" => Style::Bits,
            "function" => Style::Function,
            "state" => Style::State,
            "softirq" => Style::Softirq,
            "needs" => Style::Needs,
            _ => Style::Plain,
        }
    }
}

pub(super) fn write_value(
    value: Option<Value<'_>>,
    style: Style,
    symbols: &Symbols,
    out: &mut Vec<u8>,
) {
    let number = match value {
        None => return out.push(b'?'),
        Some(Value::Bytes(text)) => return push_line(out, text),
        Some(Value::Number(number)) => number,
    };
    match style {
        Style::Plain => {
            if (number as i64) < 0 {
                out.push(b'-');
            }
            push_decimal(out, (number as i64).unsigned_abs(), 1);
        }
        Style::Cpu => push_decimal(out, number, 3),
        Style::Bits => push_hex(out, number),
        Style::Function => match symbols.get(number) {
            Some(name) => push_line(out, name),
            None => push_pointer(out, number),
        },
        Style::Hex => push_pointer(out, number),
        Style::State => push_state(out, number),
        Style::Softirq => {
            let names: [&str; 10] = [
                "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED",
                "HRTIMER", "RCU",
            ];
            let name = usize::try_from(number).ok().and_then(|n| names.get(n));
            out.extend_from_slice(name.map_or("?", |it| it).as_bytes());
        }
        Style::Needs => {
            let name = match number {
                0 => "NONE",
                1 => "POSIX_TIMER",
                2 => "PERF_EVENTS",
                4 => "SCHED",
                8 => "CLOCK_UNSTABLE",
                16 => "RCU",
                32 => "RCU_EXP",
                _ => "?",
            };
            out.extend_from_slice(name.as_bytes());
        }
    }
}

fn push_pointer(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"0x");
    push_hex(out, number);
}

fn push_hex(out: &mut Vec<u8>, number: u64) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]);
    }
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

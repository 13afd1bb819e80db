//! RCU's own events. They start with the flavour, which is left out; some have names for their fields and
//! some have not.

use super::{Event, cpu};
use crate::Fault;
use crate::event::fields::{function, hex, number, numbered, pointed, pointer, value};

/// The events `rcu_*`, without the prefix.
pub(super) fn decode<'a>(event: &str, text: &'a str) -> Result<Event<'a>, Fault> {
    // A third of all events where it is traced; nothing in it is used.
    if event == "utilization" {
        return Ok(Event::Other);
    }
    let mut words = text.split_ascii_whitespace();
    // The `fields` option, `trace-cmd report -R` and formats that cannot be followed have names for all
    // fields.
    let named = text.starts_with("rcuname=");
    words.next();
    // Words after the flavour, by their place; a field that is not there is an error with its name.
    let mut at = |place: usize, name| {
        let word = if named {
            pointed(text, name)
        } else {
            words.nth(place)
        };
        word.ok_or(Fault::Field(name))
    };
    Ok(match event {
        "grace_period" => Event::GracePeriod {
            seq: sequence(at(0, "gp_seq")?)?,
            what: at(0, "gpevent")?,
        },
        "future_grace_period" => Event::FutureGp {
            wanted: sequence(at(1, "gp_seq_req")?)?,
            what: at(3, "gpevent")?,
        },
        "exp_grace_period" => Event::Expedited {
            seq: sequence(at(0, "gpseq").or_else(|_| at(0, "gp_seq"))?)?,
            what: at(0, "gpevent")?,
        },
        "barrier" => Event::Barrier { what: at(0, "s")? },
        "grace_period_init" => Event::NodeInit {
            level: parsed(at(1, "level")?, "level")?,
            first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            mask: mask(at(1, "qsmask")?, named, "qsmask")?,
        },
        "quiescent_state_report" => {
            let masks = at(1, "mask")?;
            let (cleared, left) = match masks.split_once('>') {
                Some(both) => both,
                None if named => (masks, at(0, "qsmask")?),
                None => return Err(Fault::Field("mask")),
            };
            Event::Report {
                cleared: mask(cleared, named, "mask")?,
                left: mask(left, named, "qsmask")?,
                level: parsed(at(0, "level")?, "level")?,
                first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            }
        }
        "fqs" => Event::Scan {
            cpu: cpu(parsed(at(1, "cpu")?, "cpu"), "cpu")?,
            what: at(0, "qsevent")?,
        },
        "nocb_wake" => Event::NocbWake {
            cpu: cpu(parsed(at(0, "cpu")?, "cpu"), "cpu")?,
            what: at(0, "reason")?,
        },
        "callback" => Event::Callback {
            head: pointer(text, "rhp")?,
            function: function(text, "func")?,
        },
        "kvfree_callback" | "kfree_callback" => Event::Kvfree {
            head: pointer(text, "rhp")?,
        },
        "invoke_callback" => Event::Invoke {
            head: pointer(text, "rhp")?,
            function: function(text, "func")?,
        },
        "invoke_kvfree_callback" | "invoke_kfree_callback" => Event::InvokeKvfree {
            head: pointer(text, "rhp")?,
        },
        "invoke_kfree_bulk_callback" => Event::InvokeBulk {
            records: numbered(text, "nr_records")?,
        },
        "batch_start" => Event::BatchStart {
            callbacks: batch(text, "CBs")?,
        },
        "batch_end" => Event::BatchEnd {
            invoked: batch(text, "CBs-invoked")?,
        },
        _ => Event::Other,
    })
}

/// A sequence number; with names it may be in hexadecimal, as it lies in memory.
fn sequence(word: &str) -> Result<i64, Fault> {
    let hex = word.strip_prefix("0x").and_then(hex).map(|n| n as i64);
    hex.or_else(|| number(word)).ok_or(Fault::Field("gp_seq"))
}

/// Bits: hexadecimal; with names decimal, or hexadecimal behind `0x`.
fn mask(word: &str, named: bool, name: &'static str) -> Result<u64, Fault> {
    let bits = if named { number(word) } else { hex(word) };
    bits.ok_or(Fault::Field(name))
}

fn parsed<T: TryFrom<i128>>(word: &str, name: &'static str) -> Result<T, Fault> {
    number(word).ok_or(Fault::Field(name))
}

/// A number of callbacks; old kernels print `lazy/all`.
fn batch(text: &str, name: &'static str) -> Result<u64, Fault> {
    let word = value(text, name).ok_or(Fault::Field(name))?;
    let all = word.rsplit('/').next().unwrap_or(word);
    parsed(all, name)
}

//! RCU's own events. They start with the flavour, which is left out; some have names for their fields and some have not.

use super::{Event, cpu};
use crate::Fault;
use crate::fields::{function, hex, number, numbered, pointer, value};

/// The events `rcu_*`, without the prefix.
pub(super) fn decode<'a>(event: &str, text: &'a str) -> Result<Event<'a>, Fault> {
    let mut words = text.split_whitespace();
    // Words after the flavour, by their place; a field that is not there is an error with its name.
    let mut at = |place: usize, name| words.nth(place).ok_or(Fault::Field(name));
    Ok(match event {
        "grace_period" => Event::GracePeriod {
            seq: parsed(at(1, "gp_seq")?, "gp_seq")?,
            what: at(0, "gpevent")?,
        },
        "future_grace_period" => Event::FutureGp {
            wanted: parsed(at(2, "gp_seq_req")?, "gp_seq_req")?,
            what: at(3, "gpevent")?,
        },
        "exp_grace_period" => Event::Expedited {
            what: at(2, "gpevent")?,
        },
        "grace_period_init" => Event::NodeInit {
            level: parsed(at(2, "level")?, "level")?,
            first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            mask: hex(at(1, "qsmask")?).ok_or(Fault::Field("qsmask"))?,
        },
        "quiescent_state_report" => {
            let masks = at(2, "mask")?;
            let (cleared, left) = masks.split_once('>').ok_or(Fault::Field("mask"))?;
            Event::Report {
                cleared: hex(cleared).ok_or(Fault::Field("mask"))?,
                left: hex(left).ok_or(Fault::Field("qsmask"))?,
                level: parsed(at(0, "level")?, "level")?,
                first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            }
        }
        "fqs" => Event::Scan {
            cpu: cpu(parsed(at(2, "cpu")?, "cpu"), "cpu")?,
            what: at(0, "qsevent")?,
        },
        "nocb_wake" => Event::NocbWake {
            cpu: cpu(parsed(at(1, "cpu")?, "cpu"), "cpu")?,
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

fn parsed<T: TryFrom<i128>>(word: &str, name: &'static str) -> Result<T, Fault> {
    number(word).ok_or(Fault::Field(name))
}

/// A number of callbacks; old kernels print `lazy/all`.
fn batch(text: &str, name: &'static str) -> Result<u64, Fault> {
    let word = value(text, name).ok_or(Fault::Field(name))?;
    let all = word.rsplit('/').next().unwrap_or(word);
    parsed(all, name)
}

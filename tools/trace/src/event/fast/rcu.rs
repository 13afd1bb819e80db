//! RCU's own events by place: the flavour `rcu_preempt`, then numbers and words with one blank between them.
//!
//! ```text
//! rcu_grace_period            -1096 newreq
//! rcu_nocb_wake               5 FirstQ
//! rcu_fqs                     -1115 1 dti
//! rcu_future_grace_period     -1116 -1112 0 0 7 Startleaf
//! rcu_grace_period_init       -1115 0 0 7 ff
//! rcu_quiescent_state_report  -1115 1>fe 0 0 7 0
//! rcu_callback                rhp=ffff8880120b6780 func=rcu_free_old_probes 1
//! rcu_invoke_callback         rhp=ffff8880120b6780 func=rcu_free_old_probes
//! rcu_batch_start, _end       CBs=4 bl=10, CBs-invoked=2 idle=..I.
//! ```

use super::{cpu, digits, ends, function, word};
use crate::Event;

pub(super) fn grace_period(text: &str) -> Option<Event<'_>> {
    let (seq, rest) = signed(flavoured(text)?)?;
    let what = last(rest)?;
    Some(Event::GracePeriod { seq, what })
}

pub(super) fn nocb_wake(text: &str) -> Option<Event<'_>> {
    let (cpu, rest) = number(flavoured(text)?)?;
    Some(Event::NocbWake {
        cpu: below(cpu)?,
        what: last(rest)?,
    })
}

pub(super) fn scan(text: &str) -> Option<Event<'_>> {
    let (_, rest) = signed(flavoured(text)?)?;
    let (cpu, rest) = number(rest)?;
    Some(Event::Scan {
        cpu: below(cpu)?,
        what: last(rest)?,
    })
}

pub(super) fn future(text: &str) -> Option<Event<'_>> {
    let (_, rest) = signed(flavoured(text)?)?;
    let (wanted, rest) = signed(rest)?;
    // The node: its level, its first and last CPU.
    let (_, rest) = number(rest)?;
    let (_, rest) = number(rest)?;
    let (_, rest) = number(rest)?;
    let what = last(rest)?;
    Some(Event::FutureGp { wanted, what })
}

pub(super) fn node_init(text: &str) -> Option<Event<'_>> {
    let (_, rest) = signed(flavoured(text)?)?;
    let (level, rest) = number(rest)?;
    let (first_cpu, rest) = number(rest)?;
    let (_, rest) = number(rest)?;
    let (mask, rest) = hex(rest)?;
    ends(rest)?;
    Some(Event::NodeInit {
        level,
        first_cpu: below(first_cpu)?,
        mask,
    })
}

pub(super) fn report(text: &str) -> Option<Event<'_>> {
    let (_, rest) = signed(flavoured(text)?)?;
    let (cleared, rest) = hex(rest)?;
    let (left, rest) = hex(rest.strip_prefix('>')?)?;
    let (level, rest) = number(rest.strip_prefix(' ')?)?;
    let (first_cpu, _) = number(rest)?;
    Some(Event::Report {
        level,
        first_cpu: below(first_cpu)?,
        cleared,
        left,
    })
}

pub(super) fn callback(text: &str) -> Option<Event<'_>> {
    let (head, function) = head_and_function(text)?;
    Some(Event::Callback { head, function })
}

pub(super) fn invoke(text: &str) -> Option<Event<'_>> {
    let (head, function) = head_and_function(text)?;
    Some(Event::Invoke { head, function })
}

pub(super) fn batch_start(text: &str) -> Option<Event<'_>> {
    let (callbacks, rest) = digits(flavoured(text)?.strip_prefix("CBs=")?)?;
    ends(rest)?;
    Some(Event::BatchStart { callbacks })
}

pub(super) fn batch_end(text: &str) -> Option<Event<'_>> {
    let (invoked, rest) = digits(flavoured(text)?.strip_prefix("CBs-invoked=")?)?;
    ends(rest)?;
    Some(Event::BatchEnd { invoked })
}

#[inline(always)]
fn head_and_function(text: &str) -> Option<(u64, &str)> {
    let (head, rest) = hex(flavoured(text)?.strip_prefix("rhp=")?)?;
    let (function, _) = function(rest.strip_prefix(" func=")?)?;
    Some((head, function))
}

/// What follows the flavour.
#[inline(always)]
fn flavoured(text: &str) -> Option<&str> {
    text.strip_prefix("rcu_preempt ")
}

/// A number, and what follows the blank behind it.
#[inline(always)]
fn number(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = digits(text)?;
    Some((u32::try_from(number).ok()?, rest.strip_prefix(' ')?))
}

/// The same with a sign.
#[inline(always)]
fn signed(text: &str) -> Option<(i64, &str)> {
    let negative = text.strip_prefix('-');
    let (number, rest) = digits(negative.unwrap_or(text))?;
    let number = i64::try_from(number).ok()?;
    let number = if negative.is_some() { -number } else { number };
    Some((number, rest.strip_prefix(' ')?))
}

/// A hexadecimal number of at most sixteen digits, and what follows it.
#[inline(always)]
fn hex(text: &str) -> Option<(u64, &str)> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let (mut value, mut at) = (0, 0);
    while let Some(digit) = text.as_bytes().get(at).and_then(|b| digit(*b)) {
        value = value << 4 | u64::from(digit);
        at += 1;
        if at > 16 {
            return None;
        }
    }
    (at > 0).then(|| (value, &text[at..]))
}

/// A word that nothing follows.
#[inline(always)]
fn last(text: &str) -> Option<&str> {
    let (word, rest) = word(text)?;
    rest.is_empty().then_some(word)
}

/// The number of a CPU.
#[inline(always)]
fn below(number: u32) -> Option<u32> {
    cpu(Ok(number), "cpu").ok()
}

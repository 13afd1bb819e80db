//! The events of which most of a trace is made, as the tracefs file has them and no other way: every field at its place, and `None` at
//! the first byte that is not as expected. Then the reader of all forms looks; where this one does not give up, both say the
//! same (checked on every event of a trace, and on damaged ones).
//!
//! ```text
//! cpu_idle           state=4294967295 cpu_id=6
//! sched_switch       prev_comm=NAME prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=NAME next_pid=0 next_prio=120
//! sched_wakeup       comm=NAME pid=45 prio=120 target_cpu=000
//! rcu_grace_period   rcu_preempt -1096 newreq
//! rcu_nocb_wake      rcu_preempt 5 FirstQ
//! ```
//!
//! A name of a task with an equals sign in it is left to the other reader: it may be something else that looks like a field.

use super::{Event, cpu};

#[inline(always)]
pub(super) fn decode<'a>(event: &str, text: &'a str) -> Option<Event<'a>> {
    // By length first: most comparisons are never made.
    match event.len() {
        8 if event == "cpu_idle" => idle(text),
        12 if event == "sched_switch" => switch(text),
        12 if event == "sched_wakeup" => wakeup(text),
        13 if event == "rcu_nocb_wake" => {
            let (number, what) = flavoured(text)?;
            let cpu = cpu(Ok(u32::try_from(number).ok()?), "cpu").ok()?;
            Some(Event::NocbWake { cpu, what })
        }
        15 if event == "rcu_utilization" => Some(Event::Other),
        16 if event == "rcu_grace_period" => {
            let (seq, what) = flavoured(text)?;
            Some(Event::GracePeriod { seq, what })
        }
        _ => None,
    }
}

fn idle(text: &str) -> Option<Event<'_>> {
    let (state, rest) = digits(text.strip_prefix("state=")?)?;
    let (number, rest) = digits(rest.strip_prefix(" cpu_id=")?)?;
    if !rest.is_empty() {
        return None;
    }
    let cpu = cpu(Ok(u32::try_from(number).ok()?), "cpu_id").ok()?;
    Some(match u32::try_from(state) {
        Ok(u32::MAX) | Err(_) => Event::IdleExit { cpu },
        Ok(state) => Event::IdleEntry { cpu, state },
    })
}

fn wakeup(text: &str) -> Option<Event<'_>> {
    let (task, rest) = task(text.strip_prefix("comm=")?, " pid")?;
    let (pid, rest) = digits(rest)?;
    let (_, rest) = digits(rest.strip_prefix(" prio=")?)?;
    let (target, rest) = digits(rest.strip_prefix(" target_cpu=")?)?;
    if !rest.is_empty() {
        return None;
    }
    Some(Event::Wakeup {
        task,
        pid: u32::try_from(pid).ok()?,
        target: cpu(Ok(u32::try_from(target).ok()?), "target_cpu").ok()?,
        new: false,
    })
}

fn switch(text: &str) -> Option<Event<'_>> {
    let (prev, rest) = task(text.strip_prefix("prev_comm=")?, " prev_pid")?;
    let (prev_pid, rest) = digits(rest)?;
    let (_, rest) = digits(rest.strip_prefix(" prev_prio=")?)?;
    let rest = rest.strip_prefix(" prev_state=")?;
    // A letter, or a few: `R+`, `S|K`.
    let state = rest.bytes().take(8).position(|b| b == b' ')?;
    let rest = rest.get(state..)?.strip_prefix(" ==> next_comm=")?;
    let (next, rest) = task(rest, " next_pid")?;
    let (next_pid, rest) = digits(rest)?;
    let (_, rest) = digits(rest.strip_prefix(" next_prio=")?)?;
    if !rest.is_empty() {
        return None;
    }
    Some(Event::Switch {
        prev,
        prev_pid: u32::try_from(prev_pid).ok()?,
        next,
        next_pid: u32::try_from(next_pid).ok()?,
    })
}

/// `rcu_preempt NUMBER WORD`: the number and the word.
fn flavoured(text: &str) -> Option<(i64, &str)> {
    let rest = text.strip_prefix("rcu_preempt ")?;
    let positive = rest.strip_prefix('-');
    let (number, rest) = digits(positive.unwrap_or(rest))?;
    let word = rest.strip_prefix(' ')?;
    if word.is_empty() || !word.bytes().all(|b| b.is_ascii_graphic()) {
        return None;
    }
    let number = i64::try_from(number).ok()?;
    let number = if positive.is_some() { -number } else { number };
    Some((number, word))
}

/// The name of a task up to the first equals sign, in front of which this field is named, and what follows the sign.
#[inline(always)]
fn task<'a>(text: &'a str, field: &str) -> Option<(&'a str, &'a str)> {
    let sign = text.bytes().position(|b| b == b'=')?;
    let (name, rest) = text.split_at(sign);
    Some((name.strip_suffix(field)?.trim_ascii(), &rest[1..]))
}

/// A decimal number of at most 18 digits, and what follows it.
#[inline(always)]
fn digits(text: &str) -> Option<(u64, &str)> {
    let (bytes, mut value, mut at) = (text.as_bytes(), 0u64, 0);
    while let Some(digit) = bytes
        .get(at)
        .map(|b| b.wrapping_sub(b'0'))
        .filter(|d| *d < 10)
    {
        value = value * 10 + u64::from(digit);
        at += 1;
        if at > 18 {
            return None;
        }
    }
    (at > 0).then(|| (value, &text[at..]))
}

//! The most frequent events of a trace, in the exact form of the tracefs file: every field at its place, and
//! `None` at the first byte that differs. Then the reader of all forms is used; where this one succeeds, both
//! give the same (checked on hundreds of events of each kind, and on damaged ones).
//!
//! ```text
//! cpu_idle              state=4294967295 cpu_id=6
//! sched_switch          prev_comm=NAME prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=NAME …
//! sched_wakeup          comm=NAME pid=45 prio=120 target_cpu=000
//! softirq_entry, _exit  vec=9 [action=RCU]
//! hrtimer_expire_entry  hrtimer=ffff88807dd5f398 function=tick_nohz_handler now=1435000203
//! timer_expire_entry    timer=ffff8880002d3e20 function=process_timeout now=4294668689 baseclk=4294668689
//! rcu_*                 rcu_preempt and words: `event/fast/rcu.rs`
//! ```
//!
//! A name of a task with an equals sign in it is left to the other reader: it may be something else that
//! looks like a field. All other words here end at a blank, and what is in front of a field is known to the
//! byte, so that no field can stand there twice.

use super::{Event, TICKS, cpu};

mod rcu;

/// One in each byte.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

#[inline(always)]
pub(super) fn decode<'a>(event: &str, text: &'a str) -> Option<Event<'a>> {
    // By length first: most comparisons are never made.
    match event.len() {
        7 if event == "rcu_fqs" => rcu::scan(text),
        8 if event == "cpu_idle" => idle(text),
        12 if event == "sched_switch" => switch(text),
        12 if event == "sched_wakeup" => wakeup(text),
        12 if event == "softirq_exit" => vec(text).map(|vec| Event::SoftirqExit { vec }),
        12 if event == "rcu_callback" => rcu::callback(text),
        13 if event == "softirq_entry" => vec(text).map(|vec| Event::Softirq { vec }),
        13 if event == "rcu_nocb_wake" => rcu::nocb_wake(text),
        13 if event == "rcu_batch_end" => rcu::batch_end(text),
        15 if event == "rcu_utilization" => Some(Event::Other),
        15 if event == "rcu_batch_start" => rcu::batch_start(text),
        16 if event == "rcu_grace_period" => rcu::grace_period(text),
        18 if event == "timer_expire_entry" => timer(text),
        19 if event == "rcu_invoke_callback" => rcu::invoke(text),
        20 if event == "hrtimer_expire_entry" => hrtimer(text),
        21 if event == "rcu_grace_period_init" => rcu::node_init(text),
        23 if event == "rcu_future_grace_period" => rcu::future(text),
        26 if event == "rcu_quiescent_state_report" => rcu::report(text),
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
    Some(Event::idle(i64::try_from(state).ok()?, cpu))
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
    let other = |b: u8| !(b.is_ascii_alphabetic() || b == b'+' || b == b'|');
    let end = rest.bytes().take(8).position(other).filter(|at| *at > 0)?;
    let (state, rest) = rest.split_at_checked(end)?;
    let rest = rest.strip_prefix(" ==> next_comm=")?;
    let (next, rest) = task(rest, " next_pid")?;
    let (next_pid, rest) = digits(rest)?;
    let (_, rest) = digits(rest.strip_prefix(" next_prio=")?)?;
    if !rest.is_empty() {
        return None;
    }
    Some(Event::Switch {
        prev,
        prev_pid: u32::try_from(prev_pid).ok()?,
        state,
        next,
        next_pid: u32::try_from(next_pid).ok()?,
    })
}

/// The number of a soft interrupt.
fn vec(text: &str) -> Option<u32> {
    let (number, rest) = digits(text.strip_prefix("vec=")?)?;
    ends(rest)?;
    u32::try_from(number).ok()
}

fn hrtimer(text: &str) -> Option<Event<'_>> {
    let (function, now_ns, _) = expired(text.strip_prefix("hrtimer=")?)?;
    // An address could be the tick's: a fault, and no business of this one.
    if function.starts_with("0x") {
        return None;
    }
    Some(match TICKS.contains(&function) {
        true => Event::Tick { now_ns },
        false => Event::Hrtimer { function },
    })
}

fn timer(text: &str) -> Option<Event<'_>> {
    let (function, jiffies, rest) = expired(text.strip_prefix("timer=")?)?;
    // Old kernels have no base; anything else is left to the other reader.
    let base = match rest.strip_prefix(" baseclk=") {
        Some(rest) => {
            let (base, rest) = digits(rest)?;
            ends(rest)?;
            Some(base)
        }
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(Event::Timer {
        function,
        jiffies,
        base,
    })
}

/// `POINTER function=NAME now=NUMBER`: the name, the number, and what follows.
#[inline(always)]
fn expired(text: &str) -> Option<(&str, u64, &str)> {
    let (_, rest) = word(text)?;
    let (function, rest) = function(rest.strip_prefix(" function=")?)?;
    let (now, rest) = digits(rest.strip_prefix(" now=")?)?;
    ends(rest)?;
    Some((function, now, rest))
}

/// The name of a function; none where it has an offset or a size.
#[inline(always)]
fn function(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = word(text)?;
    let odd = |any, b| any | (b == b'+') | (b == b'/');
    (!name.bytes().fold(false, odd)).then_some((name, rest))
}

/// The word at the start, which is not empty, and what follows it.
#[inline(always)]
fn word(text: &str) -> Option<(&str, &str)> {
    // The least byte that is no blank of any kind: an exclamation mark.
    let below = |eight: u64| eight.wrapping_sub(ONES * 0x21) & !eight;
    let end = first(text.as_bytes(), below, |b| b < 0x21);
    let (word, rest) = text.split_at(end);
    (end > 0 && ends(rest).is_some()).then_some((word, rest))
}

/// Nothing follows, or a blank.
#[inline(always)]
fn ends(rest: &str) -> Option<()> {
    matches!(rest.as_bytes().first(), None | Some(b' ')).then_some(())
}

/// The name of a task up to the first equals sign, in front of which this field is named, and what follows
/// the sign.
#[inline(always)]
fn task<'a>(text: &'a str, field: &str) -> Option<(&'a str, &'a str)> {
    let signs = |eight: u64| {
        let sign = eight ^ (ONES * 0x3d);
        sign.wrapping_sub(ONES) & !sign
    };
    let (name, rest) = text.split_at(first(text.as_bytes(), signs, |b| b == b'='));
    let rest = rest.strip_prefix('=')?;
    Some((name.strip_suffix(field)?.trim_ascii(), rest))
}

/// Where the first byte of a kind is, or the end. Eight at a time: `marks` has the highest bit of each that
/// is of the kind, and is right for the lowest one, as a subtraction carries upwards.
#[inline(always)]
fn first(bytes: &[u8], marks: impl Fn(u64) -> u64, is: impl Fn(u8) -> bool) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let marks = marks(u64::from_le_bytes(*eight)) & (ONES << 7);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|b| !is(*b)) {
        at += 1;
    }
    at
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

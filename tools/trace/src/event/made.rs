//! An event out of its fields, of a trace that is no text: what `decode_any` makes of their text.

use super::{Event, TICKS, cpu};
use crate::Fault;
use crate::event::fields::{first_word, function_of};
use crate::line::{Fields, Kind};

/// `text` is the block's, in which the fields' texts stand.
#[inline]
pub(super) fn decode<'a>(fields: &Fields, text: &'a str) -> Result<Event<'a>, Fault> {
    let it = Fielded { fields, text };
    Ok(match fields.shape.kind {
        Kind::Wakeup { new } => Event::Wakeup {
            task: it.task(0)?,
            pid: it.number(1)?,
            target: it.cpu(2)?,
            new,
        },
        Kind::Waking => Event::Waking {
            task: it.task(0)?,
            pid: it.number(1)?,
        },
        Kind::Switch => Event::Switch {
            prev: it.task(0)?,
            prev_pid: it.number(1)?,
            state: it.word(2)?,
            next: it.task(3)?,
            next_pid: it.number(4)?,
        },
        Kind::Idle => Event::idle(it.signed(0)?, it.cpu(1)?),
        Kind::Hrtimer => match it.function(0)? {
            // It could be the tick's.
            address if address.starts_with("0x") => return Err(Fault::Address),
            tick if TICKS.contains(&tick) => Event::Tick {
                now_ns: it.number(1)?,
            },
            function => Event::Hrtimer { function },
        },
        Kind::Timer => Event::Timer {
            function: it.function(0)?,
            jiffies: it.number(1)?,
            base: it.number(2).ok(),
        },
        Kind::Softirq => Event::Softirq { vec: it.number(0)? },
        Kind::SoftirqExit => Event::SoftirqExit { vec: it.number(0)? },
        Kind::GracePeriod => Event::GracePeriod {
            seq: it.signed(0)?,
            what: it.word(1)?,
        },
        Kind::FutureGp => Event::FutureGp {
            wanted: it.signed(0)?,
            what: it.word(1)?,
        },
        Kind::Expedited => Event::Expedited {
            seq: it.signed(0)?,
            what: it.word(1)?,
        },
        Kind::Barrier => Event::Barrier { what: it.word(0)? },
        Kind::NodeInit => Event::NodeInit {
            level: it.number(0)?,
            first_cpu: it.cpu(1)?,
            mask: it.bits(2)?,
        },
        Kind::Report => Event::Report {
            cleared: it.bits(0)?,
            left: it.bits(1)?,
            level: it.number(2)?,
            first_cpu: it.cpu(3)?,
        },
        Kind::Scan => Event::Scan {
            cpu: it.cpu(0)?,
            what: it.word(1)?,
        },
        Kind::NocbWake => Event::NocbWake {
            cpu: it.cpu(0)?,
            what: it.word(1)?,
        },
        Kind::Callback => Event::Callback {
            head: it.bits(0)?,
            function: it.function(1)?,
        },
        Kind::Invoke => Event::Invoke {
            head: it.bits(0)?,
            function: it.function(1)?,
        },
        Kind::Kvfree => Event::Kvfree { head: it.bits(0)? },
        Kind::InvokeKvfree => Event::InvokeKvfree { head: it.bits(0)? },
        Kind::InvokeBulk => Event::InvokeBulk {
            records: it.number(0)?,
        },
        Kind::BatchStart => Event::BatchStart {
            callbacks: it.number(0)?,
        },
        Kind::BatchEnd => Event::BatchEnd {
            invoked: it.number(0)?,
        },
        Kind::Other => Event::Other,
    })
}

struct Fielded<'f, 'a> {
    fields: &'f Fields,
    text: &'a str,
}

impl<'a> Fielded<'_, 'a> {
    #[inline]
    fn bits(&self, place: usize) -> Result<u64, Fault> {
        self.fields.number_at(place).map_err(Fault::Field)
    }

    #[inline]
    fn signed(&self, place: usize) -> Result<i64, Fault> {
        self.bits(place).map(|it| it as i64)
    }

    /// A number that is not negative, in its type.
    #[inline]
    fn number<T: TryFrom<i64>>(&self, place: usize) -> Result<T, Fault> {
        let fault = Fault::Field(self.fields.shape.needs[place].0);
        let number = self.signed(place)?;
        match number < 0 {
            true => Err(fault),
            false => T::try_from(number).map_err(|_| fault),
        }
    }

    #[inline]
    fn cpu(&self, place: usize) -> Result<u32, Fault> {
        cpu(self.number(place), self.fields.shape.needs[place].0)
    }

    #[inline]
    fn text(&self, place: usize) -> Result<&'a str, Fault> {
        let text = self.fields.text_at(place, self.text);
        text.map_err(Fault::Field)
    }

    #[inline]
    fn task(&self, place: usize) -> Result<&'a str, Fault> {
        self.text(place).map(str::trim_ascii)
    }

    #[inline]
    fn word(&self, place: usize) -> Result<&'a str, Fault> {
        self.text(place).map(first_word)
    }

    #[inline]
    fn function(&self, place: usize) -> Result<&'a str, Fault> {
        self.word(place).map(function_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::shape_of;

    /// The event of a name, with these numbers as its first fields.
    fn decoded(event: &str, numbers: &[u64]) -> Result<Event<'static>, Fault> {
        let mut fields = Fields::new(shape_of(event).expect("is listed"));
        for (place, number) in numbers.iter().enumerate() {
            fields.number(place, *number);
        }
        decode(&fields, "")
    }

    #[test]
    fn numbers_keep_to_their_types() {
        let softirq = |vec| decoded("softirq_entry", &[vec]);
        assert_eq!(softirq(9), Ok(Event::Softirq { vec: 9 }));
        assert_eq!(softirq(1 << 32), Err(Fault::Field("vec")));
        assert_eq!(softirq(-1i64 as u64), Err(Fault::Field("vec")));
        let idle = |state, cpu| decoded("cpu_idle", &[state, cpu]);
        let (exit, entry) = (
            Event::IdleExit { cpu: 65_535 },
            Event::IdleEntry { cpu: 0, state: 0 },
        );
        assert_eq!(idle(u64::from(u32::MAX), 65_535), Ok(exit));
        assert_eq!(idle(-1i64 as u64, 65_535), Ok(exit));
        assert_eq!(idle(0, 0), Ok(entry));
        assert_eq!(idle(0, 65_536), Err(Fault::Field("cpu_id")));
    }

    #[test]
    fn what_an_event_lacks_is_named() {
        assert_eq!(decoded("cpu_idle", &[1]), Err(Fault::Field("cpu_id")));
        assert_eq!(decoded("rcu_callback", &[1]), Err(Fault::Field("func")));
        // A range that is not in the text.
        assert_eq!(decoded("rcu_callback", &[1, 5]), Err(Fault::Field("func")));
        assert_eq!(decoded("rcu_utilization", &[]), Ok(Event::Other));
    }
}

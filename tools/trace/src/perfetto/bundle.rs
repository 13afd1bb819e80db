//! The events of one bundle, which are all of one CPU, in the order of time.
//!
//! Messages (`FtraceEvent`) stay where they are in the packet; an entry has their time and place. The compact
//! form of scheduler events has a row for each field, times as differences, and names as places in a table:
//! it is unpacked here, and its events are sorted in. What has no time, and rows of different lengths, are
//! damage: they are counted, and the rest is kept.

use crate::base::wire::{Fields, Packed, Torn, Value};

/// CPU numbers from here on are taken for damage.
const CPUS_MOST: u64 = 1 << 16;

/// An event of the compact form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compact {
    /// `sched_switch`, or `sched_waking`.
    pub(super) switch: bool,
    /// Of the previous task; if one was woken the CPU that it will run on, which nothing asks for.
    pub(super) state: u64,
    pub(super) pid: u32,
    /// Where its name is in the packet.
    pub(super) comm: (u32, u32),
    pub(super) flags: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A message, at this place of the packet; without its time, if that stands first.
    Message(u32, u32),
    /// The number of one of the compact form.
    Compact(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) time: u64,
    pub(super) what: What,
}

/// A bundle, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    pub(super) cpu: u32,
    /// The packet.
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    pub(super) compact: Vec<Compact>,
    /// The next entry.
    pub(super) next: usize,
    /// The table of functions.
    pub(super) symbols: usize,
    /// Events were lost in front of it.
    pub(super) lost: bool,
    /// Perfetto's number of its clock.
    pub(super) clock: u64,
    /// The byte of the file at which its packet starts.
    pub(super) at: u64,
    /// Events that could not be read.
    pub(super) damaged: u64,
}

/// Perfetto's own names: none is `boot`.
pub(super) fn clock(number: u64) -> &'static str {
    match number {
        0 => "boot",
        2 => "global",
        3 => "local",
        4 => "mono_raw",
        _ => "unknown",
    }
}

impl Bundle {
    /// Reads the bundle that lies at `place` of a packet. `describe` gets descriptors of generic events.
    pub(super) fn read(
        bytes: Vec<u8>,
        place: (usize, usize),
        mut describe: impl FnMut(&[u8]) -> Result<(), Torn>,
    ) -> Bundle {
        let mut bundle = Bundle::default();
        let mut entries = Vec::new();
        let mut compact = Vec::new();
        for field in Fields(&bytes[place.0..place.1]) {
            match field {
                Ok((1, Value::Number(cpu))) if cpu < CPUS_MOST => bundle.cpu = cpu as u32,
                Ok((1, _)) => bundle.damaged += 1,
                Ok((2, Value::Bytes(event))) => match time_of(event) {
                    Some((time, rest)) => {
                        let (from, to) = place_of(&bytes, rest);
                        let what = What::Message(from, to);
                        entries.push(Entry { time, what });
                    }
                    None => bundle.damaged += 1,
                },
                Ok((3, Value::Number(lost))) => bundle.lost |= lost != 0,
                Ok((4, Value::Bytes(rows))) => {
                    let read = unpack(&bytes, rows, &mut entries, &mut compact);
                    bundle.damaged += u64::from(read.is_err());
                }
                Ok((5, Value::Number(clock))) => bundle.clock = clock,
                // What Perfetto could not read when it recorded.
                Ok((8, _)) | Err(Torn) => bundle.damaged += 1,
                Ok((11, Value::Bytes(it))) => bundle.damaged += u64::from(describe(it).is_err()),
                Ok(_) => {}
            }
        }
        let sorted = entries.is_sorted_by_key(|entry: &Entry| entry.time);
        if !sorted {
            // A waking stands before the switch that follows from it at the same time.
            entries.sort_by_key(|entry| (entry.time, order(entry, &compact)));
        }
        entries.shrink_to_fit();
        compact.shrink_to_fit();
        bundle.bytes = bytes;
        (bundle.entries, bundle.compact) = (entries, compact);
        bundle
    }

    /// Bytes of memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity()
            + self.entries.capacity() * size_of::<Entry>()
            + self.compact.capacity() * size_of::<Compact>()
            + size_of::<Bundle>()
    }

    pub(super) fn piece(&self, (from, to): (u32, u32)) -> &[u8] {
        &self.bytes[from as usize..to as usize]
    }
}

fn order(entry: &Entry, compact: &[Compact]) -> u8 {
    match entry.what {
        What::Message(..) => 0,
        What::Compact(it) => 1 + u8::from(compact[it as usize].switch),
    }
}

/// The time of a `FtraceEvent`, and what follows it, if it is the first field, as it nearly always is.
#[inline]
fn time_of(event: &[u8]) -> Option<(u64, &[u8])> {
    let mut fields = Fields(event);
    if let Some(Ok((1, Value::Number(time)))) = fields.next() {
        return Some((time, fields.0));
    }
    let time = fields.find_map(|field| match field {
        Ok((1, Value::Number(time))) => Some(time),
        _ => None,
    });
    time.map(|time| (time, event))
}

/// Where a piece of a packet is in it.
fn place_of(bytes: &[u8], piece: &[u8]) -> (u32, u32) {
    let from = (piece.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize) as u32;
    (from, from + piece.len() as u32)
}

/// The rows of `CompactSched`, by their numbers.
fn unpack(
    bytes: &[u8],
    message: &[u8],
    entries: &mut Vec<Entry>,
    compact: &mut Vec<Compact>,
) -> Result<(), Torn> {
    let mut rows: [&[u8]; 13] = [&[]; 13];
    let mut names = Vec::new();
    let mut read = Ok(());
    for field in Fields(message) {
        match field {
            Ok((5, Value::Bytes(name))) => names.push(place_of(bytes, name)),
            Ok((row @ 1..=12, Value::Bytes(it))) => rows[row as usize] = it,
            Ok(_) => {}
            Err(torn) => read = Err(torn),
        }
    }
    // Times, states or CPUs, ids, priorities, names, flags.
    let switches = [1, 2, 3, 4, 6].map(|row| Packed(rows[row]));
    let wakings = [7, 9, 8, 10, 11].map(|row| Packed(rows[row]));
    let switched = rows_of(true, switches, Packed(&[]), &names, entries, compact);
    let woken = rows_of(false, wakings, Packed(rows[12]), &names, entries, compact);
    read.and(switched).and(woken)
}

/// One kind of event, up to the first that is not whole.
fn rows_of(
    switch: bool,
    [mut times, mut states, mut pids, mut prios, mut comms]: [Packed<'_>; 5],
    mut flags: Packed<'_>,
    names: &[(u32, u32)],
    entries: &mut Vec<Entry>,
    compact: &mut Vec<Compact>,
) -> Result<(), Torn> {
    let mut time = 0u64;
    loop {
        let next = [
            times.next(),
            states.next(),
            pids.next(),
            prios.next(),
            comms.next(),
        ];
        let [Some(passed), Some(state), Some(pid), Some(prio), Some(comm)] = next else {
            return match next {
                [None, None, None, None, None] => Ok(()),
                _ => Err(Torn),
            };
        };
        time = time.wrapping_add(passed?);
        prio?;
        let name = usize::try_from(comm?).ok().and_then(|at| names.get(at));
        compact.push(Compact {
            switch,
            state: state?,
            pid: u32::try_from(pid?).map_err(|_| Torn)?,
            comm: *name.ok_or(Torn)?,
            flags: flags.next().transpose()?.map(|it| it as u8),
        });
        let what = What::Compact(compact.len() as u32 - 1);
        entries.push(Entry { time, what });
    }
}

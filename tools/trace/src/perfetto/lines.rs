//! The records of a trace of Perfetto's.
//!
//! Packets are read until the held bundles are full or the trace ends; then the earliest event is handed out.
//! Lines that are no events: the clock, the number of CPUs, losses, and damage with the byte of its packet.

use super::bundle::{Bundle, Compact, Entry, What, clock, place_of};
use super::formats::{Formats, SWITCH, WAKING};
use super::merge::Merge;
use super::names::{Tables, Tasks};
use super::packets::{Next, Packets, unpacked};
use crate::base::wire::{Fields, Torn, Value};
use crate::dat::Packing;
use crate::line::{Columns, Draft, Line, Maker};
use crate::{Fault, Unit, event};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

/// CPUs whose statistics are kept.
const CPUS_MOST: usize = 1 << 16;

/// A trace of Perfetto's.
pub(crate) struct Perfetto {
    packets: Packets,
    ended: bool,
    merge: Merge,
    lines: Lines,
    /// By CPU: events lost, at the start and at the end.
    lost: BTreeMap<u64, [Option<u64>; 2]>,
    clock: Option<u64>,
    cpus: u64,
}

impl Perfetto {
    pub(crate) fn open(input: Box<dyn BufRead + Send>) -> Perfetto {
        Perfetto {
            packets: Packets::new(input),
            ended: false,
            merge: Merge::default(),
            lines: Lines::default(),
            lost: BTreeMap::new(),
            clock: None,
            cpus: 0,
        }
    }

    fn read(&mut self, out: &mut Draft) -> io::Result<()> {
        match self.packets.next()? {
            Next::Packet(packet, at) => self.packet(packet, at, true, out),
            Next::Large(at) => out.fault(Fault::Packet { byte: at }),
            Next::Rest(at) => {
                out.fault(Fault::Rest { byte: at });
                self.ended = true;
            }
            Next::End => self.ended = true,
        }
        Ok(())
    }

    /// What is in a packet; in one that was compressed there is no other compressed one.
    fn packet(&mut self, packet: Vec<u8>, at: u64, outer: bool, out: &mut Draft) {
        let mut bundle = None;
        let (mut sequence, mut cleared) = (0, false);
        let mut damaged = 0;
        let mut names: &[u8] = &[];
        for field in Fields(&packet) {
            let mut read = Ok(());
            match field {
                Ok((1, Value::Bytes(it))) => bundle = Some(place_of(&packet, it)),
                Ok((2, Value::Bytes(it))) => read = self.lines.tasks.tree(it),
                Ok((10, Value::Number(it))) => sequence = it,
                Ok((12, Value::Bytes(it))) => names = it,
                Ok((13, Value::Number(it))) => cleared = it & 1 != 0,
                Ok((34, Value::Bytes(it))) => read = self.statistics(it, out),
                Ok((50, Value::Bytes(it))) if outer => {
                    read = self.compressed(Packing::Zlib, it, at, out);
                }
                Ok((133, Value::Bytes(it))) if outer => {
                    read = self.compressed(Packing::Zstd, it, at, out);
                }
                Ok((50 | 133, _)) | Err(Torn) => read = Err(Torn),
                Ok(_) => {}
            }
            damaged += u64::from(read.is_err());
        }
        if cleared {
            self.lines.tables.clear(sequence);
        }
        damaged += u64::from(self.lines.tables.add(sequence, names).is_err());
        damage(out, at, damaged);
        if let Some(place) = bundle {
            let mut bundle = Bundle::read(packet, place, |it| self.lines.formats.describe(it));
            bundle.at = at;
            bundle.symbols = self.lines.tables.of(sequence);
            self.bundle(bundle, out);
        }
    }

    fn compressed(
        &mut self,
        packing: Packing,
        packed: &[u8],
        at: u64,
        out: &mut Draft,
    ) -> Result<(), Torn> {
        for packet in unpacked(packing, packed).ok_or(Torn)? {
            self.packet(packet, at, false, out);
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: Bundle, out: &mut Draft) {
        if self.clock != Some(bundle.clock) {
            self.clock = Some(bundle.clock);
            out.line(Line::Buffer {
                name: "",
                clock: clock(bundle.clock),
            });
        }
        if bundle.lost {
            out.line(Line::Lost(None));
        }
        damage(out, bundle.at, bundle.damaged);
        self.merge.add(bundle);
    }

    /// `FtraceStats`: how many CPUs there are, and what each lost since the tracer started.
    fn statistics(&mut self, message: &[u8], out: &mut Draft) -> Result<(), Torn> {
        let (mut end, mut cpus) = (false, 0);
        let mut all = Vec::new();
        for field in Fields(message) {
            match field? {
                (1, Value::Number(phase)) => end = phase == 2,
                (2, Value::Bytes(of_cpu)) => {
                    cpus += 1;
                    let (mut cpu, mut lost) = (0, 0u64);
                    for field in Fields(of_cpu) {
                        match field? {
                            (1, Value::Number(it)) => cpu = it,
                            // Overwritten, not committed, dropped.
                            (3 | 4 | 8, Value::Number(it)) => lost = lost.saturating_add(it),
                            _ => {}
                        }
                    }
                    all.push((cpu, lost));
                }
                _ => {}
            }
        }
        for (cpu, lost) in all {
            if self.lost.len() < CPUS_MOST || self.lost.contains_key(&cpu) {
                let both = self.lost.entry(cpu).or_default();
                both[usize::from(end)] = Some(lost);
            }
        }
        if cpus > self.cpus {
            self.cpus = cpus;
            out.line(Line::Cpus(u32::try_from(cpus).unwrap_or(u32::MAX)));
        }
        Ok(())
    }

    /// What the statistics count.
    fn lost_by_statistics(&self, out: &mut Draft) {
        for [start, end] in self.lost.values() {
            let lost = end.unwrap_or(0).saturating_sub(start.unwrap_or(0));
            if lost > 0 {
                out.line(Line::Lost(Some(lost)));
            }
        }
    }
}

impl Maker for Perfetto {
    fn header(&self, out: &mut Draft) {
        out.line(Line::Nothing);
    }

    fn more(&mut self, out: &mut Draft) -> io::Result<bool> {
        if !self.ended && !self.merge.is_full() {
            self.read(out)?;
            return Ok(true);
        }
        let lines = &mut self.lines;
        if self
            .merge
            .next(|bundle, entry| lines.write(bundle, entry, out))
        {
            return Ok(true);
        }
        if self.ended {
            self.lost_by_statistics(out);
        }
        Ok(!self.ended)
    }
}

/// So many parts of the packet at this byte could not be read: each is counted.
fn damage(out: &mut Draft, byte: u64, count: u64) {
    (0..count).for_each(|_| out.fault(Fault::Packet { byte }));
}

/// What a record is made with.
#[derive(Default)]
struct Lines {
    formats: Formats,
    tables: Tables,
    tasks: Tasks,
    /// By CPU: the task that ran last.
    running: Vec<Option<u32>>,
}

impl Lines {
    fn write(&mut self, bundle: &Bundle, entry: Entry, out: &mut Draft) {
        let time = entry.time;
        match entry.what {
            What::Message(from, to) => {
                if self.message(bundle, time, (from, to), out).is_err() {
                    damage(out, bundle.at, 1);
                }
            }
            What::Compact(number) => {
                self.compact(bundle, time, &bundle.compact[number as usize], out);
            }
        }
    }

    fn message(
        &mut self,
        bundle: &Bundle,
        time: u64,
        place: (u32, u32),
        out: &mut Draft,
    ) -> Result<(), Torn> {
        let (mut pid, mut flags, mut event) = (None, None, None);
        for field in Fields(bundle.piece(place)) {
            match field? {
                (2, Value::Number(it)) => pid = Some(it as u32),
                (5, Value::Number(it)) => flags = Some(it as u8),
                (number, Value::Bytes(it)) => event = Some((number, it)),
                _ => {}
            }
        }
        let (Some(pid), Some((number, event))) = (pid, event) else {
            return Err(Torn);
        };
        let symbols = self.tables.table(bundle.symbols);
        let (name, fields) = self.formats.read(number, event, symbols, out)?;
        let mut runs = pid;
        if number == SWITCH {
            for (name, pid) in event::SWITCHED {
                if let (Some(name), Some(pid)) = (out.text(&fields, name), fields.at(pid)) {
                    self.tasks.is(pid as u32, name);
                }
            }
            runs = fields.at(4).map_or(pid, |next| next as u32);
        }
        set_running(&mut self.running, bundle.cpu, runs);
        let columns = columns(&self.tasks, (bundle.cpu, pid), flags, time);
        out.record(&columns, name, fields);
        Ok(())
    }

    fn compact(&mut self, bundle: &Bundle, time: u64, it: &Compact, out: &mut Draft) {
        let cpu = bundle.cpu;
        let before = self.running.get(cpu as usize).copied().flatten();
        let comm = bundle.piece(it.comm);
        self.tasks.is(it.pid, comm);
        // Who writes the event: not known at a CPU's first one.
        let pid = before.unwrap_or(0);
        let columns = columns(&self.tasks, (cpu, pid), it.flags, time);
        let mut idle = Vec::new();
        let said = if !it.switch {
            // Its state is the CPU.
            let values = [
                Value::Bytes(comm),
                Value::Number(it.pid.into()),
                Value::Number(it.state),
            ];
            self.formats.with(WAKING, &values, out)
        } else {
            set_running(&mut self.running, cpu, it.pid);
            let prev = match pid {
                0 => {
                    let _always = write!(idle, "swapper/{cpu}");
                    &idle
                }
                _ => columns.task,
            };
            let values = [
                Value::Bytes(prev),
                Value::Number(pid.into()),
                Value::Number(it.state),
                Value::Bytes(comm),
                Value::Number(it.pid.into()),
            ];
            self.formats
                .with(SWITCH, &values, out)
                .filter(|_| before.is_some())
        };
        let (name, fields) = said.unwrap_or((b"sched_switch_to", event::Fields::default()));
        out.record(&columns, name, fields);
    }
}

/// A task runs on a CPU.
fn set_running(running: &mut Vec<Option<u32>>, cpu: u32, pid: u32) {
    let place = cpu as usize;
    if running.len() <= place {
        running.resize(place + 1, None);
    }
    running[place] = Some(pid);
}

fn columns(tasks: &Tasks, (cpu, pid): (u32, u32), flags: Option<u8>, time: u64) -> Columns<'_> {
    Columns {
        task: tasks.name(pid),
        pid,
        cpu,
        flags,
        time,
        unit: Unit::Seconds,
    }
}

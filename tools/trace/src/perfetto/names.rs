//! Names of tasks, and of functions.
//!
//! A task's name is the last one under which it was seen; a list of processes names those that were not.
//! Functions of the kernel are numbers, by a table of the packets' sequence that may start anew: each start
//! makes a table, and a bundle keeps the number of its own. Both are bounded: what comes later stays without
//! a name.

use crate::base::map::Map;
use crate::base::wire::{Fields, Torn, Value};

/// Tasks with a name.
const TASKS_MOST: usize = 1 << 16;

/// Bytes of a task's name.
const TASK_BYTES: usize = 64;

/// Bytes of all names of functions.
const SYMBOLS_BYTES: usize = 16 << 20;

/// The names of tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks(Map<u32, Box<[u8]>>);

impl Tasks {
    /// A task goes by this name now.
    pub(super) fn is(&mut self, pid: u32, name: &[u8]) {
        let name = &name[..name.len().min(TASK_BYTES)];
        let room = self.0.len() < TASKS_MOST;
        match self.0.get_mut(&pid) {
            Some(old) if **old == *name => {}
            Some(old) => *old = name.into(),
            None if room && pid != 0 => {
                self.0.insert(pid, name.into());
            }
            None => {}
        }
    }

    /// As the kernel writes it.
    pub(super) fn name(&self, pid: u32) -> &[u8] {
        match pid {
            0 => b"<idle>",
            _ => self.0.get(&pid).map_or(b"<...>", |name| name),
        }
    }

    /// Learns the names of the two tasks of a `sched_switch`; gives who runs now.
    pub(super) fn switched(&mut self, message: &[u8]) -> Result<Option<u32>, Torn> {
        let mut values = [None; 8];
        for field in Fields(message) {
            let (number, value) = field?;
            if let Some(slot) = values.get_mut(number as usize) {
                *slot = Some(value);
            }
        }
        for (name, pid) in [(1, 2), (5, 6)] {
            if let (Some(Value::Bytes(name)), Some(Value::Number(pid))) =
                (values[name], values[pid])
            {
                self.is(pid as u32, name);
            }
        }
        Ok(match values[6] {
            Some(Value::Number(next)) => Some(next as u32),
            _ => None,
        })
    }

    /// A list of processes and threads; names that are known stay.
    pub(super) fn tree(&mut self, message: &[u8]) -> Result<(), Torn> {
        for field in Fields(message) {
            let (kind, Value::Bytes(it)) = field? else {
                continue;
            };
            let (mut pid, mut name) = (None, None);
            for field in Fields(it) {
                match (kind, field?) {
                    (1 | 2, (1, Value::Number(it))) => pid = u32::try_from(it).ok(),
                    // Of a process its command: a path.
                    (1, (3, Value::Bytes(it))) if name.is_none() => name = Some(command(it)),
                    (2, (2, Value::Bytes(it))) => name = Some(it),
                    _ => {}
                }
            }
            if let (Some(pid), Some(name)) = (pid, name)
                && !name.is_empty()
                && !self.0.contains_key(&pid)
            {
                self.is(pid, name);
            }
        }
        Ok(())
    }
}

/// The name that a program's main thread has by its path: fifteen bytes behind the last slash. A kernel
/// thread's name may have a slash, and no path in front.
fn command(path: &[u8]) -> &[u8] {
    let start = match path.first() {
        Some(b'/' | b'.') => memchr::memrchr(b'/', path).map_or(0, |at| at + 1),
        _ => 0,
    };
    let name = &path[start..];
    &name[..name.len().min(15)]
}

/// A table of functions.
#[derive(Debug, Default)]
pub(super) struct Symbols(Map<u64, Box<[u8]>>);

impl Symbols {
    pub(super) fn get(&self, number: u64) -> Option<&[u8]> {
        self.0.get(&number).map(|name| &**name)
    }
}

/// All tables of functions.
#[derive(Debug)]
pub(super) struct Tables {
    tables: Vec<Symbols>,
    /// The present one of a sequence.
    present: Map<u64, usize>,
    bytes: usize,
}

impl Default for Tables {
    /// The first one stays empty: for bundles of sequences without a table.
    fn default() -> Self {
        Tables {
            tables: vec![Symbols::default()],
            present: Map::default(),
            bytes: 0,
        }
    }
}

impl Tables {
    /// The table that a bundle of this sequence uses.
    pub(super) fn of(&self, sequence: u64) -> usize {
        self.present.get(&sequence).copied().unwrap_or(0)
    }

    pub(super) fn table(&self, number: usize) -> &Symbols {
        &self.tables[number]
    }

    /// The numbers of a sequence start anew.
    pub(super) fn clear(&mut self, sequence: u64) {
        self.present.remove(&sequence);
    }

    /// `InternedData` of a packet.
    pub(super) fn add(&mut self, sequence: u64, message: &[u8]) -> Result<(), Torn> {
        for field in Fields(message) {
            // Symbols of the kernel: a number and a text.
            let (26, Value::Bytes(it)) = field? else {
                continue;
            };
            let (mut number, mut name) = (None, None);
            for field in Fields(it) {
                match field? {
                    (1, Value::Number(it)) => number = Some(it),
                    (2, Value::Bytes(it)) => name = Some(it),
                    _ => {}
                }
            }
            let (Some(number), Some(name)) = (number, name) else {
                return Err(Torn);
            };
            self.bytes += name.len() + 64;
            if self.bytes > SYMBOLS_BYTES {
                continue;
            }
            let at = match self.present.get(&sequence) {
                Some(at) => *at,
                None => {
                    self.tables.push(Symbols::default());
                    self.present.insert(sequence, self.tables.len() - 1);
                    self.tables.len() - 1
                }
            };
            self.tables[at].0.insert(number, name.into());
        }
        Ok(())
    }
}

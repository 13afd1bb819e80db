//! Names for numbers: functions by address, strings by address, tasks by id.
//!
//! They come from `/proc/kallsyms`, `printk_formats` and `saved_cmdlines` as they were on the traced machine.
//! Of the symbols only those of code are kept (types `t`, `T`, `w`, `W`), in one string with offsets: 200 000
//! of them are about 9 MB. Addresses that are all zero (`kptr_restrict`) give no table at all, and functions
//! stay numbers.

use super::walk::{Walk, damaged, lossy};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};

/// The symbols of code.
#[derive(Default)]
pub(super) struct Symbols {
    names: String,
    /// Address, and where its name stands: start and end.
    table: Vec<(u64, u32, u32)>,
}

/// Bytes that one line of any table may have.
const LINE_MOST: u64 = 4096;

/// Strings, and names of tasks, that are kept.
const NAMES_MOST: usize = 1 << 17;

/// Symbols that are kept.
const SYMBOLS_MOST: usize = 1 << 20;

impl Symbols {
    /// Reads `size` bytes of `/proc/kallsyms`.
    pub(super) fn read<R: Read>(&mut self, walk: &mut Walk<R>, size: u64) -> io::Result<()> {
        lines(walk, size, |line| {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                return;
            };
            let code = matches!(kind, "t" | "T" | "w" | "W");
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            if code && address != 0 && self.table.len() < SYMBOLS_MOST {
                let start = self.names.len() as u32;
                self.names.push_str(name);
                self.table.push((address, start, self.names.len() as u32));
            }
        })?;
        // Of several names of one address, the first of the file.
        self.table.sort_by_key(|(address, ..)| *address);
        self.table.dedup_by_key(|(address, ..)| *address);
        Ok(())
    }

    /// The name of the function at or around an address, and how far into it.
    pub(super) fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.table.partition_point(|(at, ..)| *at <= address);
        let (at, start, end) = *self.table.get(after.checked_sub(1)?)?;
        // Beyond the last function there is none: not even the largest is a megabyte.
        let into = address - at;
        let last = after == self.table.len();
        if last && into > 1 << 20 {
            return None;
        }
        Some((&self.names[start as usize..end as usize], into))
    }
}

/// Strings that events point at: `0xffffffff82f2d5f0 : "Start context switch"`.
pub(super) fn strings<R: Read>(
    walk: &mut Walk<R>,
    size: u64,
    into: &mut HashMap<u64, String>,
) -> io::Result<()> {
    lines(walk, size, |line| {
        let Some((address, text)) = line.split_once(':') else {
            return;
        };
        let address = address.trim().trim_start_matches("0x");
        let text = text.trim();
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = text.strip_suffix('"').unwrap_or(text);
        if let Ok(address) = u64::from_str_radix(address, 16)
            && into.len() < NAMES_MOST
        {
            into.insert(address, text.to_owned());
        }
    })
}

/// Names of tasks: `15 rcu_preempt`.
pub(super) fn tasks<R: Read>(
    walk: &mut Walk<R>,
    size: u64,
    into: &mut HashMap<u32, String>,
) -> io::Result<()> {
    lines(walk, size, |line| {
        let Some((pid, name)) = line.trim_start().split_once(' ') else {
            return;
        };
        if let Ok(pid) = pid.parse()
            && into.len() < NAMES_MOST
        {
            into.insert(pid, name.to_owned());
        }
    })
}

/// Every line of `size` bytes, in the memory of one.
fn lines<R: Read>(walk: &mut Walk<R>, size: u64, mut each: impl FnMut(&str)) -> io::Result<()> {
    let place = walk.place();
    let mut seen = 0;
    let mut line = Vec::new();
    {
        let mut part = BufReader::new(walk.part(size));
        while seen < size {
            line.clear();
            let got = part
                .by_ref()
                .take(LINE_MOST)
                .read_until(b'\n', &mut line)
                .map_err(|e| damaged(place, e))?;
            if got == 0 {
                let why = format_args!("a table of {size} bytes, and {seen} are there");
                return Err(damaged(place, why));
            }
            seen += got as u64;
            while matches!(line.last(), Some(b'\n' | 0)) {
                line.pop();
            }
            match std::str::from_utf8(&line) {
                Ok(text) => each(text),
                Err(_) => each(&lossy(&line)),
            }
        }
    }
    walk.passed(size);
    Ok(())
}

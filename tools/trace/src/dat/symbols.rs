//! Names for numbers: functions by address, strings by address, tasks by id.
//!
//! They come from `/proc/kallsyms`, `printk_formats` and `saved_cmdlines` as they were on the traced machine.
//! Of the symbols only those of code are kept (types `t`, `T`, `w`, `W`), in one string with offsets: 200 000
//! of them are about 9 MB. Addresses that are all zero (`kptr_restrict`) give no table at all, and functions
//! stay numbers.

use std::collections::HashMap;

/// The symbols of code.
#[derive(Default)]
pub(super) struct Symbols {
    names: String,
    /// Address, and where its name stands: start and end.
    table: Vec<(u64, u32, u32)>,
}

/// Strings, and names of tasks, that are kept.
const NAMES_MOST: usize = 1 << 17;

/// Symbols that are kept.
const SYMBOLS_MOST: usize = 1 << 20;

impl Symbols {
    /// Reads `/proc/kallsyms`.
    pub(super) fn read(&mut self, table: &str) {
        for line in table.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let code = matches!(kind, "t" | "T" | "w" | "W");
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            if code && address != 0 && self.table.len() < SYMBOLS_MOST {
                let start = self.names.len() as u32;
                self.names.push_str(name);
                self.table.push((address, start, self.names.len() as u32));
            }
        }
        // Of several names of one address, the first of the file.
        self.table.sort_by_key(|(address, ..)| *address);
        self.table.dedup_by_key(|(address, ..)| *address);
    }

    /// The name of the function at or around an address.
    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let after = self.table.partition_point(|(at, ..)| *at <= address);
        let (at, start, end) = *self.table.get(after.checked_sub(1)?)?;
        // Beyond the last function there is none: not even the largest is a megabyte.
        let beyond = after == self.table.len() && address - at > 1 << 20;
        (!beyond).then(|| &self.names[start as usize..end as usize])
    }
}

/// Strings that events point at: `0xffffffff82f2d5f0 : "Start context switch"`.
pub(super) fn strings(table: &str) -> HashMap<u64, String> {
    let read = |line: &str| {
        let (address, text) = line.split_once(':')?;
        let address = address.trim().trim_start_matches("0x");
        let text = text.trim();
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = text.strip_suffix('"').unwrap_or(text);
        Some((u64::from_str_radix(address, 16).ok()?, text.to_owned()))
    };
    table.lines().filter_map(read).take(NAMES_MOST).collect()
}

/// Names of tasks: `15 rcu_preempt`.
pub(super) fn tasks(table: &str) -> HashMap<u32, String> {
    let read = |line: &str| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, name.trim_end_matches('\0').to_owned()))
    };
    table.lines().filter_map(read).take(NAMES_MOST).collect()
}

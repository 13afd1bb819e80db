//! Values as people write them, and back: switches, times, lists of CPUs.
//!
//! Nothing here panics whatever the text is, and what is written is read again as the same value.

use quiescent_kernel::CpuId;

/// `1`, `0`, and the words for them that a kernel's command line takes.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "y" | "Y" | "on" | "yes" | "true" => Some(true),
        "0" | "n" | "N" | "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Units of time, in nanoseconds.
const UNITS: [(&str, u64); 5] = [
    ("ns", 1),
    ("us", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];

/// A time with its unit, such as `1.5ms`, in nanoseconds.
pub(crate) fn time(text: &str) -> Option<u64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let (_, factor) = UNITS.into_iter().find(|it| it.0 == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let padded: u64 = format!("{fraction:0<9}").parse().ok()?;
    let part = u128::from(padded) * u128::from(factor) / 1_000_000_000;
    whole.checked_mul(factor)?.checked_add(part as u64)
}

/// Nanoseconds in the largest unit that has no fraction.
pub(crate) fn time_text(ns: u64) -> String {
    let fits = |it: &&(&str, u64)| ns.is_multiple_of(it.1);
    let seconds = &UNITS[..4];
    match seconds.iter().rev().find(fits) {
        Some((unit, factor)) if ns > 0 => format!("{}{unit}", ns / factor),
        _ => format!("{ns}ns"),
    }
}

/// A list such as `0-3,8`, `all` or `none`, of CPUs below `cpus`: in ascending order, each once.
pub(crate) fn cpu_list(text: &str, cpus: u32) -> Option<Vec<CpuId>> {
    match text {
        "all" => return Some((0..cpus).collect()),
        "none" | "" => return Some(Vec::new()),
        _ => {}
    }
    let mut ranges = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: CpuId = number(first)?;
        let last = match last {
            "N" => cpus.checked_sub(1)?, // as kernels have it
            last => number(last)?,
        };
        if first > last || last >= cpus {
            return None;
        }
        ranges.push((first, last));
    }
    // In order, and each CPU once: the same range a thousand times costs no thousand lists.
    ranges.sort_unstable();
    let mut list: Vec<CpuId> = Vec::new();
    for (first, last) in ranges {
        let next = list.last().map_or(0, |it| it + 1);
        list.extend(first.max(next)..=last);
    }
    Some(list)
}

/// The shortest text of a list that is in ascending order.
pub(crate) fn cpu_list_text(list: &[CpuId], cpus: u32) -> String {
    if list.is_empty() {
        return "none".into();
    }
    if list.len() == cpus as usize {
        return "all".into();
    }
    let mut ranges: Vec<(CpuId, CpuId)> = Vec::new();
    for &cpu in list {
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == cpu => range.1 = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = ranges.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

/// A number in decimal digits and nothing else (`+1` is none).
pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("10s"), Some(10_000_000_000));
        assert_eq!(time("1.5ms"), Some(1_500_000));
        assert_eq!(time("0.25us"), Some(250));
        for text in [
            "10",
            "s",
            "-1s",
            "1.s5",
            "1e3s",
            "99999999999s",
            "1 s",
            ".5s",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        for ns in [0, 1, 999, 1000, 1_500_000, 90_000_000_000, u64::MAX] {
            assert_eq!(time(&time_text(ns)), Some(ns));
        }
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-2,7", 8), Some(vec![0, 1, 2, 7]));
        assert_eq!(cpu_list("3,1,1-3", 8), Some(vec![1, 2, 3]));
        assert_eq!(cpu_list("6-N", 8), Some(vec![6, 7]));
        assert_eq!(cpu_list("all", 2), Some(vec![0, 1]));
        let often = vec!["0-9999"; 1000].join(",");
        let list = cpu_list(&often, 10_000).unwrap();
        assert_eq!((list.len(), list.capacity() < 20_000), (10_000, true));
        for text in ["8", "2-1", "a", "1,,2", "-1", "0-4294967295"] {
            assert_eq!(cpu_list(text, 8), None, "{text}");
        }
        for text in ["none", "all", "0-2,7", "5"] {
            assert_eq!(cpu_list_text(&cpu_list(text, 8).unwrap(), 8), text);
        }
    }
}

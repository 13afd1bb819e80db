//! Lists of CPUs: as the kernel prints them, as its command line takes them, and as people read them.

use crate::state::files::Root;

/// The highest number of CPUs; a list that names more is invalid.
const MOST: usize = 1 << 16;

/// The list in a file; empty where it is `(null)`, which the kernel prints for a set that was never made.
pub(crate) fn known_list(root: &Root, file: &str) -> Option<Vec<u32>> {
    match root.line(file)?.trim() {
        "(null)" | "" => Some(Vec::new()),
        text => cpu_numbers(text, None),
    }
}

/// A list as the command line takes it: `all`, `3`, `0-5`, `N` for the last CPU there may be, `0-15:2/4` for
/// the first two of each four.
pub(crate) fn cpu_numbers(list: &str, possible: Option<&[u32]>) -> Option<Vec<u32>> {
    if list.trim().eq_ignore_ascii_case("all") {
        return possible.map(<[u32]>::to_vec);
    }
    let last = possible.and_then(|it| it.last().copied());
    let number = |text: &str| match text {
        "N" | "n" => last,
        _ => text.parse::<u32>().ok(),
    };
    let mut cpus = Vec::new();
    for part in list.trim().split(',').filter(|it| !it.is_empty()) {
        let (range, stride) = match part.split_once(':') {
            Some((range, stride)) => (range, Some(stride)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from)?, number(to)?),
            None if range.eq_ignore_ascii_case("all") => (0, last?),
            None => (number(range)?, number(range)?),
        };
        let (used, group) = match stride {
            None => (1, 1),
            Some(stride) => {
                let (used, group) = stride.split_once('/')?;
                (used.parse::<u32>().ok()?, group.parse::<u32>().ok()?)
            }
        };
        if from > to
            || (to - from) as usize >= MOST.saturating_sub(cpus.len())
            || used == 0
            || used > group
        {
            return None;
        }
        cpus.extend((from..=to).filter(|cpu| (cpu - from) % group < used));
    }
    cpus.sort_unstable();
    cpus.dedup();
    (!cpus.is_empty()).then_some(cpus)
}

/// As people read it: `0-2,5`; `none`.
pub fn listed(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(cpu) => run.1 = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let words: Vec<String> = runs
        .iter()
        .map(|&(from, to)| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        })
        .collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(","),
    }
}

/// Those of `these` that are not among `others`.
pub(crate) fn without(these: &[u32], others: &[u32]) -> Vec<u32> {
    let is_kept = |cpu: &&u32| !others.contains(cpu);
    these.iter().filter(is_kept).copied().collect()
}

/// Those of `these` that are among `others`.
pub(crate) fn common(these: &[u32], others: &[u32]) -> Vec<u32> {
    let is_kept = |cpu: &&u32| others.contains(cpu);
    these.iter().filter(is_kept).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_a_command_line_takes_them() {
        let possible: Vec<u32> = (0..8).collect();
        let read = |list| cpu_numbers(list, Some(&possible)).map(|it| listed(&it));
        for (list, cpus) in [
            ("all", "0-7"),
            ("0-3,6", "0-3,6"),
            ("2-N", "2-7"),
            ("0-7:1/4", "0,4"),
            ("20", "20"),
        ] {
            assert_eq!(read(list).as_deref(), Some(cpus), "{list}");
        }
        for list in ["", "x", "3-1", "0-7:2", "0-7:0/2", "0-4294967295"] {
            assert_eq!(read(list), None, "{list}");
        }
        assert_eq!(cpu_numbers("all", None), None);
        assert_eq!(listed(&[]), "none");
    }

    #[test]
    fn lists_as_the_kernel_shows_them() {
        assert_eq!(cpu_numbers("8,0-2\n", None), Some(vec![0, 1, 2, 8]));
        for text in ["x", "3-1", "0-4294967295", "-1", "(null)", "0-65535,0"] {
            assert_eq!(cpu_numbers(text, None), None, "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        for (text, cpus) in [
            ("\n", Vec::new()),
            ("(null)\n", Vec::new()),
            ("0\n", vec![0]),
        ] {
            std::fs::write(folder.path().join("list"), text).unwrap();
            assert_eq!(known_list(&Root::new(folder.path()), "/list"), Some(cpus));
        }
    }
}

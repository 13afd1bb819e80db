//! Wake-ups by thread, and by family of threads: a family is the part before the last `/`.
//!
//! A thread that was never woken in any run has no figures; if very many threads were woken, only families
//! have.

use std::collections::BTreeMap;

use super::{About, Figures, us};
use crate::record::stats::Stats;

/// Threads of one family below this number have figures of their own.
const MOST_THREADS: usize = 128;

pub(super) fn add(it: &mut Figures, runs: &[Stats]) {
    let woken = awake(runs);
    for stats in runs {
        for (about, names) in &woken {
            one(it, stats, about, names);
        }
    }
}

/// The subjects of the figures, and their wake-ups: threads in their own order, then families.
fn awake(runs: &[Stats]) -> Vec<(About, Vec<String>)> {
    let mut names: Vec<&str> = Vec::new();
    for stats in runs {
        for (name, wakeups) in &stats.wakeups {
            if *wakeups > 0 && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let mut families: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in &names {
        if let Some((family, _)) = name.rsplit_once('/') {
            families.entry(family).or_default().push((*name).to_owned());
        }
    }
    let family = |name: &str| name.rsplit_once('/').map(|it| &families[it.0]);
    let few = |name: &&&str| family(name).is_none_or(|it| it.len() <= MOST_THREADS);
    let threads = names.iter().filter(few).map(|name| {
        let name = (*name).to_owned();
        (About::Thread(name.clone()), vec![name])
    });
    let mut all: Vec<_> = threads.collect();
    let family = |(name, members): (&&str, &Vec<String>)| {
        (About::Family((*name).to_owned()), members.clone())
    };
    all.extend(families.iter().map(family));
    all
}

fn one(it: &mut Figures, stats: &Stats, about: &About, names: &[String]) {
    let mine = stats.wakeups.iter().zip(&stats.intervals);
    let mine = mine.filter(|((name, _), _)| names.contains(name));
    let (mut wakeups, mut last) = (0, None);
    for ((_, count), intervals) in mine {
        wakeups += count;
        last = Some(intervals);
    }
    let mut add = it.of(about.clone());
    add("wakeups", "wake-ups", wakeups as f64);
    add("wakeups_per_s", "1/s", wakeups as f64 / stats.seconds());
    let thread = matches!(about, About::Thread(_));
    if let Some(intervals) = last.filter(|it| thread && it.count > 0) {
        let average = us(intervals.total) / intervals.count as f64;
        add("interval_us_min", "us", us(intervals.min));
        add("interval_us_max", "us", us(intervals.max));
        add("interval_us_avg", "us", average);
    }
}

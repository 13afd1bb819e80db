//! The picture of one frame: the work of every CPU and the state of the package, one case above the other.
//!
//! It is drawn from the runs' records, span by span ([`Film`]). The words beside it are computed from the
//! nanoseconds of each kind, not from the picture.

use crate::base::span::Span;
use crate::experiments::Frame;
use crate::record::film::{Doing, Film};
use quiescent_report::html::chart::{Lane, LanePanel, Lanes, Paint, Stretch};
use quiescent_report::html::{Markup, html};
use quiescent_report::text::number::figure;

/// The picture; nothing where nothing was filmed.
pub(super) fn chart(name: &str, all: &[Frame]) -> Markup {
    let Some(first) = all.first() else {
        return html! {};
    };
    let chart = Lanes {
        title: format!("{name}: one frame"),
        about: "the first frame after five seconds, as the runs have recorded it; across is time, and the \
         same instant is at the same place in each. What is \
                shorter than a pixel is drawn a pixel wide, so the words say how long it was"
            .into(),
        unit: "ms".into(),
        length: ms(first.film.until - first.film.from),
        legend: legend(&first.film),
        panels: all.iter().map(panel).collect(),
    };
    chart.render()
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn legend(film: &Film) -> Vec<(Paint, String)> {
    let mut idle: Vec<&str> = Vec::new();
    for name in film.states.iter().flatten() {
        if !idle.contains(&name.as_str()) {
            idle.push(name);
        }
    }
    let up_to = |names: &[&str]| match names {
        [] => String::new(),
        [one] => format!(" ({one})"),
        [first, .., last] => format!(" ({first} to {last})"),
    };
    let package: Vec<&str> = film
        .package_states
        .iter()
        .skip(1)
        .map(|it| it.as_str())
        .collect();
    let mut all = vec![
        (Paint::Work, "application threads".into()),
        (Paint::GracePeriod, "rcu_preempt".into()),
        (Paint::Callbacks, "rcuog, rcuop".into()),
        (Paint::Softirq, "RCU's softirq".into()),
        (Paint::Interrupt, "ticks and other interrupts".into()),
        (Paint::Scheduler, "scheduler, idle loop".into()),
        (Paint::Waking, "waking up".into()),
        (
            Paint::Idle(1.0),
            format!("idle{}: the taller, the deeper", up_to(&idle)),
        ),
    ];
    if !package.is_empty() {
        let asleep = format!("package asleep{}: the taller, the deeper", up_to(&package));
        all.push((Paint::Asleep(1.0), asleep));
    }
    all
}

fn panel(frame: &Frame) -> LanePanel {
    let film = &frame.film;
    let cpu = |(cpu, spans): (usize, &Vec<Span<Doing>>)| {
        let deepest = film.states[cpu].len().max(1);
        Lane {
            name: format!("CPU {cpu}"),
            stretches: lane(film.from, spans, |it| paint(it, deepest)),
        }
    };
    let mut lanes: Vec<Lane> = film.cpus.iter().enumerate().map(cpu).collect();
    if !film.package.is_empty() {
        let deepest = film.package_states.len().saturating_sub(1).max(1);
        let paint = |it: u8| match it {
            0 => Paint::Nothing,
            depth => Paint::Asleep(f64::from(depth) / deepest as f64),
        };
        lanes.push(Lane {
            name: "package".into(),
            stretches: lane(film.from, &film.package, paint),
        });
    }
    LanePanel {
        name: frame.case.clone(),
        about: about(film),
        lanes,
    }
}

fn lane<T: Copy>(start: u64, spans: &[Span<T>], paint: impl Fn(T) -> Paint) -> Vec<Stretch> {
    let stretch = |it: &Span<T>| Stretch {
        from: ms(it.from - start),
        until: ms(it.until - start),
        paint: paint(it.what),
    };
    spans.iter().map(stretch).collect()
}

fn paint(doing: Doing, deepest: usize) -> Paint {
    match doing {
        Doing::Task => Paint::Work,
        Doing::GracePeriod => Paint::GracePeriod,
        Doing::Callbacks => Paint::Callbacks,
        Doing::Softirq => Paint::Softirq,
        Doing::Interrupt => Paint::Interrupt,
        Doing::Scheduler => Paint::Scheduler,
        Doing::Waking => Paint::Waking,
        Doing::Idle(depth) => Paint::Idle(f64::from(depth) / deepest as f64),
    }
}

/// What is to be seen, in words.
fn about(film: &Film) -> String {
    let rcus = |it| matches!(it, Doing::GracePeriod | Doing::Callbacks | Doing::Softirq);
    let (woken, rcu) = (film.woken(), figure(ms(film.total(rcus))));
    let work = figure(ms(film.total(|it| it == Doing::Task)));
    let waking = figure(ms(film.total(|it| it == Doing::Waking)));
    let mut said = format!(
        "{woken} wake-ups of CPUs, which took {waking} ms; application threads ran {work} ms, RCU's threads \
         and soft interrupts {rcu} ms"
    );
    if let Some((depth, state)) = film.package_states.iter().enumerate().skip(1).last() {
        let (all, deep) = (ms(film.until - film.from), ms(film.asleep(depth as u8)));
        said += &format!(
            ". The package was in {state} for {} of {} ms",
            figure(deep),
            figure(all)
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(case: &str) -> Frame {
        let span = |from, until, what| Span { from, until, what };
        let doing = |from, until, what| Span { from, until, what };
        Frame {
            case: case.into(),
            film: Film {
                from: 5_000_000,
                until: 9_000_000,
                cpus: vec![vec![
                    doing(5_000_000, 6_000_000, Doing::Idle(2)),
                    doing(6_000_000, 6_250_000, Doing::Waking),
                    doing(6_250_000, 6_500_000, Doing::Softirq),
                    doing(6_500_000, 9_000_000, Doing::Idle(1)),
                ]],
                states: vec![vec!["C1".into(), "C6".into()]],
                package: vec![span(5_000_000, 6_000_000, 1), span(6_000_000, 9_000_000, 0)],
                package_states: vec!["PC0".into(), "PC6".into()],
            },
        }
    }

    #[test]
    fn the_words_are_made_of_the_spans() {
        let text = chart("video", &[frame("before"), frame("<after>")]).into_string();
        for words in [
            "1 wake-ups of CPUs, which took 0.250 ms",
            "soft interrupts 0.250 ms. The package was in PC6 for 1.00 of 4.00 ms",
            "idle (C1 to C6): the taller, the deeper",
            "package asleep (PC6)",
            "&lt;after&gt;",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        roxmltree::Document::parse(&text).unwrap();
        assert!(!text.contains("<script") && !text.contains("url("));
        assert!(chart("video", &[]).into_string().is_empty());
    }
}

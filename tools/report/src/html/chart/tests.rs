//! The guarantees of every chart: well-formed, titled, only finite places, all figures in the table, odd
//! names escaped.

use super::*;
use roxmltree::{Document, Node};

const ODD: &str = "<b> & \"c\" 'd'";

fn bars(values: &[f64]) -> Bars {
    let row = |value: &f64| Row {
        name: ODD.into(),
        bars: vec![Bar {
            tone: Tone::Ours,
            value: *value,
            range: Some((value / 2.0, value * 2.0)),
        }],
    };
    Bars {
        title: format!("bars {ODD}"),
        about: "less is better".into(),
        unit: "ns & more".into(),
        linear: false,
        legend: vec![(Tone::Ours, ODD.into())],
        panels: vec![Panel::new(ODD, values.iter().map(row).collect())],
    }
}

fn points(values: &[(f64, f64)], guide: Option<Guide>) -> Points {
    let point = |&(x, y): &(f64, f64)| Point {
        name: ODD.into(),
        x,
        y,
    };
    let series = |name: &str, tone| Series {
        name: name.into(),
        tone,
        joined: guide.is_none(),
        points: values.iter().map(point).collect(),
    };
    Points {
        title: format!("points {ODD}"),
        about: "near the line is better".into(),
        x: Axis::new("real", "ms"),
        y: Axis::new("model", "ms"),
        guide,
        series: vec![series("a", Tone::Real), series(ODD, Tone::Model)],
    }
}

fn ratios(values: &[f64]) -> Ratios {
    let ratio = |value: &f64| Ratio {
        name: ODD.into(),
        tone: Tone::Model,
        value: *value,
        allowed: 0.05,
    };
    Ratios {
        title: format!("ratios {ODD}"),
        about: "1 is best".into(),
        axis: "model over real".into(),
        legend: Vec::new(),
        panels: vec![(ODD.into(), values.iter().map(ratio).collect())],
    }
}

/// All kinds of charts, with these figures.
fn all(values: &[f64]) -> Vec<String> {
    let pairs: Vec<(f64, f64)> = values.iter().map(|it| (*it, it * 1.01)).collect();
    let plain = [
        bars(values).render(),
        ratios(values).render(),
        points(&pairs, None).render(),
        points(&pairs, Some(Guide::Diagonal(0.025))).render(),
        points(&pairs, Some(Guide::One(0.025))).render(),
    ];
    plain.into_iter().map(maud::Markup::into_string).collect()
}

fn named<'a>(of: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    of.descendants().filter(move |it| it.has_tag_name(tag))
}

/// Places and lengths are finite, and inside.
fn check_places(drawing: Node<'_, '_>) {
    for node in drawing.descendants() {
        for attribute in node.attributes() {
            let text = attribute.value();
            let place = [
                "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height",
            ];
            if !place.contains(&attribute.name()) {
                continue;
            }
            let (number, most) = match text.strip_suffix('%') {
                Some(number) => (number, 100.0),
                None => (text, 10_000.0),
            };
            let number: f64 = number.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!(
                (0.0..=most).contains(&number),
                "{}={text}",
                attribute.name()
            );
        }
    }
}

#[test]
fn every_drawing_is_well_formed_titled_and_inside() {
    for values in [
        &[1.0, 2.0, 3.0][..],
        &[1.02],
        &[0.0, 0.0],
        &[0.001, 5.0, 90_000.0],
        &[1.0, f64::NAN, f64::INFINITY, 1.1],
    ] {
        for text in all(values) {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            let read = Document::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
            let figure = read.root_element();
            let drawings: Vec<_> = named(figure, "svg")
                .filter(|it| it.attribute("class") == Some("plot"))
                .collect();
            assert!(!drawings.is_empty(), "{text}");
            for drawing in drawings {
                assert_eq!(drawing.attribute("role"), Some("img"));
                let title = named(drawing, "title").next().and_then(|it| it.text());
                assert!(title.is_some_and(|it| it.contains(ODD)), "{title:?}");
                assert!(
                    named(drawing, "desc")
                        .next()
                        .is_some_and(|it| it.text().is_some())
                );
                let axes =
                    named(drawing, "text").filter(|it| it.attribute("class") == Some("axis"));
                assert!(axes.count() >= 2, "an axis has ticks and a label: {text}");
                check_places(drawing);
            }
        }
    }
}

#[test]
fn each_figure_is_in_the_table() {
    for text in all(&[1.25, 2.5, f64::NAN]) {
        let read = Document::parse(&text).unwrap();
        let details = named(read.root_element(), "details").next().unwrap();
        let cells: Vec<&str> = named(details, "td").filter_map(|it| it.text()).collect();
        for wanted in ["1.25", "2.5", ODD] {
            let found = cells.iter().any(|it| it.starts_with(wanted));
            assert!(found, "no {wanted} in {cells:?}");
        }
        assert!(text.contains(" figures have no place here"), "{text}");
    }
}

#[test]
fn nothing_measured_is_said_and_nothing_drawn() {
    for text in all(&[]).into_iter().chain(all(&[f64::NAN])) {
        assert!(text.contains("Nothing was measured."), "{text}");
        assert!(!text.contains("<svg"), "{text}");
    }
}

#[test]
fn a_longer_bar_is_a_larger_figure() {
    for values in [[1.0, 2.0, 3.0], [0.01, 1.0, 1_000.0]] {
        let text = bars(&values).render().into_string();
        let read = Document::parse(&text).unwrap();
        let lengths: Vec<f64> = named(read.root_element(), "rect")
            .filter_map(|it| it.attribute("width")?.strip_suffix('%')?.parse().ok())
            .collect();
        assert_eq!(lengths.len(), 3);
        assert!(
            lengths.is_sorted() && lengths[0] < lengths[2],
            "{lengths:?}"
        );
        assert_eq!(text.contains("logarithmic"), values[0] < 1.0);
    }
}

#[test]
fn a_point_on_the_diagonal_is_in_the_band_and_one_beside_it_is_not() {
    let text = points(&[(1.0, 1.0), (10.0, 10.0)], Some(Guide::Diagonal(0.1)));
    let text = text.render().into_string();
    let read = Document::parse(&text).unwrap();
    let band = named(read.root_element(), "polygon").next().unwrap();
    let corners: Vec<(f64, f64)> = band
        .attribute("points")
        .unwrap()
        .split(' ')
        .map(|it| it.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    let half = corners.len() / 2;
    for (upper, lower) in corners[..half].iter().zip(corners[half..].iter().rev()) {
        assert_eq!(upper.0, lower.0);
        let diagonal = 1.0 - upper.0;
        assert!(
            upper.1 <= diagonal + 1e-3 && diagonal <= lower.1 + 1e-3,
            "{upper:?} {lower:?}"
        );
    }
    assert!(
        corners[half / 2].1 < corners[half + half / 2].1,
        "it has a width"
    );
}

#[test]
fn labels_that_would_touch_are_left_out() {
    let at = |ticks: &[f64], most: f64| {
        let all = labels(ticks, |tick| tick / most);
        assert_eq!(all.len(), ticks.len(), "every tick has its line");
        all.into_iter().filter_map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(at(&[0.0, 50.0, 100.0], 100.0), ["0", "50", "100"]);
    assert_eq!(at(&[0.0, 1000.0, 2000.0, 3000.0], 20_000.0), ["0", "2000"]);
}

#[test]
fn others_are_held_against_ours() {
    let row = |tone, value, range| Row {
        name: "name".into(),
        bars: vec![Bar { tone, value, range }],
    };
    let chart = Bars {
        title: "t".into(),
        panels: vec![
            Panel::new(
                "a",
                vec![row(Tone::Ours, 2.0, None), row(Tone::Peer, 5.0, None)],
            ),
            Panel::new("b", vec![row(Tone::Peer, 5.0, None)]),
        ],
        ..Bars::default()
    };
    let text = chart
        .render_beside(Tone::Ours, &Table::new("t", &["x"], 1))
        .into_string();
    assert_eq!(text.matches("×2.50").count(), 1, "{text}");
    assert_eq!(
        text.matches('×').count(),
        1,
        "nothing beside ours, and nothing without ours"
    );
    assert!(!chart.render().into_string().contains('×'));
}

#[test]
fn a_name_without_an_end_is_broken_and_cut() {
    let rows = vec![
        Row::one(&"W".repeat(500), Tone::Peer, 1.0),
        Row::one("x", Tone::Peer, 1.0),
    ];
    let chart = Bars {
        panels: vec![Panel::new("", rows)],
        ..Bars::default()
    };
    let text = chart.render().into_string();
    let read = Document::parse(&text).unwrap();
    let names =
        named(read.root_element(), "text").filter(|it| it.attribute("class") == Some("name"));
    let lines: Vec<usize> = names
        .filter_map(|it| Some(it.text()?.chars().count()))
        .collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|it| *it <= 30), "{lines:?}");
    assert!(text.contains(&"W".repeat(500)), "all of it is in the table");
}

#[test]
fn long_names_stand_above_their_bars() {
    let rows = |name: &str| vec![Row::one(name, Tone::Peer, 1.0)];
    let of = |name| {
        let chart = Bars {
            panels: vec![Panel::new("", rows(name))],
            ..Bars::default()
        };
        let text = chart.render().into_string();
        let read = Document::parse(&text).unwrap();
        let bar = named(read.root_element(), "rect").next().unwrap();
        bar.attribute("x").unwrap().to_string()
    };
    assert_eq!(of("a name that is much too long"), "0.00%");
    assert_ne!(of("short"), "0.00%");
}

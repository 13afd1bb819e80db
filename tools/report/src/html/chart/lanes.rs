//! Lanes: the activity of each thread or CPU over time, one lane above the other.
//!
//! A lane is a row of stretches, each with a [`Paint`]. The horizontal axis is time; it is drawn below each
//! panel, and panels are one above the other, so that the same instant is at the same place in all of them. A
//! drawing can have thousands of stretches that are narrower than a pixel, so each kind is *one* path a
//! panel, in a drawing that is stretched to the available width, and short stretches get an edge of constant
//! width: every stretch is visible. Kinds differ in height as well as in colour, depth of sleep by height
//! alone, and each path has its kind as a title.

use super::{Frame, spoken, titled};
use crate::html::scale::Scale;
use crate::html::table::Table;
use crate::text::number::{figure, percent, tick};
use maud::{Markup, html};
use std::fmt::Write as _;

/// The left end of lanes: their names need the rest.
const LEFT: f64 = 0.17;
/// Height of a lane, of the gap below it, and of the time axis, in pixels.
const LANE: u32 = 14;
const GAP: u32 = 3;
const FOOT: u32 = 36;
/// The horizontal units of a drawing: fine enough that rounding is invisible.
const UNITS: f64 = 100_000.0;

/// The activity in a stretch: its colour and its height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Paint {
    /// Useful work.
    Work,
    /// The grace-period thread.
    GracePeriod,
    /// Threads of callbacks.
    Callbacks,
    /// RCU's soft interrupt.
    Softirq,
    /// An interrupt.
    Interrupt,
    /// The scheduler.
    Scheduler,
    /// Waking up.
    Waking,
    /// Idle; the depth is above 0, and 1 for the deepest.
    Idle(f64),
    /// The package asleep, with its depth.
    Asleep(f64),
    /// Nothing is drawn.
    Nothing,
}

/// In the order in which they are drawn: later kinds lie above earlier ones.
const KINDS: [Paint; 9] = [
    Paint::Idle(1.0),
    Paint::Asleep(1.0),
    Paint::Scheduler,
    Paint::Waking,
    Paint::Work,
    Paint::Interrupt,
    Paint::Softirq,
    Paint::Callbacks,
    Paint::GracePeriod,
];

impl Paint {
    /// Its class in the style sheet; none if nothing is drawn.
    fn class(self) -> Option<&'static str> {
        Some(match self {
            Paint::Work => "lane-work",
            Paint::GracePeriod => "lane-gp",
            Paint::Callbacks => "lane-callbacks",
            Paint::Softirq => "lane-softirq",
            Paint::Interrupt => "lane-interrupt",
            Paint::Scheduler => "lane-scheduler",
            Paint::Waking => "lane-waking",
            Paint::Idle(_) => "lane-idle",
            Paint::Asleep(_) => "lane-asleep",
            Paint::Nothing => return None,
        })
    }

    /// The part of a lane's height that it takes, from the bottom.
    fn height(self) -> f64 {
        match self {
            Paint::GracePeriod | Paint::Callbacks | Paint::Softirq => 1.0,
            Paint::Interrupt => 0.9,
            Paint::Work => 0.75,
            Paint::Scheduler => 0.5,
            Paint::Waking => 0.3,
            Paint::Idle(depth) => 0.6 * depth.clamp(0.0, 1.0),
            Paint::Asleep(depth) => depth.clamp(0.0, 1.0),
            Paint::Nothing => 0.0,
        }
    }

    /// Is it the same kind, at any depth?
    fn is(self, other: Paint) -> bool {
        self.class() == other.class()
    }
}

/// A stretch of a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub until: f64,
    /// Its activity.
    pub paint: Paint,
}

/// A lane: a name and its activity, in the order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its stretches.
    pub stretches: Vec<Stretch>,
}

/// A drawing: lanes over the same time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LanePanel {
    /// Its name.
    pub name: String,
    /// A description of what it shows.
    pub about: String,
    /// Its lanes, from the top.
    pub lanes: Vec<Lane>,
}

/// A chart of lanes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lanes {
    /// The title.
    pub title: String,
    /// A further sentence.
    pub about: String,
    /// The unit of time.
    pub unit: String,
    /// The length, from 0 on.
    pub length: f64,
    /// The meaning of kinds.
    pub legend: Vec<(Paint, String)>,
    /// The drawings.
    pub panels: Vec<LanePanel>,
}

impl Stretch {
    fn shown(&self, length: f64) -> bool {
        0.0 <= self.from && self.from < self.until && self.until <= length
    }
}

impl Lanes {
    fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        let lanes = self.panels.iter().flat_map(|it| &it.lanes);
        lanes.flat_map(|it| &it.stretches)
    }

    /// The markup.
    pub fn render(&self) -> Markup {
        let shown = self.stretches().filter(|it| it.shown(self.length)).count();
        let drawings = (shown > 0).then(|| {
            html! {
                ul class="legend" {
                    @for (paint, name) in &self.legend { li { i class=[paint.class()] {} (name) } }
                }
                @for panel in &self.panels {
                    div class="lanes" {
                        h4 { (panel.name) }
                        @if !panel.about.is_empty() { p { (panel.about) } }
                        (self.draw(panel))
                    }
                }
            }
        });
        let frame = Frame {
            title: &self.title,
            about: &self.about,
            legend: &[],
            left_out: self.stretches().count() - shown,
        };
        frame.around(drawings, &self.figures())
    }

    /// The total time of each activity in each lane.
    fn figures(&self) -> Table {
        let heads = self.legend.iter().map(|it| it.1.as_str());
        let head: Vec<&str> = ["", ""].into_iter().chain(heads).collect();
        let mut table = Table::new(&format!("{}, {}", self.title, self.unit), &head, 2);
        for panel in &self.panels {
            for lane in &panel.lanes {
                let of = |paint: Paint| {
                    let those = lane.stretches.iter();
                    let those = those.filter(|it| it.paint.is(paint) && it.shown(self.length));
                    figure(those.map(|it| it.until - it.from).sum())
                };
                let figures = self.legend.iter().map(|it| of(it.0));
                table.row(
                    [panel.name.clone(), lane.name.clone()]
                        .into_iter()
                        .chain(figures),
                );
            }
        }
        table
    }

    fn draw(&self, panel: &LanePanel) -> Markup {
        let body = panel.lanes.len() as u32 * (LANE + GAP);
        let scale = Scale::linear([self.length]);
        let ticks = scale.map_or(Vec::new(), |it| it.ticks());
        let ticks = ticks.into_iter().filter(|&it| it <= self.length);
        let x = |at: f64| LEFT + (1.0 - LEFT) * at / self.length;
        html! {
            svg class="plot" role="img" height=(body + FOOT) {
                (spoken(&titled(&self.title, &panel.name), &panel.about))
                @for at in ticks {
                    @let place = percent(x(at).min(1.0));
                    line class="grid" x1=(place) x2=(place) y1="0" y2=(body) {}
                    @let anchor = if x(at) > 0.97 { "end" } else { "middle" };
                    text class="axis" x=(place) y=(body + 13) text-anchor=(anchor) { (tick(at)) }
                }
                text class="axis" x=(percent(LEFT)) y=(body + 29) { (self.unit) }
                @for (lane, top) in panel.lanes.iter().zip((0..).step_by((LANE + GAP) as usize)) {
                    text class="name" x="0" y=(top + 12) { (lane.name) }
                    line class="grid" x1=(percent(LEFT)) x2="100%" y1=(top + LANE) y2=(top + LANE) {}
                }
                svg class="stretched" x=(percent(LEFT)) y="0" width=(percent(1.0 - LEFT)) height=(body)
                    viewBox={ "0 0 " (UNITS) " " (body) } preserveAspectRatio="none" {
                    @for kind in KINDS {
                        @let path = self.path(panel, kind);
                        @if !path.is_empty() {
                            path class=[kind.class()] d=(path) { title { (self.name_of(kind)) } }
                        }
                    }
                }
            }
        }
    }

    fn name_of(&self, kind: Paint) -> &str {
        let named = self.legend.iter().find(|it| it.0.is(kind));
        named.map_or("", |it| &it.1)
    }

    /// All stretches of a kind, as boxes.
    fn path(&self, panel: &LanePanel, kind: Paint) -> String {
        let mut path = String::new();
        for (lane, top) in panel.lanes.iter().zip((0..).step_by((LANE + GAP) as usize)) {
            let those = lane.stretches.iter().filter(|it| it.paint.is(kind));
            for it in those.filter(|it| it.shown(self.length)) {
                let height = f64::from(LANE) * it.paint.height();
                let upper = f64::from(top + LANE) - height;
                let across = |at: f64| (UNITS * at / self.length).round();
                let (from, until) = (across(it.from), across(it.until));
                // (Writing into a string cannot fail.)
                let _ = write!(
                    path,
                    "M{from} {upper:.1}h{}v{height:.1}H{from}z",
                    until - from
                );
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::{Document, Node};

    fn lanes(stretches: Vec<Stretch>) -> Lanes {
        let lane = |name: &str| Lane {
            name: name.into(),
            stretches: stretches.clone(),
        };
        let panel = |name: &str| LanePanel {
            name: name.into(),
            about: "two <lanes>".into(),
            lanes: vec![lane("a"), lane("b & c")],
        };
        Lanes {
            title: "frames".into(),
            about: "time across".into(),
            unit: "ms".into(),
            length: 33.3,
            legend: vec![
                (Paint::Work, "work".into()),
                (Paint::Idle(1.0), "idle".into()),
            ],
            panels: vec![panel("before"), panel("after")],
        }
    }

    fn stretch(from: f64, until: f64, paint: Paint) -> Stretch {
        Stretch { from, until, paint }
    }

    fn paths<'a>(of: &'a Document<'_>) -> Vec<Node<'a, 'a>> {
        let all = of.descendants().filter(|it| it.has_tag_name("path"));
        all.collect()
    }

    #[test]
    fn each_kind_is_one_path_a_panel_and_its_boxes_are_where_the_time_is() {
        let all = vec![
            stretch(0.0, 33.3 / 2.0, Paint::Work),
            stretch(33.3 / 2.0, 33.3, Paint::Idle(0.5)),
        ];
        let text = lanes(all).render().into_string();
        let read = Document::parse(&text).unwrap();
        let paths = paths(&read);
        assert_eq!(paths.len(), 4);
        // The lane's lower three quarters; half of six tenths of its height.
        assert_eq!(paths[1].attribute("class"), Some("lane-work"));
        assert_eq!(
            paths[1].attribute("d"),
            Some("M0 3.5h50000v10.5H0zM0 20.5h50000v10.5H0z")
        );
        assert_eq!(
            paths[0].attribute("d"),
            Some("M50000 9.8h50000v4.2H50000zM50000 26.8h50000v4.2H50000z")
        );
        let titles: Vec<&str> = paths
            .iter()
            .filter_map(|it| it.first_element_child()?.text())
            .collect();
        assert_eq!(titles, ["idle", "work", "idle", "work"]);
    }

    #[test]
    fn a_drawing_is_titled_and_its_figures_are_in_the_table() {
        let all = vec![
            stretch(0.0, 1.25, Paint::Work),
            stretch(1.25, 4.0, Paint::Nothing),
            stretch(4.0, 4.25, Paint::Work),
        ];
        let text = lanes(all).render().into_string();
        let read = Document::parse(&text).unwrap();
        let plots = read
            .descendants()
            .filter(|it| it.attribute("class") == Some("plot"));
        for plot in plots {
            assert_eq!(plot.attribute("role"), Some("img"));
            let said = |tag: &str| {
                let child = plot.children().find(|it| it.has_tag_name(tag));
                child.and_then(|it| it.text()).unwrap().to_owned()
            };
            assert!(said("title").starts_with("frames: ") && said("desc") == "two <lanes>");
        }
        let cells: Vec<&str> = read
            .descendants()
            .filter(|it| it.has_tag_name("td"))
            .filter_map(|it| it.text())
            .collect();
        assert_eq!(cells[..4], ["before", "a", "1.50", "0"]);
        assert_eq!(cells.len(), 4 * 4);
    }

    #[test]
    fn what_has_no_place_is_counted_and_nothing_is_said_to_be_nothing() {
        let odd = [(f64::NAN, 1.0), (2.0, 2.0), (-1.0, 3.0), (1.0, 99.0)];
        let odd = odd.map(|(from, until)| stretch(from, until, Paint::Work));
        let some = [odd.to_vec(), vec![stretch(1.0, 2.0, Paint::Work)]].concat();
        let text = lanes(some).render().into_string();
        assert!(text.contains("16 figures have no place here"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("d=\"M-"));
        for none in [Vec::new(), odd.to_vec()] {
            let text = lanes(none).render().into_string();
            assert!(text.contains("Nothing was measured.") && !text.contains("<svg"));
        }
    }
}

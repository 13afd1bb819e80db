//! The books: a record of guarantees, kept outside the model, so that it costs no steps and no schedule
//! depends on it.
//!
//! Every event has a number. A wait for a grace period, or an entry queued for after one, must not be done
//! while a section is open that was open before its request. That is RCU's whole guarantee, and checking it
//! needs no memory accesses.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// The result of an object.
#[derive(Debug, Default)]
struct Thing {
    /// In words: how it was given up.
    how: String,
    /// Memory that its owner may give back by itself.
    plain: bool,
    /// It was given to the library from here on …
    given: Option<u64>,
    /// … and by then it was queued.
    queued: Option<u64>,
    /// Its end has begun.
    ending: bool,
    ended: bool,
}

#[derive(Debug)]
struct Section {
    number: u64,
    /// Published objects that were found in it.
    found: Vec<usize>,
}

/// Callbacks of one thread that come one after the other.
#[derive(Debug, Default)]
struct Line {
    queued: u64,
    entered: u64,
    inside: bool,
}

#[derive(Debug, Default)]
struct Pages {
    events: u64,
    things: Vec<Thing>,
    open: Vec<Section>,
    lines: Vec<Line>,
    /// The threads in the middle of an action.
    busy: BTreeSet<usize>,
    /// Memory that was covered and was still there; and those one of whom has it in hand.
    late: Vec<(usize, BTreeSet<usize>)>,
    /// The first finding: panics of callbacks are contained.
    wrong: Option<String>,
}

/// One execution's books.
#[derive(Debug, Default)]
pub struct Books(RefCell<Pages>);

// SAFETY: model threads are fibers on one OS thread, and no borrow lasts beyond a call.
unsafe impl Send for Books {}
// SAFETY: as above.
unsafe impl Sync for Books {}

impl Pages {
    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn note(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// A request of this event is done: so all sections that were open then must have ended.
    fn over(&mut self, asked: u64, what: &str) {
        if let Some(section) = self.open.iter().find(|section| section.number < asked) {
            let section = section.number;
            self.note(format!(
                "{what}, asked for at {asked}, is over while section {section} is open"
            ));
        }
    }
}

impl Books {
    /// A number for now.
    pub fn now(&self) -> u64 {
        self.0.borrow_mut().event()
    }

    /// Panics with the first finding, if there is one.
    pub fn check(&self) {
        let wrong = self.0.borrow().wrong.clone();
        assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }

    /// Something is wrong.
    pub fn note(&self, wrong: String) {
        self.0.borrow_mut().note(wrong);
    }

    /// A section is open.
    pub fn begin(&self) -> u64 {
        let mut pages = self.0.borrow_mut();
        let number = pages.event();
        let found = Vec::new();
        pages.open.push(Section { number, found });
        number
    }

    /// An object was found in a section.
    pub fn find(&self, section: u64, thing: usize) {
        let mut pages = self.0.borrow_mut();
        if pages.things[thing].ending {
            pages.note(format!("a reader has found thing {thing}, which is over"));
        }
        let section = pages.open.iter_mut().find(|s| s.number == section);
        section.expect("open").found.push(thing);
    }

    /// A section is about to end: the objects found in it still exist.
    pub fn end(&self, section: u64) {
        let mut pages = self.0.borrow_mut();
        let place = pages.open.iter().position(|s| s.number == section);
        let section = pages.open.remove(place.expect("open"));
        if let Some(thing) = (section.found.iter()).find(|&&thing| pages.things[thing].ending) {
            let text = format!("thing {thing} is over at the end of a section that found it");
            pages.note(text);
        }
        pages.event();
    }

    /// A new object.
    pub fn thing(&self) -> usize {
        let mut pages = self.0.borrow_mut();
        pages.things.push(Thing::default());
        pages.things.len() - 1
    }

    /// It is about to be queued, or to be waited for.
    pub fn give(&self, thing: usize, how: &str, plain: bool) {
        let mut pages = self.0.borrow_mut();
        let now = pages.event();
        pages.things[thing].how = how.to_string();
        pages.things[thing].plain = plain;
        let before = pages.things[thing].given.replace(now);
        assert!(
            before.is_none(),
            "the scenario gives thing {thing} up twice"
        );
    }

    /// It is queued.
    pub fn queued(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        pages.things[thing].queued = Some(pages.events);
    }

    /// It was refused: the caller has it still.
    pub fn refused(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        if pages.things[thing].ending {
            pages.note(format!("thing {thing} was refused, and is over"));
        }
        pages.things[thing].given = None;
    }

    /// The library ends it.
    pub fn ending(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        match pages.things[thing].given {
            None => pages.note(format!("thing {thing} is over, and nobody asked for it")),
            Some(given) => pages.over(given, &format!("thing {thing}")),
        }
        if std::mem::replace(&mut pages.things[thing].ending, true) {
            pages.note(format!("thing {thing} is over twice"));
        }
    }

    /// That is done.
    pub fn ended(&self, thing: usize) {
        self.0.borrow_mut().things[thing].ended = true;
    }

    /// A callback of this line is queued: its number.
    pub fn line_up(&self, line: usize) -> u64 {
        let lines = &mut self.0.borrow_mut().lines;
        lines.resize_with(lines.len().max(line + 1), Line::default);
        lines[line].queued += 1;
        lines[line].queued
    }

    /// It runs …
    pub fn enter(&self, line: usize, number: u64) {
        let mut pages = self.0.borrow_mut();
        let Line {
            entered, inside, ..
        } = &mut pages.lines[line];
        *entered += 1;
        if std::mem::replace(inside, true) || *entered != number {
            let text = format!(
                "callback {number} of line {line} runs as number {entered}, or beside another one"
            );
            pages.note(text);
        }
    }

    /// … and has returned.
    pub fn leave(&self, line: usize) {
        self.0.borrow_mut().lines[line].inside = false;
    }

    /// A grace period requested at this event has ended.
    pub fn waited(&self, asked: u64, what: &str) {
        self.0.borrow_mut().over(asked, what);
    }

    /// Everything that was queued before this event is over, and its end has ended. Memory that an owner has
    /// popped counts as given back, to the library, though it may be in that owner's hands: until its deed is
    /// done.
    pub fn covered(&self, asked: u64, what: &str, me: usize) {
        let mut pages = self.0.borrow_mut();
        let mut others = pages.busy.clone();
        others.remove(&me);
        let left =
            |thing: &Thing| thing.queued.is_some_and(|queued| queued < asked) && !thing.ended;
        let all = 0..pages.things.len();
        let left: Vec<usize> = all.filter(|&thing| left(&pages.things[thing])).collect();
        for thing in left {
            if pages.things[thing].plain && !others.is_empty() {
                pages.late.push((thing, others.clone()));
            } else {
                let how = pages.things[thing].how.clone();
                pages.note(format!(
                    "{what} of {asked} is over, and thing {thing} ({how}) of before is not"
                ));
            }
        }
    }

    /// A deed begins.
    pub fn begin_deed(&self, me: usize) {
        self.0.borrow_mut().busy.insert(me);
    }

    /// It is done: nothing is in these hands any more.
    pub fn end_deed(&self, me: usize) {
        let mut pages = self.0.borrow_mut();
        pages.busy.remove(&me);
        let mut late = std::mem::take(&mut pages.late);
        late.retain_mut(|(thing, hands)| {
            hands.remove(&me);
            if hands.is_empty() && !pages.things[*thing].ended {
                pages.note(format!(
                    "thing {thing} was covered, and nobody has it in hand"
                ));
            }
            !hands.is_empty()
        });
        pages.late = late;
    }

    /// Everything that was given up has ended.
    pub fn expect_all_over(&self) {
        self.check();
        let pages = self.0.borrow();
        let left = |thing: &&usize| {
            let thing = &pages.things[**thing];
            thing.given.is_some() && !thing.ended
        };
        let all: Vec<usize> = (0..pages.things.len()).collect();
        let name = |thing: &usize| (*thing, pages.things[*thing].how.as_str());
        let left: Vec<(usize, &str)> = all.iter().filter(left).map(name).collect();
        assert!(left.is_empty(), "never over: things {left:?}");
        assert!(pages.open.is_empty(), "the scenario has open sections");
    }

    /// Objects there have been.
    pub fn things(&self) -> usize {
        self.0.borrow().things.len()
    }
}

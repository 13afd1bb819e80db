//! The record of guarantees, kept outside the model, so that it costs no steps and no schedule depends on it.
//!
//! Every event has a number. A wait for a grace period, or an entry queued for after one, must not end while
//! a section is open that was open before its request. That is RCU's whole guarantee, and checking it needs
//! no memory accesses.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// The life of an object.
#[derive(Debug, Default)]
struct Thing {
    /// The name of the way in which it was given up.
    how: String,
    /// Memory that its owner may free by itself.
    plain: bool,
    /// The event from which on it belonged to the library …
    given: Option<u64>,
    /// … and the event by which it was queued.
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

/// Callbacks of one thread that have to run one after the other.
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
    /// Memory that a barrier covered and that was not freed yet, with the threads one of which is freeing it.
    late: Vec<(usize, BTreeSet<usize>)>,
    /// The first finding; panics of callbacks are contained.
    wrong: Option<String>,
}

/// The record of one execution.
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

    /// A request made at this event is satisfied: all sections that were open then must have ended.
    fn over(&mut self, asked: u64, what: &str) {
        if let Some(section) = self.open.iter().find(|section| section.number < asked) {
            let section = section.number;
            self.note(format!(
                "{what}, requested at {asked}, is over while section {section} is open"
            ));
        }
    }
}

impl Books {
    /// The number of a new event.
    pub fn now(&self) -> u64 {
        self.0.borrow_mut().event()
    }

    /// Panics with the first finding, if there is one.
    pub fn check(&self) {
        let wrong = self.0.borrow().wrong.clone();
        assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }

    /// Notes a finding.
    pub fn note(&self, wrong: String) {
        self.0.borrow_mut().note(wrong);
    }

    /// A section begins.
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
            pages.note(format!("a reader has found thing {thing}, which has ended"));
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
            let text = format!("thing {thing} has ended at the end of a section that found it");
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

    /// The object is about to be queued, or waited for.
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

    /// The object is queued.
    pub fn queued(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        pages.things[thing].queued = Some(pages.events);
    }

    /// The object was refused: the caller still has it.
    pub fn refused(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        if pages.things[thing].ending {
            pages.note(format!("thing {thing} was refused, and has ended"));
        }
        pages.things[thing].given = None;
    }

    /// The library begins the end of the object.
    pub fn ending(&self, thing: usize) {
        let mut pages = self.0.borrow_mut();
        match pages.things[thing].given {
            None => pages.note(format!("thing {thing} ends without a request")),
            Some(given) => pages.over(given, &format!("thing {thing}")),
        }
        if std::mem::replace(&mut pages.things[thing].ending, true) {
            pages.note(format!("thing {thing} ends twice"));
        }
    }

    /// The end of the object is complete.
    pub fn ended(&self, thing: usize) {
        self.0.borrow_mut().things[thing].ended = true;
    }

    /// A callback of this line is queued; returns its number.
    pub fn line_up(&self, line: usize) -> u64 {
        let lines = &mut self.0.borrow_mut().lines;
        lines.resize_with(lines.len().max(line + 1), Line::default);
        lines[line].queued += 1;
        lines[line].queued
    }

    /// That callback runs …
    pub fn enter(&self, line: usize, number: u64) {
        let mut pages = self.0.borrow_mut();
        let it = &mut pages.lines[line];
        it.entered += 1;
        let entered = it.entered;
        if std::mem::replace(&mut it.inside, true) || entered != number {
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

    /// Everything that was queued before this event has ended completely. Memory that an owner has popped
    /// counts as freed by the library, although the owner may still have it: until its action is done.
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

    /// An action begins.
    pub fn begin_deed(&self, me: usize) {
        self.0.borrow_mut().busy.insert(me);
    }

    /// The action is done: its thread has no popped memory any more.
    pub fn end_deed(&self, me: usize) {
        let mut pages = self.0.borrow_mut();
        pages.busy.remove(&me);
        let mut late = std::mem::take(&mut pages.late);
        late.retain_mut(|(thing, hands)| {
            hands.remove(&me);
            if hands.is_empty() && !pages.things[*thing].ended {
                pages.note(format!(
                    "thing {thing} was covered, and no thread is freeing it"
                ));
            }
            !hands.is_empty()
        });
        pages.late = late;
    }

    /// Every object that was given up has ended.
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

    /// The number of objects so far.
    pub fn things(&self) -> usize {
        self.0.borrow().things.len()
    }
}

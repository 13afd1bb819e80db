//! A run's figures of idle states, from its records.

use super::{Book, Idling};
use crate::idling::package::{Cause, Who, within};
use crate::idling::{Blocked, By, Idled, Profile, Residency};
use crate::kernel::state::System;

impl System {
    /// What there is to show of idle states, if there are any.
    pub fn idled(&self) -> Option<Idled> {
        let mut idling = self.idling.clone()?;
        let window = (self.stats.from, self.stats.until);
        for it in &idling.cpus {
            idling.cpu_books[it.kind][it.slot].time += within(window, it.since, self.now);
        }
        for it in &idling.cores {
            let kind = idling.cpus[it.threads[0] as usize].kind;
            idling.core_books[kind][it.slot].time += within(window, it.since, self.now);
        }
        idling.package.ends(self.now, window);
        let ns = within(window, 0, self.now);
        let mut all = Idled {
            table: idling.table.name.clone(),
            ns,
            periods: idling.periods.shown(),
            ..Idled::default()
        };
        all.cpus = idling.residencies(&idling.cpu_books);
        if !idling.cores.is_empty() {
            all.cores = idling.residencies(&idling.core_books);
        }
        all.package = idling.package_residencies(ns);
        let books = &idling.package.books;
        for depth in 1..=idling.package.deepest() {
            let those = books.blocked.iter().filter(|it| it.0.0 == depth);
            let mut those: Vec<Blocked> = those
                .map(|((_, cause), &ns)| Blocked {
                    state: idling.table.package_name(depth).into(),
                    by: self.by(*cause),
                    ns,
                })
                .collect();
            those.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.by.cmp(&b.by)));
            all.blocked.append(&mut those);
        }
        let breaks = books.breaks.iter();
        all.breaks = breaks
            .map(|(cause, &count)| (self.by(*cause), count))
            .collect();
        let profile = self.options.idle.power.as_deref();
        all.energy = profile.map(|it: &Profile| it.energy(&all, &idling.exits()));
        Some(all)
    }

    fn by(&self, cause: Cause) -> By {
        let (thread, rcu) = match cause.who {
            Who::Task(task) => (self.tasks[task].name.as_str(), self.tasks[task].is_rcus()),
            Who::TickForCallbacks => ("tick for callbacks", true),
            Who::Tick => ("tick", false),
            Who::Clock => ("clock of a stopped timer", true),
            Who::Look => ("look at callbacks", true),
            Who::Interrupt => ("interrupt", true),
            Who::Hotplug => ("hotplug", false),
            Who::Governor => ("governor", false),
            Who::End => ("end of the run", false),
        };
        By {
            thread: thread.into(),
            function: cause.func.map(|it| self.stats.funcs[it].name.clone()),
            rcu,
        }
    }
}

impl Idling {
    fn residencies(&self, books: &[Vec<Book>]) -> Vec<Residency> {
        let mut all = Vec::new();
        for (kind, books) in books.iter().enumerate() {
            let of_ns = books.iter().map(|it| it.time).sum();
            let state = |(slot, book): (usize, &Book)| Residency {
                name: self.table.state_name(kind, slot),
                ns: book.time,
                of_ns,
                entries: book.entries,
                too_deep: book.too_deep,
                too_shallow: book.too_shallow,
            };
            all.extend(books.iter().enumerate().map(state));
        }
        all
    }

    fn package_residencies(&self, of_ns: u64) -> Vec<Residency> {
        let books = &self.package.books;
        let state = |depth: usize| Residency {
            name: self.table.package_name(depth).into(),
            ns: books.times[depth],
            of_ns,
            entries: match depth {
                0 => books.breaks.values().sum(), // each is a time in it
                depth => books.entries[depth],
            },
            too_deep: 0,
            too_shallow: 0,
        };
        (0..=self.package.deepest()).map(state).collect()
    }

    /// How often the package was woken from each of its states.
    fn exits(&self) -> Vec<(String, u64)> {
        let exits = self.package.books.exits.iter().enumerate();
        let exit =
            |(depth, &count): (usize, &u64)| (self.table.package_name(depth).to_owned(), count);
        exits.map(exit).collect()
    }
}

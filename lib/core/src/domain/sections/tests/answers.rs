//! Which calls of a reader answer a question for a fence, for each kind of readers.

use super::*;
use crate::domain::enqueue::push_code;
use crate::prim::{ATTACH_AFTER, Ordering};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Home,
    Domain,
    Counts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The end of an outermost section.
    End,
    /// The end of an inner one.
    EndNested,
    Repin,
    /// A push without the lock, whose limit the question has lowered.
    Push,
    /// One under the lock.
    Deliver,
}

/// The thread's own queue there, which it finds without the lock.
fn attached(state: &'static State) -> &'static crate::queue::per_thread::Queue {
    for _ in 0..=ATTACH_AFTER {
        state.put(CODE, counting(counter()), Urgency::Lazy);
    }
    let queue = state.own_queue_or_new().expect("memory");
    assert_ne!(
        queue.lanes[CODE].limit.load(Ordering::Relaxed),
        0,
        "it is attached"
    );
    queue
}

fn answers(kind: Kind, way: Way) -> bool {
    let world = World::new(false);
    let program = world.registered().program;
    let slot = program.env.own_slot().expect("registered");
    let domain = [None, Some(world.domain), Some(world.counts)][kind as usize];
    let state = world.states()[kind as usize];
    let open = || match kind {
        Kind::Home => world.home(),
        Kind::Domain => world.in_domain(),
        Kind::Counts => world.in_counts(),
    };
    let queue = attached(state);
    let mut section = open();
    let inner = (way == Way::EndNested).then(open);
    // Asked for by a thread that never reads: it is answered late, but it is answered.
    let asks = || program.env.deferred_fence_for(1, domain).map(|_| ());
    std::thread::scope(|scope| assert_eq!(scope.spawn(asks).join().expect("no panic"), Ok(())));
    assert_eq!(value(&program.env.state.counters.fences_asked), 1);
    assert!(!slot.answer.covers(1), "by itself");
    match way {
        Way::End => {
            world.close(section);
            section = open();
        }
        Way::EndNested => world.close(inner.expect("opened")),
        Way::Repin => {
            section = match section {
                Open::Home(reader) => Open::Home(program.repin(reader)),
                Open::Domain(reader) if word::is_flagged(reader) => {
                    Open::Domain(world.domain.repin_slowly(&program.local(), reader))
                }
                other => other,
            }
        }
        Way::Push => push_code(queue, CODE, counting(counter()), 64, Urgency::Lazy),
        Way::Deliver => state.put(CODE, counting(counter()), Urgency::Lazy),
    }
    let answered = slot.answer.covers(1);
    if let (Open::Home(reader) | Open::Domain(reader), true) = (&section, answered) {
        let by_push = matches!(way, Way::Push | Way::Deliver);
        assert!(by_push || !reader.is_asked(), "{kind:?} {way:?}: once");
    }
    world.close(section);
    // Wherever it was asked, the process's domain asks it, too.
    program.unlock(program.lock());
    assert!(slot.answer.covers(1), "{kind:?} {way:?}");
    answered
}

#[test]
fn every_kind_of_reader_answers_in_every_slow_path() {
    crate::needs!(fence);
    for kind in [Kind::Home, Kind::Domain, Kind::Counts] {
        for way in [
            Way::End,
            Way::EndNested,
            Way::Repin,
            Way::Push,
            Way::Deliver,
        ] {
            // The word of a counted section is not the thread's, so its end does not look at a question.
            let is_counted = kind == Kind::Counts && !matches!(way, Way::Push | Way::Deliver);
            assert_eq!(answers(kind, way), !is_counted, "{kind:?} {way:?}");
        }
    }
}

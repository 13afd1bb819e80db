//! Fences that threads execute themselves, under C11: `prim/asking.rs`.

use std::sync::Arc;

use crate::common::deferred::{free_beside, push_beside_a_taker};
use crate::common::{check_unfenced, join, start};
use crate::side::{Process, Side};
use crate::words::Words;
use quiescent_models::loom::thread;
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

/// A section, at whose end the thread answers.
fn section() {
    drop(rcu::read_lock());
}

/// A reader and an asker each store a word and then load the other's: one of them sees the other. `asks`:
/// the number of questions before the word is stored. `registered`: the reader registers first.
fn litmus(asks: u32, registered: bool, body: fn(&Words) -> u32) {
    let domain = Domain::new().asking();
    let words = Arc::new(Words::default());
    let reader = start(&words, move |words| {
        domain.enter();
        if registered {
            domain.register();
        }
        body(words)
    });
    domain.enter();
    (0..asks).for_each(|_| domain.ask());
    words.update_beside(|| domain.ask(), || join(reader));
}

/// `[ASK-1]`: a thread that is asked by one asker answers the question of another, whose flag it has not
/// seen.
#[test]
fn an_answer_to_two_askers() {
    check_unfenced("asking: two askers", 4, || {
        let domain = Domain::new().asking();
        let words = Arc::new(Words::default());
        let reader = start(&words, move |words| {
            domain.enter();
            section();
            words.store();
            words.load()
        });
        let other = thread::spawn(move || {
            domain.enter();
            domain.ask();
        });
        domain.enter();
        words.update_beside(|| domain.ask(), || join(reader));
        join(other);
    });
}

/// What comes after the answer sees what came before the question.
#[test]
fn a_thread_that_answers_before() {
    check_unfenced("asking: before", 3, || {
        litmus(0, true, |words| {
            section();
            words.store();
            words.load()
        });
    });
}

/// An answer to an earlier question does not count.
#[test]
fn an_answer_counts_for_its_own_question() {
    check_unfenced("asking: twice", 3, || {
        litmus(1, true, |words| {
            section();
            words.store();
            words.load()
        });
    });
}

/// `[ASK-2]`: what came before the answer is seen by who asked.
#[test]
fn a_thread_that_answers_after() {
    check_unfenced("asking: after", 3, || {
        litmus(0, true, |words| {
            words.store();
            let saw = words.load();
            section();
            saw
        });
    });
}

/// A thread that registers meanwhile: `[REG-1]` and the asker's full fence.
#[test]
fn a_thread_that_registers_meanwhile() {
    check_unfenced("asking: newcomer", 3, || {
        litmus(0, false, |words| {
            let _guard = rcu::read_lock();
            words.store();
            words.load()
        });
    });
}

/// A thread retires in passing beside one that reads.
#[test]
fn nothing_is_freed_under_a_reader_that_answers() {
    check_unfenced("asking: reclaim", 3, || {
        free_beside(Domain::deferring(1).asking(), |w| {
            Process.read_once(w);
            section();
        });
    });
}

/// The owner of a queue answers at a push, in the middle of a take-over.
#[test]
fn a_push_against_a_taker_that_asks() {
    check_unfenced("asking: push", 2, || {
        push_beside_a_taker(Domain::deferring(4).asking());
    });
}

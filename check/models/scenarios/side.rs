//! Kinds of readers: those of the process, of a program's own domain, of an `Srcu`. What is the same for all
//! of them is written once, for the explorer and for loom.

use crate::common::World;
use crate::rcu::{self, Domain, Srcu};

/// A kind of readers.
pub trait Side: Copy + 'static {
    type Guard;

    /// Makes one in a world.
    fn of(world: &World) -> Self;
    /// Opens a section.
    fn enter(self) -> Self::Guard;
    fn synchronize(self);
    /// A section that reads once.
    fn read_once(self, world: &World) {
        let _guard = self.enter();
        world.look();
    }

    /// The usual updater.
    fn update(self, world: &World) {
        world.publish(1);
        self.synchronize();
        world.free(0);
    }
}

/// The process.
#[derive(Clone, Copy)]
pub struct Process;

impl Side for Process {
    type Guard = rcu::Guard;

    fn of(_world: &World) -> Process {
        Process
    }
    fn enter(self) -> rcu::Guard {
        rcu::read_lock()
    }
    fn synchronize(self) {
        rcu::synchronize();
    }
}

impl Side for &'static Domain {
    type Guard = rcu::Guard<&'static Domain>;

    fn of(world: &World) -> &'static Domain {
        world.domain.own_domain(0)
    }
    fn enter(self) -> Self::Guard {
        self.read_lock()
    }
    fn synchronize(self) {
        Domain::synchronize(self);
    }
}

impl Side for &'static Srcu {
    type Guard = rcu::Guard<&'static Srcu>;

    fn of(world: &World) -> &'static Srcu {
        world.domain.srcu()
    }
    fn enter(self) -> Self::Guard {
        self.read_lock()
    }
    fn synchronize(self) {
        Srcu::synchronize(self);
    }
}

/// The actions of a reader.
pub type Body<S> = fn(&World, S);

/// Nothing before.
pub fn nothing<S: Side>(_: &World, _: S) {}

/// The updater has read here before.
pub fn has_read<S: Side>(_: &World, side: S) {
    drop(side.enter());
}

/// A section that reads once.
pub fn read<S: Side>(world: &World, side: S) {
    side.read_once(world);
}

/// Two such sections.
pub fn read_twice<S: Side>(world: &World, side: S) {
    side.read_once(world);
    side.read_once(world);
}

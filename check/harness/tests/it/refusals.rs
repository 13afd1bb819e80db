//! An input makes the call that it stands for, with its arguments in the right places. Of two equal worlds
//! one gets the input and the other the call; outputs and end states are equal. The tests here cover the
//! calls that no recording of the replaying tests contains.

use quiescent_harness::host::Silent;
use quiescent_harness::replay::*;
use quiescent_kernel::Global;
use quiescent_kernel::config::Config;
use quiescent_kernel::exp::Expedite;

/// Two equal worlds.
struct Twins {
    world: World,
    twin: World,
}

impl Twins {
    fn new(config: Config) -> Twins {
        let world = World::new(Global::new(config));
        let twin = world.clone();
        Twins { world, twin }
    }

    /// Gives one world the input and makes the call on the other; compares their outputs.
    fn same(&mut self, input: Input, call: impl FnOnce(&mut World) -> Output) -> Output {
        let answer = self.world.apply(input, &Silent);
        assert_eq!(answer, call(&mut self.twin), "{input:?}");
        assert_eq!(self.world, self.twin, "after {input:?}");
        answer
    }
}

#[test]
fn another_policy() {
    let mut twins = Twins::new(Config::kernel_6_12(4, 1000));
    let hasty = Expedite {
        expedited: true,
        ..twins.world.global.expedite()
    };
    let before = twins.world.clone();
    twins.same(Input::Exp(ExpInput::SetExpedite(hasty)), |it| {
        it.global.set_expedite(hasty);
        Output::Done(true)
    });
    assert_ne!(twins.world, before, "it was another policy");
}

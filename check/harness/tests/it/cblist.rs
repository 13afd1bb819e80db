//! The callback list and its model.

mod model;

use proptest::num::u8::ANY;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

#[test]
fn a_list_and_its_callbacks_one_by_one_agree() {
    let actions = proptest::collection::vec((ANY, ANY, ANY), 1..400);
    // The runs are the same each time, so that the test does not fail by chance. A failure is shrunk.
    let config = Config {
        cases: 1500,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(&actions, |actions| {
        model::run(&actions).map_err(TestCaseError::fail)
    }) {
        panic!("{failure:?}");
    }
}

//! Carries out `bench`.

use super::{measure, this_program};
use crate::arguments::bench::Request;
use quiescent_report::Error;

/// Measures; the exit code.
pub fn run(request: &Request) -> Result<u8, Error> {
    let mut given = request.bench.usual(this_program()?);
    given.seed = request.measured.common.seed;
    for (name, values) in &request.values {
        given = given.with_all(name, values.clone());
    }
    measure(
        &request.measured,
        |report| request.bench.text(report),
        |control| request.bench.run(&given, control),
    )
}

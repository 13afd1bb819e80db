//! `top --kernel`: the source, and notes about it.

use super::{Origin, show};
use crate::arguments::linux::top::Top;
use crate::show::output;
use quiescent_live::Rung;
use quiescent_report::Error;
use quiescent_top::{Kernel, Order};

/// Runs the command; returns the exit code.
pub(super) fn run(options: &Top) -> Result<u8, Error> {
    let mut source =
        Kernel::new(options.by, options.mount).map_err(|why| why.of("top --kernel"))?;
    if !source.why().is_empty() {
        output::tell(format!(
            "note: no better source than `{}`: {}\n",
            source.rung().word(),
            source.why()
        ));
    }
    // This source does not know what is queued, so nothing can be sorted by it.
    let sort = match (source.rung(), options.sort) {
        (Rung::Frees, Order::Queued) => Order::Executed,
        (_, sort) => sort,
    };
    let origin = Origin::Kernel(source.rung());
    show(options, sort, origin, &mut source)
}

//! The commands about this machine's own kernel.

use crate::arguments::linux::kernel::{Kernel, KernelBench};
use crate::commands::code;
use crate::kernel::beside::{self, KernelOptions};
use crate::kernel::show;
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed};
use crate::show::progress::Bar;
use quiescent_report::{Control, Error};
use quiescent_sim::settings;

/// Runs the command; returns the exit code.
pub fn run(kernel: &Kernel) -> Result<u8, Error> {
    match kernel {
        Kernel::Bench(options) => bench(options),
    }
}

fn bench(options: &KernelBench) -> Result<u8, Error> {
    let sets = settings::assignments(&options.set);
    let sets = sets.map_err(|why| Error::Usage(why.to_string()))?;
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let sets = sets.into_iter().map(owned).collect();
    let wanted = KernelOptions {
        calls: options.calls,
        pause: options.pause,
        cpu: options.cpu,
        sets,
        seed: options.seed,
    };
    let stop = stop_flag()?;
    let bar = Bar::new(options.quiet);
    let (mut report, found) = beside::run(&wanted, Control::new(&stop, &bar))?;
    let stopped = code(&stop) != DONE;
    report.option("stopped", stopped);
    let printed = match options.json {
        true => Printed::json(&report),
        false => Printed::text(format!(
            "{}\n\n{}{}",
            report.host.line(),
            show::text(&found, output::columns()),
            if stopped {
                "\nstopped: some figures were not measured\n"
            } else {
                ""
            }
        )),
    };
    output::print(&printed)?;
    Ok(code(&stop))
}

//! `COMMAND --help-metrics`: what each metric of a command is. The texts stand beside the code that measures.

use crate::arguments::metrics::NAME;
use crate::show::output::{self, DONE, Printed};
use quiescent_report::Error;
use quiescent_report::text::folded;

pub fn run(command: &str) -> Result<u8, Error> {
    let text = match command {
        "bench" => quiescent_bench::METRICS.to_owned(),
        "sim" => quiescent_sim::report::METRICS.to_owned(),
        "trace" => quiescent_trace::METRICS.to_owned(),
        "whatif" => quiescent_sim::whatif::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "doctor" | "record" => quiescent_live::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "top" => quiescent_top::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "reproduce" | "kernel" => {
            [quiescent_bench::METRICS, quiescent_sim::report::METRICS].join("\n")
        }
        #[cfg(target_os = "linux")]
        "torture" => [quiescent_torture::METRICS, quiescent_sim::torture::METRICS].join("\n"),
        _ => {
            let known = "bench, reproduce, sim, trace, whatif, doctor, record, top and torture have metrics";
            return Err(Error::Usage(format!("{command} --{NAME}: {known}")));
        }
    };
    output::print(&Printed::text(folded(&text, output::columns(), 4))).map(|()| DONE)
}

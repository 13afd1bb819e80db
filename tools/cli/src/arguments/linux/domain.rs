//! The request about domains of the program's own: `bench domain`.

use super::{Measured, Sections, count, milliseconds};
use clap::Args;
use quiescent_bench::cases::domain::MOST_DOMAINS;

#[derive(Debug, Args)]
pub struct Domain {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside the collectors and domains of other libraries
    #[arg(long)]
    pub compare: bool,
    #[command(flatten)]
    pub sections: Sections,
    /// Domains that were used and are at rest; the targets are for 1000
    #[arg(long, value_name = "N", default_value = "1000", value_parser = domains,
          allow_negative_numbers = true)]
    pub domains: u64,
    /// How long those are watched for wake-ups
    #[arg(long, value_name = "MS", default_value = "3000", value_parser = milliseconds,
          allow_negative_numbers = true)]
    pub rest_ms: u64,
}

fn domains(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_DOMAINS}; 1000 for the targets");
    count(text, MOST_DOMAINS, &advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_counts_come_with_a_remedy() {
        for text in ["0", "-1", "100001", "many"] {
            let error = domains(text).unwrap_err();
            assert!(error.contains("give 1 to 100000"), "{text}: {error}");
        }
        assert_eq!(domains("1000"), Ok(1000));
    }
}

//! A whole trace, record by record.

use crate::Error;
use crate::line::{Input, Reader, Record, Summary};

/// Records between two questions whether to go on.
const TURN: u32 = 4096;

/// Reads a trace to its end, with a thread that reads ahead ([`Reader::ahead`]), and gives each record to
/// `see`. After each 4096 records `goes_on` gets their number; `false` ends it there. `name` is for
/// messages.
///
/// A program whose own code is not optimised reads as fast: all but `see` is compiled here.
///
/// ```
/// let input = quiescent_trace::open("../../data/traces/s-sync-classic-8.txt.xz")?;
/// let (mut records, mut turns) = (0, 0);
/// let mut goes_on = |_| {
///     turns += 1;
///     true
/// };
/// let summary = quiescent_trace::follow("a trace", input, &mut |_| records += 1, &mut goes_on)?;
/// assert_eq!((records, turns), (summary.records, summary.records / 4096));
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`] when the input cannot be read on: it names the input and the line.
pub fn follow(
    name: &str,
    input: Input<'static>,
    see: &mut dyn FnMut(&Record<'_>),
    goes_on: &mut dyn FnMut(u32) -> bool,
) -> Result<Summary, Error> {
    let mut reader = Reader::ahead(name, input);
    let mut records = 0;
    // Without `?`, which would copy each record.
    loop {
        match reader.next_record() {
            Ok(Some(record)) => see(&record),
            Ok(None) => break,
            Err(why) => return Err(why),
        }
        records += 1;
        if records == TURN {
            records = 0;
            if !goes_on(TURN) {
                break;
            }
        }
    }
    Ok(reader.summary().clone())
}

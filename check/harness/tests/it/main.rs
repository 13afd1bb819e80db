//! The engine on the test host, one module for each subject.

mod callbacks;
mod cblist;
mod chance;
mod expedited;
mod flood;
mod idle;
mod kernel;
mod machine;
mod offload;
mod offload_machine;
mod offload_search;
mod preempted;
mod queue;
mod reports;
mod requests;
mod stalls;
mod tick;
mod urgency;

//! The engine on the test host, one module for each subject.

mod budget;
mod credit;
mod driving;
mod forks;
mod indexed;
mod pool;
mod pressure;
mod scale;
mod search;
mod stalls;

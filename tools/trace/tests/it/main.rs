//! The reader of traces and its analyses, on recorded kernels. (What they take of memory: the program `memory`, which replaces
//! the allocator.)

mod analyses;
mod dat;
mod figures;
mod text;

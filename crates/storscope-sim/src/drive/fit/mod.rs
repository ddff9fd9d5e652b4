//! Parameters of a drive from measurements of it.

pub mod closed_loop;

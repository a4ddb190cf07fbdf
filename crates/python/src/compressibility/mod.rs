//! What a drive that compresses would make of existing files: how many bytes each 4 KiB block takes, and how much a
//! table would take if its rows were laid out anew at another fillfactor.
//!
//! Files are only read. A chunk (a stretch of a file) is what a processor takes at a time, so a sample and a whole scan
//! are the same work on different lists of chunks; choosing them, names and sums are Python's part.

mod chunk;
mod heap_page;
mod python;
mod refill;
mod relations;
mod scan;
mod tally;

pub use python::register;

#[cfg(test)]
mod tests;

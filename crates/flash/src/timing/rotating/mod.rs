//! A disk with a moving arm: seek, rotation, transfer, and what a queue, a write cache and reading ahead save of them.
//!
//! After Ruemmler and Wilkes, *An introduction to disk drive modeling*, IEEE Computer 27(3), 1994: seeks grow with the
//! root of the distance while the arm speeds up, and linearly beyond; the platter turns on meanwhile, so what a request
//! takes depends on where the last one ended. One zone, one head: all tracks hold the same.
//!
//! | concept | file |
//! |---|---|
//! | the disk's figures | `times` |
//! | where the head is, and how it gets elsewhere | `mechanics` |
//! | what waits for the arm, and what it does next | `queue` |
//! | reading on after a read | `ahead` |
//! | requests in, answers out | `disk` |

mod ahead;
mod disk;
mod mechanics;
mod queue;
mod times;

pub use disk::RotatingDisk;
pub use mechanics::Mechanics;
pub use times::DiskTimes;

#[cfg(test)]
mod tests;

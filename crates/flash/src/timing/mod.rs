//! How long requests take: a layer over any drive that can be left out.
//!
//! The drive decides what is programmed, read and erased ([`OperationLog`] watches it); this layer decides when, in
//! virtual nanoseconds, with queues at the dies and on the channels. A host write is answered once it lies in the
//! drive's protected write buffer, and waits only while that is full; a host read goes to its die ahead of queued
//! programs but behind the operation that the die is busy with. That operation, and a buffer that drains slowly because
//! the dies are moving data, are how garbage collection is felt.
//!
//! | concept | file |
//! |---|---|
//! | what each operation takes | [`service`] |
//! | seeing what the drive does | [`operations`] |
//! | pages gathered until a die can program them at once | `units` |
//! | dies, channels and their queues | `dies` |
//! | spreading garbage collection over host writes | `pacing` |
//! | what every timed device is: requests in, answers out | [`device`] |
//! | a flash drive: link, compressor, write buffer, dies | [`flash_device`], `pipe` |
//! | a disk with a moving arm | [`rotating`] |
//! | a cloud's volume with caps | [`volume`] |
//! | devices by name | [`profiles`] |
//! | requests under way, flushes that wait | `flights`, `flushes` |
//! | what is asked of a drive with a clock | [`simulation`] |
//! | a load with arrivals | [`load`] |
//! | latency distributions | [`latency`] |

pub mod device;
mod dies;
pub mod flash_device;
mod flights;
mod flushes;
pub mod latency;
pub mod load;
pub mod operations;
mod pacing;
mod pipe;
pub mod profiles;
pub mod rotating;
pub mod service;
pub mod simulation;
mod units;
pub mod volume;

pub use device::{Answer, Device, Limits, Request};
pub use flash_device::FlashDevice;
pub use latency::Latencies;
pub use load::Load;
pub use operations::OperationLog;
pub use profiles::{FlashProfile, Profile};
pub use rotating::{DiskTimes, RotatingDisk};
pub use service::{GcPacing, ServiceTimes};
pub use simulation::{Arrivals, BusyTimes, Simulation, TimingReport};
pub use volume::{Volume, VolumeTimes};

#[cfg(test)]
mod device_tests;
#[cfg(test)]
mod tests;

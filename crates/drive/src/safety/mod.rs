//! What keeps a drive in user space from hanging the machine it runs on.
//!
//! The kernel may wait for this program's writes in order to find memory, and this program may wait for memory in order
//! to write. Three things break the circle: the daemon leaves memory cgroups that it shares with its users
//! ([`cgroup`]), takes all memory before it is mounted and locks it ([`memory`]), and another process cuts the FUSE
//! connection, at which every waiting request fails, if the daemon stalls or dies nevertheless ([`watchdog`]).

pub mod cgroup;
pub mod memory;
pub mod watchdog;

pub use watchdog::{Pulse, Watchdog};

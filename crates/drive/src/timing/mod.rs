//! Service times: requests are answered when the modelled device would have answered them.
//!
//! The flash model's timing layer says when that is ([`flash::timing::Device`]), for the device that
//! [`description::Timing`] names; here it gets a clock that runs. FUSE's
//! threads do the real work at once and hand the answer over; one thread waits for its time and sends it. Where real
//! work took longer than the modelled one, the answer goes at once, and by how much it is late is counted: an emulation
//! that is late says so.
//!
//! | concept | file |
//! |---|---|
//! | the device against the clock | [`clock`] |
//! | requests under way, answers that are held | [`held`] |
//! | waking up in time without burning a core | [`waiting`] |
//! | how late answers were | [`lateness`] |

pub mod clock;
pub mod held;
pub mod lateness;
pub mod waiting;

pub use clock::Clock;

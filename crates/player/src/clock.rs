//! The clocks of a load: monotonic for lengths, real for pgbench's log, a thread's own processor time for its cost.
//!
//! The monotonic one is the kernel's CLOCK_MONOTONIC, which every other program on the machine can read, too.

use rustix::time::{ClockId, Timespec, clock_gettime};

const NS: u64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * NS + time.tv_nsec.unsigned_abs()
}

/// Nanoseconds by CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds since 1970 by CLOCK_REALTIME.
#[must_use]
pub fn wall_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Processor time that the calling thread has used, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

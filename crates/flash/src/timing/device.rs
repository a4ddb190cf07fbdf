//! What a timed device is to those who have a clock: requests go in with the time at which they came, answers come out
//! with the time at which they are due. The device looks at no clock itself; it runs as far as it is told to.

use super::operations::Call;
use crate::drive::Location;
use crate::trace::Operation;

/// What is asked, and what it made the modelled drive do. All times are nanoseconds since the device was made.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Read, write, zeroes, trim or flush.
    pub operation: Operation,
    /// When it came.
    pub arrived_ns: u64,
    /// The first logical block.
    pub first_block: u32,
    /// Logical blocks.
    pub blocks: u32,
    /// Where a read's blocks lie on flash; those that no flash needs to be asked for are left out.
    pub places: &'a [Location],
    /// What a write made the drive do, in order, garbage collection included.
    pub calls: &'a [Call],
    /// Blocks of a write that a drive short of space slows down.
    pub throttled_blocks: u64,
}

impl Request<'_> {
    /// A request that concerns `blocks` blocks from `first_block` on, with nothing known of flash.
    pub fn of(operation: Operation, arrived_ns: u64, first_block: u32, blocks: u32) -> Self {
        Self { operation, arrived_ns, first_block, blocks, places: &[], calls: &[], throttled_blocks: 0 }
    }
}

/// A request is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The number that [`Device::submit`] gave; another request may get it now.
    pub number: u32,
    /// What was asked.
    pub operation: Operation,
    /// When it came.
    pub arrived_ns: u64,
    /// When the answer is due, never before it came.
    pub due_ns: u64,
}

/// What a device's caps did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time reached.
    pub elapsed_ns: u64,
    /// How long one more I/O would have had to wait for the cap of I/Os.
    pub ios_limited_ns: u64,
    /// How long one more block would have had to wait for the cap of throughput.
    pub bytes_limited_ns: u64,
    /// How long there was no credit; `None` of a device that does not burst.
    pub without_credits_ns: Option<u64>,
    /// Credits for I/Os now; `None` likewise.
    pub credits_left: Option<u64>,
}

/// A device against a clock that its caller has.
pub trait Device: Send {
    /// Takes a request, at its arrival or at the time that the device has reached, whichever is later; returns its
    /// number among those under way.
    fn submit(&mut self, request: &Request) -> u32;

    /// Lets everything happen that happens until then.
    fn advance(&mut self, until_ns: u64);

    /// When something happens next inside the device, or an answer is due; `None` if nothing will.
    fn next_ns(&self) -> Option<u64>;

    /// A time before which no answer is due: a thread that waits only for answers may sleep until then. `None` if none
    /// is under way.
    fn answers_from_ns(&self) -> Option<u64>;

    /// The next answer that is due at the time reached.
    fn answer(&mut self) -> Option<Answer>;

    /// Requests not answered yet.
    fn under_way(&self) -> usize;

    /// Writes that found the buffer full.
    fn stalled_writes(&self) -> u64;

    /// What its caps did; `None` of a device that has none.
    fn limits(&self) -> Option<Limits> {
        None
    }
}

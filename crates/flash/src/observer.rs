//! The hook through which a layer above (timing, figures, tests) sees every operation on the flash.
//!
//! The drives are generic over it, so that a drive without an observer is compiled without it.

/// Why bytes are read or programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The host wrote them.
    Host,
    /// Garbage collection moved them.
    GarbageCollection,
    /// Static wear levelling moved them.
    WearLevelling,
    /// Nothing: they fill the rest of a granule, of a flash page or of a block.
    Padding,
}

/// Sees every operation on flash, in the order in which the drive decides on them. All methods default to nothing.
///
/// `block` is a superblock's number, `offset` a byte offset inside it; `geometry::Geometry::place` turns the offset
/// into channel, die, plane and flash page. Programs into one block come in ascending offset without gaps.
pub trait Observer {
    /// Whether it looks at all; what only an observer wants to know is not worked out for one that does not.
    const WATCHES: bool = true;

    /// `bytes` are appended to an open block by `stream`.
    #[inline(always)]
    fn program(&mut self, _block: u32, _offset: u64, _bytes: u32, _stream: u8, _cause: Cause) {}

    /// `bytes` are read in order to be moved. Host reads never change a drive, so they are not seen here.
    #[inline(always)]
    fn read(&mut self, _block: u32, _offset: u64, _bytes: u32, _cause: Cause) {}

    /// A block is erased.
    #[inline(always)]
    fn erase(&mut self, _block: u32) {}
}

/// No observer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoObserver;

impl Observer for NoObserver {
    const WATCHES: bool = false;
}

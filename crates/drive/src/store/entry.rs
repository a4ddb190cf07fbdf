//! Where a logical block's contents lie, packed into 64 bits so that a map of them can be read without a lock.
//!
//! An address counts units of 8 bytes over all segments; 12 bits hold the length less one. A block that did not shrink
//! has the full length and was stored as it is.

use super::BLOCK_BYTES;

/// Bytes that an address counts in.
pub const UNIT_BYTES: u64 = 8;

const STORED: u64 = 2;
const LENGTH_SHIFT: u32 = 2;
const ADDRESS_SHIFT: u32 = 14;

/// A packed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(pub u64);

impl Entry {
    /// Never written, or discarded: reads as zeros.
    pub const UNMAPPED: Self = Self(0);
    /// Zeros that the host wrote; they take no room.
    pub const ZEROS: Self = Self(1);

    /// A block of `length` bytes (1 to 4096) at `address`, a multiple of 8.
    pub fn stored(address: u64, length: usize) -> Self {
        debug_assert!(address % UNIT_BYTES == 0 && (1..=BLOCK_BYTES).contains(&length));
        Self((address / UNIT_BYTES) << ADDRESS_SHIFT | (length as u64 - 1) << LENGTH_SHIFT | STORED)
    }

    /// Whether there are bytes in the store.
    pub fn is_stored(self) -> bool {
        self.0 & STORED != 0
    }

    /// Byte address in the store, of a stored block.
    pub fn address(self) -> u64 {
        (self.0 >> ADDRESS_SHIFT) * UNIT_BYTES
    }

    /// Bytes stored; 0 of what is not stored.
    pub fn length(self) -> usize {
        if self.is_stored() { ((self.0 >> LENGTH_SHIFT) & 0xfff) as usize + 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn what_goes_in_comes_out() {
        for (address, length) in [(0, 1), (8, 4096), ((1 << 43) - 8, 4095)] {
            let entry = Entry::stored(address, length);
            assert!(entry.is_stored() && entry != Entry::ZEROS && entry != Entry::UNMAPPED);
            assert_eq!((entry.address(), entry.length()), (address, length));
        }
        assert_eq!((Entry::UNMAPPED.length(), Entry::ZEROS.length()), (0, 0));
    }
}

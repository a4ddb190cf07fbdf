//! Extents of a packed state, byte by byte.
//!
//! Each takes two bytes for its size, one or two for what is dead before it if anything is, and three or four for its
//! logical block unless that follows the one before: 2 bytes after a sequential load, 5 to 8 after random writes.

/// The bits of an extent's first two bytes that hold its size less 1.
const SIZE: u16 = (1 << 12) - 1;
/// In these: something is dead before it, and how many granules comes next.
const GAP: u16 = 1 << 12;
/// In these: its logical block comes last; otherwise it is the next after the one before.
const JUMP: u16 = 1 << 13;
/// In a byte of a gap: another byte with higher bits follows.
const MORE: u8 = 1 << 7;
/// Bits of a gap in a byte.
const GAP_BITS: u32 = MORE.trailing_zeros();

/// Bytes that nearly all extents need at most.
const MOST_BYTES: usize = 8;

/// Bytes that the number of a logical block needs.
fn width(logical_blocks: u32) -> usize {
    if logical_blocks <= 1 << 24 { 3 } else { 4 }
}

/// Appends extents.
pub(super) struct Writer {
    bytes: Vec<u8>,
    next: u32,
    width: usize,
}

impl Writer {
    /// Room for about so many extents of a drive with so many logical blocks.
    pub(super) fn new(extents: u64, logical_blocks: u32) -> Self {
        // What is not written to takes no memory, so this may be too much.
        Self { bytes: Vec::with_capacity(MOST_BYTES * extents as usize), next: 0, width: width(logical_blocks) }
    }

    /// The bytes, in no more memory than they need.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.shrink_to_fit();
        self.bytes
    }

    /// An extent of 1 to 4096 bytes, and the granules that are dead before it.
    pub(super) fn write(&mut self, lba: u32, size: u32, mut gap: u32) {
        let jumps = lba != self.next;
        let first = (size - 1) as u16 | (u16::from(gap > 0) * GAP) | (u16::from(jumps) * JUMP);
        self.bytes.extend(first.to_le_bytes());
        while gap > 0 {
            let rest = gap >> GAP_BITS;
            self.bytes.push((gap as u8 & !MORE) | (u8::from(rest > 0) * MORE));
            gap = rest;
        }
        if jumps {
            self.bytes.extend(&lba.to_le_bytes()[..self.width]);
        }
        self.next = lba + 1;
    }
}

/// Reads them back.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    next: u32,
    width: usize,
}

impl<'a> Reader<'a> {
    /// Reads what was written of a drive with as many logical blocks.
    pub(super) fn new(bytes: &'a [u8], logical_blocks: u32) -> Self {
        Self { bytes, next: 0, width: width(logical_blocks) }
    }

    #[inline(always)]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.bytes.split_first().expect("as many extents are there as were counted");
        self.bytes = rest;
        byte
    }

    /// Logical block, bytes, and the granules that are dead before.
    #[inline(always)]
    pub(super) fn read(&mut self) -> (u32, u32, u32) {
        let first = u16::from_le_bytes([self.byte(), self.byte()]);
        let mut gap = 0;
        if first & GAP != 0 {
            let mut shift = 0;
            loop {
                let byte = self.byte();
                gap |= u32::from(byte & !MORE) << shift;
                if byte & MORE == 0 {
                    break;
                }
                shift += GAP_BITS;
            }
        }
        if first & JUMP != 0 {
            self.next = (0..self.width).fold(0, |lba, byte| lba | u32::from(self.byte()) << (8 * byte));
        }
        let lba = self.next;
        self.next += 1;
        (lba, u32::from(first & SIZE) + 1, gap)
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer};

    #[test]
    fn what_goes_in_comes_out_and_takes_what_it_must() {
        let last = u32::MAX - 2;
        let extents = [(0, 1, 0), (1, 4096, 1), (2, 4096, 127), (9, 77, 128), (9, 1, u32::MAX), (last, 5, 0)];
        let mut writer = Writer::new(6, u32::MAX - 1);
        extents.iter().for_each(|&(lba, size, gap)| writer.write(lba, size, gap));
        let bytes = writer.finish();
        assert_eq!(bytes.len(), 2 + 3 + 3 + (2 + 2 + 4) + (2 + 5 + 4) + (2 + 4));
        let mut reader = Reader::new(&bytes, u32::MAX - 1);
        assert_eq!(extents.map(|_| reader.read()), extents);
        for (blocks, bytes) in [(1 << 24, 5), ((1 << 24) + 1, 6)] {
            let mut writer = Writer::new(1, blocks);
            writer.write(blocks - 1, 1, 0);
            assert_eq!(writer.finish().len(), bytes);
        }
    }
}

//! Reads: pin, look again, decompress.

use codec::Codec;

use super::Disk;
use super::scratch::{Scratch, thread_cpu_ns, with_scratch};
use crate::error::DriveError;
use crate::store::{BLOCK_BYTES, Map};

impl Disk {
    /// Fills `out` from `offset` on. What was never written or has been discarded reads as zeros.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DriveError> {
        let range = self.range(offset, out.len() as u64)?;
        self.tallies.reads.add(1);
        self.tallies.read_bytes.add(out.len() as u64);
        let _open = self.gate.read();
        with_scratch(self.codec, |scratch| {
            let started_ns = if self.codec == Codec::None { 0 } else { thread_cpu_ns() };
            self.read_of(&self.map, range.start, out, scratch)?;
            if self.codec != Codec::None {
                self.tallies.codec_ns.add(thread_cpu_ns() - started_ns);
            }
            Ok(())
        })
    }

    /// Bytes of the state that a map is of. The gate is held, shared.
    pub(super) fn read_of(
        &self,
        map: &Map,
        offset: u64,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), DriveError> {
        let mut at = offset;
        let mut rest = out;
        while !rest.is_empty() {
            let lba = (at / BLOCK_BYTES as u64) as u32;
            let within = (at % BLOCK_BYTES as u64) as usize;
            let (part, later) = rest.split_at_mut((BLOCK_BYTES - within).min(rest.len()));
            if part.len() == BLOCK_BYTES {
                self.read_block(map, lba, part, scratch)?;
            } else {
                let mut block = [0; BLOCK_BYTES];
                self.read_block(map, lba, &mut block, scratch)?;
                part.copy_from_slice(&block[within..within + part.len()]);
            }
            at += part.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// One whole block. The gate is held, shared.
    pub(super) fn read_block(
        &self,
        map: &Map,
        lba: u32,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), DriveError> {
        loop {
            let entry = map.get(lba);
            if !entry.is_stored() {
                out.fill(0);
                return Ok(());
            }
            let pin = self.segments.pin(entry);
            // The block may have moved, and its segment been used again, before the pin was there.
            if map.get(lba) == entry {
                return self.segments.look(&pin, entry, |bytes| Ok(scratch.decompressor.decompress(bytes, out)?))?;
            }
        }
    }
}

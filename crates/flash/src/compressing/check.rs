//! The invariants of a compressing drive, checked by looking at everything. For tests.

use super::extent::Extent;
use super::{Compressing, log};
use crate::block_table::State;
use crate::drive::Drive;
use crate::observer::Observer;

impl<O: Observer> Compressing<O> {
    /// Whether map, logs, live bytes, block states and counters agree; the first contradiction otherwise.
    pub fn verify(&self) -> Result<(), String> {
        self.table.verify()?;
        let live = self.live_by_block()?;
        for block in 0..self.table.len() {
            if live[block as usize] != u64::from(self.table.live(block)) {
                let counted = self.table.live(block);
                return Err(format!("{} bytes of block {block} are live, but {counted} counted", live[block as usize]));
            }
        }
        let logged = self.logged_and_live();
        let stored = self.map.iter().filter(|extent| extent.is_stored()).count() as u64;
        if logged != stored {
            return Err(format!("the logs name {logged} live extents, the map {stored}"));
        }
        let mapped = self.map.iter().filter(|&&extent| extent != Extent::UNMAPPED).count() as u64;
        if mapped != self.mapped {
            return Err(format!("{mapped} blocks are mapped, but {} counted", self.mapped));
        }
        let counters = self.counters();
        if counters.consistent() { Ok(()) } else { Err(format!("the parts do not add up: {counters:?}")) }
    }

    /// Live bytes of each block as the map has them, with what an open block has unwritten.
    fn live_by_block(&self) -> Result<Vec<u64>, String> {
        let mut live = vec![0; self.table.len() as usize];
        let mut total = 0;
        for (lba, &extent) in self.map.iter().enumerate().filter(|(_, extent)| extent.is_stored()) {
            let block = self.packing.block(extent.address());
            if self.table.state(block) == State::Free {
                return Err(format!("block {lba} is mapped into block {block}, which is free"));
            }
            let footprint = self.packing.footprint(extent.size());
            let head = footprint.min(self.packing.block_bytes - self.packing.offset(extent.address()));
            live[block as usize] += u64::from(head);
            if head < footprint {
                live[self.spills.outflow(block) as usize] += u64::from(footprint - head);
            }
            total += u64::from(footprint);
        }
        if total != self.live_bytes {
            return Err(format!("{total} bytes are live, but {} counted", self.live_bytes));
        }
        for frontier in self.frontiers.iter().filter(|frontier| frontier.offset < self.packing.block_bytes) {
            live[frontier.block as usize] += u64::from(self.packing.block_bytes - frontier.offset);
        }
        Ok(live)
    }

    /// Live extents that the logs name, found as garbage collection would find them.
    fn logged_and_live(&self) -> u64 {
        let mut found = 0;
        for block in 0..self.table.len() {
            let mut offset = self.spills.start(block);
            let mut chunk = self.logs.first(block);
            while chunk.len() > 0 {
                for index in 0..chunk.len() {
                    let (lba, size) = log::named(self.logs.get(chunk, index));
                    let footprint = self.packing.footprint(size);
                    offset += self.packing.skip(offset, footprint);
                    found +=
                        u64::from(self.map[lba as usize] == Extent::new(self.packing.address(block, offset), size));
                    offset += footprint;
                }
                chunk = self.logs.after(chunk);
            }
        }
        found
    }
}

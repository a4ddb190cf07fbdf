//! The invariants of a compressing drive, checked by looking at everything. For tests.

use super::Compressing;
use super::chunk::CHUNK;
use super::footprint::ASK;
use super::map::{UNMAPPED, is_stored};
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
        self.verify_logs()?;
        let mapped = self.map.places().filter(|&(_, place)| place != UNMAPPED).count() as u64;
        if mapped != self.mapped {
            return Err(format!("{mapped} blocks are mapped, but {} counted", self.mapped));
        }
        if !self.waiting.is_empty() {
            return Err("a victim's extents still wait for the map".into());
        }
        let counters = self.counters();
        if counters.consistent() { Ok(()) } else { Err(format!("the parts do not add up: {counters:?}")) }
    }

    /// Live bytes of each block as the map has them, with what an open block has unwritten.
    fn live_by_block(&self) -> Result<Vec<u64>, String> {
        let mut live = vec![0; self.table.len() as usize];
        let mut total = 0;
        for (lba, place) in self.map.places().filter(|&(_, place)| is_stored(place)) {
            let block = self.logs.block(place);
            if self.table.state(block) == State::Free {
                return Err(format!("block {lba} is mapped into block {block}, which is free"));
            }
            let named = self.logs.entry(place);
            if named.lba != lba || !self.logs.is_live(place) {
                return Err(format!("block {lba} is at place {place}, but there is {named:?}"));
            }
            let footprint = self.packing.footprint(named.size);
            let room = self.packing.block_bytes - self.logs.offset(place, self.packing);
            let (_, said) = self.map.get(lba);
            if said != if footprint > room { ASK } else { self.scale.say(footprint) } {
                return Err(format!("block {lba} takes {footprint} bytes and {room} are left, but {said} granules"));
            }
            live[block as usize] += u64::from(footprint.min(room));
            if footprint > room {
                let (outflow, end) = self.spills.outflow(block).ok_or("what straddles ends nowhere")?;
                live[outflow as usize] += u64::from(end.bytes);
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

    /// Whether the logs name as many live extents as the map, and know where each begins.
    fn verify_logs(&self) -> Result<(), String> {
        let mut live = 0;
        for block in 0..self.table.len() {
            let mut end = self.spills.start(block);
            for place in self.logs.places(block) {
                let footprint = self.packing.footprint(self.logs.entry(place).size);
                let start = end + self.packing.skip(end, footprint);
                let known = self.logs.offset(place, self.packing);
                if known != start || self.logs.block(place) != block {
                    let (chunk, index) = (place / CHUNK, place % CHUNK);
                    return Err(format!(
                        "extent {index} of chunk {chunk} begins at {start} of {block}, not at {known}"
                    ));
                }
                end = start + footprint;
                live += u64::from(self.logs.is_live(place));
            }
        }
        let stored = self.map.places().filter(|&(_, place)| is_stored(place)).count() as u64;
        if live == stored { Ok(()) } else { Err(format!("the logs name {live} live extents, the map {stored}")) }
    }
}

//! The invariants of a page-mapped drive, checked by looking at everything. For tests: it takes as long as a fill.

use super::{PageMapped, UNMAPPED};
use crate::block_table::State;
use crate::drive::Drive;
use crate::observer::Observer;

impl<O: Observer> PageMapped<O> {
    /// Whether map, owners, live counts, block states and counters agree; the first contradiction otherwise.
    pub fn verify(&self) -> Result<(), String> {
        self.table.verify()?;
        let mut live = vec![0; self.table.len() as usize];
        let mut mapped = 0;
        self.verify_bits()?;
        for (lba, &page) in self.map.iter().enumerate().filter(|&(_, &page)| page != UNMAPPED) {
            let block = self.block_of.quotient(page);
            if self.owners[page as usize] as usize != lba {
                return Err(format!(
                    "block {lba} is mapped to page {page}, which belongs to {}",
                    self.owners[page as usize]
                ));
            }
            if self.table.state(block) == State::Free {
                return Err(format!("block {lba} is mapped into block {block}, which is free"));
            }
            live[block as usize] += 1;
            mapped += 1;
        }
        for frontier in self.frontiers.iter().filter(|frontier| frontier.next != frontier.end) {
            // An open block counts its unwritten pages as live.
            live[self.block_of.quotient(frontier.next) as usize] += frontier.end - frontier.next;
        }
        for block in 0..self.table.len() {
            if live[block as usize] != self.table.live(block) {
                return Err(format!(
                    "{} pages of block {block} are live, but {} counted",
                    live[block as usize],
                    self.table.live(block)
                ));
            }
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} blocks are mapped, but {} counted", self.mapped));
        }
        let counters = self.counters();
        if counters.consistent() { Ok(()) } else { Err(format!("the parts do not add up: {counters:?}")) }
    }

    /// Whether exactly the pages that the map leads to, and those of open blocks still unwritten, have their bits set.
    /// A free block's bits mean nothing.
    fn verify_bits(&self) -> Result<(), String> {
        let mut is_live = vec![false; self.owners.len()];
        self.map.iter().filter(|&&page| page != UNMAPPED).for_each(|&page| is_live[page as usize] = true);
        for frontier in &self.frontiers {
            is_live[frontier.next as usize..frontier.end as usize].fill(true);
        }
        let wrong = (0..self.owners.len() as u32).find(|&page| {
            self.table.state(self.block_of.quotient(page)) != State::Free
                && self.live_pages.contains(page) != is_live[page as usize]
        });
        wrong.map_or(Ok(()), |page| Err(format!("the bit of page {page} says that it is live, or that it is not")))
    }
}

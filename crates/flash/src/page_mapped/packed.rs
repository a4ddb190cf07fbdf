//! A state of a page-mapped drive in half its memory: owners and bits of live pages follow from the map, and dead pages
//! may have any owners.

use super::{Frontier, PageCounts, PageMapped, UNMAPPED};
use crate::block_table::BlockTable;
use crate::observer::Observer;

/// See the module.
#[derive(Debug, Clone)]
pub struct PackedPageMapped {
    map: Box<[u32]>,
    table: BlockTable,
    frontiers: Vec<Frontier>,
    mapped: u64,
    counts: PageCounts,
}

impl PackedPageMapped {
    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.map) as u64 + self.table.memory_bytes()
    }

    /// Shows every logical block that takes flash.
    pub fn visit(&self, mut visit: impl FnMut(u32)) {
        (0..).zip(&self.map).filter(|&(_, &page)| page != UNMAPPED).for_each(|(lba, _)| visit(lba));
    }
}

impl<O: Observer> PageMapped<O> {
    /// The present state, to come back to. Who watches is no part of it.
    pub fn pack(&self) -> PackedPageMapped {
        PackedPageMapped {
            map: self.map.to_vec().into_boxed_slice(),
            table: self.table.clone(),
            frontiers: self.frontiers.clone(),
            mapped: self.mapped,
            counts: self.counts,
        }
    }

    /// Goes back to a state of this drive, or of one that was made of the same.
    ///
    /// # Panics
    /// If it is that of another drive.
    pub fn unpack(&mut self, packed: &PackedPageMapped) {
        let is_alike = self.map.len() == packed.map.len() && self.table.len() == packed.table.len();
        assert!(is_alike, "a packed state belongs to drives of one make");
        self.map.copy_from_slice(&packed.map);
        self.table.clone_from(&packed.table);
        self.frontiers.clone_from(&packed.frontiers);
        self.mapped = packed.mapped;
        self.counts = packed.counts;
        self.live_pages.reset();
        for (lba, &page) in (0..).zip(self.map.iter()).filter(|&(_, &page)| page != UNMAPPED) {
            self.owners[page as usize] = lba;
            self.live_pages.insert(page);
        }
        // What is unwritten of an open block counts as live.
        for frontier in self.frontiers.iter().filter(|frontier| frontier.next != frontier.end) {
            self.live_pages.set(frontier.next..frontier.end);
        }
    }
}

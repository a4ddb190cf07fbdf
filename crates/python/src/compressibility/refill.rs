//! Rows put into new pages at a fillfactor, as a load or VACUUM FULL does (hio.c, RelationGetBufferForTuple): rows from
//! the page's end downwards, the share that is kept free between them and the line pointers, as zeros.

use codec::BLOCK_BYTES;

use super::heap_page::{LINE_POINTER_BYTES, PAGE_HEADER_BYTES};
use super::tally::{Scale, Tally};

const ALIGNMENT: usize = 8;

/// A page being filled, and what the full ones before it came to.
pub struct Refill {
    page: Vec<u8>,
    lower: usize,
    upper: usize,
    rows_on_page: u64,
    kept_free: usize,
    /// Full pages that do not make a whole block yet.
    pending: Vec<u8>,
    pub filled: Filled,
}

/// The full pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    pub pages: u64,
    pub rows: u64,
    pub tally: Tally,
}

impl Refill {
    /// `fillfactor` in per cent, as the storage parameter.
    pub fn new(page_bytes: usize, fillfactor: usize, sums: usize) -> Self {
        Refill {
            page: vec![0; page_bytes],
            lower: PAGE_HEADER_BYTES,
            upper: page_bytes,
            rows_on_page: 0,
            kept_free: page_bytes * (100 - fillfactor) / 100,
            pending: Vec::new(),
            filled: Filled {
                tally: Tally::new(sums),
                ..Filled::default()
            },
        }
    }

    /// Places a row of `source`, whose header lends what is not zero in a header: its LSN and checksum.
    pub fn place(&mut self, row: &[u8], source: &[u8], scale: &mut Scale) {
        let aligned = row.len().next_multiple_of(ALIGNMENT);
        // A damaged page can claim rows that no page has room for.
        if aligned + LINE_POINTER_BYTES + PAGE_HEADER_BYTES > self.page.len() {
            return;
        }
        let free = self.upper - self.lower;
        if free < aligned + LINE_POINTER_BYTES + self.kept_free && self.rows_on_page > 0 {
            self.finish_page(scale);
        }
        if self.rows_on_page == 0 {
            self.page[..PAGE_HEADER_BYTES].copy_from_slice(&source[..PAGE_HEADER_BYTES]);
        }
        self.upper -= aligned;
        self.page[self.upper..self.upper + row.len()].copy_from_slice(row);
        let pointer = self.upper as u32 | 1 << 15 | (row.len() as u32) << 17;
        self.page[self.lower..self.lower + LINE_POINTER_BYTES]
            .copy_from_slice(&pointer.to_ne_bytes());
        self.lower += LINE_POINTER_BYTES;
        self.rows_on_page += 1;
    }

    fn finish_page(&mut self, scale: &mut Scale) {
        self.page[12..14].copy_from_slice(&(self.lower as u16).to_ne_bytes());
        self.page[14..16].copy_from_slice(&(self.upper as u16).to_ne_bytes());
        self.pending.extend_from_slice(&self.page);
        let whole = self.pending.len() / BLOCK_BYTES * BLOCK_BYTES;
        for block in self.pending[..whole].chunks_exact(BLOCK_BYTES) {
            scale.add(block, &mut self.filled.tally);
        }
        self.pending.drain(..whole);
        self.filled.pages += 1;
        self.filled.rows += self.rows_on_page;
        self.page.fill(0);
        self.lower = PAGE_HEADER_BYTES;
        self.upper = self.page.len();
        self.rows_on_page = 0;
    }
}

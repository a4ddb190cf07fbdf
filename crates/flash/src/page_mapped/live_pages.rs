//! One bit a page: whether it is live, that is, whether the map leads to it.
//!
//! `map[owners[page]] == page` says the same, but by a random access to the largest table there is. The bits are 1/32
//! of that, so most of them lie in a cache, and collection touches the map of live pages only: at 28 % of
//! over-provisioning two fifths of what it passes are dead.

use std::ops::Range;

use crate::huge_pages::Table;
use crate::prefetch::prefetch;

/// Pages in a word.
pub(super) const WORD: u32 = u64::BITS;

/// The bits of all pages.
#[derive(Debug, Clone)]
pub(super) struct LivePages {
    words: Table<u64>,
}

impl LivePages {
    /// No page is live.
    pub(super) fn none(pages: usize) -> Self {
        Self { words: Table::filled(pages.div_ceil(WORD as usize), 0) }
    }

    /// A block is opened: its pages are live, those still unwritten included.
    pub(super) fn set(&mut self, pages: Range<u32>) {
        for (word, bits) in words(pages) {
            self.words[word as usize] |= bits;
        }
    }

    /// No page is live any more.
    pub(super) fn reset(&mut self) {
        self.words.fill(0);
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    /// A page is live.
    #[inline(always)]
    pub(super) fn insert(&mut self, page: u32) {
        self.words[(page / WORD) as usize] |= 1 << (page % WORD);
    }

    /// A page holds garbage from now on.
    #[inline(always)]
    pub(super) fn clear(&mut self, page: u32) {
        self.words[(page / WORD) as usize] &= !(1 << (page % WORD));
    }

    /// Starts to load the bit of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, page: u32) {
        prefetch(&self.words, (page / WORD) as usize);
    }

    pub(super) fn contains(&self, page: u32) -> bool {
        self.words[(page / WORD) as usize] >> (page % WORD) & 1 == 1
    }

    /// A word.
    #[inline(always)]
    pub(super) fn bits(&self, word: u32) -> u64 {
        self.words[word as usize]
    }
}

/// The words that some pages lie in, at least one, and which bits there are theirs.
#[inline(always)]
pub(super) fn words(pages: Range<u32>) -> impl Iterator<Item = (u32, u64)> {
    let (first, last) = (pages.start / WORD, (pages.end - 1) / WORD);
    (first..=last).map(move |word| {
        let from = if word == first { u64::MAX << (pages.start % WORD) } else { u64::MAX };
        let to = if word == last { u64::MAX >> (WORD - 1 - (pages.end - 1) % WORD) } else { u64::MAX };
        (word, from & to)
    })
}

#[cfg(test)]
mod tests {
    use super::{LivePages, WORD, words};

    #[test]
    fn blocks_of_any_size_keep_to_their_own_bits() {
        for pages in [2, 3, 17, 63, 64, 65, 96, 256] {
            let mut live = LivePages::none(4 * pages as usize);
            live.set(pages..2 * pages);
            live.set(3 * pages..4 * pages);
            live.clear(pages + 1);
            let found = |block: u32| {
                let range = block * pages..(block + 1) * pages;
                let set = |(word, within): (u32, u64)| {
                    let bits = live.bits(word) & within;
                    (0..WORD).filter(move |&bit| bits >> bit & 1 == 1).map(move |bit| word * WORD + bit)
                };
                let found: Vec<u32> = words(range.clone()).flat_map(set).collect();
                assert_eq!(found, range.filter(|&page| live.contains(page)).collect::<Vec<_>>());
                found.len() as u32
            };
            assert_eq!((found(0), found(1), found(2), found(3)), (0, pages - 1, 0, pages), "{pages} pages");
        }
    }
}

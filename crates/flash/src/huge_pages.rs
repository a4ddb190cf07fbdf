//! Large tables on huge memory pages: a random access to gigabytes misses the TLB on every 4 KiB page, and a TLB miss
//! costs as much as a cache miss. A table begins at the start of a huge page, or its ends, which are most of a table of
//! a few MiB, would lie on small ones.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A huge page of x86-64 and of most ARM systems, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// A table of fixed length, on huge pages where the kernel grants them.
pub(crate) struct Table<T> {
    start: NonNull<T>,
    length: usize,
}

// SAFETY: a table owns its elements and gives them out by the rules of borrowing alone, as a Vec does.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// `length` copies of `value`; at least one.
    pub(crate) fn filled(length: usize, value: T) -> Self {
        let table = Self::unfilled(length);
        for index in 0..length {
            // SAFETY: the index lies inside the memory just allocated, and a Copy value needs no drop.
            unsafe { table.start.add(index).write(value) };
        }
        table
    }

    /// Memory whose elements the caller writes before anybody reads them.
    fn unfilled(length: usize) -> Self {
        let layout = Self::layout(length);
        // SAFETY: no table is empty, so the layout has a size.
        let memory = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(memory.cast::<T>()) else { handle_alloc_error(layout) };
        advise(memory, layout.size());
        Self { start, length }
    }
}

impl<T> Table<T> {
    fn layout(length: usize) -> Layout {
        let plain = Layout::array::<T>(length).expect("a table is smaller than the address space");
        assert!(plain.size() > 0, "a table has elements that take memory");
        let alignment = if plain.size() >= HUGE_PAGE { HUGE_PAGE } else { plain.align() };
        plain.align_to(alignment).expect("a table is smaller than the address space")
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: the memory came from `alloc` with this very layout; elements are Copy.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.length)) };
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: all elements were written when the table was made.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let table = Self::unfilled(self.length);
        // SAFETY: both have the same length and do not overlap.
        unsafe { self.start.copy_to_nonoverlapping(table.start, self.length) };
        table
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// `length` copies of a value, with room to grow to `room`.
pub(crate) fn vec<T: Clone>(value: T, length: usize, room: usize) -> Vec<T> {
    let mut table = Vec::new();
    reserve(&mut table, room);
    table.resize(length, value);
    table
}

/// Makes room for `more` elements in a Vec.
pub(crate) fn reserve<T>(table: &mut Vec<T>, more: usize) {
    table.reserve_exact(more);
    advise(table.as_mut_ptr().cast(), table.capacity() * size_of::<T>());
}

/// Asks for huge pages under `bytes` of memory that the caller owns. It is advice: nothing depends on the answer.
fn advise(memory: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (memory as usize).next_multiple_of(PAGE);
        let end = (memory as usize + bytes) / PAGE * PAGE;
        if end > start {
            // SAFETY: the range lies inside memory that the caller owns, and MADV_HUGEPAGE does not change its content.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, bytes);
}

#[cfg(test)]
mod tests {
    use super::{HUGE_PAGE, Table};

    #[test]
    fn tables_hold_what_is_written_and_copies_are_apart() {
        for length in [1, 1000, HUGE_PAGE / 4, HUGE_PAGE / 4 + 1] {
            let mut table = Table::filled(length, 7_u32);
            let mut copy = table.clone();
            (table[0], copy[length - 1]) = (1, 2);
            let sum = |table: &Table<u32>| table.iter().map(|&each| u64::from(each)).sum::<u64>();
            assert_eq!((sum(&table), sum(&copy)), (7 * length as u64 - 6, 7 * length as u64 - 5));
            let is_large = length * 4 >= HUGE_PAGE;
            assert_eq!(table.len(), length);
            assert!(!is_large || (table.as_ptr() as usize).is_multiple_of(HUGE_PAGE));
        }
    }
}

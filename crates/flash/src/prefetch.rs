//! Asks the processor to fetch a cache line that will be needed soon.
//!
//! The maps of a drive are far larger than the caches, and addresses are random: a write that waits for memory takes
//! ten times as long as one whose line is already on its way.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Starts to load `slice[index]`; does nothing on processors without such an instruction. An index past the end does no
/// harm and is not tested for: this stands in the innermost loops.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    Ahead::of(slice).prefetch(index);
}

/// The same for an element of several lines.
#[inline(always)]
pub(crate) fn prefetch_whole<T>(slice: &[T], index: usize) {
    let start = slice.as_ptr().wrapping_add(index).cast::<u8>();
    for byte in (0..size_of::<T>()).step_by(LINE) {
        Ahead { start }.prefetch(byte);
    }
    // It may begin anywhere in a line.
    Ahead { start }.prefetch(size_of::<T>() - 1);
}

/// Where a table lies, to load from it ahead while parts of it are being written.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<T> {
    start: *const T,
}

impl<T> Ahead<T> {
    #[inline(always)]
    pub(crate) fn of(slice: &[T]) -> Self {
        Self { start: slice.as_ptr() }
    }

    /// Starts to load an element, which may not exist.
    #[inline(always)]
    pub(crate) fn prefetch(self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: a prefetch reads nothing that a program can see, and no address makes it fail.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(self.start.wrapping_add(index).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }
}

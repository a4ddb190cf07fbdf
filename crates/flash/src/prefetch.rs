//! Asks the processor to fetch a cache line that will be needed soon.
//!
//! The maps of a drive are far larger than the caches, and addresses are random: a write that waits for memory takes
//! ten times as long as one whose line is already on its way.

/// Starts to load `slice[index]`; does nothing on processors without such an instruction. An index past the end does no
/// harm and is not tested for: this stands in the innermost loops.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: a prefetch reads nothing that a program can see, and no address makes it fail.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// The same for an element that may lie across the end of a line: two in 32 of 6 bytes do.
#[inline(always)]
pub(crate) fn prefetch_whole<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: as above.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let start = slice.as_ptr().wrapping_add(index).cast::<i8>();
            _mm_prefetch::<_MM_HINT_T0>(start);
            _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(size_of::<T>() - 1));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

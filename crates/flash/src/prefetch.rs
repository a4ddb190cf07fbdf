//! Asks the processor to fetch a cache line that will be needed soon.
//!
//! The maps of a drive are far larger than the caches, and addresses are random: a write that waits for memory takes
//! ten times as long as one whose line is already on its way.

/// Starts to load `slice[index]`; does nothing past the end, or on processors without such an instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        // SAFETY: a prefetch changes no state that a program can see, and the address is that of a live element.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

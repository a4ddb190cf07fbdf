//! Large tables on huge memory pages: a random access to gigabytes misses the TLB on every 4 KiB page, and a TLB miss
//! costs as much as a cache miss.

/// A table of `length` copies of `value`, on huge pages where the kernel grants them.
pub(crate) fn filled<T: Copy>(length: usize, value: T) -> Vec<T> {
    let mut table = Vec::with_capacity(length);
    advise(&mut table);
    table.resize(length, value);
    table
}

/// Asks for huge pages under a table's memory. It is advice: nothing depends on the answer.
fn advise<T>(table: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (table.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = (table.as_ptr() as usize + table.capacity() * size_of::<T>()) / PAGE * PAGE;
        if end > start {
            // SAFETY: the range lies inside memory that the table owns, and MADV_HUGEPAGE does not change its content.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}

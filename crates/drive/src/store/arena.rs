//! The memory of the store: one anonymous mapping, taken from the machine before the drive is mounted.
//!
//! A drive that asks for memory while it answers requests can deadlock with the memory that it is asked to clean
//! (the kernel waits for its writes in order to find some). So all of it is mapped and populated at the start.

use std::io;
use std::ptr::NonNull;

/// Bytes at fixed addresses. Who may write where is decided by [`super::segments`]; this type only checks the bounds.
pub struct Arena {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the arena is plain memory; that no two threads touch the same bytes at the same time is the callers' duty.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps and populates `bytes` (more than 0). The error is the kernel's.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let arena = Self { start, bytes };
        // Huge pages first, so that populating takes them where the machine has them.
        // SAFETY: advice about our own mapping.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        // SAFETY: as above; the kernel reports what it could not populate.
        if unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) } != 0 {
            let error = io::Error::last_os_error();
            // Kernels before 5.14 do not know the advice; then each page is touched.
            if error.raw_os_error() != Some(libc::EINVAL) {
                return Err(error);
            }
            for offset in (0..bytes).step_by(4096) {
                // SAFETY: inside the mapping, to which no other reference exists yet.
                unsafe { start.as_ptr().add(offset).write_volatile(0) };
            }
        }
        Ok(arena)
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it, of an arena that is one's own.
    pub fn own(&mut self) -> &mut [u8] {
        // SAFETY: no other code can reach the bytes while the arena is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Copies bytes in.
    ///
    /// # Safety
    /// No other thread reads or writes these bytes meanwhile.
    ///
    /// # Panics
    /// Past the end.
    pub unsafe fn fill(&self, address: u64, bytes: &[u8]) {
        let address = address as usize;
        assert!(address <= self.bytes && bytes.len() <= self.bytes - address, "a write past the arena");
        // SAFETY: in bounds, and the caller has the bytes to itself.
        unsafe { self.start.as_ptr().add(address).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Looks at bytes.
    ///
    /// # Safety
    /// No thread writes these bytes while the slice lives.
    ///
    /// # Panics
    /// Past the end.
    pub unsafe fn slice(&self, address: u64, length: usize) -> &[u8] {
        let address = address as usize;
        assert!(address <= self.bytes && length <= self.bytes - address, "a read past the arena");
        // SAFETY: in bounds, initialised by the kernel, and no thread writes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(address), length) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no slice outlives the arena.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

//! Memory: enough of it, locked, and the last to be taken away.

use std::fs;

use crate::error::DriveError;

/// From linux/prctl.h; since Linux 5.6.
const PR_SET_IO_FLUSHER: i32 = 57;

/// Refuses to start if `bytes` do not fit into what the machine can give without swapping, with a twentieth left.
pub fn must_fit(bytes: u64) -> Result<(), DriveError> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match available_bytes(&text) {
        Some(available) if bytes > available - available / 20 => Err(DriveError::refused(
            format!("the drive needs {bytes} bytes of memory, {available} are available"),
            "make store_bytes or the capacity smaller, or keep the store in a file",
        )),
        _ => Ok(()),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Makes each large table a mapping of its own: what a snapshot took goes back to the machine when it is dropped, and
/// what is never written to takes nothing. The C library would soon take them from its heap.
pub fn map_tables() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes how memory is found from now on, not what has been given out.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}

/// Locks what is mapped now and whatever is touched later. False if the machine does not allow it.
pub fn lock() -> bool {
    // What is not touched costs nothing: FUSE's buffers have 16 MiB a thread, of which requests fill one.
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: changes how our own pages are kept.
    unsafe { libc::mlockall(flags) == 0 }
}

/// Asks the kernel to spare this process when memory runs out, and tells it that it writes back memory. Both need
/// privileges that a root without CAP_SYS_RESOURCE lacks; the drive works without.
pub fn protect() {
    let _ = fs::write("/proc/self/oom_score_adj", "-1000");
    // SAFETY: sets a flag of this process.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
}

/// Bytes of memory that this process has now, and those it has locked.
pub fn in_use_bytes() -> (u64, u64) {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    (field("VmRSS:"), field("VmLck:"))
}

#[cfg(test)]
mod tests {
    use super::{available_bytes, must_fit};

    #[test]
    fn what_is_available_is_read_in_bytes() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:   1024 kB\n"), Some(1 << 20));
        assert_eq!(available_bytes("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn more_than_any_machine_has_does_not_fit() {
        let error = must_fit(u64::MAX).unwrap_err();
        assert!(error.to_string().contains("are available"), "{error}");
        assert!(must_fit(4096).is_ok());
    }
}

//! Whether somebody has the drive's file system mounted, as far as this program can see.

use std::fs;
use std::path::Path;

/// The mounted loop device over `file`, if there is one: restoring under it would destroy the file system.
pub fn mounted_over(file: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    devices
        .filter_map(|device| {
            let backing = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
            let name = format!("/dev/{}", device.file_name().to_str()?);
            (Path::new(backing.trim_end()) == file && is_mounted(&name, &mounts)).then_some(name)
        })
        .next()
}

fn is_mounted(device: &str, mounts: &str) -> bool {
    mounts.lines().any(|line| line.split(' ').next() == Some(device))
}

#[cfg(test)]
mod tests {
    use super::is_mounted;

    #[test]
    fn a_device_is_told_from_one_whose_name_begins_alike() {
        let mounts = "/dev/loop10 /mnt ext4 rw 0 0\nproc /proc proc rw 0 0\n";
        assert!(is_mounted("/dev/loop10", mounts));
        assert!(!is_mounted("/dev/loop1", mounts));
    }
}

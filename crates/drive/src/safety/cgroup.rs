//! Memory cgroups: out of any that the drive's users may fill.
//!
//! In a cgroup (version 1) at its limit, reclaim waits for dirty pages to be written. If the daemon that must write
//! them asks for memory in the same cgroup it waits for itself, for ever, and SIGKILL does not help. So it goes to
//! the root before it takes any memory; memory stays charged where it was first touched.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::DriveError;

/// Where cgroup hierarchies are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// Limits at or above this are none (version 1 prints the largest multiple of a page).
const NO_LIMIT: u64 = 1 << 60;

/// A memory cgroup of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Membership {
    /// The root of the hierarchy.
    root: PathBuf,
    /// The path below it, without the leading slash.
    path: String,
    /// The file with the limit.
    limit_file: &'static str,
}

/// Leaves for the root of the memory hierarchy. If that is forbidden it is an error when a limit applies.
pub fn leave() -> Result<(), DriveError> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for membership in memberships(&text, Path::new(ROOT)) {
        if !membership.path.is_empty() {
            // Whether it worked is seen below, from the limits that still apply.
            let _ = fs::write(membership.root.join("cgroup.procs"), "0");
        }
    }
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for membership in memberships(&text, Path::new(ROOT)) {
        if let Some((place, bytes)) = limit(&membership) {
            let message = format!("the memory cgroup {} is limited to {bytes} bytes", place.display());
            let hint = "start as root, so that the drive can leave it; in it, drive and users could wait for each \
                        other for ever";
            return Err(DriveError::refused(message, hint));
        }
    }
    Ok(())
}

/// The memory cgroups in the text of `/proc/self/cgroup`: one of version 1, or the only one of version 2.
fn memberships(text: &str, mounted: &Path) -> Vec<Membership> {
    let has_v1 = text.lines().any(|line| controllers(line).contains(&"memory"));
    let memberships = text.lines().filter_map(|line| {
        let path = line.splitn(3, ':').nth(2)?.trim_start_matches('/').to_owned();
        match controllers(line).as_slice() {
            ["memory", ..] | [.., "memory"] => {
                let root = mounted.join("memory");
                Some(Membership { root, path, limit_file: "memory.limit_in_bytes" })
            }
            [""] if !has_v1 => Some(Membership { root: mounted.to_owned(), path, limit_file: "memory.max" }),
            _ => None,
        }
    });
    memberships.collect()
}

fn controllers(line: &str) -> Vec<&str> {
    line.split(':').nth(1).unwrap_or("?").split(',').collect()
}

/// The lowest place, from the cgroup up to the root, that has a limit.
fn limit(membership: &Membership) -> Option<(PathBuf, u64)> {
    let mut place = membership.root.join(&membership.path);
    loop {
        let text = fs::read_to_string(place.join(membership.limit_file)).unwrap_or_default();
        if let Some(bytes) = text.trim().parse().ok().filter(|&bytes: &u64| bytes < NO_LIMIT) {
            return Some((place, bytes));
        }
        if place == membership.root || !place.pop() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{limit, memberships};

    const V1: &str = "9:name=systemd:/\n4:memory:/jobs/one\n2:cpu,cpuacct:/\n0::/\n";
    const V2: &str = "0::/user.slice/session-1.scope\n";

    #[test]
    fn version_1_wins_where_memory_belongs_to_it() {
        let found = memberships(V1, Path::new("/c"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].root.as_path(), found[0].path.as_str()), (Path::new("/c/memory"), "jobs/one"));
    }

    #[test]
    fn version_2_has_one_hierarchy() {
        let found = memberships(V2, Path::new("/c"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].root.as_path(), found[0].limit_file), (Path::new("/c"), "memory.max"));
        assert_eq!(memberships("", Path::new("/c")), []);
    }

    #[test]
    fn a_limit_further_up_counts() {
        let mounted = std::env::temp_dir().join(format!("pgassay-cgroup-{}", std::process::id()));
        let inner = mounted.join("user.slice/session-1.scope");
        fs::create_dir_all(&inner).unwrap();
        let membership = &memberships(V2, &mounted)[0];
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        assert_eq!(limit(membership), None);
        fs::write(mounted.join("user.slice/memory.max"), "1000000\n").unwrap();
        assert_eq!(limit(membership), Some((mounted.join("user.slice"), 1_000_000)));
        fs::remove_dir_all(&mounted).unwrap();
    }
}

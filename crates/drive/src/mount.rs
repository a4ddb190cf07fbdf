//! Mounting and unmounting, without helpers of the system.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fuser::{MountOption, Session};

use crate::error::DriveError;
use crate::front::Front;
use crate::safety::watchdog::CONNECTIONS;

/// Mounts. The kernel's requests wait until the session runs.
pub fn mount(front: Front, mountpoint: &Path, name: &str, threads: usize) -> Result<Session<Front>, DriveError> {
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        MountOption::FSName(format!("pgassay-drive:{name}")),
        MountOption::Subtype("pgassay".into()),
        MountOption::NoAtime,
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    config.n_threads = Some(threads);
    config.clone_fd = threads > 1;
    Session::new(front, mountpoint, &config).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOENT | libc::ENODEV) => {
            let message = format!("cannot mount a FUSE file system here: {error}");
            DriveError::refused(message, "root, /dev/fuse and the kernel's fuse are needed")
        }
        _ => DriveError::io("cannot mount", error),
    })
}

/// The number of a mounted connection, which its device has too.
pub fn connection(mountpoint: &Path) -> Result<u32, DriveError> {
    let device = fs::metadata(mountpoint).map_err(|error| DriveError::io("cannot see the mount", error))?.dev();
    Ok(libc::minor(device))
}

/// Unmounts; fails with EBUSY while the file is open.
pub fn unmount(mountpoint: &Path) -> io::Result<()> {
    umount(mountpoint, 0)
}

/// Takes the mount out of sight, and cuts the connection if something still uses it.
pub fn unmount_now(mountpoint: &Path) -> io::Result<()> {
    umount(mountpoint, 0)
        .or_else(|_| umount(mountpoint, libc::MNT_FORCE))
        .or_else(|_| umount(mountpoint, libc::MNT_DETACH))
}

/// Fails all requests on a connection, so that its program ends although another mount namespace has a copy of the
/// mount. It is opened while the connection is there: when that has gone, its number is that of the next mount,
/// which may be another program's.
pub struct Abort(File);

impl Abort {
    /// Of a mounted connection.
    pub fn of(connection: u32) -> Result<Self, DriveError> {
        let open = Self::below(Path::new(CONNECTIONS), connection);
        open.map_err(|error| DriveError::io("cannot see the connection", error))
    }

    fn below(connections: &Path, connection: u32) -> io::Result<Self> {
        OpenOptions::new().write(true).open(connections.join(connection.to_string()).join("abort")).map(Self)
    }

    /// Cuts it; nothing happens where it has gone with its mount.
    pub fn cut(&self) -> io::Result<()> {
        (&self.0).write_all(b"1")
    }
}

fn umount(mountpoint: &Path, flags: i32) -> io::Result<()> {
    let path = CString::new(mountpoint.as_os_str().as_bytes())?;
    // SAFETY: a valid string.
    if unsafe { libc::umount2(path.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Abort;

    #[test]
    fn a_connection_that_got_the_number_of_one_that_has_gone_is_not_cut() {
        let connections = std::env::temp_dir().join(format!("pgassay-connections-{}", std::process::id()));
        let abort = connections.join("7/abort");
        fs::create_dir_all(connections.join("7")).unwrap();
        fs::write(&abort, "").unwrap();
        let ours = Abort::below(&connections, 7).unwrap();
        fs::remove_file(&abort).unwrap();
        fs::write(&abort, "").unwrap();
        ours.cut().unwrap();
        assert_eq!(fs::read_to_string(&abort).unwrap(), "");
        fs::remove_dir_all(&connections).unwrap();
    }
}

//! How long a drive lasts: the program/erase cycles that its flash is rated for, spent at its write amplification.

/// What the flash can bear and what the host may therefore write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Life {
    /// Program/erase cycles that each block is rated for.
    pub rated_cycles: u32,
    /// All flash, in bytes.
    pub physical_bytes: u64,
    /// What the host sees, in bytes.
    pub user_bytes: u64,
}

impl Life {
    /// Host bytes that wear the drive out, at a write amplification and perfectly level wear.
    pub fn host_bytes(&self, write_amplification: f64) -> f64 {
        f64::from(self.rated_cycles) * self.physical_bytes as f64 / write_amplification
    }

    /// Writes of the whole user capacity a day that the drive bears for `years`.
    pub fn drive_writes_per_day(&self, write_amplification: f64, years: f64) -> f64 {
        self.host_bytes(write_amplification) / (self.user_bytes as f64 * 365.0 * years)
    }

    /// Years that the drive bears a host writing `host_bytes_per_day`.
    pub fn years(&self, write_amplification: f64, host_bytes_per_day: f64) -> f64 {
        self.host_bytes(write_amplification) / host_bytes_per_day / 365.0
    }
}

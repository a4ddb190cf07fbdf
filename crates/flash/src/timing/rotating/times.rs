//! What a disk's data sheet says.
//!
//! The defaults describe a disk of 7200 revolutions a minute as data centres have them: engineering values inside what
//! such disks' data sheets give, and no data sheet's.

use crate::error::FlashError;

/// Nanoseconds, bytes, bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskTimes {
    /// One revolution.
    pub rotation_ns: u64,
    /// Bytes that pass the head in one.
    pub track_bytes: u64,
    /// To the next track, which is the shortest seek; tracks are skewed by as much, so that reading on loses no turn.
    pub track_switch_ns: u64,
    /// Over a third of the stroke, which is what data sheets call the average.
    pub average_seek_ns: u64,
    /// Over the whole stroke.
    pub full_seek_ns: u64,
    /// How much longer a seek takes before a write.
    pub write_settle_ns: u64,
    /// Share of the stroke over which the drive's addresses spread: 1 for a full disk, little for a small partition.
    pub stroke_share: f64,
    /// Electronics, for each request.
    pub controller_ns: u64,
    /// Speed of the host's link; 0 takes no time.
    pub link_bytes_per_second: u64,
    /// Requests among which the disk chooses the next (NCQ has 32); 1 is first come, first served.
    pub queue_depth: u32,
    /// Whether writes are answered from memory that a loss of power empties; flushes then wait for the platter.
    pub write_cache: bool,
    /// Room for them.
    pub write_buffer_bytes: u64,
    /// How far the disk reads on after a read while it has nothing else to do.
    pub read_ahead_bytes: u64,
}

impl Default for DiskTimes {
    fn default() -> Self {
        Self {
            rotation_ns: 60_000_000_000 / 7200,
            track_bytes: 1_572_864,
            track_switch_ns: 800_000,
            average_seek_ns: 8_500_000,
            full_seek_ns: 16_000_000,
            write_settle_ns: 500_000,
            stroke_share: 1.0,
            controller_ns: 100_000,
            link_bytes_per_second: 550_000_000,
            queue_depth: 32,
            write_cache: true,
            write_buffer_bytes: 64 << 20,
            read_ahead_bytes: 2 << 20,
        }
    }
}

impl DiskTimes {
    /// Refuses what no disk can be.
    pub fn check(&self) -> Result<(), FlashError> {
        let positive = [
            ("rotation ns", self.rotation_ns),
            ("queue depth", self.queue_depth.into()),
            ("write buffer bytes", self.write_buffer_bytes),
        ];
        for (field, value) in positive {
            if value == 0 {
                return Err(FlashError::invalid(field, value, "must be greater than 0"));
            }
        }
        if self.track_bytes == 0 || self.track_bytes % 4096 != 0 {
            return Err(FlashError::invalid("track bytes", self.track_bytes, "must be a positive multiple of 4096"));
        }
        if !(self.stroke_share > 0.0 && self.stroke_share <= 1.0) {
            return Err(FlashError::invalid("stroke share", self.stroke_share, "must be above 0 and at most 1"));
        }
        let (root, linear) = self.seek_terms();
        if self.track_switch_ns > self.average_seek_ns || root < 0.0 || linear < 0.0 {
            let reason = "no curve through track switch, average and full seek rises ever more slowly";
            return Err(FlashError::invalid("average seek ns", self.average_seek_ns, reason));
        }
        Ok(())
    }

    /// Factors of the root of the distance and of the distance, in nanoseconds for the whole stroke: with the track
    /// switch, the curve through the three seeks.
    pub(super) fn seek_terms(&self) -> (f64, f64) {
        let third = 1.0 / 3.0_f64;
        let average = self.average_seek_ns as f64 - self.track_switch_ns as f64;
        let full = self.full_seek_ns as f64 - self.track_switch_ns as f64;
        let root = (average - full * third) / (third.sqrt() - third);
        (root, full - root)
    }
}

//! Where the head is, and how long it takes to be elsewhere.

use super::times::DiskTimes;
use crate::BLOCK_BYTES;

/// A disk's arm and platter. Angles are the nanoseconds that the platter needs to turn by them.
#[derive(Debug, Clone)]
pub struct Mechanics {
    times: DiskTimes,
    blocks_per_track: u64,
    tracks: u64,
    root_ns: f64,
    linear_ns: f64,
}

impl Mechanics {
    /// Of a disk with so many blocks.
    pub fn new(times: DiskTimes, blocks: u32) -> Self {
        let blocks_per_track = times.track_bytes / u64::from(BLOCK_BYTES);
        let (root_ns, linear_ns) = times.seek_terms();
        let tracks = u64::from(blocks).div_ceil(blocks_per_track).max(1);
        Self { times, blocks_per_track, tracks, root_ns, linear_ns }
    }

    /// The track of a block.
    pub fn track_of(&self, block: u64) -> u64 {
        block / self.blocks_per_track
    }

    /// From track to track.
    pub fn seek_ns(&self, from: u64, to: u64) -> u64 {
        if from == to {
            return 0;
        }
        let share = from.abs_diff(to) as f64 / self.tracks as f64 * self.times.stroke_share;
        self.times.track_switch_ns + (self.root_ns * share.sqrt() + self.linear_ns * share).round() as u64
    }

    /// The angle at which a block begins.
    pub fn angle_ns(&self, block: u64) -> u64 {
        let within = block % self.blocks_per_track * self.times.rotation_ns / self.blocks_per_track;
        let skew = u128::from(self.track_of(block)) * u128::from(self.times.track_switch_ns);
        ((u128::from(within) + skew) % u128::from(self.times.rotation_ns)) as u64
    }

    /// How long after `now_ns`, with the head over a track, until a block begins to pass under it.
    pub fn positioning_ns(&self, track: u64, block: u64, is_write: bool, now_ns: u64) -> u64 {
        let seek_ns = self.seek_ns(track, self.track_of(block));
        let settle_ns = if is_write && seek_ns > 0 { self.times.write_settle_ns } else { 0 };
        let arrived_ns = now_ns + seek_ns + settle_ns;
        let rotation_ns = self.times.rotation_ns;
        let turn_ns = (self.angle_ns(block) + rotation_ns - arrived_ns % rotation_ns) % rotation_ns;
        seek_ns + settle_ns + turn_ns
    }

    /// How long blocks take to pass once the first begins to: the turn, and the switches between tracks.
    pub fn transfer_ns(&self, first: u64, blocks: u64) -> u64 {
        if blocks == 0 {
            return 0;
        }
        let switches = self.track_of(first + blocks - 1) - self.track_of(first);
        let begins = first % self.blocks_per_track * self.times.rotation_ns / self.blocks_per_track;
        let ends = (first % self.blocks_per_track + blocks) * self.times.rotation_ns / self.blocks_per_track;
        ends - begins + switches * self.times.track_switch_ns
    }
}

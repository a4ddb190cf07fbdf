//! The modelled drive's description: from keys to the flash model's configuration.

use flash::compressing::Throttling;
use flash::streams::GcStream;
use flash::timing::OperationLog;
use flash::{
    BLOCK_BYTES, Capacity, Compressing, CompressingConfig, FlashError, Geometry, OverProvisioning, PageMapped,
    PageMappedConfig, Policy, StaticWearLevelling, Streams,
};
use serde::Deserialize;

use crate::error::DriveError;
use crate::model::Model;

/// What kind of drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A normal SSD.
    #[default]
    #[serde(alias = "page_mapped")]
    PageMapped,
    /// One that compresses.
    Compressing,
}

/// The policy of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Least live data.
    #[default]
    Greedy,
    /// Kawaguchi's.
    CostBenefit,
    /// The block filled first.
    Fifo,
    /// The least live of a few.
    DChoices,
    /// Any.
    Random,
}

/// Where garbage collection writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcStreamName {
    /// Into the host's open block.
    WithHost,
    /// Into one of its own.
    #[default]
    Own,
    /// Into one for each handle.
    PerHandle,
}

/// All keys; each left out has the flash model's default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Description {
    /// `page-mapped` or `compressing`.
    pub kind: Kind,
    /// User capacity that over-provisioning refers to; the drive's capacity unless given.
    pub user_bytes: Option<u64>,
    /// T/U − 1.
    pub over_provisioning: Option<f64>,
    /// 1 − U/T, instead.
    pub spare_of_physical: Option<f64>,
    /// Superblocks kept for garbage collection.
    pub reserve_blocks: Option<u32>,
    /// Pages of 4096 bytes in a superblock.
    pub pages_per_block: Option<u32>,
    /// Or the shape of the chips.
    pub channels: Option<u32>,
    /// Dies on each channel.
    pub dies_per_channel: Option<u32>,
    /// Planes of each die.
    pub planes_per_die: Option<u32>,
    /// Flash pages of each plane in a block.
    pub flash_pages_per_block: Option<u32>,
    /// Bytes of a flash page.
    pub flash_page_bytes: Option<u32>,
    /// Which block is emptied next.
    pub policy: PolicyName,
    /// Candidates of `d-choices`.
    pub choices: Option<u32>,
    /// Placement handles.
    pub handles: Option<u8>,
    /// Where garbage collection writes.
    pub gc_stream: GcStreamName,
    /// Difference of erase counts that moves cold data.
    pub wear_levelling_threshold: Option<u32>,
    /// Bytes that an extent is rounded up to.
    pub granularity_bytes: Option<u32>,
    /// Whether extents cross flash pages.
    pub straddling: Option<bool>,
    /// Live share of usable flash that slows the host.
    pub throttle_from: Option<f64>,
    /// Live share that stops it.
    pub reject_from: Option<f64>,
    /// The slowed host's rate.
    pub throttled_bytes_per_second: Option<u64>,
    /// Seed of policies that draw.
    pub seed: Option<u64>,
}

/// What the flash model is asked for.
enum Asked {
    PageMapped(PageMappedConfig),
    Compressing(CompressingConfig),
}

impl Description {
    /// A fresh drive that shows `capacity_bytes` to its host.
    pub fn build(&self, capacity_bytes: u64) -> Result<Model, DriveError> {
        let log = OperationLog::default();
        Ok(match self.asked(capacity_bytes)? {
            Asked::PageMapped(config) => Model::PageMapped(PageMapped::watched(config, log)?),
            Asked::Compressing(config) => Model::Compressing(Compressing::watched(config, log)?),
        })
    }

    /// Refuses what [`Self::build`] would, without taking its memory.
    pub fn check(&self, capacity_bytes: u64) -> Result<(), DriveError> {
        match self.asked(capacity_bytes)? {
            Asked::PageMapped(config) => config.policy.check()?,
            Asked::Compressing(config) => config.check()?,
        }
        Ok(())
    }

    fn asked(&self, capacity_bytes: u64) -> Result<Asked, DriveError> {
        let streams = self.streams()?;
        let capacity = self.capacity(capacity_bytes)?;
        let wear_levelling = self.wear_levelling_threshold.map(StaticWearLevelling::new).transpose()?;
        let (policy, seed) = (self.policy(), self.seed.unwrap_or(1));
        Ok(match self.kind {
            Kind::PageMapped => {
                if self.user_bytes.is_some_and(|bytes| bytes != capacity_bytes) {
                    let message = "user_bytes of a page-mapped drive must be its capacity";
                    return Err(DriveError::refused(message, "leave it out"));
                }
                Asked::PageMapped(PageMappedConfig { capacity, policy, streams, wear_levelling, seed })
            }
            Kind::Compressing => Asked::Compressing(CompressingConfig {
                capacity,
                logical_blocks: (capacity_bytes / u64::from(BLOCK_BYTES)) as u32,
                granularity: self.granularity_bytes.unwrap_or(64),
                straddling: self.straddling.unwrap_or(true),
                policy,
                streams,
                wear_levelling,
                throttling: self.throttling(),
                seed,
            }),
        })
    }

    fn capacity(&self, capacity_bytes: u64) -> Result<Capacity, DriveError> {
        let over_provisioning = match (self.over_provisioning, self.spare_of_physical) {
            (Some(_), Some(_)) => {
                return Err(DriveError::refused("say either over_provisioning or spare_of_physical", ""));
            }
            (None, Some(share)) => OverProvisioning::spare_of_physical(share)?,
            (ratio, None) => OverProvisioning::of_user(ratio.unwrap_or(0.07))?,
        };
        let user_bytes = self.user_bytes.unwrap_or(capacity_bytes);
        let reserve = self.reserve_blocks.unwrap_or(2);
        Ok(Capacity::of_user(self.geometry()?, user_bytes, over_provisioning, reserve)?)
    }

    /// Whether anything is said about how the flash is put together.
    pub fn has_shape(&self) -> bool {
        let chips = [self.channels, self.dies_per_channel, self.planes_per_die, self.flash_pages_per_block];
        self.pages_per_block.is_some() || self.flash_page_bytes.is_some() || chips.iter().any(Option::is_some)
    }

    /// Says how the flash is put together.
    pub fn take_shape(&mut self, geometry: &Geometry) {
        self.channels = Some(geometry.channels);
        self.dies_per_channel = Some(geometry.dies_per_channel);
        self.planes_per_die = Some(geometry.planes_per_die);
        self.flash_pages_per_block = Some(geometry.flash_pages_per_block);
        self.flash_page_bytes = Some(geometry.flash_page_bytes);
    }

    /// How the flash is put together.
    pub fn geometry(&self) -> Result<Geometry, DriveError> {
        let plain = Geometry::plain(self.pages_per_block.unwrap_or(256));
        let geometry = Geometry {
            channels: self.channels.unwrap_or(plain.channels),
            dies_per_channel: self.dies_per_channel.unwrap_or(plain.dies_per_channel),
            planes_per_die: self.planes_per_die.unwrap_or(plain.planes_per_die),
            flash_pages_per_block: self.flash_pages_per_block.unwrap_or(plain.flash_pages_per_block),
            flash_page_bytes: self.flash_page_bytes.unwrap_or(plain.flash_page_bytes),
        };
        if self.pages_per_block.is_some() && geometry != plain {
            let message = "pages_per_block contradicts the shape of the chips, which is given too";
            return Err(DriveError::refused(message, "give one of them"));
        }
        Ok(geometry)
    }

    fn policy(&self) -> Policy {
        match self.policy {
            PolicyName::Greedy => Policy::Greedy,
            PolicyName::CostBenefit => Policy::CostBenefit,
            PolicyName::Fifo => Policy::Fifo,
            PolicyName::DChoices => Policy::DChoices { d: self.choices.unwrap_or(2) },
            PolicyName::Random => Policy::Random,
        }
    }

    fn streams(&self) -> Result<Streams, FlashError> {
        let gc = match self.gc_stream {
            GcStreamName::WithHost => GcStream::WithHost,
            GcStreamName::Own => GcStream::Own,
            GcStreamName::PerHandle => GcStream::PerHandle,
        };
        Streams::new(self.handles.unwrap_or(1), gc)
    }

    fn throttling(&self) -> Throttling {
        let usual = Throttling::default();
        Throttling {
            throttle_from: self.throttle_from.unwrap_or(usual.throttle_from),
            reject_from: self.reject_from.unwrap_or(usual.reject_from),
            bytes_per_second: self.throttled_bytes_per_second.unwrap_or(usual.bytes_per_second),
        }
    }
}

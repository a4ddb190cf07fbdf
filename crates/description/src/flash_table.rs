//! The table `[drive]`: the modelled flash, from keys to the model's configuration.

use flash::compressing::Throttling;
use flash::streams::GcStream;
use flash::{
    BLOCK_BYTES, Capacity, CompressingConfig, Geometry, OverProvisioning, PageMappedConfig, Policy,
    StaticWearLevelling, Streams,
};

use crate::error::Refused;
use crate::table::table;
use crate::values::{Bytes, Bytes32, Pairs, Share, words};

words! {
    /// What kind of drive.
    Kind {
        /// A normal SSD.
        "page-mapped" => PageMapped,
        /// One with transparent compression.
        "compressing" => Compressing,
    }
}

words! {
    /// The policy of garbage collection.
    PolicyName {
        /// The block with the least live data.
        "greedy" => Greedy,
        /// Kawaguchi's: age counts, too.
        "cost-benefit" => CostBenefit,
        /// The block filled first.
        "fifo" => Fifo,
        /// The least live of a few drawn at random.
        "d-choices" => DChoices,
        /// Any.
        "random" => Random,
    }
}

impl PolicyName {
    /// The name of a policy of the model.
    pub fn of(policy: Policy) -> Self {
        match policy {
            Policy::Greedy => Self::Greedy,
            Policy::CostBenefit => Self::CostBenefit,
            Policy::Fifo => Self::Fifo,
            Policy::DChoices { .. } => Self::DChoices,
            Policy::Random => Self::Random,
        }
    }
}

words! {
    /// Where garbage collection writes what it moves.
    GcStreamName {
        /// Into an open block of its own.
        "own" => Own,
        /// Into the host's open block.
        "with-host" => WithHost,
        /// Into one of its own for each placement handle.
        "per-handle" => PerHandle,
    }
}

table! {
    /// The flash; each key left out has the model's default. docs/drives.md says what each means.
    FlashTable, "drive" {
        /// `page-mapped` or `compressing`.
        kind: Kind,
        /// User capacity, to which over-provisioning refers.
        user_bytes: Bytes,
        /// What the host sees of a compressing drive, where that is not its user capacity.
        logical_bytes: Bytes,
        /// T/U − 1.
        over_provisioning: Share,
        /// 1 − U/T, instead.
        spare_of_physical: Share,
        /// Pages of 4096 bytes in a superblock.
        pages_per_block: u32,
        /// Or the shape of the chips.
        channels: u32,
        /// Dies on each channel.
        dies_per_channel: u32,
        /// Planes of each die.
        planes_per_die: u32,
        /// Flash pages of each plane in a block.
        flash_pages_per_block: u32,
        /// Bytes of a flash page.
        flash_page_bytes: Bytes32,
        /// Superblocks kept for garbage collection.
        reserve_blocks: u32,
        /// Which block is emptied next.
        policy: PolicyName,
        /// Candidates of `d-choices`.
        choices: u32,
        /// Where garbage collection writes.
        gc_stream: GcStreamName,
        /// Placement handles.
        handles: u8,
        /// Difference of erase counts at which cold data are moved.
        wear_levelling_threshold: u32,
        /// Page-mapped drives side by side: each pool's share of user capacity, and its over-provisioning.
        pools: Pairs,
        /// Bytes that the size of a compressed block is rounded up to.
        granularity_bytes: Bytes32,
        /// Whether compressed blocks cross flash pages.
        straddling: bool,
        /// Live share of usable flash from which writes are slowed down.
        throttle_from: Share,
        /// Live share from which writes are refused.
        reject_from: Share,
        /// The rate of writes that are slowed down.
        throttled_bytes_per_second: Bytes,
        /// Seed of policies that draw.
        seed: u64,
    }
}

/// Keys that only a compressing drive has.
const OF_COMPRESSING: [&str; 6] =
    ["logical_bytes", "granularity_bytes", "straddling", "throttle_from", "reject_from", "throttled_bytes_per_second"];

/// T/U − 1 where nothing is said.
const USUAL_OVER_PROVISIONING: f64 = 0.07;

/// What the flash model is asked for.
pub enum Configuration {
    /// A normal SSD.
    PageMapped(PageMappedConfig),
    /// One that compresses.
    Compressing(CompressingConfig),
    /// Normal SSDs side by side.
    Pools(Vec<PageMappedConfig>),
}

impl FlashTable {
    /// The kind, said or usual.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::PageMapped)
    }

    /// The policy's name, said or usual.
    pub fn policy(&self) -> PolicyName {
        self.policy.unwrap_or(PolicyName::Greedy)
    }

    /// Bytes that a compressing drive rounds sizes up to.
    pub fn granularity_bytes(&self) -> u32 {
        self.granularity_bytes.unwrap_or(64)
    }

    /// T/U − 1, however it is said; of pools, that of all together.
    pub fn over_provisioning(&self) -> f64 {
        match (&self.pools, self.over_provisioning, self.spare_of_physical) {
            (Some(pools), ..) => pools.iter().map(|[share, ratio]| share * ratio).sum(),
            (None, Some(ratio), _) => ratio,
            (None, None, Some(share)) => share / (1.0 - share),
            (None, None, None) => USUAL_OVER_PROVISIONING,
        }
    }

    /// Bytes that the host sees; `None` where nothing is said of it.
    pub fn capacity_bytes(&self) -> Option<u64> {
        self.logical_bytes.or(self.user_bytes)
    }

    /// Another capacity for the host: of a drive that promises more than it has, the flash behind it stays.
    pub fn set_capacity(&mut self, bytes: u64) {
        match self.logical_bytes {
            Some(_) => self.logical_bytes = Some(bytes),
            None => self.user_bytes = Some(bytes),
        }
    }

    /// The host sees so many bytes: where the flash is described apart, a compressing drive promises more or less.
    pub fn seen_as(&mut self, bytes: u64) {
        match (self.kind(), self.user_bytes) {
            (Kind::Compressing, Some(_)) => self.logical_bytes = Some(bytes),
            _ => self.user_bytes = Some(bytes),
        }
    }

    /// What the model is asked for; refuses what cannot be. Its memory is not taken yet.
    pub fn configuration(&self) -> Result<Configuration, Refused> {
        self.check_kind()?;
        let Some(user_bytes) = self.user_bytes else {
            let hint = "give the drive's capacity";
            return Err(Refused::new("drive lacks user_bytes", hint));
        };
        let policy = self.victims()?;
        let (streams, seed) = (self.streams()?, self.seed.unwrap_or(1));
        let wear_levelling = self.wear_levelling_threshold.map(StaticWearLevelling::new).transpose()?;
        let page_mapped = |capacity| PageMappedConfig { capacity, policy, streams, wear_levelling, seed };
        if let Some(pools) = &self.pools {
            let capacities = self.pooled(pools, user_bytes)?;
            return Ok(Configuration::Pools(capacities.into_iter().map(page_mapped).collect()));
        }
        let capacity = self.capacity(user_bytes, self.spare()?)?;
        if self.kind() == Kind::PageMapped {
            return Ok(Configuration::PageMapped(page_mapped(capacity)));
        }
        let config = CompressingConfig {
            capacity,
            logical_blocks: self.logical_blocks(user_bytes)?,
            granularity: self.granularity_bytes(),
            straddling: self.straddling.unwrap_or(true),
            policy,
            streams,
            wear_levelling,
            throttling: self.throttling(),
            seed,
        };
        config.check()?;
        Ok(Configuration::Compressing(config))
    }

    /// Keys that the kind of drive does not have.
    fn check_kind(&self) -> Result<(), Refused> {
        let said = self.table();
        let wrong = |key: &str, reason| Err(Refused::value("drive", key, &said[key], reason));
        match self.kind() {
            Kind::Compressing if self.pools.is_some() => wrong("pools", "only page-mapped drives have pools"),
            Kind::Compressing => Ok(()),
            Kind::PageMapped => match OF_COMPRESSING.iter().find(|key| said.contains_key(**key)) {
                Some(key) => wrong(key, "only a compressing drive has it"),
                None => Ok(()),
            },
        }
    }

    fn logical_blocks(&self, user_bytes: u64) -> Result<u32, Refused> {
        let bytes = self.logical_bytes.unwrap_or(user_bytes);
        let blocks = u32::try_from(bytes / u64::from(BLOCK_BYTES)).ok();
        blocks
            .filter(|_| bytes % u64::from(BLOCK_BYTES) == 0)
            .ok_or_else(|| Refused::value("drive", "logical_bytes", bytes, "must be a multiple of 4096 below 16 TiB"))
    }

    fn spare(&self) -> Result<OverProvisioning, Refused> {
        match (self.over_provisioning, self.spare_of_physical) {
            (Some(ratio), Some(_)) => {
                let reason = "say either over_provisioning or spare_of_physical";
                Err(Refused::value("drive", "over_provisioning", ratio, reason))
            }
            (None, Some(share)) => Ok(OverProvisioning::spare_of_physical(share)?),
            (ratio, None) => Ok(OverProvisioning::of_user(ratio.unwrap_or(USUAL_OVER_PROVISIONING))?),
        }
    }

    fn capacity(&self, user_bytes: u64, spare: OverProvisioning) -> Result<Capacity, Refused> {
        Ok(Capacity::of_user(self.geometry()?, user_bytes, spare, self.reserve_blocks.unwrap_or(2))?)
    }

    /// Capacities of pools side by side, which share the user capacity.
    fn pooled(&self, pools: &[[f64; 2]], user_bytes: u64) -> Result<Vec<Capacity>, Refused> {
        let wrong = |value: String, reason| Err(Refused::value("drive", "pools", value, reason));
        if self.over_provisioning.is_some() || self.spare_of_physical.is_some() {
            let reason = "each pool has its own over-provisioning; give none for the whole drive";
            return wrong(format!("{pools:?}"), reason);
        }
        if let Some([share, _]) = pools.iter().find(|[share, _]| !(*share > 0.0 && *share <= 1.0)) {
            return wrong(share.to_string(), "a pool's share of the user capacity must be above 0 and at most 1");
        }
        let sum: f64 = pools.iter().map(|[share, _]| share).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return wrong(sum.to_string(), "the pools' shares of the user capacity must sum to 1");
        }
        let blocks = user_bytes / u64::from(BLOCK_BYTES);
        let (mut end_share, mut start) = (0.0, 0);
        let capacities = pools.iter().map(|&[share, ratio]| {
            end_share += share;
            let end = (end_share * blocks as f64).round() as u64;
            let bytes = (end - start) * u64::from(BLOCK_BYTES);
            start = end;
            self.capacity(bytes, OverProvisioning::of_user(ratio)?)
        });
        capacities.collect()
    }

    /// Whether anything is said about how the flash is put together.
    pub fn has_shape(&self) -> bool {
        let chips = [self.channels, self.dies_per_channel, self.planes_per_die, self.flash_pages_per_block];
        self.pages_per_block.is_some() || self.flash_page_bytes.is_some() || chips.iter().any(Option::is_some)
    }

    /// Says how the flash is put together.
    pub fn set_shape(&mut self, geometry: &Geometry) {
        self.channels = Some(geometry.channels);
        self.dies_per_channel = Some(geometry.dies_per_channel);
        self.planes_per_die = Some(geometry.planes_per_die);
        self.flash_pages_per_block = Some(geometry.flash_pages_per_block);
        self.flash_page_bytes = Some(geometry.flash_page_bytes);
    }

    /// How the flash is put together: `pages_per_block` alone, or the shape of the chips.
    pub fn geometry(&self) -> Result<Geometry, Refused> {
        let plain = Geometry::plain(self.pages_per_block.unwrap_or(256));
        let geometry = Geometry {
            channels: self.channels.unwrap_or(plain.channels),
            dies_per_channel: self.dies_per_channel.unwrap_or(plain.dies_per_channel),
            planes_per_die: self.planes_per_die.unwrap_or(plain.planes_per_die),
            flash_pages_per_block: self.flash_pages_per_block.unwrap_or(plain.flash_pages_per_block),
            flash_page_bytes: self.flash_page_bytes.unwrap_or(plain.flash_page_bytes),
        };
        match self.pages_per_block {
            Some(pages) if geometry != plain => {
                let reason = "contradicts the shape of the chips, which is given too";
                Err(Refused::value("drive", "pages_per_block", pages, reason).hint("give one of them"))
            }
            _ => Ok(geometry),
        }
    }

    fn victims(&self) -> Result<Policy, Refused> {
        let draws = Policy::DChoices { d: self.choices.unwrap_or(2) };
        if self.choices.is_some() {
            draws.check()?;
        }
        Ok(match self.policy() {
            PolicyName::Greedy => Policy::Greedy,
            PolicyName::CostBenefit => Policy::CostBenefit,
            PolicyName::Fifo => Policy::Fifo,
            PolicyName::DChoices => draws,
            PolicyName::Random => Policy::Random,
        })
    }

    fn streams(&self) -> Result<Streams, Refused> {
        let gc = match self.gc_stream.unwrap_or(GcStreamName::Own) {
            GcStreamName::WithHost => GcStream::WithHost,
            GcStreamName::Own => GcStream::Own,
            GcStreamName::PerHandle => GcStream::PerHandle,
        };
        Ok(Streams::new(self.handles.unwrap_or(1), gc)?)
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

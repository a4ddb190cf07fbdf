//! A drive's description: from a dict to the crate's configuration.

use flash::compressing::Throttling;
use flash::pools::Pools;
use flash::streams::GcStream;
use flash::{
    BLOCK_BYTES, Capacity, Compressing, CompressingConfig, Geometry, OverProvisioning, PageMapped,
    PageMappedConfig, Policy, StaticWearLevelling, Streams,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::error::refused;
use super::model::Model;
use super::table::Table;

/// Each choice is drawn, so many of them take long and find what greedy knows.
const CHOICES_MAX: u32 = 65_536;

/// What all kinds of drives have.
struct Common {
    geometry: Geometry,
    user_bytes: u64,
    over_provisioning: OverProvisioning,
    /// Whether it was given.
    says_over_provisioning: bool,
    reserve_blocks: u32,
    policy: Policy,
    streams: Streams,
    wear_levelling: Option<StaticWearLevelling>,
    seed: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    PageMapped,
    Compressing,
}

/// The drive that a dict describes, fresh.
pub fn build(dict: Bound<'_, PyDict>) -> PyResult<Model> {
    let table = Table::new("drive", dict);
    let kinds = [
        ("page-mapped", Kind::PageMapped),
        ("compressing", Kind::Compressing),
    ];
    let kind = table.word("kind", "page-mapped", &kinds)?;
    let common = common(&table)?;
    let model = match kind {
        Kind::Compressing => compressing(&table, &common)?,
        Kind::PageMapped => match table.get::<Vec<[f64; 2]>>("pools")? {
            Some(shares) => pools(&table, &common, &shares)?,
            None => Model::PageMapped(
                PageMapped::watched(page_mapped(&common, capacity(&common)?), Default::default())
                    .map_err(refused)?,
            ),
        },
    };
    table.finish()?;
    Ok(model)
}

fn common(table: &Table<'_>) -> PyResult<Common> {
    let ratio: Option<f64> = table.get("over_provisioning")?;
    let share: Option<f64> = table.get("spare_of_physical")?;
    let over_provisioning = match (ratio, share) {
        (Some(ratio), None) => OverProvisioning::of_user(ratio),
        (None, Some(share)) => OverProvisioning::spare_of_physical(share),
        (None, None) => OverProvisioning::of_user(0.07),
        (Some(ratio), Some(_)) => {
            let reason = "say either over_provisioning or spare_of_physical";
            return Err(table.invalid("over_provisioning", &ratio.to_string(), reason));
        }
    };
    let threshold: Option<u32> = table.get("wear_levelling_threshold")?;
    Ok(Common {
        geometry: geometry(table)?,
        user_bytes: table.need("user_bytes")?,
        over_provisioning: over_provisioning.map_err(refused)?,
        says_over_provisioning: ratio.or(share).is_some(),
        reserve_blocks: table.or("reserve_blocks", 2)?,
        policy: policy(table)?,
        streams: streams(table)?,
        wear_levelling: threshold
            .map(StaticWearLevelling::new)
            .transpose()
            .map_err(refused)?,
        seed: table.or("seed", 1)?,
    })
}

/// Either `pages_per_block` alone, or the shape of the chips.
fn geometry(table: &Table<'_>) -> PyResult<Geometry> {
    let pages: Option<u32> = table.get("pages_per_block")?;
    let plain = Geometry::plain(pages.unwrap_or(256));
    let geometry = Geometry {
        channels: table.or("channels", plain.channels)?,
        dies_per_channel: table.or("dies_per_channel", plain.dies_per_channel)?,
        planes_per_die: table.or("planes_per_die", plain.planes_per_die)?,
        flash_pages_per_block: table.or("flash_pages_per_block", plain.flash_pages_per_block)?,
        flash_page_bytes: table.or("flash_page_bytes", plain.flash_page_bytes)?,
    };
    match pages {
        Some(pages) if geometry != plain => {
            let reason = "contradicts the shape of the chips, which is given too";
            Err(table.invalid("pages_per_block", &pages.to_string(), reason))
        }
        _ => Ok(geometry),
    }
}

fn policy(table: &Table<'_>) -> PyResult<Policy> {
    let d = table.or("choices", 2)?;
    if d > CHOICES_MAX {
        let reason = format!("more than {CHOICES_MAX} are no choice but a search; take greedy");
        return Err(table.invalid("choices", &d.to_string(), &reason));
    }
    let policies = [
        ("greedy", Policy::Greedy),
        ("cost-benefit", Policy::CostBenefit),
        ("fifo", Policy::Fifo),
        ("d-choices", Policy::DChoices { d }),
        ("random", Policy::Random),
    ];
    table.word("policy", "greedy", &policies)
}

fn streams(table: &Table<'_>) -> PyResult<Streams> {
    let collecting = [
        ("with-host", GcStream::WithHost),
        ("own", GcStream::Own),
        ("per-handle", GcStream::PerHandle),
    ];
    let gc = table.word("gc_stream", "own", &collecting)?;
    Streams::new(table.or("handles", 1)?, gc).map_err(refused)
}

fn capacity(common: &Common) -> PyResult<Capacity> {
    Capacity::of_user(
        common.geometry,
        common.user_bytes,
        common.over_provisioning,
        common.reserve_blocks,
    )
    .map_err(refused)
}

fn page_mapped(common: &Common, capacity: Capacity) -> PageMappedConfig {
    PageMappedConfig {
        capacity,
        policy: common.policy,
        streams: common.streams,
        wear_levelling: common.wear_levelling,
        seed: common.seed,
    }
}

fn compressing(table: &Table<'_>, common: &Common) -> PyResult<Model> {
    let block_bytes = u64::from(BLOCK_BYTES);
    let logical_bytes: u64 = table.or("logical_bytes", common.user_bytes)?;
    let logical_blocks = u32::try_from(logical_bytes / block_bytes).ok();
    let logical_blocks = logical_blocks.filter(|_| logical_bytes % block_bytes == 0);
    let usual = Throttling::default();
    let config = CompressingConfig {
        capacity: capacity(common)?,
        logical_blocks: logical_blocks.ok_or_else(|| {
            let reason = "must be a multiple of 4096 below 16 TiB";
            table.invalid("logical_bytes", &logical_bytes.to_string(), reason)
        })?,
        granularity: table.or("granularity_bytes", 64)?,
        straddling: table.or("straddling", true)?,
        policy: common.policy,
        streams: common.streams,
        wear_levelling: common.wear_levelling,
        throttling: Throttling {
            throttle_from: table.or("throttle_from", usual.throttle_from)?,
            reject_from: table.or("reject_from", usual.reject_from)?,
            bytes_per_second: table.or("throttled_bytes_per_second", usual.bytes_per_second)?,
        },
        seed: common.seed,
    };
    Compressing::watched(config, Default::default())
        .map(Model::Compressing)
        .map_err(refused)
}

/// Pools side by side, each with its share of the user capacity and an over-provisioning of its own.
fn pools(table: &Table<'_>, common: &Common, shares: &[[f64; 2]]) -> PyResult<Model> {
    if common.says_over_provisioning {
        let reason = "each pool has its own over-provisioning; give none for the whole drive";
        return Err(table.invalid("pools", &format!("{shares:?}"), reason));
    }
    let block_bytes = u64::from(BLOCK_BYTES);
    if let Some([share, _]) = shares
        .iter()
        .find(|[share, _]| !(*share > 0.0 && *share <= 1.0))
    {
        let reason = "a pool's share of the user capacity must be above 0 and at most 1";
        return Err(table.invalid("pools", &share.to_string(), reason));
    }
    let sum: f64 = shares.iter().map(|[share, _]| share).sum();
    if (sum - 1.0).abs() > 1e-9 {
        let reason = "the pools' shares of the user capacity must sum to 1";
        return Err(table.invalid("pools", &sum.to_string(), reason));
    }
    let blocks = common.user_bytes / block_bytes;
    let (mut end_share, mut start) = (0.0, 0);
    let drives = shares.iter().map(|&[share, ratio]| {
        end_share += share;
        let end = (end_share * blocks as f64).round() as u64;
        let pool = Common {
            user_bytes: (end - start) * block_bytes,
            over_provisioning: OverProvisioning::of_user(ratio).map_err(refused)?,
            ..*common
        };
        start = end;
        PageMapped::new(page_mapped(&pool, capacity(&pool)?)).map_err(refused)
    });
    Pools::new(drives.collect::<PyResult<_>>()?)
        .map(Model::Pools)
        .map_err(refused)
}

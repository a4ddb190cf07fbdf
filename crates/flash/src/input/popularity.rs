//! What the formulas need to know about a load: classes of blocks, the writes they get, and their mean size.

use super::component::Component;

/// Blocks that are written equally often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PopularityClass {
    /// Number of blocks.
    pub blocks: f64,
    /// Share of all writes that go to the class.
    pub writes: f64,
    /// Mean bytes of a block after compression, in whole granules.
    pub mean_bytes: f64,
}

/// Classes of a load whose components neither overlap nor write sequentially; else `None`.
pub(super) fn of(components: &[Component], granularity: u32) -> Option<Vec<PopularityClass>> {
    if overlap(components) {
        return None;
    }
    let sum: f64 = components.iter().map(|component| component.share_of_writes).sum();
    let mut classes = Vec::new();
    for component in components {
        for (first, ranks, writes) in component.pattern.runs(component.blocks)? {
            let run = Run { first, ranks, writes: writes * component.share_of_writes / sum };
            split_by_size(component, run, granularity, &mut classes)?;
        }
    }
    Some(classes)
}

/// Ranks that are written equally often.
struct Run {
    first: u32,
    ranks: u32,
    /// Share of all writes.
    writes: f64,
}

/// Cuts a run where the sizes change.
fn split_by_size(component: &Component, run: Run, granularity: u32, classes: &mut Vec<PopularityClass>) -> Option<()> {
    let (mut start, end) = (run.first, run.first + run.ranks);
    for class in &component.sizes.classes {
        let stop = ((class.up_to * f64::from(component.blocks)).round() as u32).min(end);
        if stop > start {
            let blocks = f64::from(stop - start);
            let mean_bytes = class.distribution.mean_bytes(granularity).ok()?;
            classes.push(PopularityClass { blocks, writes: run.writes * blocks / f64::from(run.ranks), mean_bytes });
            start = stop;
        }
    }
    Some(())
}

fn overlap(components: &[Component]) -> bool {
    let mut ranges: Vec<(u64, u64)> = components
        .iter()
        .map(|component| {
            (u64::from(component.first_block), u64::from(component.first_block) + u64::from(component.blocks))
        })
        .collect();
    ranges.sort_unstable();
    ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

//! Garbage collection: which block's live data are moved so that it can be erased.
//!
//! A policy sees the full (*sealed*) blocks and how much of each is live. Each policy keeps the index that makes its own
//! choice cheap: buckets for greedy, a queue for FIFO, a dense set to draw from for the others.



/// How a victim is chosen among the sealed blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The block with the least live data ([`greedy`]).
    Greedy,
    /// The block with the highest (1 − u) · age / 2u, u its live share ([`cost_benefit`]).
    CostBenefit,
    /// The block that was filled first ([`fifo`]).
    Fifo,
    /// The one with the least live data among `d` blocks drawn at random ([`d_choices`]).
    DChoices {
        /// Blocks drawn, at least 1.
        d: u32,
    },
    /// Any block ([`random`]); the same as one choice.
    Random,
}

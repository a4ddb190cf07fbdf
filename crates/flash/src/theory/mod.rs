//! What mathematics says a drive's write amplification must be. The models of this crate are tested against it.
//!
//! Symbols: U logical pages, T physical pages for data, α = T/U, A write amplification, Np pages a block. All formulas
//! hold in steady state, with many blocks, and for independent writes.
//!
//! | who writes | who collects | file |
//! |---|---|---|
//! | uniform | FIFO | [`fifo`] |
//! | uniform | greedy | [`greedy`] |
//! | uniform | d-choices, random | [`d_choices`] |
//! | hot and cold, Zipf, any fixed popularity | FIFO | [`independent`] |
//! | classes, each in flash of its own | FIFO | [`separation`] |
//! | compressed blocks | FIFO | [`compressed`] |

pub mod compressed;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod independent;
pub mod separation;

mod root;

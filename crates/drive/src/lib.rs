//! The emulated drive: a file that looks like a disk, compresses what it is given, and ages as flash does.
//!
//! | concept | module |
//! |---|---|
//! | what the drive is asked to be | [`config`], crate [`description`] |
//! | the modelled flash | [`model`] |
//! | what survives a loss of power | [`persistence`] |
//! | blocks in, blocks out | [`disk`] |
//! | contents: log, map, memory | [`store`] |
//! | answering when a modelled device would | [`timing`] |
//! | the kernel's requests | [`front`], [`mount`] |
//! | people's requests | [`control`], [`commands`] |
//! | not hanging the machine | [`safety`], [`signals`] |
//! | who has it mounted | [`users`] |
//! | all of it together | [`serve`] |

pub mod commands;
pub mod config;
pub mod control;
pub mod disk;
pub mod error;
pub mod front;
pub mod model;
pub mod mount;
pub mod persistence;
pub mod safety;
pub mod serve;
pub mod signals;
pub mod store;
pub mod timing;
pub mod users;

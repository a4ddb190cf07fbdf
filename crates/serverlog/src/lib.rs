//! PostgreSQL's server log, read once and streaming: what was sent by whom and when, with its parameters and duration.
//!
//! Three formats: stderr with any `log_line_prefix`, csvlog, jsonlog (manual, "Error Reporting and Logging"). Messages
//! are known in English (`lc_messages = C`); lines in another language are counted, so that the caller can say so. One
//! buffer is read at a time and nothing is kept of an event but what `Summary` counts, whose size has bounds.

mod constant;
mod csv;
mod envelope;
mod events;
mod input;
mod json;
mod message;
mod parameters;
mod plan;
mod planned;
mod prefix;
mod reader;
mod records;
mod sample;
mod seen;
mod shared;
mod statement;
mod summary;
mod time;
mod unwrap;

pub use constant::constant;
pub use events::{Event, Kind};
pub use parameters::parameters;
pub use prefix::{Prefix, UnknownEscape};
pub use reader::{Format, LogFormat, Reader, Tally};
pub use seen::{SeenStatement, SeenTransaction, Summary, Values};
pub use statement::{Place, Statement, normalize};
pub use summary::{summarize, summarize_beside};

//! A player of loads: it sends pgbench's scripts to a PostgreSQL over the protocol of libpq, in slices.
//!
//! Why not pgbench itself: a comparison of servers that live side by side lets each work for a second and then stand
//! still. pgbench can only be stopped in the midst of its transactions. The player opens a gate, closes it, waits for
//! the transactions in flight, and says to the nanosecond when each of that happened. It also reads its clock around
//! each statement; pgbench reads it lazily, so that an answer that is there at once has a latency of nothing.
//!
//! The scripts are pgbench's own language (PostgreSQL manual, "pgbench", "Custom Scripts"); what is not known here is
//! refused by name, and pgbench itself remains for it. Instead of scripts a server's log can be played
//! again (`replay`).

pub mod answer;
pub mod client;
pub mod clock;
pub mod connection;
pub mod control;
pub mod error;
pub mod metronome;
pub mod network;
pub mod pipeline;
pub mod replay;
pub mod script;
pub mod specification;
pub mod stream;
pub mod tally;
pub mod worker;

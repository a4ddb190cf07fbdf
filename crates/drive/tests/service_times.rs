//! The clock of a drive with service times: what it counts, and when.

mod common;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use common::{BLOCK, ROOMY, disk};
use description::{FlashTable, Timing};
use drive::timing::Clock;
use serde_json::json;

#[test]
fn an_answer_is_counted_before_it_is_sent() {
    let disk = disk(64, 1 << 20, "lz4");
    let mut flash = FlashTable::parse(&serde_json::from_str(ROOMY).unwrap()).unwrap();
    let timing = Timing::resolve(&serde_json::from_value(json!({"profile": "tlc-nvme"})).unwrap(), &mut flash).unwrap();
    let clock = Arc::new(Clock::new(&timing, 1, &disk).unwrap());
    let answering = Arc::clone(&clock);
    thread::spawn(move || answering.run());
    let (sender, counted) = channel();
    for number in 0..100 {
        let ticket = clock.read(&disk, (number % 64) * BLOCK as u64, BLOCK as u64, clock.now_ns());
        let (asked, sender) = (Arc::clone(&clock), sender.clone());
        clock.done(ticket, Box::new(move || sender.send(asked.report().0["timed_requests"].as_u64()).unwrap()));
        assert!(counted.recv().unwrap() > Some(number), "answer {number} is not among what was counted");
    }
}

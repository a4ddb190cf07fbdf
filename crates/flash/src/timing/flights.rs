//! Requests under way, and when those that need nothing more are answered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::trace::Operation;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub arrived_ns: u64,
    pub operation: Operation,
    parts_left: u32,
}

/// All requests under way, by a number that is used again once its request is answered.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: Vec<Flight>,
    landed: Vec<u32>,
    answers: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Flights {
    /// A new request that waits for `parts` reads.
    pub(super) fn take_off(&mut self, operation: Operation, arrived_ns: u64, parts: u32) -> u32 {
        let flight = Flight { arrived_ns, operation, parts_left: parts };
        if let Some(number) = self.landed.pop() {
            self.flights[number as usize] = flight;
            return number;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    /// One of a request's reads is done; whether it was the last.
    pub(super) fn part_done(&mut self, number: u32) -> bool {
        let parts_left = &mut self.flights[number as usize].parts_left;
        *parts_left -= 1;
        *parts_left == 0
    }

    /// A request will be answered at a time.
    pub(super) fn answer_at(&mut self, number: u32, time_ns: u64) {
        self.answers.push(Reverse((time_ns, number)));
    }

    /// When the next request is answered.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.answers.peek().map(|Reverse((time_ns, _))| *time_ns)
    }

    /// Answers the next request.
    pub(super) fn land(&mut self) -> Option<Flight> {
        let Reverse((_, number)) = self.answers.pop()?;
        self.landed.push(number);
        Some(self.flights[number as usize])
    }

    /// Requests not answered yet.
    pub(super) fn under_way(&self) -> usize {
        self.flights.len() - self.landed.len()
    }
}

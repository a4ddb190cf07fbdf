//! Requests under way, and when those that need nothing more are answered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::device::{Answer, Request};
use crate::BLOCK_BYTES;
use crate::trace::Operation;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub arrived_ns: u64,
    pub operation: Operation,
    /// Logical bytes that it moves over the link.
    pub bytes: u64,
    pub parts_left: u32,
}

impl Flight {
    pub(super) fn of(request: &Request) -> Self {
        // Zeroes and trims are orders without data.
        let moves = matches!(request.operation, Operation::Read | Operation::Write);
        Self {
            arrived_ns: request.arrived_ns,
            operation: request.operation,
            bytes: if moves { u64::from(request.blocks) * u64::from(BLOCK_BYTES) } else { 0 },
            parts_left: 0,
        }
    }
}

/// All requests under way, by a number that is used again once its request is answered.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: Vec<Flight>,
    landed: Vec<u32>,
    answers: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Flights {
    /// A new request.
    pub(super) fn take_off(&mut self, flight: Flight) -> u32 {
        if let Some(number) = self.landed.pop() {
            self.flights[number as usize] = flight;
            return number;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    /// One under way.
    pub(super) fn get(&self, number: u32) -> &Flight {
        &self.flights[number as usize]
    }

    /// A request waits for so many reads.
    pub(super) fn expect(&mut self, number: u32, parts: u32) {
        self.flights[number as usize].parts_left = parts;
    }

    /// One of a request's reads is done; whether it was the last.
    pub(super) fn part_done(&mut self, number: u32) -> bool {
        let parts_left = &mut self.flights[number as usize].parts_left;
        *parts_left -= 1;
        *parts_left == 0
    }

    /// A request will be answered at a time, or when it came if that was later.
    pub(super) fn answer_at(&mut self, number: u32, time_ns: u64) {
        self.answers.push(Reverse((time_ns.max(self.flights[number as usize].arrived_ns), number)));
    }

    /// When the next request is answered.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.answers.peek().map(|Reverse((time_ns, _))| *time_ns)
    }

    /// Answers the next request that is due.
    pub(super) fn land(&mut self, now_ns: u64) -> Option<Answer> {
        let &Reverse((due_ns, number)) = self.answers.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.answers.pop();
        self.landed.push(number);
        let flight = self.flights[number as usize];
        Some(Answer { number, operation: flight.operation, arrived_ns: flight.arrived_ns, due_ns })
    }

    /// Requests not answered yet.
    pub(super) fn under_way(&self) -> usize {
        self.flights.len() - self.landed.len()
    }
}

//! When the next answer can be due at the earliest, so that a thread that waits for it may sleep until then.

use super::FlashDevice;
use crate::timing::dies::Work;

impl FlashDevice {
    /// A time before which no answer is due; `None` if none is under way.
    pub(super) fn forecast_ns(&self) -> Option<u64> {
        if self.flights.under_way() == 0 {
            return None;
        }
        let controller_ns = self.service.controller_ns;
        let room_is_awaited = !self.waiting.is_empty() || self.flushes.is_waiting();
        let mut reads: Vec<(u32, u64)> = Vec::new();
        let mut earliest_ns = self.flights.next_ns();
        for (time_ns, work, is_sensed, reads_wait) in self.dies.busy_until() {
            let mut from_ns = None;
            match work {
                Work::Read { bytes, request: Some(number) } => {
                    let moved_ns = if is_sensed { self.service.transfer_ns(bytes) } else { 0 };
                    let due_ns = time_ns + moved_ns + self.way_back_ns(self.flights.get(number).bytes);
                    // A read ends with the last of its parts.
                    match reads.iter_mut().find(|read| read.0 == number) {
                        Some(read) => read.1 = read.1.max(due_ns),
                        None => reads.push((number, due_ns)),
                    }
                }
                _ if room_is_awaited => from_ns = Some(time_ns + controller_ns),
                _ => {}
            }
            if reads_wait {
                from_ns.get_or_insert(time_ns + self.service.read_ns + controller_ns);
            }
            earliest_ns = [earliest_ns, from_ns].into_iter().flatten().min();
        }
        reads.iter().map(|read| read.1).chain(earliest_ns).min()
    }

    /// What is left for a read once its last bytes are out of the die, if no other request is before it.
    fn way_back_ns(&self, bytes: u64) -> u64 {
        self.decompressor.takes_ns(bytes) + self.link.takes_ns(bytes) + self.service.controller_ns
    }
}

//! Requests that the device knows of: which are done, which are due. An answer goes when its request is both.

use std::collections::HashMap;

use flash::timing::Answer;

/// Sends an answer.
pub type Reply = Box<dyn FnOnce() + Send>;

/// A request that the device knows of and that is still worked at. The device uses its own numbers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// How far a request is.
enum Held {
    /// Neither due nor done.
    Working,
    /// Done and not due.
    Done(Reply),
    /// Due and not done.
    Due(Answer),
}

/// What becomes of a reply.
pub(super) enum Done {
    /// It is kept until it is due.
    Held,
    /// It was due then.
    Due(Answer, Reply),
    /// No request with this ticket is known.
    Unknown(Reply),
}

/// All of them.
#[derive(Default)]
pub(super) struct Requests {
    /// By the device's number.
    tickets: Vec<Ticket>,
    held: HashMap<Ticket, Held>,
    next: u64,
}

impl Requests {
    /// The device calls a new request by this number.
    pub(super) fn begin(&mut self, number: u32) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        if self.tickets.len() <= number as usize {
            self.tickets.resize(number as usize + 1, ticket);
        }
        self.tickets[number as usize] = ticket;
        self.held.insert(ticket, Held::Working);
        ticket
    }

    /// A request's work is done.
    pub(super) fn done(&mut self, ticket: Ticket, reply: Reply) -> Done {
        match self.held.remove(&ticket) {
            Some(Held::Due(answer)) => Done::Due(answer, reply),
            Some(_) => {
                self.held.insert(ticket, Held::Done(reply));
                Done::Held
            }
            None => Done::Unknown(reply),
        }
    }

    /// A request failed and has been answered: what the device says of it later is ignored.
    pub(super) fn failed(&mut self, ticket: Ticket) {
        self.held.remove(&ticket);
    }

    /// An answer is due; it goes if its request is done.
    pub(super) fn due(&mut self, answer: Answer) -> Option<(Answer, Reply)> {
        let ticket = self.tickets[answer.number as usize];
        match self.held.remove(&ticket) {
            Some(Held::Done(reply)) => Some((answer, reply)),
            Some(Held::Working) => {
                self.held.insert(ticket, Held::Due(answer));
                None
            }
            _ => None,
        }
    }

    /// The device has forgotten all of them; gives the replies that are held.
    pub(super) fn forget(&mut self) -> Vec<Reply> {
        let held = std::mem::take(&mut self.held).into_values();
        held.filter_map(|held| if let Held::Done(reply) = held { Some(reply) } else { None }).collect()
    }
}

#[cfg(test)]
mod tests {
    use flash::timing::Answer;
    use flash::trace::Operation;

    use super::{Done, Requests};

    fn answer(number: u32) -> Answer {
        Answer { number, operation: Operation::Read, arrived_ns: 0, due_ns: 1 }
    }

    #[test]
    fn an_answer_goes_when_its_request_is_done_and_due() {
        let mut requests = Requests::default();
        let (first, second) = (requests.begin(0), requests.begin(1));
        assert!(matches!(requests.done(first, Box::new(|| ())), Done::Held));
        assert!(requests.due(answer(0)).is_some());
        assert!(requests.due(answer(1)).is_none(), "not done");
        // The device has given the number to another request meanwhile.
        let third = requests.begin(1);
        assert!(matches!(requests.done(second, Box::new(|| ())), Done::Due(..)));
        assert!(matches!(requests.done(third, Box::new(|| ())), Done::Held));
        assert_eq!(requests.forget().len(), 1);
        assert!(matches!(requests.done(third, Box::new(|| ())), Done::Unknown(_)));
    }

    #[test]
    fn a_failed_request_is_answered_once() {
        let mut requests = Requests::default();
        let (early, late) = (requests.begin(0), requests.begin(1));
        requests.failed(early);
        assert!(requests.due(answer(0)).is_none());
        assert!(requests.due(answer(1)).is_none());
        requests.failed(late);
        assert!(requests.held.is_empty());
    }
}

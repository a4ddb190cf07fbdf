//! A pipeline of a connection: statements that are sent without waiting, and whose answer is which.
//!
//! The server answers in order. After a refusal it skips all up to the next Sync and says nothing of what it skipped
//! (manual, "Message Flow", "Pipelining"). As with libpq, whose pipelines pgbench plays, messages are put together
//! and sent when a block is full or the pipeline ends.

use std::collections::VecDeque;

/// What is put together is sent once it has so many bytes, as by libpq.
pub const BLOCK_BYTES: usize = 8 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// There is no pipeline.
    #[default]
    Closed,
    /// Statements are added.
    Open,
    /// Its last Sync was added, and is not sent yet.
    Ending,
    /// All of it was sent.
    Sent,
}

/// A statement, or a Sync, that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// The statement's number; None for a Sync.
    statement: Option<usize>,
    sent_ns: u64,
}

/// A statement's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its number in the script.
    pub statement: usize,
    /// From its own sending to its own answer.
    pub latency_ns: u64,
    /// Rows that it returned or changed.
    pub rows: u64,
}

/// The pipeline of one connection, if there is one.
#[derive(Debug, Default)]
pub struct Pipeline {
    stage: Stage,
    awaited: VecDeque<Awaited>,
    /// So many of those last added are not sent yet.
    unsent: usize,
    /// Does the server skip statements up to the next Sync?
    skips: bool,
    /// What was answered, to be taken away by whoever counts it.
    pub answered: Vec<Answered>,
}

impl Pipeline {
    /// From the first statement on until the last Sync has its answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.stage != Stage::Closed
    }

    /// Was its last Sync added?
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Ending | Stage::Sent)
    }

    /// May a read wait? While there is something to send, the server may have nothing to say.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        matches!(self.stage, Stage::Closed | Stage::Sent)
    }

    /// Open one.
    pub fn open(&mut self) {
        *self = Self {
            stage: Stage::Open,
            ..Self::default()
        };
    }

    /// A statement of that number was added, or a Sync.
    pub fn add(&mut self, statement: Option<usize>) {
        self.awaited.push_back(Awaited {
            statement,
            sent_ns: 0,
        });
        self.unsent += 1;
    }

    /// Its last Sync was added.
    pub fn end(&mut self) {
        self.add(None);
        self.stage = Stage::Ending;
    }

    /// What was added is being sent now.
    pub fn sending(&mut self, now_ns: u64) {
        for each in self.awaited.iter_mut().rev().take(self.unsent) {
            each.sent_ns = now_ns;
        }
        self.unsent = 0;
    }

    /// All that was added is sent.
    pub fn sent(&mut self) {
        if self.stage == Stage::Ending {
            self.stage = Stage::Sent;
        }
    }

    /// A statement was answered, whatever the answer.
    pub fn answer(&mut self, now_ns: u64, rows: u64) {
        let Some(Awaited {
            statement: Some(statement),
            sent_ns,
        }) = self.awaited.front().copied()
        else {
            return; // no pipeline, or a refusal of the Sync itself: its implicit transaction could not commit
        };
        if !self.skips {
            self.awaited.pop_front();
            self.answered.push(Answered {
                statement,
                latency_ns: now_ns.saturating_sub(sent_ns),
                rows,
            });
        }
    }

    /// A statement was refused; what follows is skipped.
    pub fn refuse(&mut self, now_ns: u64) {
        self.answer(now_ns, 0);
        self.skips = true;
    }

    /// The server is ready: a Sync was answered. True once that was the last one, and where there is no pipeline.
    pub fn synchronized(&mut self) -> bool {
        self.skips = false;
        while self
            .awaited
            .pop_front()
            .is_some_and(|each| each.statement.is_some())
        {}
        if self.may_wait() && self.awaited.is_empty() {
            self.stage = Stage::Closed;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(statement: usize, latency_ns: u64, rows: u64) -> Answered {
        Answered {
            statement,
            latency_ns,
            rows,
        }
    }

    fn sent(added: &[Option<usize>], now_ns: u64) -> Pipeline {
        let mut pipeline = Pipeline::default();
        pipeline.open();
        for each in added {
            pipeline.add(*each);
        }
        pipeline.end();
        pipeline.sending(now_ns);
        pipeline.sent();
        pipeline
    }

    #[test]
    fn each_answer_belongs_to_the_statement_that_was_sent_for_it() {
        let mut pipeline = Pipeline::default();
        pipeline.open();
        pipeline.add(Some(0));
        pipeline.sending(100);
        pipeline.sent();
        pipeline.answer(110, 1);
        assert!(!pipeline.may_wait(), "more is to be sent");
        pipeline.add(Some(1));
        pipeline.end();
        assert!(!pipeline.may_wait());
        pipeline.sending(200);
        pipeline.sent();
        assert!(pipeline.may_wait());
        pipeline.answer(230, 7);
        assert!(pipeline.is_open());
        assert!(pipeline.synchronized());
        assert!(!pipeline.is_open());
        assert_eq!(pipeline.answered, [of(0, 10, 1), of(1, 30, 7)]);
    }

    #[test]
    fn what_is_skipped_after_a_refusal_is_no_answer() {
        let mut pipeline = sent(&[Some(0), Some(1), Some(2), None, Some(3)], 10);
        pipeline.answer(20, 1);
        pipeline.refuse(30);
        pipeline.refuse(31); // the server ends: that is no answer to a statement that it skips
        assert!(!pipeline.synchronized());
        pipeline.answer(40, 2);
        assert!(pipeline.synchronized());
        assert_eq!(
            pipeline.answered,
            [of(0, 10, 1), of(1, 20, 0), of(3, 30, 2)]
        );
    }

    #[test]
    fn a_sync_that_cannot_commit_takes_no_statement_with_it() {
        let mut pipeline = sent(&[Some(0), None, Some(1)], 10);
        pipeline.answer(20, 1);
        pipeline.refuse(30);
        assert!(!pipeline.synchronized());
        pipeline.answer(40, 1);
        assert!(pipeline.synchronized());
        assert_eq!(pipeline.answered, [of(0, 10, 1), of(1, 30, 1)]);
    }

    #[test]
    fn a_sync_that_is_answered_before_the_end_is_not_the_last() {
        let mut pipeline = Pipeline::default();
        pipeline.open();
        pipeline.add(Some(0));
        pipeline.add(None);
        pipeline.sending(10);
        pipeline.sent();
        pipeline.answer(20, 1);
        assert!(!pipeline.synchronized());
        pipeline.end();
        pipeline.sending(30);
        pipeline.sent();
        assert!(pipeline.synchronized());
    }

    #[test]
    fn without_a_pipeline_each_answer_is_whole() {
        let mut pipeline = Pipeline::default();
        pipeline.answer(10, 1);
        pipeline.refuse(20);
        assert!(pipeline.synchronized() && pipeline.may_wait());
        assert!(pipeline.answered.is_empty());
    }
}

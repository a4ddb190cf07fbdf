//! Which part of a log is played: whole transactions from one moment to another, of so many sessions at once.
//!
//! A log begins in the midst of its sessions. Half a transaction is none: where the first word on transactions that a
//! session says ends one, what stands before it is left out, unless the log has the session's own beginning. In the
//! same way a transaction that is open where a stretch begins belongs to the stretch before, which plays it to its end.
//! What a session has SET before its first call of the stretch is set again when it connects.

use std::collections::VecDeque;

use crate::replay::plan::{Call, Planned};

/// Does it leave the transaction of its session open? None: it says nothing on it; `Within` needs one that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Begins,
    Ends,
    Within,
}

/// Leave out what stands before the end of a transaction whose beginning the log lacks.
pub fn without_half(calls: VecDeque<Call>) -> (VecDeque<Call>, u64) {
    let Some((place, word)) = calls
        .iter()
        .enumerate()
        .find_map(|(place, call)| first_word(&call.text).map(|word| (place, word)))
    else {
        return (calls, 0);
    };
    let end = match word {
        Word::Begins => return (calls, 0),
        Word::Ends => place + 1,
        Word::Within => {
            let rest = calls.iter().skip(place);
            let ended = rest.take_while(|call| first_word(&call.text) != Some(Word::Ends));
            (place + ended.count() + 1).min(calls.len())
        }
    };
    (calls.into_iter().skip(end).collect(), end as u64)
}

/// The calls that begin from `from_us` on and before `until_us`, in whole transactions, with what was set before.
pub fn stretch(calls: VecDeque<Call>, from_us: i64, until_us: i64) -> Planned {
    let mut planned = Planned::default();
    let mut open = false;
    let mut played = false;
    for call in calls {
        // A transaction that begins in the stretch is in it to its end, one that is open at its begin is not in it.
        if !open {
            played = (from_us..until_us).contains(&call.at_us);
        }
        if is_session_setting(&call.text) && !played && call.at_us < from_us {
            planned.settings.push(call.text.clone());
        }
        open = is_open_after(&call.text, open);
        if played {
            planned.calls.push_back(call);
        }
    }
    planned
}

/// Of sessions, first ones first, those that are at work with fewer than `most` others; and those that are not.
pub fn within_limit(sessions: Vec<Planned>, most: usize) -> (Vec<Planned>, Vec<Planned>) {
    let mut ends: Vec<i64> = Vec::new();
    let mut beyond = Vec::new();
    let mut kept = Vec::new();
    for session in sessions {
        let (Some(first), Some(last)) = (session.calls.front(), session.calls.back()) else {
            continue;
        };
        ends.retain(|end| *end >= first.at_us);
        if ends.len() < most {
            ends.push(last.at_us);
            kept.push(session);
        } else {
            beyond.push(session);
        }
    }
    (kept, beyond)
}

fn first_word(text: &str) -> Option<Word> {
    words(text).next()
}

fn is_open_after(text: &str, open: bool) -> bool {
    words(text).fold(open, |open, word| match word {
        Word::Begins => true,
        Word::Ends => false,
        Word::Within => open,
    })
}

/// What each statement of a text says on transactions, in order.
fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    text.split(';').filter_map(word)
}

fn word(statement: &str) -> Option<Word> {
    let mut words = statement
        .split(|each: char| !each.is_ascii_alphabetic())
        .filter(|each| !each.is_empty())
        .map(str::to_ascii_lowercase);
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let chains = || {
        let rest: Vec<String> = words.collect();
        rest.ends_with(&["chain".into()]) && !rest.contains(&"no".into()) || second == "chain"
    };
    match (first.as_str(), second.as_str()) {
        ("begin", _) | ("start", "transaction") => Some(Word::Begins),
        ("rollback", "to") | ("savepoint" | "release", _) | ("set", "local" | "transaction") => {
            Some(Word::Within)
        }
        ("commit" | "end" | "rollback" | "abort", _) => {
            Some(if chains() { Word::Begins } else { Word::Ends })
        }
        _ => None,
    }
}

fn is_session_setting(text: &str) -> bool {
    let lower = text.trim_start().to_ascii_lowercase();
    (lower.starts_with("set ") || lower.starts_with("reset ")) && word(text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(texts: &[(i64, &str)]) -> VecDeque<Call> {
        texts
            .iter()
            .map(|(at_us, text)| Call {
                at_us: *at_us,
                text: (*text).to_owned(),
                values: None,
                statement: 0,
                failed: false,
            })
            .collect()
    }

    fn texts(calls: &VecDeque<Call>) -> Vec<&str> {
        calls.iter().map(|call| call.text.as_str()).collect()
    }

    #[test]
    fn half_a_transaction_is_left_out() {
        let (left, cut) = without_half(calls(&[
            (1, "UPDATE a"),
            (2, "COMMIT"),
            (3, "begin"),
            (4, "ROLLBACK"),
        ]));
        assert_eq!((texts(&left), cut), (vec!["begin", "ROLLBACK"], 2));
        let (left, cut) = without_half(calls(&[
            (1, "SAVEPOINT a"),
            (2, "ROLLBACK TO a"),
            (3, "END"),
            (4, "SELECT 1"),
        ]));
        assert_eq!((texts(&left), cut), (vec!["SELECT 1"], 3));
        let (left, cut) = without_half(calls(&[(1, "SELECT 1"), (2, "BEGIN"), (3, "COMMIT")]));
        assert_eq!((left.len(), cut), (3, 0));
        let (left, cut) = without_half(calls(&[(1, "release a"), (2, "SELECT 1")]));
        assert_eq!((left.len(), cut), (0, 2));
    }

    #[test]
    fn a_stretch_has_whole_transactions_and_what_was_set_before() {
        let all = || {
            calls(&[
                (10, "SET search_path = a"),
                (20, "BEGIN"),
                (30, "SET LOCAL work_mem = 1"),
                (40, "UPDATE a"),
                (50, "COMMIT"),
                (60, "SELECT 1"),
                (70, "BEGIN"),
                (80, "UPDATE b"),
                (90, "COMMIT"),
                (95, "SELECT 2"),
            ])
        };
        let first = stretch(all(), 0, 35);
        let second = stretch(all(), 35, 75);
        let third = stretch(all(), 75, i64::MAX);
        assert_eq!(first.calls.len(), 5);
        assert!(first.settings.is_empty());
        assert_eq!(
            texts(&second.calls),
            ["SELECT 1", "BEGIN", "UPDATE b", "COMMIT"]
        );
        assert_eq!(second.settings, ["SET search_path = a"]);
        assert_eq!(texts(&third.calls), ["SELECT 2"]);
    }

    #[test]
    fn a_text_of_several_statements_and_a_chain_are_understood() {
        assert!(!is_open_after("BEGIN; UPDATE a; COMMIT;", false));
        assert!(is_open_after("COMMIT AND CHAIN", false));
        assert!(is_open_after("rollback work and chain", true));
        assert!(!is_open_after("COMMIT AND NO CHAIN", true));
        assert_eq!(word("SELECT 'begin'"), None);
    }

    #[test]
    fn no_more_sessions_are_at_work_than_the_limit() {
        let session = |from, until| Planned {
            calls: calls(&[(from, "SELECT 1"), (until, "SELECT 2")]),
            settings: Vec::new(),
        };
        let (kept, beyond) = within_limit(
            vec![
                session(0, 50),
                session(10, 20),
                session(15, 30),
                session(40, 60),
            ],
            2,
        );
        assert_eq!((kept.len(), beyond.len()), (3, 1));
        assert_eq!(beyond[0].calls[0].at_us, 15);
    }
}

//! Logs as the server writes them, in three formats, and damaged ones.

mod common;

use common::{HEAD, Log, NEXT, read, shown, summary};
use serverlog::{Kind, Prefix, Reader, Summary, parameters, summarize};

#[test]
fn messages_of_all_kinds_are_told_apart() {
    let messages = [
        ("statement: SELECT 1", (Kind::Statement, "SELECT 1", None)),
        ("duration: 0.250 ms", (Kind::Duration, "", Some(0.25))),
        ("duration: 12.500 ms  statement: SELECT 2", (Kind::Statement, "SELECT 2", Some(12.5))),
        ("duration: 1.0 ms  parse <unnamed>: SELECT $1", (Kind::Parse, "SELECT $1", Some(1.0))),
        ("duration: 1.0 ms  bind s1: SELECT $1", (Kind::Bind, "SELECT $1", Some(1.0))),
        ("duration: 1.0 ms  execute s1: SELECT $1", (Kind::Execute, "SELECT $1", Some(1.0))),
        ("execute s1/portal: SELECT ': '", (Kind::Execute, "SELECT ': '", None)),
        ("connection authorized: user=a database=b", (Kind::Connect, "", None)),
        ("disconnection: session time: 0:00:00.1", (Kind::Disconnect, "", None)),
    ];
    for (message, wanted) in messages {
        let (events, tally) = read(&format!("{HEAD}LOG:  {message}\n"), "%m [%p] ");
        assert_eq!((shown(&events[0]), tally.unread), (wanted, 0), "{message}");
    }
    let others = [
        "checkpoint starting: time",
        "execute fetch from p: SELECT 1",
        "duration: 1.0 ms  execute fetch from p: SELECT 1",
        "duration: 1.0 ms  fastpath function call: \"lo_open\" (OID 952)",
        "duration: 1.0 ms  plan:\n\tx",
    ];
    for other in others {
        let (events, tally) = read(&format!("{HEAD}LOG:  {other}\n"), "%m [%p] ");
        assert_eq!((events.len(), tally.records, tally.foreign), (0, 1, 0), "{other}");
    }
}

#[test]
fn a_statement_of_many_lines_has_its_parameters_from_the_detail() {
    let text = format!(
        "{HEAD}LOG:  execute <unnamed>: SELECT a\n\t\tFROM t\n\n\tWHERE b = $1\n\
         {HEAD}DETAIL:  Parameters: $1 = 'it''s', $2 = NULL, $3 = ''\n"
    );
    let text = text.replace("\n\n\t", "\n\t");
    let (events, _) = read(&text, "%m [%p] ");
    assert_eq!(shown(&events[0]), (Kind::Execute, "SELECT a\n\tFROM t\nWHERE b = $1", None));
    let value = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(parameters(&events[0].parameters), vec![value("it's"), None, value("")]);
    assert_eq!(events[0].time_us, 1_795_397_386_500_000);
}

#[test]
fn prefixes_of_every_shape_are_read() {
    let cases = [
        ("%m [%p] %q%u@%d/%a ", "2026-11-23 01:29:46.500 CET [7] bob@shop/my app ", "7"),
        ("%t:%r:%u@%d:[%p]: ", "2026-11-23 01:29:46 UTC:10.0.0.1(5432):bob@shop:[7]: ", "7"),
        ("%n %c %l %x %e %v %Q %P %u %d ", "1795397386.500 65f1.1a 3 0 00000 3/44 -12 9 bob shop ", "65f1.1a"),
        ("<%-10u|%5p|%d> ", "<bob       |    7|shop> ", "7"),
        ("%u %d%%%p", "bob shop%7", "7"),
        ("%p %s %u@%d: ", "7 2026-11-23 01:00:00 UTC bob@shop: ", "7 2026-11-23 01:00:00 UTC"),
        ("%p:%d:%u", "7:shop:bob", "7"),
    ];
    for (prefix, line, session) in cases {
        let (events, tally) = read(&format!("{line}LOG:  statement: SELECT 1\n{line}LOG:  x\n"), prefix);
        assert_eq!(tally.unread, 0, "{prefix}: {}", tally.first_unread);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let found = (text(&events[0].user), text(&events[0].database), text(&events[0].session));
        assert_eq!(found, ("bob".into(), "shop".into(), session.into()), "{prefix}");
    }
    let (events, tally) = read(&format!("{HEAD}LOG:  checkpoint starting: time\n"), "%m [%p] %q%u@%d ");
    assert_eq!((events.len(), tally.unread), (0, 0), "a process without a session");
    assert_eq!(Prefix::parse("%m %z").unwrap_err().to_string(), "log_line_prefix has no escape %z");
}

#[test]
fn csv_and_json_say_the_same_as_stderr() {
    let csv = "2026-11-23 01:29:46.500 UTC,\"bob\",\"shop\",7,\"[local]\",65f1.1a,3,\"SELECT\",\
        2026-11-23 01:00:00 UTC,3/4,0,LOG,00000,\"duration: 1.500 ms  execute s: SELECT \"\"a\"\"\n, $1\",\
        \"parameters: $1 = '7'\",,,,,,,,\"psql\",\"client backend\",,0\n";
    let json = "{\"timestamp\":\"2026-11-23 01:29:46.500 UTC\",\"user\":\"bob\",\"dbname\":\"shop\",\"pid\":7,\
        \"session_id\":\"65f1.1a\",\"error_severity\":\"LOG\",\"message\":\"duration: 1.500 ms  execute s: \
        SELECT \\\"a\\\"\\n, $1\",\"detail\":\"parameters: $1 = '7'\",\"query_id\":0}\n";
    let ((one, first), (other, second)) = (read(csv, ""), read(json, ""));
    let exported = format!("\"{}\"{}", &csv[..27], &csv[27..]);
    assert_eq!(read(&exported, "").0, one, "{exported}");
    assert_eq!(one, other);
    assert_eq!((first.unread, second.unread), (0, 0));
    assert_eq!(shown(&one[0]), (Kind::Execute, "SELECT \"a\"\n, $1", Some(1.5)));
    assert_eq!(parameters(&one[0].parameters), vec![Some(b"7".to_vec())]);
    let cut = format!("{}{csv}", &csv[..csv.len() - 60]);
    let (events, tally) = read(&format!("{}\n{csv}", &cut[..175]), "");
    assert_eq!((events.len(), tally.unread), (1, 1), "a record that was cut off costs only itself");
    for whole in [csv, json] {
        for cut in [3, whole.find("SELECT").unwrap(), whole.find(", $1").unwrap(), whole.len() - 8] {
            let (events, tally) = read(&format!("{}{whole}", &whole[cut..]), "%m [%p] ");
            assert_eq!((events.len(), tally.unread), (1, 1), "a log may begin within a record: {}", &whole[cut..]);
        }
    }
}

#[test]
fn other_prefixes_languages_and_a_torn_end_are_counted() {
    let line = format!("{HEAD}LOG:  statement: SELECT 1\n");
    let strange = "12:00 bob LOG:  statement: SELECT 2";
    let log = Log::new(format!("{line}{line}{strange}\n{line}{line}{}", &line[..30]).as_bytes());
    let mut reader = log.reader(&["%m [%p] "], None);
    while reader.next_event().unwrap().is_some() {}
    let tally = reader.tally();
    assert_eq!((tally.events, tally.unread, tally.doubtful, tally.torn), (2, 1, 1, 1));
    assert_eq!(tally.first_unread, strange);
    for foreign in
        ["LOG:  durata: 0.123 ms  istruzione: SELECT 1", "LOG:  sats: SELECT 1", "ПОВІДОМЛЕННЯ:  інструкція: SELECT 1"]
    {
        let (events, tally) = read(&format!("{HEAD}{foreign}\n"), "%m [%p] ");
        assert_eq!((events.len(), tally.foreign), (0, 1), "{foreign}");
    }
    let log = Log::new(format!("{line}7 LOG:  statement: SELECT 2\n{line}").as_bytes());
    let mut reader = log.reader(&["%m [%p] ", "%p "], None);
    while reader.next_event().unwrap().is_some() {}
    assert_eq!((reader.tally().events, reader.tally().unread), (2, 0), "the prefix was changed meanwhile");
}

#[test]
fn further_lines_belong_to_their_record_whatever_they_begin_with() {
    let logged = format!("{HEAD}LOG:  statement: DELETE FROM orders\n\n\t\tWHERE id = 42\n\t-- end\n");
    let plain = logged.replace("\n\n\t", "\n\t");
    for (from, to, text) in [
        ("\n\t", "\n\t", "DELETE FROM orders\n\tWHERE id = 42\n-- end"),
        ("\t", "        ", "DELETE FROM orders\n                WHERE id = 42\n        -- end"),
        ("\t", " ", "DELETE FROM orders\n  WHERE id = 42\n -- end"),
        ("\n", "\r\n", "DELETE FROM orders\r\n\tWHERE id = 42\r\n-- end"),
    ] {
        let (events, tally) = read(&plain.replace(from, to), "%m [%p] ");
        assert_eq!(events.iter().map(|each| shown(each).1).collect::<Vec<_>>(), [text]);
        assert_eq!((tally.unread, tally.doubtful, tally.torn), (0, 0, 0), "{text}");
    }
}

#[test]
fn a_statement_that_may_not_be_whole_is_counted_and_left_out() {
    let whole = format!("{HEAD}LOG:  statement: SELECT 1\n");
    let cut = format!("{HEAD}LOG:  statement: DELETE FROM orders\n");
    for (text, counted) in [
        (format!("{whole}{cut}WHERE id = 42\n{NEXT}"), (1, 1, 0)),
        (format!("{whole}{cut}\tWHERE id = 42\n AND b\n{NEXT}"), (1, 1, 0)),
        (format!("{whole}{}{cut}{NEXT}", cut.trim_end()), (0, 1, 0)),
        (format!("{whole}{cut}"), (0, 0, 1)),
        (format!("{whole}{cut}\tWHERE id"), (0, 0, 1)),
        (format!("{whole}{cut}2026-11-23 01:29:47"), (0, 0, 1)),
        (format!("{whole}{HEAD}ERROR:  no\n{HEAD}STATEMENT:  DELETE FROM orders\n"), (0, 0, 1)),
    ] {
        let log = Log::new(text.as_bytes());
        let mut reader = log.reader(&["%m [%p] "], None);
        let mut texts = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            texts.push(String::from_utf8(event.text.clone()).unwrap());
        }
        assert!(!texts.iter().any(|each| each.starts_with("DELETE")), "{texts:?} of {text}");
        let tally = reader.tally();
        assert_eq!((tally.unread.min(1), tally.doubtful, tally.torn), counted, "{text}");
        assert!(texts.contains(&"SELECT 1".to_owned()));
    }
    let bound = format!("{HEAD}LOG:  execute s: SELECT $1\n{HEAD}DETAIL:  Parameters: $1 = 'a\n");
    let at_end = |text: &str| {
        let log = Log::new(text.as_bytes());
        log.reader(&["%m [%p] "], None).next_event().unwrap().map(|event| parameters(&event.parameters).len())
    };
    assert_eq!((at_end(&bound), at_end(&bound.replace("'a", "'a'"))), (Some(0), Some(1)));
}

#[test]
fn a_log_that_lost_the_further_lines_of_its_statements_is_refused() {
    let record = |text: &str| format!("{HEAD}LOG:  duration: 1.500 ms  statement: {text}\n");
    let refused = |text: &str| {
        let log = Log::new(format!("{text}{NEXT}").as_bytes());
        let mut reader = log.reader(&["%m [%p] "], None);
        loop {
            match reader.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => break String::new(),
                Err(error) => break error.to_string(),
            }
        }
    };
    let deletes = record("DELETE FROM orders");
    for cut in [
        "SELECT",
        "select id, ",
        "UPDATE orders SET",
        "INSERT INTO orders (id, note)  VALUES",
        "WITH old AS (",
        "SELECT id FROM orders WHERE",
        "SELECT a FROM b JOIN c ON",
        "UPDATE t SET a =",
        "SELECT 'a' ||",
    ] {
        let said = refused(&format!("{deletes}{}", record(cut)));
        assert!(said.contains("lacks further lines of its statements"), "{cut}: {said}");
        assert!(said.contains(&format!("1 end in the middle, the first is {cut:?}")), "{cut}: {said}");
        let whole = format!("{deletes}{}\t1\n", record(cut));
        assert_eq!(refused(&whole), "", "{cut}: the server's own log goes on in a second line");
    }
    for whole in [
        "SELECT 1",
        "SELECT *",
        "INSERT INTO t DEFAULT VALUES",
        "SELECT 1 FOR UPDATE",
        "SET enable_seqscan TO on",
        "SELECT 1 /* a = b, */",
        "SELECT 1 -- a,",
        "SELECT 'from'",
        "SELECT a FROM \"from\"",
        "COMMIT AND CHAIN",
        "SELECT 'und so'",
        "SELECT count(*) FROM t;",
        "SELECT x.brand",
        "SELECT origin_in",
        "SELECT 1 AS limit",
        "SELECT a FROM t ORDER BY t.by",
        "",
    ] {
        assert_eq!(refused(&format!("{deletes}{}", record(whole))), "", "{whole}");
    }
    let last = Log::new(format!("{deletes}{}", record("SELECT id,")).as_bytes());
    let mut reader = last.reader(&["%m [%p] "], None);
    while reader.next_event().unwrap().is_some() {}
    assert_eq!(reader.tally().torn, 1, "the end of a log that is still written is no sign");
}

#[test]
fn another_programs_lines_cost_no_message_that_holds_no_statement() {
    let text = format!("{HEAD}LOG:  duration: 1.500 ms\ncp: cannot stat\n");
    let (events, tally) = read(&text, "%m [%p] ");
    assert_eq!(shown(&events[0]), (Kind::Duration, "", Some(1.5)));
    assert_eq!((tally.unread, tally.doubtful, tally.foreign), (1, 0, 0));
    assert_eq!(tally.first_unread, "cp: cannot stat");
}

#[test]
fn a_prefix_may_begin_with_blanks() {
    let text = "    7 LOG:  statement: SELECT 1\n\tFROM t\n   17 LOG:  statement: SELECT 2\n    7 LOG:  x\n";
    let (events, tally) = read(text, "%5p ");
    assert_eq!(events.iter().map(|each| shown(each).1).collect::<Vec<_>>(), ["SELECT 1\nFROM t", "SELECT 2"]);
    assert_eq!((tally.unread, tally.doubtful), (0, 0));
}

#[test]
fn logs_that_cannot_be_opened_are_named() {
    let mut reader = Reader::new(vec!["/nowhere/a.log".into()], None, vec![]);
    assert!(reader.next_event().unwrap_err().to_string().contains("could not read \"/nowhere/a.log\""));
    let packed = Log::new(&[0x1f, 0x8b, 8, 0]);
    let error = packed.reader(&[""], None).next_event().unwrap_err();
    assert!(error.to_string().contains("gzip failed with exit code 1"));
}

#[test]
fn transactions_are_sequences_with_the_values_of_each() {
    let line = |ms: u32, session: u32, message: &str| {
        format!("2026-11-23 01:29:{:02}.{:03} UTC [{session}] LOG:  {message}\n", ms / 1000, ms % 1000)
    };
    let mut text = String::new();
    for turn in 0..3 {
        let at = turn * 1000;
        for session in [7, 8] {
            text += &line(at, session, "statement: BEGIN");
            text += &line(at + 100, session, &format!("statement: UPDATE t SET a = {turn} WHERE b = 'x{session}'"));
            text += &line(at + 200, session, "statement: SELECT count(*) FROM t");
            text += &line(at + 210, session, "duration: 10.000 ms");
            text += &line(at + 300, session, if turn == 2 { "statement: ROLLBACK" } else { "statement: COMMIT" });
        }
        text += &line(at + 400, 9, "duration: 5.0 ms  statement: SELECT a FROM t WHERE b = 'y'");
    }
    let found = summary(&text);
    let seen: Vec<_> = found.statements.iter().map(|each| (each.text.as_str(), each.calls, each.exec_ms)).collect();
    let wanted = [
        ("UPDATE t SET a = $1 WHERE b = $2", 6, 0.0),
        ("SELECT count(*) FROM t", 6, 60.0),
        ("SELECT a FROM t WHERE b = $1", 3, 15.0),
    ];
    assert_eq!(seen, wanted);
    let shape = &found.transactions[0];
    assert_eq!((shape.statements.as_slice(), shape.commits, shape.rollbacks), (&[0, 1][..], 4, 2));
    assert_eq!(shape.parameters[0], vec![vec![Some("0".into()), Some("x7".into())], vec![]]);
    assert_eq!((found.transactions.len(), found.sessions, found.sessions_most), (1, 3, None));
    assert_eq!(found.minutes.values().sum::<u64>(), 15);
    assert!(shape.pause_ms > 0.0 && found.pause_ms > 0.0);
}

#[test]
fn sessions_at_once_are_told_only_where_their_ends_are_logged() {
    let line = |session: u32, word: &str, message: &str| {
        format!("2026-11-23 01:29:46.500 UTC [{session}] {word}:  {message}\n")
    };
    let mut text = String::new();
    for session in 1..=3 {
        text += &line(session, "LOG", "statement: SELECT 1");
        text += &line(session, "LOG", "disconnection: session time: 0:00:00.1");
    }
    text += &line(99, "FATAL", "password authentication failed for user \"bob\"");
    let found = summary(&text);
    assert_eq!((found.sessions, found.sessions_most), (3, Some(1)));
}

#[test]
fn a_prefix_without_a_session_tells_no_transactions() {
    let line = |message: &str| format!("2026-11-23 01:29:46.500 UTC LOG:  {message}\n");
    let text: String = ["BEGIN", "BEGIN", "SELECT 1", "SELECT 2, 3", "COMMIT", "COMMIT"]
        .map(|each| line(&format!("duration: 1.0 ms  statement: {each}")))
        .concat();
    let log = Log::new(text.as_bytes());
    let found = summarize(&mut log.reader(&["%m "], None), b"", true).unwrap();
    let calls: Vec<_> = found.statements.iter().map(|each| (each.text.as_str(), each.calls)).collect();
    assert_eq!(calls, [("SELECT $1", 1), ("SELECT $1, $2", 1)]);
    assert_eq!((found.transactions.len(), found.pauses, found.sessions), (0, 0, 0));
}

#[test]
fn commas_behind_a_time_are_no_csvlog_yet() {
    let text = "2026-11-23 01:29:46.500 UTC,bob,7,LOG:  statement: SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12\n\
        2026-11-23 01:29:46.500 UTC,bob,7,LOG:  x\n";
    let (events, tally) = read(text, "%m,%u,%p,");
    assert_eq!((events.len(), tally.unread), (1, 0));
}

#[test]
fn values_are_kept_only_where_they_are_asked_for() {
    let log = Log::new(format!("{HEAD}LOG:  statement: SELECT 'secret'\n{NEXT}").as_bytes());
    let found = summarize(&mut log.reader(&["%m [%p] "], None), b"", false).unwrap();
    assert_eq!(found.statements[0].parameters.len(), 0);
    assert_eq!(found.statements[0].text, "SELECT $1");
    let other = summarize(&mut log.reader(&["%m [%p] "], None), b"other", true).unwrap();
    assert_eq!(other.statements.len(), 1, "a prefix without a database says nothing against it");
}

#[test]
fn a_value_that_two_statements_share_is_found_without_keeping_it() {
    let texts = (0..6).map(|n| {
        ["BEGIN", &format!("SELECT 1 FROM t WHERE id = {n}7"), &format!("UPDATE t SET a = 5 WHERE id = {n}7"), "END"]
            .map(|each| format!("{HEAD}LOG:  statement: {each}\n"))
            .concat()
    });
    let log = Log::new(texts.collect::<String>().as_bytes());
    let found = summarize(&mut log.reader(&["%m [%p] "], None), b"", false).unwrap();
    assert_eq!(found.transactions[0].shared, [vec![(0, 1), (1, 1)]]);
    assert!(found.transactions[0].parameters.is_empty());
}

/// A log of statements that take `lasts_us`, with a pause of `pause_us` before each; `parts` of the time of each are
/// lines of their own before it.
fn paused(pause_us: u64, lasts_us: u64, parts: &[(&str, u64)]) -> Summary {
    let (mut now_us, mut text) = (0, String::new());
    let stamp = |us: u64| format!("2026-11-23 01:29:{:02}.{:03} UTC [7] LOG:  ", us / 1_000_000, us / 1_000 % 1_000);
    for n in 0..6_000 {
        now_us += pause_us;
        for (word, part_us) in parts {
            now_us += part_us;
            text += &format!("{}duration: {:.3} ms  {word} s: SELECT $1\n", stamp(now_us), *part_us as f64 / 1e3);
        }
        now_us += lasts_us;
        let what = ["BEGIN", "SELECT 1", "COMMIT"][n % 3];
        text += &format!("{}duration: {:.3} ms  execute s: {what}\n", stamp(now_us), lasts_us as f64 / 1e3);
    }
    summary(&text)
}

#[test]
fn short_pauses_are_not_made_longer_by_times_that_are_cut_to_a_millisecond() {
    for (pause_us, lasts_us) in [(137, 411), (1_730, 277), (60, 2_339)] {
        let found = paused(pause_us, lasts_us, &[]);
        let (between_us, within_us) = (found.pause_ms * 1e3 / 2_000.0, found.transactions[0].pause_ms * 1e3 / 4_000.0);
        assert!((between_us - pause_us as f64).abs() < 60.0, "{between_us} µs between transactions, not {pause_us}");
        assert!((within_us - pause_us as f64).abs() < 60.0, "{within_us} µs within, not {pause_us}");
        assert!((1_999..=2_000).contains(&found.pauses));
    }
}

#[test]
fn parsing_and_binding_are_no_pauses() {
    let found = paused(137, 411, &[("parse", 3_000), ("bind", 700)]);
    let within_us = found.transactions[0].pause_ms * 1e3 / 4_000.0;
    assert!((within_us - 137.0).abs() < 60.0, "{within_us} µs");
}

#[test]
fn a_clock_that_was_set_back_is_no_pause() {
    let line = |time: &str| format!("2026-11-23 01:{time}.000 UTC [7] LOG:  duration: 1.000 ms  statement: SELECT 1\n");
    let found = summary(&(line("29:46") + &line("20:00") + &line("20:02")));
    assert_eq!((found.pauses, found.pause_ms), (1, 1_999.0));
}

#[test]
fn what_a_prefix_tried_in_vain_is_not_told() {
    let text = "2026-11-23 01:29:46.500 UTC [7] bob@LOG:  statement: SELECT 1\n\
                2026-11-23 01:29:46.500 UTC [7] LOG:  statement: SELECT a@b c\n";
    let (events, tally) = read(text, "%m [%p] %q%u@%d ");
    assert_eq!((events.len(), tally.unread), (1, 1));
    assert_eq!((events[0].user.as_slice(), events[0].database.as_slice()), (&b""[..], &b""[..]));
}

#[test]
fn values_of_every_notation_are_kept_without_their_quotes() {
    let found = summary(&format!(
        "{HEAD}LOG:  statement: SELECT 'it''s', E'a\\'b', $q$c$q$, TRUE, NULL, -5, x'1F', 'é', 'C:\\'\n"
    ));
    assert_eq!(found.statements[0].text, "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9");
    let values: Vec<_> =
        found.statements[0].parameters[0].iter().map(|each| each.as_deref().unwrap_or("NULL")).collect();
    assert_eq!(values, ["it's", "a'b", "c", "true", "NULL", "-5", "1F", "é", "C:\\"]);
}

//! Whatever the bytes are, the reader ends without a panic, and a text without constants stays what it is.

use std::fs;

use proptest::prelude::*;
use serverlog::{Prefix, Reader, normalize, parameters, summarize};

fn normal(text: &str) -> (String, usize) {
    let (mut written, mut places) = (Vec::new(), Vec::new());
    normalize(text.as_bytes(), &mut written, &mut places);
    (String::from_utf8(written).unwrap(), places.len())
}

/// Pieces of logs, so that random strings come near to what is read.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"2026-11-23 01:29:46.500 UTC",
        b" [",
        b"7",
        b"] ",
        b"LOG:  ",
        b"DETAIL:  ",
        b"STATEMENT:  ",
        b"ERROR:  ",
        b"duration: ",
        b"1.5 ms",
        b"  statement: ",
        b"execute s: ",
        b"Parameters: $1 = '",
        b"duration: 1.5 ms  plan:\n",
        b"Query Text: ",
        b"\nQuery Parameters: ",
        b"\nResult  (cost=0.00..0.01 rows=1 width=4)",
        b"<explain ><Query-Text>",
        b"</Query-Text>",
        b"{\"Query Text\": \"",
        b"\"}",
        b"&lt;",
        b"'",
        b"\"",
        b",",
        b"\n",
        b"\n\t",
        b"SELECT 1",
        b"E'\\",
        b"$q$",
        b"/*",
        b"--",
        b"{\"timestamp\":",
        b"-1",
        b"$99999999999",
        b"BEGIN",
        b"COMMIT",
        b"LOG,",
    ];
    prop_oneof![
        4 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

/// Parts of texts and of values that look like parts of an entry of auto_explain.
const LINES: [&str; 10] = [
    "a",
    "'",
    "\n",
    "\nQuery Parameters: $1 = '5'",
    "\nQuery Parameters: $1 = ''",
    "\nSort  (cost=1.00..2.00 rows=1 width=4)",
    "  (cost=1.00..2.00",
    "Query Text: x",
    "', $2 = '",
    "x...",
];

proptest! {
    #[test]
    fn random_bytes_never_panic(pieces in prop::collection::vec(piece(), 0..60), setting in "[%a-zA-Z0-9 -]{0,12}") {
        let bytes = pieces.concat();
        parameters(&bytes);
        normalize(&bytes, &mut Vec::new(), &mut Vec::new());
        let path = std::env::temp_dir().join(format!("server-log-fuzz-{}", std::process::id()));
        fs::write(&path, &bytes).unwrap();
        let prefixes: Vec<_> = Prefix::parse(&setting).into_iter().chain(Prefix::parse("%m [%p] ")).collect();
        for format in [None, Some(serverlog::Format::Csv), Some(serverlog::Format::Json)] {
            let mut reader = Reader::new(vec![path.clone()], format.map(serverlog::LogFormat::Plain), prefixes.clone());
            match summarize(&mut reader, b"", true) {
                Ok(found) => prop_assert!(found.tally.events <= found.tally.records),
                Err(error) => prop_assert!(error.to_string().contains("lacks further lines of its statements")),
            }
        }
        fs::remove_file(&path).unwrap();
    }

    /// Whatever the text and the values are: the entry of auto_explain that has them is read as it is, or not at all.
    #[test]
    fn an_entry_of_auto_explain_is_read_as_it_is_or_not_at_all(
        middle in prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..4),
        given in prop::collection::vec(prop::option::of(prop::sample::select(LINES.to_vec())), 0..3),
    ) {
        let sql = format!("SELECT '{}'", middle.concat().replace('\'', "''"));
        let list: Vec<_> = given.iter().enumerate().map(|(at, each)| match each {
            Some(value) => format!("${} = '{}'", at + 1, value.replace('\'', "''")),
            None => format!("${} = NULL", at + 1),
        }).collect();
        let line = if list.is_empty() { String::new() } else { format!("Query Parameters: {}\n", list.join(", ")) };
        let top = "Result  (cost=0.00..0.01 rows=1 width=4)";
        let message = format!("duration: 1.5 ms  plan:\nQuery Text: {sql}\n{line}{top}");
        let log = format!("2026-11-23 01:29:46.500 UTC [7] LOG:  {}\n", message.replace('\n', "\n\t"));
        let log = log + "2026-11-23 01:29:46.500 UTC [7] LOG:  checkpoint starting: time\n";
        let path = std::env::temp_dir().join(format!("server-log-plans-{}", std::process::id()));
        fs::write(&path, log).unwrap();
        let mut reader = Reader::new(vec![path.clone()], None, vec![Prefix::parse("%m [%p] ").unwrap()]);
        let found = reader.next_event().unwrap().cloned();
        fs::remove_file(&path).unwrap();
        prop_assert_eq!(reader.tally().plans_unread, u64::from(found.is_none()));
        if let Some(event) = found {
            prop_assert_eq!(String::from_utf8(event.text).unwrap(), sql);
            let wanted: Vec<_> = given.iter().map(|each| each.map(|text| text.as_bytes().to_vec())).collect();
            prop_assert_eq!(parameters(&event.parameters), wanted);
        }
    }

    #[test]
    fn the_normal_text_does_not_depend_on_the_values(number in any::<i64>(), text in "[^'\\\\]{0,20}") {
        let statement = format!("SELECT a FROM t WHERE b = {number} AND c IN ('{text}', NULL)");
        prop_assert_eq!(normal(&statement), ("SELECT a FROM t WHERE b = $1 AND c IN ($2, $3)".to_owned(), 3));
    }
}

#[test]
fn constants_are_found_where_pg_stat_statements_finds_them() {
    let cases = [
        ("SELECT 1, -2, a - 3, a1, 1.5e-3, .5", "SELECT $1, $2, a - $3, a1, $4, $5"),
        ("SELECT /* by app */ a\n  FROM t -- end\n;", "SELECT a FROM t"),
        ("SELECT E'it\\'s', $x$ a'b $x$, U&'x', \"a 1\"", "SELECT $1, $2, U&$3, \"a 1\""),
        (
            "SELECT a::varchar(10) FROM t ORDER BY 1, 2 DESC, 3 LIMIT 4",
            "SELECT a::varchar(10) FROM t ORDER BY 1, 2 DESC, 3 LIMIT $1",
        ),
        ("UPDATE t SET a = NULL, b = true WHERE c IS NOT NULL", "UPDATE t SET a = $1, b = $2 WHERE c IS NOT NULL"),
        ("SELECT $2, $1, 'x'", "SELECT $1, $2, $3"),
        ("ALTER ROLE bob PASSWORD 'secret'", "ALTER ROLE"),
        ("START TRANSACTION READ ONLY", "START TRANSACTION READ ONLY"),
        ("SET LOCAL work_mem = 1", "SET LOCAL"),
    ];
    for (source, wanted) in cases {
        assert_eq!(normal(source).0, wanted, "{source}");
    }
}

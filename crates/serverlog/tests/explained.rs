//! Entries of auto_explain: in each of its formats and the log's, what cannot be told, and that no call counts twice.

mod common;

use common::{HEAD, Log, NEXT, read, shown, summary};
use serverlog::{Event, Kind, parameters, summarize};

const SQL: &str = "SELECT note\n\tFROM orders -- \"page\" <1>\nWHERE id = $1 AND a < $2 AND b & 1 = 1";
const GIVEN: &str = "$1 = 'it''s\n5', $2 = NULL";
/// As PostgreSQL 18 writes it with log_analyze, log_buffers, log_settings and log_verbose; typed by its source.
const PLAN: &str = "Nested Loop  (cost=0.29..8.31 rows=1 width=4) (actual time=0.010..0.011 rows=1.00 loops=1)\n  \
    Output: note\n  Buffers: shared hit=3\n  ->  Index Scan using orders_pkey on public.orders  (cost=0.29..8.30 \
    rows=1 width=4) (actual time=0.009..0.009 rows=1.00 loops=1)\n        Index Cond: (orders.id = $1)\n  \
    InitPlan 1\n    ->  Result  (cost=0.00..0.01 rows=1 width=4)\n\
    Settings: work_mem = '64kB'\nQuery Identifier: -7";

/// The text of an entry as auto_explain writes it, from 16 on with parameters.
fn entry(sql: &str, given: &str) -> String {
    let given = if given.is_empty() { String::new() } else { format!("Query Parameters: {given}\n") };
    format!("duration: 1.500 ms  plan:\nQuery Text: {sql}\n{given}{PLAN}")
}

/// The lines of stderr.
fn line(message: &str) -> String {
    format!("{HEAD}LOG:  {}\n", message.replace('\n', "\n\t"))
}

fn values(event: &Event) -> Vec<Option<String>> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    parameters(&event.parameters).into_iter().map(|each| each.map(text)).collect()
}

/// The one event of the message, and how many entries could not be read.
fn event(message: &str) -> (Option<Event>, u64) {
    let (events, tally) = read(&line(message), "%m [%p] ");
    assert!(events.len() <= 1 && tally.foreign == 0 && tally.unread == 0);
    (events.into_iter().next(), tally.plans_unread)
}

/// As `escape_json` writes it.
fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The same entry in all formats of auto_explain.
fn entries() -> [String; 4] {
    let escaped = SQL.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (sql, given) = (json(SQL), json(GIVEN));
    [
        entry(SQL, GIVEN),
        format!(
            "duration: 1.500 ms  plan:\n{{\n  \"Query Text\": {sql},\n  \"Query Parameters\": {given},\n  \
             \"Plan\": {{\n    \"Node Type\": \"Result\",\n    \"Plans\": []\n  }}\n}}"
        ),
        format!(
            "duration: 1.500 ms  plan:\nQuery Text: {sql}\nQuery Parameters: {given}\nPlan: \n  Node Type: \"Result\""
        ),
        format!(
            "duration: 1.500 ms  plan:\n<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  \
             <Query-Text>{escaped}</Query-Text>\n  <Query-Parameters>{GIVEN}</Query-Parameters>\n  <Plan>\n    \
             <Node-Type>Result</Node-Type>\n  </Plan>\n</explain>"
        ),
    ]
}

#[test]
fn each_format_is_read_from_each_log() {
    for message in entries() {
        let csv = format!(
            "2026-11-23 01:29:46.500 UTC,\"bob\",\"shop\",7,\"[local]\",65f1.1a,3,\"SELECT\",2026-11-23 01:00:00 UTC,\
             3/4,0,LOG,00000,\"{}\",,,,,,,,,\"psql\",\"client backend\",,0\n",
            message.replace('"', "\"\"")
        );
        let object = format!(
            "{{\"timestamp\":\"2026-11-23 01:29:46.500 UTC\",\"user\":\"bob\",\"dbname\":\"shop\",\"session_id\":\
             \"65f1.1a\",\"error_severity\":\"LOG\",\"message\":{}}}\n",
            json(&message)
        );
        for (text, prefix) in [(line(&message), "%m [%p] "), (csv, ""), (object, "")] {
            let (events, tally) = read(&text, prefix);
            assert_eq!((events.len(), tally.unread, tally.plans_unread), (1, 0, 0), "{text}");
            assert_eq!(shown(&events[0]), (Kind::Plan, SQL, Some(1.5)));
            assert_eq!(values(&events[0]), [Some("it's\n5".to_owned()), None]);
        }
    }
}

#[test]
fn before_16_the_literals_of_the_text_are_all_there_is() {
    let found = summary(&line(&entry("SELECT note FROM orders WHERE id = 5 AND note = 'a\nb';\n", "")));
    let seen = &found.statements[0];
    assert_eq!((seen.text.as_str(), seen.calls), ("SELECT note FROM orders WHERE id = $1 AND note = $2", 0));
    assert_eq!((seen.planned, &seen.parameters), (true, &vec![vec![Some("5".into()), Some("a\nb".into())]]));
    let found = summary(&line(&entry("SELECT note FROM orders WHERE id = $1", "")));
    assert_eq!((found.plans, found.statements[0].parameters.len(), found.statements[0].planned), (1, 0, false));
}

#[test]
fn where_a_statement_ends_is_not_guessed() {
    let top = "Seq Scan on t  (cost=0.00..1.00 rows=1 width=4)";
    let unread = [
        // A text or a value with what looks like a plan, or like the line of the parameters.
        entry(&format!("SELECT '\n{top}'"), ""),
        entry("SELECT $1", &format!("$1 = '\n{top}'")),
        entry("SELECT '\nQuery Parameters: $1 = ''5'''", ""),
        entry("SELECT '\nQuery Parameters: $1 = ', $1", "$1 = '5'"),
        entry(top, ""),
        // Lists that are not whole.
        entry("SELECT $1, $2", "$1 = '5', $2 = '6"),
        entry("SELECT $1, $2", "$1 = '5', $3 = '6'"),
        entry("SELECT $1", "5"),
        entry("", ""),
        "duration: 1.000 ms  plan:".into(),
        "duration: 1.000 ms  plan:\nQuery Text: SELECT 1".into(),
        "duration: 1.000 ms  plan:\nQuery Text: SELECT 1\nResult  (cost=0.00)".into(),
        "duration: 1.000 ms  plan:\nSeq Scan on t  (cost=0.00..1.00 rows=1 width=4)".into(),
    ];
    let cut = entries().into_iter().flat_map(|whole| {
        // Within the text, and within the parameters; a plan that is cut off later has all that is wanted of it.
        ["FROM", "$2 = N"].map(|word| whole[..whole.find(word).unwrap()].to_owned())
    });
    for message in unread.into_iter().chain(cut) {
        assert_eq!(event(&message), (None, 1), "{message}");
    }
    // Neither is a plan's first line: within a line, or without costs as a plan has them.
    for sql in ["SELECT 1\n  WHERE  (cost=1.00 OR a)", "SELECT 1\nWHERE  (cost=5 OR a)", "SELECT 'x  (cost=1.00..2'"] {
        let found = event(&entry(&format!("{sql}\n -- end"), "")).0;
        let wanted = (!sql.ends_with("2'")).then(|| format!("{sql}\n -- end"));
        assert_eq!(found.map(|each| String::from_utf8(each.text).unwrap()), wanted, "{sql}");
    }
    let tail = "Query Parameters: are in the text";
    let found = event(&entry(&format!("SELECT 1 -- {tail}"), "$1 = '5'")).0.unwrap();
    assert_eq!((shown(&found).1, values(&found).len()), (&*format!("SELECT 1 -- {tail}"), 1));
}

#[test]
fn a_tuple_with_a_value_that_was_cut_is_not_used() {
    let sql = "SELECT note FROM orders WHERE id = $1 AND note = $2";
    let given = ["$1 = '5', $2 = 'long...'", "$1 = '...', $2 = 'b'", "$1 = '7', $2 = 'a...''b'", "$1 = '8', $2 = NULL"];
    let found = summary(&given.map(|each| line(&entry(sql, each))).concat());
    let kept: Vec<_> = found.statements[0].parameters.iter().map(|each| each[0].as_deref()).collect();
    assert_eq!((kept, found.plans, found.plans_cut), (vec![Some("7"), Some("8")], 4, 2));
}

#[test]
fn a_plan_is_no_call_and_is_used_only_where_no_call_has_values() {
    let text = |n: u32| format!("UPDATE orders SET a = 1 WHERE id = {n}");
    let both = |n: u32| {
        [
            "duration: 0.100 ms  statement: BEGIN".to_owned(),
            entry(&text(n), ""),
            format!("duration: 2.000 ms  statement: {}", text(n)),
            entry("SELECT inner FROM f WHERE id = 7", ""),
            "execute s: SELECT a FROM b WHERE c = $1".to_owned(),
            entry("SELECT a FROM b WHERE c = $1", &format!("$1 = '{n}'")),
            "duration: 3.000 ms".to_owned(),
            "duration: 0.100 ms  statement: COMMIT".to_owned(),
        ]
    };
    let messages: Vec<String> = (1..=3).flat_map(both).collect();
    let found = summary(&messages.iter().map(|each| line(each)).collect::<String>());
    let calls_alone: String = messages.iter().filter(|each| !each.contains("plan:")).map(|each| line(each)).collect();
    let alone = summary(&calls_alone);
    let told: Vec<_> =
        found.statements.iter().map(|each| (each.calls, each.timed, each.exec_ms, each.planned)).collect();
    assert_eq!(told, [(3, 3, 6.0, false), (3, 3, 9.0, true), (0, 0, 0.0, true)]);
    assert_eq!(found.statements[0].parameters, alone.statements[0].parameters);
    assert_eq!(found.statements[1].parameters, [[Some("1".into())], [Some("2".into())], [Some("3".into())]]);
    assert!(alone.statements[1].parameters.is_empty());
    assert_eq!((found.first_us, &found.minutes, found.sessions), (alone.first_us, &alone.minutes, alone.sessions));
    assert_eq!((found.pauses, found.pause_ms), (alone.pauses, alone.pause_ms));
    let shapes = [&found, &alone].map(|each| {
        let shape = &each.transactions[0];
        (shape.statements.clone(), shape.commits, shape.pause_ms, shape.parameters.clone())
    });
    assert_eq!(shapes[0], shapes[1]);
    assert_eq!((shapes[0].1, found.plans, alone.plans), (3, 9, 0));
}

#[test]
fn a_log_of_plans_alone_has_no_calls_sessions_and_times() {
    let log = Log::new((line(&entry("SELECT note FROM orders WHERE id = 'secret'", "")) + NEXT).as_bytes());
    let found = summarize(&mut log.reader(&["%m [%p] "], None), b"", false).unwrap();
    assert_eq!((found.plans, found.sessions, found.first_us, found.minutes.len()), (1, 0, None, 0));
    let seen = &found.statements[0];
    assert_eq!((seen.text.as_str(), seen.calls, seen.planned), ("SELECT note FROM orders WHERE id = $1", 0, false));
    assert!(seen.parameters.is_empty(), "values are kept only where they are asked for");
}

#[test]
fn plans_of_utility_statements_of_other_databases_and_of_a_capture_are_none_of_the_load() {
    let ours = entry("SELECT /* pgassay capture */ 1", "");
    let utility = entry("DECLARE c CURSOR FOR SELECT 1", "");
    let found = summary(&(line(&ours) + &line(&utility)));
    assert_eq!((found.statements.len(), found.plans), (0, 0));
    let text = line(&entry("SELECT 1", "")).replacen("[77] ", "[77] bob@other ", 1);
    for (database, plans) in [("shop", 0), ("other", 1)] {
        let log = Log::new(format!("{text}{NEXT}").as_bytes());
        let found = summarize(&mut log.reader(&["%m [%p] %q%u@%d "], None), database.as_bytes(), true).unwrap();
        assert_eq!(found.plans, plans);
    }
}

#[test]
fn a_detail_behind_a_plan_is_not_its_own() {
    let text = line(&entry("SELECT $1", "")) + &format!("{HEAD}DETAIL:  Parameters: $1 = '5'\n");
    let (events, _) = read(&text, "%m [%p] ");
    assert!(events[0].parameters.is_empty());
}

#[test]
fn statements_beyond_the_bound_are_counted_and_take_no_room_from_calls() {
    let plans: String = (0..5_010).map(|n| line(&entry(&format!("SELECT a{n} FROM t WHERE b = 1"), ""))).collect();
    let found = summary(&(plans + &line("statement: SELECT z FROM t WHERE b = 1")));
    assert_eq!((found.statements.len(), found.other_plans, found.other_calls), (5_001, 10, 0));
    assert_eq!((found.statements[0].text.as_str(), found.statements[0].calls), ("SELECT z FROM t WHERE b = $1", 1));
}

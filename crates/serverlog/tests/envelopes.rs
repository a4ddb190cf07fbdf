//! Logs as collectors and platforms have them: each line is read, continued, or counted with its number.

#[allow(dead_code)] // what other tests share
mod common;

use common::{Log, shown};
use proptest::prelude::*;
use serverlog::{Event, Kind, LogFormat, Prefix, Reader, Tally};

const STATEMENT: &str = "SELECT a,\n\t       b\n\t  FROM t WHERE id = 7";
const PLAIN: &str = "SELECT a,\n       b\n  FROM t WHERE id = 7";

fn read(text: &str, prefix: &str) -> (Vec<Event>, Tally) {
    let log = Log::new(text.as_bytes());
    let mut reader = log.reader(&[prefix], None);
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(event.clone());
    }
    (events, reader.tally().clone())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A log of three records: a statement of several lines, one with parameters, one at the end.
struct Case {
    name: &'static str,
    log: String,
    wrapped: &'static str,
    session: &'static str,
    torn: u64,
}

fn record(prefix: &str, message: &str) -> String {
    format!("{prefix}LOG:  {message}")
}

const TIMED: &str = "duration: 1.500 ms  statement: ";
const EXECUTED: &str = "duration: 0.911 ms  execute S_1: SELECT a FROM t WHERE id = $1";

fn lined(prefix: &str, wrap: impl Fn(&str) -> String) -> String {
    let plain = format!(
        "{}\n{}\n{prefix}DETAIL:  parameters: $1 = '7'\n{}\n",
        record(prefix, &format!("{TIMED}{STATEMENT}")),
        record(prefix, EXECUTED),
        record(prefix, &format!("{TIMED}SELECT 1")),
    );
    plain.lines().map(|line| wrap(line) + "\n").collect()
}

fn cnpg(message: &str, detail: &str) -> String {
    format!(
        "{{\"level\":\"info\",\"ts\":\"2026-09-21T12:53:21Z\",\"logger\":\"postgres\",\
         \"msg\":\"record\",\"logging_pod\":\"pg-1\",\
         \"record\":{{\"log_time\":\"2026-09-21 12:53:21.100 UTC\",\"user_name\":\"app\",\"database_name\":\"shop\",\
         \"process_id\":\"600\",\"session_id\":\"6a1.258\",\"error_severity\":\"LOG\",\
         \"message\":{},\"detail\":{}}}}}\n",
        quoted(message),
        quoted(detail)
    )
}

#[allow(clippy::too_many_lines)] // a table
fn cases() -> Vec<Case> {
    let statement = format!("{TIMED}{PLAIN}");
    let operator = [
        "{\"level\":\"info\",\"ts\":1.1,\"logger\":\"barman\",\"msg\":\"Backup done\"}\n".to_owned(),
        cnpg(&statement, ""),
        cnpg(EXECUTED, "parameters: $1 = '7'"),
        cnpg(&format!("{TIMED}SELECT 1"), ""),
    ]
    .concat();
    let rds = "2026-05-27 17:00:00 UTC:10.1.0.65(49654):app@shop:[24743]:";
    let sql = "[24667]: [1-1] db=shop,user=app ";
    let google = |text: &str| {
        format!(
            "{{\"insertId\":\"s=a1\",\"logName\":\"projects/p/logs/cloudsql.googleapis.com%2Fpostgres.log\",\
             \"textPayload\":{},\"timestamp\":\"2026-05-02T13:00:20.382318Z\"}}\n",
            quoted(text)
        )
    };
    let azure = |text: &str, detail: &str| {
        format!(
            "{{\"category\":\"PostgreSQLLogs\",\"operationName\":\"LogEvent\",\"properties\":{{\"errorLevel\":\"LOG\",\
             \"detail\":{},\"message\":{}}},\"time\":\"2026-05-02T13:00:20Z\"}}\n",
            quoted(detail),
            quoted(text)
        )
    };
    let stamp = "2026-05-02 13:00:20 UTC-64f1a2b3.5c-";
    let mut numbered = Vec::new();
    for (number, message) in [
        record("app@shop ", &format!("{TIMED}{STATEMENT}")),
        format!("{}\napp@shop DETAIL:  parameters: $1 = '7'", record("app@shop ", EXECUTED)),
        record("app@shop ", &format!("{TIMED}SELECT 1")),
    ]
    .iter()
    .enumerate()
    {
        for (piece, line) in message.lines().enumerate() {
            numbered.push(format!("[{}-{}] {line}", number + 1, piece + 1));
        }
    }
    let sent = |wrap: &dyn Fn(&str) -> String| numbered.iter().map(|line| wrap(line) + "\n").collect::<String>();
    let heroku = |line: &str| {
        format!(
            "2026-03-14T00:23:00.000000+00:00 app[postgres.4821]: [GREEN] {}",
            line.replace("app@shop ", " sql_error_code = 00000 ")
        )
    };
    let drained = |line: &str| {
        let text = line.replace("app@shop ", " sql_error_code = 00000 ");
        format!("99 <134>1 2026-03-14T00:23:00+00:00 d.1 app postgres.4821 - - [GREEN] {text}")
    };
    vec![
        Case { name: "rds", log: lined(rds, str::to_owned), wrapped: "", session: "24743", torn: 1 },
        Case { name: "crlf", log: lined(rds, |line| format!("{line}\r")), wrapped: "", session: "24743", torn: 1 },
        Case { name: "azure files", log: lined(stamp, str::to_owned), wrapped: "", session: "64f1a2b3.5c", torn: 1 },
        Case {
            name: "azure monitor",
            log: [
                azure(&record(stamp, &format!("{TIMED}{STATEMENT}")), ""),
                azure(&record(stamp, EXECUTED), "parameters: $1 = '7'"),
                azure(&record(stamp, &format!("{TIMED}SELECT 1")), ""),
            ]
            .concat(),
            wrapped: "Azure Monitor's JSON",
            session: "64f1a2b3.5c",
            torn: 0,
        },
        Case {
            name: "cloud sql",
            log: [
                google(&record(sql, &format!("{TIMED}{STATEMENT}"))),
                google(&format!("{}\n{sql}DETAIL:  parameters: $1 = '7'", record(sql, EXECUTED))),
                google(&record(sql, &format!("{TIMED}SELECT 1"))),
            ]
            .concat(),
            wrapped: "Google Cloud Logging's JSON",
            session: "24667",
            torn: 0,
        },
        Case { name: "cnpg", log: operator.clone(), wrapped: "CloudNativePG's JSON", session: "6a1.258", torn: 0 },
        Case {
            name: "cnpg by kubelet",
            log: operator.lines().map(|line| format!("2026-09-21T12:53:21.1234567Z stdout F {line}\n")).collect(),
            wrapped: "a Kubernetes container's log (CRI), in it CloudNativePG's JSON",
            session: "6a1.258",
            torn: 0,
        },
        Case {
            name: "cri",
            log: lined(rds, |line| {
                let (first, rest) = line.split_at(3);
                let time = "2026-09-21T12:53:21.1Z";
                format!("{time} stderr P {first}\n{time} stderr F {rest}")
            }),
            wrapped: "a Kubernetes container's log (CRI)",
            session: "24743",
            torn: 1,
        },
        Case {
            name: "docker",
            log: lined(rds, |line| {
                let log = quoted(&format!("{line}\n"));
                format!("{{\"log\":{log},\"stream\":\"stderr\",\"time\":\"2026-05-02T13:00:20Z\"}}")
            }),
            wrapped: "Docker's json-file",
            session: "24743",
            torn: 1,
        },
        Case {
            name: "journald",
            log: sent(&|line| {
                format!(
                    "{{\"__REALTIME_TIMESTAMP\":\"1795229900324000\",\
                     \"SYSLOG_IDENTIFIER\":\"postgres\",\"_PID\":\"600\",\"MESSAGE\":{}}}",
                    quoted(line)
                )
            }),
            wrapped: "journald's JSON",
            session: "600",
            torn: 1,
        },
        Case {
            name: "short-iso",
            log: sent(&|line| format!("2026-05-02T13:00:20+0200 db1 postgres[600]: {line}")),
            wrapped: "syslog's",
            session: "600",
            torn: 1,
        },
        Case {
            name: "rfc 3164",
            log: sent(&|line| format!("<134>Dec  5 06:25:40 db1 postgres[600]: {}", line.replace('\t', "#011"))),
            wrapped: "syslog's",
            session: "600",
            torn: 1,
        },
        Case {
            name: "rfc 5424",
            log: sent(&|line| {
                format!(
                    "<134>1 2026-05-02T13:00:20.123Z db1 postgres 600 - [x@1 a=\"\\]\"] \u{feff}{}",
                    line.replace('\t', "#011")
                )
            }),
            wrapped: "syslog's",
            session: "600",
            torn: 1,
        },
        Case { name: "heroku", log: sent(&heroku), wrapped: "Heroku's log stream", session: "4821", torn: 1 },
        Case { name: "logplex", log: sent(&drained), wrapped: "syslog's", session: "4821", torn: 1 },
        Case {
            name: "patroni in syslog",
            log: lined("2026-12-15 06:25:40 UTC [600]: [40-1] user=app,db=shop,app=web,client=h ", |line| {
                format!("Dec 15 06:25:40 db1 patroni[26448]: {}", line.replace('\t', "#011"))
            }),
            wrapped: "syslog's",
            session: "600",
            torn: 1,
        },
    ]
}

#[test]
fn each_way_to_wrap_a_log_is_known_and_its_statements_are_whole() {
    for case in cases() {
        let prefix = if ["journald", "short-iso", "rfc 3164", "rfc 5424"].contains(&case.name) {
            "%q%u@%d "
        } else {
            "%m [%p] "
        };
        let (events, tally) = read(&case.log, prefix);
        let found: Vec<_> =
            events.iter().map(|event| (shown(event).1.replace('\r', ""), &event.parameters[..])).collect();
        let mut wanted = vec![(PLAIN.to_owned(), &b""[..]), ("SELECT a FROM t WHERE id = $1".to_owned(), b"$1 = '7'")];
        if case.torn == 0 {
            wanted.push(("SELECT 1".to_owned(), b""));
        }
        assert_eq!(found, wanted, "{}", case.name);
        assert_eq!(tally.wrapped.join("; "), case.wrapped, "{}", case.name);
        assert!(events.iter().all(|event| event.session == case.session.as_bytes()), "{}: {events:?}", case.name);
        assert!(events.iter().all(|event| event.time_us != 0), "{}", case.name);
        assert_eq!((tally.torn, tally.doubtful), (case.torn, 0), "{}", case.name);
        assert_eq!(tally.unread, u64::from(case.name.starts_with("cnpg")), "{}", case.name);
    }
}

#[test]
fn a_line_that_no_envelope_holds_is_named_with_its_number() {
    for case in cases().iter().filter(|case| !case.wrapped.is_empty()) {
        let lines = case.log.lines().count() as u64;
        let log = Log::new(format!("{}what a shell printed\n", case.log).as_bytes());
        let mut reader = log.reader(&["%m [%p] ", "%q%u@%d "], None);
        while reader.next_event().unwrap().is_some() {}
        let (tally, has_barman) = (reader.tally(), case.name.starts_with("cnpg"));
        assert_eq!(tally.unread, 1 + u64::from(has_barman), "{}", case.name);
        let named = if case.name == "cnpg" {
            "line 1: ".to_owned()
        } else {
            format!("line {}: what a shell printed", lines + 1)
        };
        assert!(tally.first_unread.starts_with(&named), "{}: {}", case.name, tally.first_unread);
    }
}

#[test]
fn six_translations_are_read() {
    // The words are those of PostgreSQL 15's catalogues of messages.
    let translations = [
        [
            "LOG",
            "Dauer: 1.5 ms  Anweisung: ",
            "Dauer: 2.5 ms  Ausführen s1: ",
            "DETAIL",
            "Parameter: ",
            "FEHLER",
            "ANWEISUNG",
        ],
        [
            "СООБЩЕНИЕ",
            "продолжительность: 1.5 мс, оператор: ",
            "продолжительность: 2.5 мс  выполнение s1: ",
            "ПОДРОБНОСТИ",
            "параметры: ",
            "ОШИБКА",
            "ОПЕРАТОР",
        ],
        ["日志", "执行时间: 1.5 ms 语句: ", "执行时间: 2.5 ms 执行s1: ", "详细信息", "参数: ", "错误", "语句"],
        ["LOG", "期間: 1.5 ミリ秒  文: ", "期間: 2.5 ミリ秒  実行 s1: ", "詳細", "パラメータ: ", "ERROR", "文"],
        [
            "LOG",
            "durée : 1.5 ms, instruction : ",
            "durée : 2.5 ms  exécute s1: ",
            "DÉTAIL",
            "paramètres : ",
            "ERREUR",
            "INSTRUCTION ",
        ],
        [
            "LOG",
            "duración: 1.5 ms  sentencia: ",
            "duración: 2.5 ms  ejecutar s1: ",
            "DETALLE",
            "parámetros: ",
            "ERROR",
            "SENTENCIA",
        ],
    ];
    for [log, statement, execute, detail, parameters, error, failed] in translations {
        let head = common::HEAD;
        let text = format!(
            "{head}{log}:  {statement}SELECT a\n\tFROM t\n{head}{log}:  {execute}SELECT $1\n\
             {head}{detail}:  {parameters}$1 = '7'\n\
             {head}{error}:  no\n{head}{failed}:  SELECT b\n{}",
            common::NEXT
        );
        let (events, tally) = read(&text, "%m [%p] ");
        let found: Vec<_> = events.iter().map(|event| (shown(event), &event.parameters[..])).collect();
        let wanted = vec![
            ((Kind::Statement, "SELECT a\nFROM t", Some(1.5)), &b""[..]),
            ((Kind::Execute, "SELECT $1", Some(2.5)), b"$1 = '7'"),
            ((Kind::Error, "SELECT b", None), b""),
        ];
        assert_eq!(found, wanted);
        assert_eq!((tally.foreign, tally.unread, tally.doubtful), (0, 0, 0), "{log}");
        // What another process wrote in the midst of a line is seen.
        let (events, tally) = read(&text.replacen("SELECT a", &format!("SELECT {head}{log}:  x"), 1), "%m [%p] ");
        assert_eq!((events.len(), tally.doubtful), (2, 1), "{log}");
    }
}

#[test]
fn another_programs_line_is_counted_with_its_number() {
    let log = "Dec 15 06:25:40 db1 postgres[600]: [1-1] app@shop LOG:  statement: SELECT 1\n\
               Dec 15 06:25:41 db1 sshd[7]: session opened\nno syslog at all\n\
               Dec 15 06:25:42 db1 postgres[600]: [2-1] app@shop LOG:  statement: SELECT 2\n";
    let (events, tally) = read(log, "%q%u@%d ");
    assert_eq!(events.len(), 1);
    assert_eq!((tally.unread, tally.first_unread.as_str()), (2, "line 2: session opened"));
}

#[test]
fn a_line_that_syslog_cut_at_a_blank_is_put_together() {
    let long = format!("SELECT '{}' FROM t", "word ".repeat(400));
    let message = format!("app@shop LOG:  statement: {long}");
    let mut log = String::new();
    for (at, piece) in pieces(&message).iter().enumerate() {
        log += &format!("Dec 15 06:25:40 db1 postgres[600]: [1-{}] {piece}\n", at + 1);
    }
    log += "Dec 15 06:25:42 db1 postgres[600]: [2-1] app@shop LOG:  statement: SELECT 2\n";
    let (events, tally) = read(&log, "%q%u@%d ");
    assert_eq!(shown(&events[0]).1, long);
    assert_eq!((tally.unread, tally.doubtful, tally.torn), (0, 0, 1));
    let (events, tally) = read(&log.replace("[1-2]", "[1-9]"), "%q%u@%d ");
    assert!(events.is_empty());
    assert_eq!(tally.doubtful, 1);
}

#[test]
fn more_processes_than_there_is_room_for_are_counted() {
    let line = |process: u64, record: u64, piece: u64| {
        format!(
            "Dec 15 06:25:40 db1 postgres[{process}]: [{record}-{piece}] app@shop LOG:  statement: SELECT {process}\n"
        )
    };
    let mut log: String = (0..50_010).map(|process| line(process, 1, 1)).collect();
    log += &line(1, u64::MAX, 1);
    log += &line(2, 2, 1);
    log += &line(50_005, 2, 1);
    log += &line(50_005, 3, 1);
    let (events, tally) = read(&log, "%q%u@%d ");
    assert_eq!(events.iter().map(|event| shown(event).1).collect::<Vec<_>>(), ["SELECT 50005", "SELECT 50005"]);
    assert_eq!(tally.doubtful, 50_000);
}

#[test]
fn whole_seconds_say_no_pause() {
    let line = |time: &str, text: &str| format!("{time} UTC [77] LOG:  duration: 1.000 ms  statement: {text}\n");
    let texts = [("46", "BEGIN"), ("48", "SELECT 1"), ("50", "COMMIT"), ("55", "SELECT 2")];
    let all = |fraction: &str| {
        let at = |second: &str| format!("2026-11-23 01:29:{second}{fraction}");
        common::summary(&texts.iter().map(|(second, text)| line(&at(second), text)).collect::<String>())
    };
    let (fine, coarse) = (all(".100"), all(""));
    assert_eq!((fine.pauses, fine.pauses_unknown, fine.transactions[0].pause_ms), (1, 0, 3998.0));
    assert_eq!((coarse.pauses, coarse.pauses_unknown, coarse.transactions[0].pause_ms), (0, 3, 0.0));
    assert_eq!((coarse.pause_ms, coarse.minutes.values().sum::<u64>()), (0.0, 2));
}

#[test]
fn newest_entries_first_are_refused() {
    let entry = |second: u32| {
        format!(
            "{{\"logName\":\"p/postgres.log\",\"textPayload\":\"[1]: [1-1] db=a,user=b LOG:  statement: SELECT 1\",\
             \"timestamp\":\"2026-05-02T13:00:{second:02}Z\"}}\n"
        )
    };
    let log = Log::new((10..40).rev().map(entry).collect::<String>().as_bytes());
    let error = log.reader(&["%m [%p] "], None).next_event().unwrap_err().to_string();
    assert!(error.contains("newest entries stand first"), "{error}");
}

#[test]
fn a_format_can_be_forced() {
    assert!(LogFormat::names().all(|name| LogFormat::named(name).is_some()));
    let log = "some\nother\nlines\n\
               2026-05-02T13:00:20Z stderr F 2026-05-02 13:00:20.100 UTC [7] LOG:  statement: SELECT 1\n\
               2026-05-02T13:00:20Z stderr F 2026-05-02 13:00:20.100 UTC [7] LOG:  statement: SELECT 2\n";
    let path = std::env::temp_dir().join(format!("envelope-forced-{}", std::process::id()));
    std::fs::write(&path, log).unwrap();
    let prefixes = vec![Prefix::parse("%m [%p] ").unwrap()];
    let mut reader = Reader::new(vec![path.clone()], LogFormat::named("cri"), prefixes);
    assert_eq!(reader.next_event().unwrap().map(|event| event.text.clone()), Some(b"SELECT 1".to_vec()));
    assert!(reader.next_event().unwrap().is_none());
    assert_eq!(reader.tally().unread, 3);
    std::fs::remove_file(path).unwrap();
}

/// As PostgreSQL cuts a message for syslog: at newlines, and at the last blank within 900 bytes.
fn pieces(message: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for mut line in message.split('\n') {
        while line.len() > 900 {
            let bytes = line.as_bytes();
            let at = match bytes[900].is_ascii_whitespace() {
                true => 900,
                false => (1..900).rev().find(|at| bytes[*at].is_ascii_whitespace()).unwrap_or(900),
            };
            found.push(&line[..at]);
            line = &line[at..];
        }
        if !line.is_empty() {
            found.push(line);
        }
    }
    found
}

fn statement() -> impl Strategy<Value = Vec<String>> {
    let part = prop_oneof![
        Just("WHERE id = 42".to_owned()),
        Just("app@shop LOG:  statement: none".to_owned()),
        Just("  AND b = 'x".to_owned()),
        Just("[7-1] x".to_owned()),
        Just(String::new()),
        "[a-z ]{850,1000}",
        "[a-z]{890,1900}",
        "[a-z ]{0,20}",
    ];
    prop::collection::vec(part, 0..5)
}

/// Texts of which none begins another, as messages of a process each.
fn messages(parts: &[Vec<String>]) -> Vec<(String, String)> {
    let text = |(n, lines): (usize, &Vec<String>)| format!("SELECT {n}, 'a\n{}\nend{n}", lines.join("\n"));
    parts
        .iter()
        .enumerate()
        .map(text)
        .map(|text| {
            let logged = format!("app@shop LOG:  statement: {}", text.replace('\n', "\n\t"));
            (text, logged)
        })
        .collect()
}

proptest! {
    /// What syslog cut comes out whole, or is counted; mixed, and with lines lost, no beginning of a statement does.
    #[test]
    fn no_beginning_of_a_statement_comes_out_of_syslog(
        parts in prop::collection::vec(statement(), 1..6),
        order in prop::collection::vec(0_usize..4, 0..80),
        lost in prop::option::of(0_usize..40),
    ) {
        let known = messages(&parts);
        let mut queues: Vec<std::collections::VecDeque<String>> = vec![Default::default(); 4];
        for (n, (_, logged)) in known.iter().enumerate() {
            let (process, number) = (n % 3, n / 3 + 1);
            let all = pieces(logged);
            for (at, piece) in all.iter().enumerate() {
                // A lost last piece leaves no trace; any other does.
                if lost == Some(at) && at + 1 < all.len() {
                    continue;
                }
                let (at, piece) = (at + 1, piece.replace('\t', "#011"));
                queues[process]
                    .push_back(format!("Dec 15 06:25:40 db1 postgres[{process}]: [{number}-{at}] {piece}\n"));
            }
        }
        for (process, queue) in queues.iter_mut().enumerate().take(3) {
            let number = parts.len().saturating_sub(process).div_ceil(3) + 1;
            queue.push_back(format!(
                "Dec 15 06:25:42 db1 postgres[{process}]: [{number}-1] app@shop LOG:  end\n"
            ));
        }
        let mut log = String::new();
        for process in order.into_iter().chain([0, 1, 2].into_iter().flat_map(|each| [each; 200])) {
            log += &queues[process].pop_front().unwrap_or_default();
        }
        let (events, tally) = read(&log, "%q%u@%d ");
        for event in &events {
            let text = shown(event).1;
            let is_one = known.iter().any(|(whole, _)| whole == text);
            prop_assert!(is_one || text.is_empty(), "{text:?} of {known:?}\n{log}");
        }
        if lost.is_none() {
            prop_assert_eq!(events.len() as u64 + tally.doubtful, known.len() as u64);
        }
    }

    /// Any bytes in any envelope: nothing panics, and what is said of lines adds up.
    #[test]
    fn any_bytes_are_read(lines in prop::collection::vec(any::<Vec<u8>>(), 0..20), which in 0_usize..16) {
        let case = &cases()[which];
        let mut log = case.log.clone().into_bytes();
        for line in lines {
            log.extend_from_slice(&line);
            log.push(b'\n');
        }
        let log = Log::new(&log);
        let mut reader = log.reader(&["%m [%p] "], None);
        while let Ok(Some(event)) = reader.next_event() {
            let text = String::from_utf8_lossy(&event.text).into_owned();
            prop_assert!(!PLAIN.starts_with(&text) || text == PLAIN || text.is_empty());
        }
    }
}

//! Empty, torn, malformed and far-away lines.

use super::*;

const GOOD: &str = "0 1 1535 0 1795229900 324444\n";

fn line_error(texts: &[&str], options: &ReadOptions) -> (String, u64, String, String) {
    match Logs::new(texts).read(options) {
        Err(LogError::Line {
            path,
            line_number,
            text,
            reason,
        }) => (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            line_number,
            text,
            reason,
        ),
        other => panic!("expected a bad line, got {other:?}"),
    }
}

#[test]
fn empty_files_are_logs_without_transactions() {
    assert_eq!(
        Logs::new(&["", ""]).read(&options(PLAIN)).unwrap(),
        ReadLogs::default()
    );
}

#[test]
fn a_whole_line_without_its_newline_is_torn_since_digits_may_be_missing() {
    let read = Logs::new(&[GOOD.repeat(2).trim_end()])
        .read(&options(PLAIN))
        .unwrap();
    assert_eq!((read.lines, read.torn), (1, vec![0]));
}

#[test]
fn malformed_lines_are_named_with_what_is_wrong() {
    for (bad, format, why) in [
        (
            "0 1 12x4 0 1795229900 324444",
            PLAIN,
            "time is not a number",
        ),
        (
            "0 1 retried 0 1795229900 324444",
            PLAIN,
            "time is not a number",
        ),
        ("0 1  0 1795229900 324444", PLAIN, "time is not a number"),
        ("0 1 -5 0 1795229900 324444", PLAIN, "time is not a number"),
        ("a 1 5 0 1795229900 324444", PLAIN, "client is not a number"),
        (
            "0 1 5 0 1795229900 324444 ",
            PLAIN,
            "expected 6 fields, found 7",
        ),
        (
            "0 1 5 0 1795229900 324444",
            FULL,
            "expected 8 fields, found 6",
        ),
        ("0 1 5 0 1795229900 1000000", PLAIN, "out of range"),
        ("0 1 5 128 1795229900 0", PLAIN, "out of range"),
        ("0 1 1099511627776 0 1795229900 0", PLAIN, "out of range"),
        ("0 1 5 0 1795229900000 0", PLAIN, "out of range"),
        ("0 1 5 0 17952299001795229900 0", PLAIN, "out of range"),
        (
            "0 1 5 0 1795229900 324444\r",
            PLAIN,
            "epoch_us is not a number",
        ),
        ("", PLAIN, "expected 6 fields, found 1"),
        (
            "1795229903 920 655086 518965494 397 3838 0 0 0 0 0 0 0 0 0",
            PLAIN,
            "aggregate log",
        ),
    ] {
        let text = format!("{}{bad}\n{GOOD}", if format.has_lag { "" } else { GOOD });
        let (_, _, shown, reason) = line_error(&[&text], &options(format));
        assert!(reason.contains(why), "{bad}: {reason}");
        assert_eq!(shown, bad.replace('\r', "\\r"));
    }
}

#[test]
fn of_several_bad_lines_the_first_is_named_with_its_number_whoever_reads_it() {
    let bad_twice = format!(
        "{}broken\n{}broken too\n",
        GOOD.repeat(100),
        GOOD.repeat(50)
    );
    let texts = [GOOD.repeat(300), bad_twice.clone(), bad_twice];
    for chunk_bytes in [64, 1000, 1 << 20] {
        let options = ReadOptions {
            chunk_bytes,
            threads: 4,
            ..options(PLAIN)
        };
        let (file, line_number, text, _) =
            line_error(&texts.each_ref().map(String::as_str), &options);
        assert_eq!(
            (file.as_str(), line_number, text.as_str()),
            ("log.1", 101, "broken")
        );
    }
}

#[test]
fn a_line_without_end_is_refused_not_buffered() {
    let options = ReadOptions {
        buffer_bytes: 4096,
        ..options(PLAIN)
    };
    let (_, line_number, text, _) =
        line_error(&[&format!("{GOOD}{}", "9".repeat(100_000))], &options);
    assert_eq!((line_number, text.len()), (2, 123));
}

#[test]
fn nul_bytes_are_no_second() {
    let (_, _, text, _) = line_error(&["0 1 5 0 \0\0\0\0\0\0\0\0\0\0\0 1\n"], &options(PLAIN));
    assert!(text.contains("\\x00"));
}

#[test]
fn a_jump_of_the_clock_is_an_error_and_within_the_limit_it_is_not() {
    let at = |second: i64| format!("0 1 5 0 {second} 0\n");
    let texts = |jump| [format!("{}{}", at(1_795_229_900), at(1_795_229_900 + jump))];
    let read = |jump| Logs::new(&texts(jump)).read(&options(PLAIN));
    assert_eq!(read(MAX_INTERVALS - 1).unwrap().lines, 2);
    assert_eq!(read(1 - MAX_INTERVALS).unwrap().lines, 2);
    for jump in [MAX_INTERVALS, -1_795_229_900, 990_000_000_000] {
        let error = read(jump).unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.contains("did the clock jump"),
            "{error}"
        );
    }
}

#[test]
fn files_of_different_runs_are_too_far_apart_even_if_read_by_different_threads() {
    let logs = Logs::new(&["0 1 5 0 1795229900 0\n", "0 1 5 0 1695229900 0\n"]);
    for threads in [1, 2] {
        let error = logs
            .read(&ReadOptions {
                threads,
                ..options(PLAIN)
            })
            .unwrap_err()
            .to_string();
        assert!(error.contains("intervals a"), "{error}");
    }
    let far = ReadOptions {
        start_us: Some(0),
        ..options(PLAIN)
    };
    assert!(Logs::new(&[GOOD]).read(&far).is_err());
}

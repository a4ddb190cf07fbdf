//! Descriptions of drives that pgassay's Python and `pgassay drive simulate` are asked about, too: the same answers.
//!
//! The cases are those of `tests/core/drive_descriptions.json`; only the program's own way in is tried here.

use drive::config::Config;
use serde_json::{Map, Value};

const CASES: &str = include_str!("../../../tests/core/drive_descriptions.json");

fn bytes(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Number(number)) => number.as_u64().unwrap_or(64 << 20),
        Some(Value::String(text)) if text == "256MB" => 256 << 20,
        _ => 64 << 20,
    }
}

#[test]
fn each_is_taken_or_refused_in_the_words_of_the_table() {
    let cases: Vec<Map<String, Value>> = serde_json::from_str(CASES).unwrap();
    assert!(cases.len() > 40);
    for case in cases {
        let table = |name: &str| case["document"].get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut all = table("drive");
        let seen = all.get("logical_bytes").or(all.get("user_bytes"));
        let capacity = bytes(seen);
        all.extend(table("emulation"));
        all.insert("name".into(), "d".into());
        all.insert("directory".into(), "/d".into());
        all.insert("capacity_bytes".into(), capacity.into());
        if let Some(timing) = case["document"].get("timing") {
            all.insert("timing".into(), timing.clone());
        }
        let expected = case.get("emulated").or(case.get("refused")).and_then(Value::as_str);
        let found = Config::parse(&Value::Object(all).to_string()).map(|_| ()).map_err(|error| error.to_string());
        match expected {
            None => assert_eq!(found, Ok(()), "{}", case["case"]),
            Some(words) => {
                let said = found.expect_err(&case["case"].to_string());
                assert!(said.contains(words), "{}: {said}", case["case"]);
            }
        }
    }
}

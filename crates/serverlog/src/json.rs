//! jsonlog: an object a line (manual, "Using JSON-Format Log Output"); keys without a value are left out there.
//! CloudNativePG has the same objects with the names of csvlog's columns (its manual, "Logging").

use std::borrow::Cow;

use serde::Deserialize;

use crate::reader::Line;
use crate::time::timestamp;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object<'a> {
    #[serde(borrow, alias = "log_time")]
    timestamp: Cow<'a, str>,
    #[serde(borrow, alias = "user_name")]
    user: Cow<'a, str>,
    #[serde(borrow, alias = "database_name")]
    dbname: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    error_severity: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    detail: Cow<'a, str>,
    #[serde(borrow, alias = "query")]
    statement: Cow<'a, str>,
}

/// Gives the line of a record to `take`; false for what is no jsonlog. Bytes that are no UTF-8 are replaced.
pub fn with_line<T>(record: &[u8], take: impl FnOnce(Line<'_>) -> T) -> Option<T> {
    // Checking first is several times faster than looking for what to replace.
    let text = std::str::from_utf8(record).map_or_else(|_| String::from_utf8_lossy(record), Cow::Borrowed);
    let found: Object<'_> = serde_json::from_str(&text).ok()?;
    let (time_us, _) = timestamp(found.timestamp.as_bytes())?;
    Some(take(Line {
        time_us,
        in_seconds: false,
        user: Cow::Borrowed(found.user.as_bytes()),
        database: Cow::Borrowed(found.dbname.as_bytes()),
        session: Cow::Borrowed(found.session_id.as_bytes()),
        began: b"",
        word: found.error_severity.as_bytes(),
        message: Cow::Borrowed(found.message.as_bytes()),
        detail: Cow::Borrowed(found.detail.as_bytes()),
        query: Cow::Borrowed(found.statement.as_bytes()),
    }))
}

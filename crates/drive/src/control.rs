//! The control socket: one JSON object a line in, one a line out.
//!
//! `{"do": "stats"}` is answered with `{"ok": {…}}` or `{"error": "…", "hint": "…"}`. The socket is the owner's alone
//! (mode 0600). Each connection has a thread; a connection that sends nonsense harms no other.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::commands::Daemon;
use crate::error::DriveError;

/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 1 << 16;

const STACK_BYTES: usize = 512 << 10;

/// Listens at `path`, whatever lay there before, and answers until the process ends.
pub fn listen(path: &Path, daemon: Arc<Daemon>) -> Result<(), DriveError> {
    let failed = |error| DriveError::io("cannot listen on the control socket", error);
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // The mode is narrowed before anybody can connect: the folder is the drive's own, and listening comes with binding,
    // so the mask decides.
    // SAFETY: there is no other thread yet that makes files.
    let mask = unsafe { libc::umask(0o177) };
    let listener = UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    let listener = listener.map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let accept = move || {
        for stream in listener.incoming().flatten() {
            let daemon = Arc::clone(&daemon);
            let serve = move || {
                // A client that hung up needs no answer.
                let _ = converse(stream, &daemon);
            };
            let _ = thread::Builder::new().name("control".into()).stack_size(STACK_BYTES).spawn(serve);
        }
    };
    thread::Builder::new().name("listen".into()).stack_size(STACK_BYTES).spawn(accept).map_err(failed)?;
    Ok(())
}

fn converse(stream: UnixStream, daemon: &Daemon) -> io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut lines, MAX_LINE_BYTES).read_line(&mut line)?;
        if read == 0 {
            return Ok(());
        }
        let answer = answer(&line, |name, request| daemon.obey(name, request));
        out.write_all(format!("{answer}\n").as_bytes())?;
        if !line.ends_with('\n') {
            return Ok(());
        }
    }
}

/// The answer to one line.
fn answer(line: &str, obey: impl FnOnce(&str, &Value) -> Result<Value, DriveError>) -> Value {
    let outcome = serde_json::from_str::<Value>(line)
        .map_err(|error| DriveError::refused(format!("the request is no JSON: {error}"), ""))
        .and_then(|request| {
            let name = request.get("do").and_then(Value::as_str);
            let name = name.ok_or_else(|| {
                DriveError::refused("the request names no command", "send an object like {\"do\": \"stats\"}")
            })?;
            obey(name, &request)
        });
    match outcome {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error.to_string(), "hint": error.hint() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::answer;
    use crate::error::DriveError;

    #[test]
    fn nonsense_is_answered_with_an_error() {
        for line in ["", "{", "[]", "{\"do\": 3}", "null"] {
            let answer = answer(line, |_, _| Ok(Value::Null));
            assert!(answer["error"].is_string() && answer["hint"].is_string(), "{line}: {answer}");
        }
    }

    #[test]
    fn a_command_gets_its_request_and_its_outcome_comes_back() {
        let echo = |name: &str, request: &Value| Ok(json!([name, request["name"]]));
        assert_eq!(answer(r#"{"do": "drop", "name": "a"}"#, echo), json!({"ok": ["drop", "a"]}));
        let refuse = |_: &str, _: &Value| Err(DriveError::StoreFull);
        assert!(answer(r#"{"do": "x"}"#, refuse)["hint"].as_str().unwrap().contains("store_bytes"));
    }
}

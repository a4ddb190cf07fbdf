//! The control socket: one JSON object a line in, one a line out.
//!
//! `{"do": "stats"}` is answered with `{"ok": {…}}` or `{"error": "…", "hint": "…"}`. The socket is the owner's alone
//! (mode 0600). Each connection has a thread; a connection that sends nonsense harms no other. Who asks for the end has
//! its answer before the process ends ([`UnderWay`]).

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::commands::Daemon;
use crate::error::DriveError;

/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 1 << 16;

const STACK_BYTES: usize = 512 << 10;

/// Requests that have been read and whose answers are not sent yet.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<(Mutex<usize>, Condvar)>);

/// One of them, until it is dropped.
struct Request(UnderWay);

impl UnderWay {
    fn begin(&self) -> Request {
        *self.0.0.lock() += 1;
        Request(self.clone())
    }

    /// Waits until all answers have been sent, at most so long: without it a process that ends because it was asked to
    /// may be quicker than the thread that says so. True if none is left.
    pub fn wait(&self, patience: Duration) -> bool {
        let (left, changed) = &*self.0;
        let deadline = Instant::now() + patience;
        let mut left = left.lock();
        while *left > 0 && !changed.wait_until(&mut left, deadline).timed_out() {}
        *left == 0
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let (left, changed) = &*self.0.0;
        *left.lock() -= 1;
        changed.notify_all();
    }
}

/// Listens at `path`, whatever lay there before, and answers until the process ends; tells what is under way.
pub fn listen(path: &Path, daemon: Arc<Daemon>) -> Result<UnderWay, DriveError> {
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
    let under_way = UnderWay::default();
    let counting = under_way.clone();
    let accept = move || {
        for stream in listener.incoming().flatten() {
            let (daemon, under_way) = (Arc::clone(&daemon), counting.clone());
            let serve = move || {
                // A client that hung up needs no answer.
                let _ = converse(stream, &daemon, &under_way);
            };
            let _ = thread::Builder::new().name("control".into()).stack_size(STACK_BYTES).spawn(serve);
        }
    };
    thread::Builder::new().name("listen".into()).stack_size(STACK_BYTES).spawn(accept).map_err(failed)?;
    Ok(under_way)
}

fn converse(stream: UnixStream, daemon: &Daemon, under_way: &UnderWay) -> io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut lines, MAX_LINE_BYTES).read_line(&mut line)?;
        if read == 0 {
            return Ok(());
        }
        let _request = under_way.begin();
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
    use std::thread;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{UnderWay, answer};
    use crate::error::DriveError;

    #[test]
    fn the_end_waits_for_answers_that_are_under_way_and_not_for_ever() {
        let under_way = UnderWay::default();
        assert!(under_way.wait(Duration::ZERO));
        let (first, second) = (under_way.begin(), under_way.begin());
        drop(first);
        assert!(!under_way.wait(Duration::from_millis(1)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| under_way.wait(Duration::from_secs(600)));
            drop(second);
            assert!(waiting.join().unwrap());
        });
    }

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

//! Pipelines against a server of the test's own, which behaves as PostgreSQL does: it answers in order, skips after a
//! refusal up to the Sync, and reads nothing as long as its answers find no room.
//!
//! What its statements do stands in their text: `rows BYTES` returns one row of that size, `fail CODE` is refused,
//! `fail CODE TIMES` only so often; all others change two rows.

use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use player::control;
use player::specification::Specification;
use serde_json::{Value, json};

static DIRECTORIES: AtomicUsize = AtomicUsize::new(0);

/// What all connections share: how often each statement was executed, and all kinds of messages in order.
#[derive(Default)]
struct Seen {
    executed: HashMap<String, usize>,
    messages: String,
}

struct Served {
    directory: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn serve() -> Served {
    let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
    let name = format!("pgassay-pipelines-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let _ = Backend::new(stream, shared).serve();
            });
        }
    });
    Served { directory, seen }
}

struct Backend {
    input: BufReader<UnixStream>,
    output: BufWriter<UnixStream>,
    seen: Arc<Mutex<Seen>>,
    texts: HashMap<String, String>,
    bound: String,
    status: u8,
}

impl Backend {
    fn new(stream: UnixStream, seen: Arc<Mutex<Seen>>) -> Self {
        Self {
            input: BufReader::new(stream.try_clone().unwrap()),
            output: BufWriter::with_capacity(32 << 10, stream),
            seen,
            texts: HashMap::new(),
            bound: String::new(),
            status: b'I',
        }
    }

    fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.input.read_exact(&mut body)?;
        Ok(body)
    }

    fn say(&mut self, tag: u8, body: &[u8]) -> io::Result<()> {
        self.output.write_all(&[tag])?;
        let length = u32::try_from(body.len() + 4).unwrap();
        self.output.write_all(&length.to_be_bytes())?;
        self.output.write_all(body)
    }

    fn ready(&mut self) -> io::Result<()> {
        self.say(b'Z', &[self.status])?;
        self.output.flush()
    }

    fn serve(mut self) -> io::Result<()> {
        self.body()?;
        self.say(b'R', &[0; 4])?;
        self.ready()?;
        let mut skips = false;
        loop {
            let mut tag = [0];
            self.input.read_exact(&mut tag)?;
            let body = self.body()?;
            let mut words = body
                .split(|byte| *byte == 0)
                .map(|word| String::from_utf8_lossy(word).into_owned());
            let (first, second) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            self.seen.lock().unwrap().messages.push(char::from(tag[0]));
            match tag[0] {
                b'S' => {
                    skips = false;
                    self.ready()?;
                }
                b'Q' => {
                    self.status = b'I';
                    self.say(b'C', b"ROLLBACK\0")?;
                    self.ready()?;
                }
                _ if skips => {}
                b'P' => {
                    self.texts.insert(first, second);
                    self.say(b'1', &[])?;
                }
                b'B' => {
                    self.bound.clone_from(&self.texts[&second]);
                    self.say(b'2', &[])?;
                }
                b'D' => self.say(b'n', &[])?,
                b'E' => skips = !self.execute()?,
                _ => return Ok(()),
            }
        }
    }

    fn execute(&mut self) -> io::Result<bool> {
        let text = self.bound.clone();
        let words: Vec<&str> = text.split(' ').collect();
        let count = {
            let mut seen = self.seen.lock().unwrap();
            let count = seen.executed.entry(text.clone()).or_default();
            *count += 1;
            *count
        };
        match words[..] {
            ["begin"] => self.status = b'T',
            ["end"] => self.status = b'I',
            ["fail", code] => return self.refuse(code),
            ["fail", code, times] if count <= times.parse().unwrap() => return self.refuse(code),
            ["rows", bytes] => {
                let bytes: u32 = bytes.parse().unwrap();
                let mut row = vec![0, 1];
                row.extend(bytes.to_be_bytes());
                row.resize(row.len() + bytes as usize, b'x');
                self.say(b'D', &row)?;
                self.say(b'C', b"SELECT 1\0")?;
                return Ok(true);
            }
            _ => {}
        }
        self.say(b'C', b"UPDATE 2\0")?;
        Ok(true)
    }

    fn refuse(&mut self, code: &str) -> io::Result<bool> {
        if self.status == b'T' {
            self.status = b'E';
        }
        self.say(b'E', format!("C{code}\0Mrefused\0\0").as_bytes())?;
        Ok(false)
    }
}

/// One slice of this script.
fn played(server: &Served, text: &str, transactions: u64, more: &Value) -> Value {
    let mut description = json!({
        "socket_directory": server.directory, "database": "d", "user": "u", "protocol": "prepared",
        "scripts": [{"name": "own", "text": text}],
    });
    for (name, value) in more.as_object().unwrap() {
        description[name] = value.clone();
    }
    let load = Specification::parse(&description.to_string()).unwrap();
    let order = json!({"play": {"transactions": transactions}}).to_string();
    let mut output = Vec::new();
    control::serve(&load, order.as_bytes(), &mut output).unwrap();
    let lines = String::from_utf8(output).unwrap();
    serde_json::from_str(lines.lines().last().unwrap()).unwrap()
}

fn counts(slice: &Value) -> Vec<u64> {
    of_statements(slice, "count")
}

fn of_statements(slice: &Value, what: &str) -> Vec<u64> {
    let statements = slice["scripts"][0]["statements"].as_array().unwrap();
    statements
        .iter()
        .map(|each| each[what].as_u64().unwrap())
        .collect()
}

fn ended(slice: &Value) -> u64 {
    slice["scripts"][0]["latencies"]["count"].as_u64().unwrap()
}

#[test]
fn statements_are_sent_without_waiting_and_counted_one_by_one() {
    let server = serve();
    let text = "\\startpipeline\nbegin;\nrows 10;\n\\syncpipeline\nchange;\nend;\n\\endpipeline\nchange;\n";
    let slice = played(&server, text, 3, &json!({}));
    assert_eq!(slice["aborted"], json!([]));
    assert_eq!((ended(&slice), counts(&slice)), (3, vec![3; 5]));
    assert_eq!(of_statements(&slice, "rows"), [6, 3, 6, 6, 6]);
    assert!(of_statements(&slice, "least_ns").iter().all(|ns| *ns > 0));
    let messages = server.seen.lock().unwrap().messages.clone();
    let prepared = "PS".repeat(5);
    let once = "BDEBDESBDEBDESBDES";
    assert!(
        messages.starts_with(&format!("{prepared}{once}")),
        "{messages}"
    );
}

#[test]
fn a_pipeline_ends_however_much_is_sent_and_answered() {
    for (clients, threads) in [(1, 1), (3, 2)] {
        let server = serve();
        let many = "rows 2000;\n".repeat(3_000);
        let long = format!("change '{}';\n", "x".repeat(400_000)).repeat(3);
        let text = format!("\\startpipeline\n{many}{long}\\endpipeline\n");
        let more = json!({"clients": clients, "threads": threads, "protocol": "extended"});
        let slice = played(&server, &text, 2, &more);
        assert_eq!(slice["aborted"], json!([]));
        assert_eq!(ended(&slice), 2 * clients);
        assert_eq!(counts(&slice), vec![2 * clients; 3_003]);
    }
}

#[test]
fn a_pause_reads_what_has_come_and_waits_for_nothing_else() {
    // What is answered by the first Sync fills the player's buffer to the byte, and the server then waits for another.
    let server = serve();
    let block = format!("change '{}';\n", "x".repeat(9_000));
    let text = format!(
        "\\startpipeline\nrows 16338;\n\\syncpipeline\n{block}\\sleep 20 ms\nchange;\n\\endpipeline\n"
    );
    let slice = played(&server, &text, 3, &json!({"protocol": "extended"}));
    assert_eq!((ended(&slice), slice["aborted"].clone()), (3, json!([])));
    assert_eq!(counts(&slice), [3, 3, 3]);
    let pause_ns = 20_000_000;
    let least_ns = of_statements(&slice, "least_ns");
    assert!(
        least_ns[1] >= pause_ns,
        "sent before the pause, answered behind it: {slice}"
    );
}

#[test]
fn a_refusal_ends_the_client_once_all_is_answered() {
    let server = serve();
    let text =
        "\\startpipeline\nchange;\nfail 22012;\nskipped;\n\\syncpipeline\nchange;\n\\endpipeline\n";
    let slice = played(&server, text, 3, &json!({}));
    assert_eq!(slice["aborted"], json!(["client 0: refused (22012)"]));
    assert_eq!((ended(&slice), counts(&slice)), (0, vec![1, 1, 0, 1]));
}

#[test]
fn a_serialization_failure_is_tried_again_behind_every_sync() {
    let server = serve();
    let text = "\\startpipeline\nbegin;\nfail 40001 2;\nchange;\n\\syncpipeline\n\\syncpipeline\nend;\n\\endpipeline\n";
    let slice = played(&server, text, 2, &json!({"max_tries": 5}));
    assert_eq!(slice["aborted"], json!([]));
    assert_eq!(
        (
            ended(&slice),
            slice["retries"].clone(),
            slice["failed"].clone()
        ),
        (2, json!(2), json!({}))
    );
    assert_eq!(counts(&slice), [4, 4, 2, 4]);

    let server = serve();
    let text = "\\startpipeline\nbegin;\nfail 40P01;\nend;\n\\endpipeline\n";
    let slice = played(&server, text, 2, &json!({"max_tries": 3}));
    assert_eq!(slice["failed"], json!({"40P01": 2}));
    assert_eq!((slice["retries"].clone(), ended(&slice)), (json!(4), 0));
    let messages = server.seen.lock().unwrap().messages.clone();
    assert_eq!(
        messages.matches('Q').count(),
        6,
        "each failed try is rolled back"
    );
}

#[test]
fn what_only_a_branch_makes_wrong_ends_the_client_there() {
    for (text, words) in [
        (
            "\\if :client_id = 0\n\\startpipeline\n\\endif\n\\startpipeline\n\\endpipeline\n",
            "already in",
        ),
        (
            "\\if :client_id = 0\n\\startpipeline\n\\endif\nchange;\n",
            "with pipeline open",
        ),
        (
            "\\if :client_id = 0\n\\startpipeline\n\\endif\nrows 1 \\gset\n",
            "\\gset is not allowed",
        ),
        (
            "\\if :client_id <> 0\n\\startpipeline\n\\endif\n\\endpipeline\n",
            "\\endpipeline: not in pipeline mode",
        ),
        (
            "\\if :client_id <> 0\n\\startpipeline\n\\endif\n\\syncpipeline\n\\endpipeline\n",
            "\\syncpipeline: not in pipeline mode",
        ),
    ] {
        let server = serve();
        let slice = played(&server, text, 1, &json!({"clients": 2}));
        let aborted = slice["aborted"].as_array().unwrap();
        assert_eq!((aborted.len(), ended(&slice)), (1, 1), "{text}: {slice}");
        let told = aborted[0].as_str().unwrap();
        assert!(
            told.starts_with("client 0: ") && told.contains(words),
            "{told}"
        );
    }
}

#[test]
fn a_branch_within_a_pipeline_is_played() {
    let server = serve();
    let text = "\\startpipeline\n\\if :client_id = 0\nzero;\n\\else\nother;\n\\syncpipeline\n\\endif\n\\endpipeline\n";
    let slice = played(&server, text, 2, &json!({"clients": 3}));
    assert_eq!(slice["aborted"], json!([]));
    assert_eq!((ended(&slice), counts(&slice)), (6, vec![2, 4]));
}

//! What a message says, by its words in English (`src/backend/tcop/postgres.c`) or in one of six translations
//! (`src/backend/po`); others are counted.

use crate::events::Kind;
use crate::plan::{Explained, explained};

/// What became of a message.
pub enum Meaning<'a> {
    /// It is an event.
    Event { kind: Kind, text: &'a [u8], duration_ms: Option<f64> },
    /// It is auto_explain's entry of a statement that is logged elsewhere, or not at all.
    Plan { explained: Explained<'a>, duration_ms: Option<f64> },
    /// The same, but where the statement ends cannot be told.
    UnreadPlan,
    /// It is about something else.
    Other,
    /// It looks like an event in another language.
    Foreign,
}

/// More rows of a portal that was counted when it began.
const FETCH: &[u8] = b"execute fetch from ";
/// What may follow a duration and is no statement of its own.
const UNCOUNTED: [&[u8]; 2] = [FETCH, b"fastpath function call: "];
/// What follows the duration in an entry of auto_explain.
const PLAN: &[u8] = b"plan:";

/// How `lc_messages` writes what English writes as `duration: %s ms`, `statement: `, `execute NAME: ` and so on.
struct Language {
    duration: &'static str,
    unit: &'static str,
    statement: &'static str,
    execute: &'static str,
    fetch: &'static str,
    parse: &'static str,
    bind: &'static str,
    fastpath: &'static str,
    parameters: [&'static str; 2],
    connect: &'static str,
    disconnect: &'static str,
}

/// de, ru, zh_CN, ja, fr, es, as PostgreSQL 15 and later have them.
const LANGUAGES: [Language; 6] = [
    Language {
        duration: "Dauer: ",
        unit: " ms",
        statement: "Anweisung: ",
        execute: "Ausführen",
        fetch: "Ausführen Fetch von",
        parse: "Parsen",
        bind: "Binden",
        fastpath: "Fastpath-Funktionsaufruf",
        parameters: ["Parameter: ", "Parameter: "],
        connect: "Verbindung autorisiert: ",
        disconnect: "Verbindungsende: ",
    },
    Language {
        duration: "продолжительность: ",
        unit: " мс",
        statement: "оператор: ",
        execute: "выполнение",
        fetch: "выборка из",
        parse: "разбор",
        bind: "сообщение Bind",
        fastpath: "вызов функции",
        parameters: ["параметры: ", "Параметры: "],
        connect: "подключение авторизовано: ",
        disconnect: "отключение: ",
    },
    Language {
        duration: "执行时间: ",
        unit: " ms",
        statement: "语句: ",
        execute: "执行",
        fetch: "执行FETCH",
        parse: "解析",
        bind: "绑定",
        fastpath: "快捷路径函数调用",
        parameters: ["参数: ", "参数: "],
        connect: "连接已授权: ",
        disconnect: "断开连接: ",
    },
    Language {
        duration: "期間: ",
        unit: " ミリ秒",
        statement: "文: ",
        execute: "実行",
        fetch: "取り出し実行",
        parse: "パース",
        bind: "バインド",
        fastpath: "近道関数呼び出し",
        parameters: ["パラメータ: ", "パラメータ: "],
        connect: "接続の認証完了: ",
        disconnect: "接続を切断: ",
    },
    Language {
        duration: "durée : ",
        unit: " ms",
        statement: "instruction : ",
        execute: "exécute",
        fetch: "exécute fetch à partir de",
        parse: "analyse",
        bind: "lien",
        fastpath: "appel de fonction fastpath",
        parameters: ["paramètres : ", "Paramètres : "],
        connect: "connexion autorisée : ",
        disconnect: "déconnexion : ",
    },
    Language {
        duration: "duración: ",
        unit: " ms",
        statement: "sentencia: ",
        execute: "ejecutar",
        fetch: "ejecutar fetch desde",
        parse: "parse",
        bind: "bind",
        fastpath: "llamada a función fastpath",
        parameters: ["parámetros: ", "Parámetros: "],
        connect: "conexión autorizada: ",
        disconnect: "desconexión: ",
    },
];

impl Language {
    fn meaning<'a>(&self, message: &'a [u8]) -> Option<Meaning<'a>> {
        let known = |kind| Meaning::Event { kind, text: b"", duration_ms: None };
        if let Some(rest) = message.strip_prefix(self.duration.as_bytes()) {
            let end = find(rest, self.unit.as_bytes())?;
            let duration_ms = Some(milliseconds(&rest[..end])?);
            let tail = rest[end + self.unit.len()..].trim_ascii_start();
            let tail = tail.strip_prefix(b",").unwrap_or(tail).trim_ascii_start();
            if tail.is_empty() {
                return Some(Meaning::Event { kind: Kind::Duration, text: b"", duration_ms });
            }
            if tail.starts_with(self.fetch.as_bytes()) || tail.starts_with(self.fastpath.as_bytes()) {
                return Some(Meaning::Other);
            }
            let (kind, text) = self.statement(tail)?;
            return Some(Meaning::Event { kind, text, duration_ms });
        }
        match message {
            _ if message.starts_with(self.connect.as_bytes()) => Some(known(Kind::Connect)),
            _ if message.starts_with(self.disconnect.as_bytes()) => Some(known(Kind::Disconnect)),
            _ if message.starts_with(self.fetch.as_bytes()) => Some(Meaning::Other),
            _ => self.statement(message).map(|(kind, text)| Meaning::Event { kind, text, duration_ms: None }),
        }
    }

    /// A name follows its word with a blank or, in Chinese, without.
    fn statement<'a>(&self, message: &'a [u8]) -> Option<(Kind, &'a [u8])> {
        if let Some(text) = message.strip_prefix(self.statement.as_bytes()) {
            return Some((Kind::Statement, text));
        }
        let named = [(self.execute, Kind::Execute), (self.parse, Kind::Parse), (self.bind, Kind::Bind)];
        named.into_iter().find_map(|(word, kind)| {
            let rest = message.strip_prefix(word.as_bytes())?;
            find(rest, b": ").map(|at| (kind, &rest[at + 2..]))
        })
    }
}

/// The word before the parameters of a DETAIL, in a translation.
pub fn parameters_word(detail: &[u8]) -> Option<&'static str> {
    LANGUAGES.iter().flat_map(|each| each.parameters).find(|word| detail.starts_with(word.as_bytes()))
}

/// The meaning of a message of severity LOG.
pub fn meaning(message: &[u8]) -> Meaning<'_> {
    if let Some(rest) = message.strip_prefix(b"duration: ") {
        return timed(rest);
    }
    if let Some((kind, text)) = statement(message) {
        return Meaning::Event { kind, text, duration_ms: None };
    }
    if let Some(found) = LANGUAGES.iter().find_map(|language| language.meaning(message)) {
        return found;
    }
    let known = |kind| Meaning::Event { kind, text: b"", duration_ms: None };
    match message {
        _ if message.starts_with(b"connection authorized: ") => known(Kind::Connect),
        _ if message.starts_with(b"disconnection: ") => known(Kind::Disconnect),
        _ if !message.starts_with(FETCH) && is_foreign(message) => Meaning::Foreign,
        _ => Meaning::Other,
    }
}

/// `0.123 ms`, and what may follow: `  statement: SELECT 1`.
fn timed(rest: &[u8]) -> Meaning<'_> {
    let Some(end) = find(rest, b" ms") else {
        return Meaning::Other;
    };
    let Some(duration_ms) = milliseconds(&rest[..end]) else {
        return Meaning::Other;
    };
    let tail = rest[end + 3..].trim_ascii_start();
    let duration_ms = Some(duration_ms);
    if tail.is_empty() {
        return Meaning::Event { kind: Kind::Duration, text: b"", duration_ms };
    }
    if let Some((kind, text)) = statement(tail) {
        return Meaning::Event { kind, text, duration_ms };
    }
    match tail.strip_prefix(PLAN) {
        Some(entry) => {
            explained(entry).map_or(Meaning::UnreadPlan, |explained| Meaning::Plan { explained, duration_ms })
        }
        None if UNCOUNTED.iter().any(|known| tail.starts_with(known)) => Meaning::Other,
        None => Meaning::Foreign,
    }
}

/// `statement: TEXT`, `execute NAME: TEXT` and so on.
fn statement(message: &[u8]) -> Option<(Kind, &[u8])> {
    if let Some(text) = message.strip_prefix(b"statement: ") {
        return Some((Kind::Statement, text));
    }
    if message.starts_with(FETCH) {
        return None;
    }
    let named = [(&b"execute "[..], Kind::Execute), (b"parse ", Kind::Parse), (b"bind ", Kind::Bind)];
    named.into_iter().find_map(|(word, kind)| {
        let rest = message.strip_prefix(word)?;
        find(rest, b": ").map(|at| (kind, &rest[at + 2..]))
    })
}

/// Where `wanted` begins first; for a few bytes this is faster than a searcher that is made for each.
pub fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    memchr::memchr_iter(first, text).find(|at| text[*at..].starts_with(wanted))
}

fn milliseconds(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

/// The first words of statements that a log has most of.
const VERBS: [&[u8]; 6] = [b"select ", b"insert ", b"update ", b"delete ", b"with ", b"begin"];

/// A word, perhaps of many bytes, a colon, and a number with three decimals and `ms` or a statement: a duration or a
/// statement in any language.
fn is_foreign(message: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b':', &message[..message.len().min(64)]) else {
        return false;
    };
    let rest = message[at + 1..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let is_duration = digits > 4 && rest[digits - 4] == b'.' && rest[digits..].starts_with(b" ");
    let begins = |verb: &&[u8]| rest.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    is_duration || (at <= 24 && VERBS.iter().any(begins))
}

/// The severities and parts of a report, as the server writes them in English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Log,
    Failure,
    Detail,
    Statement,
    /// HINT, CONTEXT, QUERY, NOTICE and others that say nothing of a statement.
    Aside,
    /// No word of English.
    Foreign,
}

/// The same words in the six translations; in some a word is as in English.
const TRANSLATED: [(Part, &[&str]); 5] = [
    (Part::Log, &["СООБЩЕНИЕ", "日志"]),
    (Part::Failure, &["FEHLER", "PANIK", "ОШИБКА", "ВАЖНО", "ПАНИКА", "错误", "致命错误", "ERREUR"]),
    (Part::Detail, &["ПОДРОБНОСТИ", "详细信息", "詳細", "DÉTAIL", "DETALLE"]),
    (Part::Statement, &["ANWEISUNG", "ОПЕРАТОР", "语句", "文", "INSTRUCTION", "SENTENCIA"]),
    (
        Part::Aside,
        &[
            "TIPP",
            "ZUSAMMENHANG",
            "WARNUNG",
            "HINWEIS",
            "ANFRAGE",
            "ПОДСКАЗКА",
            "КОНТЕКСТ",
            "ПРЕДУПРЕЖДЕНИЕ",
            "ЗАМЕЧАНИЕ",
            "ИНФОРМАЦИЯ",
            "ОТЛАДКА",
            "ЗАПРОС",
            "提示",
            "上下文",
            "警告",
            "注意",
            "信息",
            "调试",
            "查询",
            "ヒント",
            "文脈",
            "問い合わせ",
            "ASTUCE",
            "CONTEXTE",
            "ATTENTION",
            "REQUÊTE",
            "CONTEXTO",
            "CONSULTA",
        ],
    ),
];

/// Does a text end with a word that begins a part in some translation?
pub fn ends_with_word(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    TRANSLATED.iter().flat_map(|(_, words)| *words).any(|word| text.ends_with(word.as_bytes()))
}

/// Which part a word begins.
pub fn part(word: &[u8]) -> Part {
    match word {
        b"LOG" => Part::Log,
        b"ERROR" | b"FATAL" | b"PANIC" => Part::Failure,
        b"DETAIL" => Part::Detail,
        b"STATEMENT" => Part::Statement,
        b"HINT" | b"CONTEXT" | b"QUERY" | b"NOTICE" | b"WARNING" | b"INFO" | b"LOCATION" | b"BACKTRACE" => Part::Aside,
        _ if word.starts_with(b"DEBUG") => Part::Aside,
        _ => TRANSLATED
            .iter()
            .find(|(_, words)| words.iter().any(|each| each.as_bytes() == word))
            .map_or(Part::Foreign, |(part, _)| *part),
    }
}

//! What has come back of an answer: refusal, rows, and whether a transaction is open.
//!
//! Read from single messages (manual, "Message Formats"); rows are counted, and kept only where they were asked for.

use std::io;
use std::ops::Range;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, RowDescriptionBody};

/// A server's refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// SQLSTATE.
    pub code: String,
    /// The server's words.
    pub message: String,
}

impl Refusal {
    /// As the server says it.
    ///
    /// # Errors
    /// A message that cannot be read.
    pub fn of(body: &ErrorResponseBody) -> io::Result<Self> {
        let mut refusal = Self::default();
        let mut fields = body.fields();
        while let Some(field) = fields.next()? {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => refusal.code = text(),
                b'M' => refusal.message = text(),
                _ => {}
            }
        }
        Ok(refusal)
    }
}

/// One row: a text for each column, None for NULL.
pub type Row = Vec<Option<String>>;

/// What has arrived of an answer so far.
#[derive(Debug, Default)]
pub struct Answer {
    /// The first refusal in it.
    pub refusal: Option<Refusal>,
    /// Rows in it.
    pub rows: u64,
    /// Rows that the command says it returned or changed.
    pub counted: u64,
    /// Columns' names and the last row, where they were asked for.
    pub columns: Vec<String>,
    /// The last row.
    pub last_row: Option<Row>,
    /// `I` idle, `T` in a transaction, `E` in a failed one.
    pub status: u8,
}

impl Answer {
    /// Count a row and keep it.
    ///
    /// # Errors
    /// A message that cannot be read.
    pub fn keep_row(&mut self, body: &DataRowBody) -> io::Result<()> {
        self.rows += 1;
        let text = |range: Option<Range<usize>>| {
            range.map(|range| String::from_utf8_lossy(&body.buffer()[range]).into_owned())
        };
        self.last_row = Some(body.ranges().map(|range| Ok(text(range))).collect()?);
        Ok(())
    }

    /// Keep the columns' names.
    ///
    /// # Errors
    /// A message that cannot be read.
    pub fn name_columns(&mut self, body: &RowDescriptionBody) -> io::Result<()> {
        let names = body.fields().map(|field| Ok(field.name().to_owned()));
        self.columns = names.collect()?;
        Ok(())
    }
}

/// The number at the end of a command's tag: `SELECT 5`, `INSERT 0 1`; none for a command that has no rows.
#[must_use]
pub fn counted(tag: &[u8]) -> u64 {
    let last = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(last).map_or(0, |word| word.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_how_many_rows_it_returned_or_changed() {
        let tags: [&[u8]; 5] = [b"SELECT 5", b"INSERT 0 1", b"UPDATE 12", b"BEGIN", b""];
        assert_eq!(tags.map(counted), [5, 1, 12, 0, 0]);
    }
}

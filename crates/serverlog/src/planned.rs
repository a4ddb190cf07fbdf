//! Values from auto_explain's entries, for statements of which the log has no values by itself.
//!
//! An entry may be the second report of a call that the log has anyway, and which calls have one is decided by a
//! threshold and by chance (`auto_explain.log_min_duration`, `sample_rate`). So entries are never counted as calls, and
//! where calls of a statement have values, these are the sample: no call is in it twice, and slow ones have no
//! greater part in it than they have in the log.

use rustc_hash::FxHashMap;

use crate::events::Event;
use crate::parameters::{are_cut, parameters};
use crate::sample::Sample;
use crate::seen::{SeenStatement, Summary, Values};
use crate::statement::Place;
use crate::summary::{STATEMENTS_MAX, values};

/// A sample of values by statement; apart from the statements with calls, so that these never lack room for them.
#[derive(Default)]
pub struct Planned {
    ids: FxHashMap<Vec<u8>, usize>,
    samples: Vec<Sample<Option<Values>>>,
}

impl Planned {
    /// Take an entry of the statement `text`; `found` counts it.
    pub fn take(&mut self, text: &[u8], places: &[Place], event: &Event, keeps_values: bool, found: &mut Summary) {
        found.plans += 1;
        let id = match self.ids.get(text) {
            Some(known) => *known,
            None if self.samples.len() >= STATEMENTS_MAX => {
                found.other_plans += 1;
                return;
            }
            None => {
                self.ids.insert(text.to_vec(), self.samples.len());
                self.samples.push(Sample::default());
                self.samples.len() - 1
            }
        };
        if memchr::memmem::find(&event.parameters, b"...'").is_some() && are_cut(&parameters(&event.parameters)) {
            found.plans_cut += 1;
        } else if keeps_values && !places.is_empty() {
            self.samples[id].offer(|| values(places, event));
        }
    }

    /// Give the values to statements that have none; those without a call are added, in the order of the log.
    pub fn finish(self, ids: &FxHashMap<Vec<u8>, u32>, statements: &mut Vec<SeenStatement>) {
        let mut texts: Vec<_> = self.ids.into_iter().collect();
        texts.sort_unstable_by_key(|(_, place)| *place);
        for ((text, _), sample) in texts.into_iter().zip(self.samples) {
            let parameters: Vec<Values> = sample.kept().iter().flatten().cloned().collect();
            let planned = !parameters.is_empty();
            match ids.get(&text).map(|id| &mut statements[*id as usize]) {
                Some(known) if known.parameters.is_empty() => (known.parameters, known.planned) = (parameters, planned),
                Some(_) => {}
                None => statements.push(SeenStatement {
                    text: String::from_utf8_lossy(&text).into_owned(),
                    parameters,
                    planned,
                    ..SeenStatement::default()
                }),
            }
        }
    }
}

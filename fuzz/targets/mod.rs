//! What must hold for any bytes: a function a target, which panics where something does not.

pub mod capi;
pub mod documents;
pub mod filter;
pub mod html;
pub mod learn;
pub mod mail;
pub mod mbox;
pub mod model;
pub mod partial;
pub mod record;
pub mod rounds;
pub mod slow;
pub mod tables;
pub mod tokenizer;
pub mod words;

/// A target and its name, which is that of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const ALL: &[Target] = &[
    ("capi", capi::run),
    ("documents", documents::run),
    ("filter", filter::run),
    ("html", html::run),
    ("learn", learn::run),
    ("mail", mail::run),
    ("mbox", mbox::run),
    ("model", model::run),
    ("partial", partial::run),
    ("record", record::run),
    ("rounds", rounds::run),
    ("slow", slow::run),
    ("tables", tables::run),
    ("tokenizer", tokenizer::run),
    ("words", words::run),
];

/// Choices, made by the first bytes of an input; zeros once there are none left.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()].clone()
    }

    /// Changes bytes of a file, as long as there are choices left.
    pub fn damage(&mut self, file: &mut Vec<u8>) {
        while self.0.len() >= 4 && !file.is_empty() {
            let (at, change, value) = (self.number() % file.len(), self.byte(), self.byte());
            match change % 8 {
                0 => file.truncate(at),
                1 => file.insert(at, value),
                2 => file[at] = file[at].wrapping_add(value),
                3 => file[at] ^= 1 << (value % 8),
                _ => file[at] = value,
            }
        }
    }

    pub fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }
}

//! The filter for JavaScript, in browsers and in Node: open a model, score, explain.
//!
//! [`Filter`] is the class that JavaScript sees; the objects that it takes and returns are in `objects`. The names are those
//! of the Python package, in camel case. `npm` holds what else is in the npm package, and `contrib/package/npm` makes it.

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
#[cfg(target_arch = "wasm32")]
mod numbers;

mod objects;

mod filter;

pub use filter::Filter;
pub use objects::Options;

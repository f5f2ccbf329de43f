//! Arguments that several commands share.

mod decision;
mod documents;
mod input;
mod labels;
mod log;
mod model;
mod recipe;
mod scoring;
mod values;
mod volume;

pub(crate) use self::decision::{DecisionArgs, VerdictArgs};
pub(crate) use self::documents::{TableArgs, UnlabelledArgs};
pub(crate) use self::input::{GroupArgs, InputArgs, ListArgs};
pub(crate) use self::labels::LabelsArgs;
pub(crate) use self::log::LogArg;
pub(crate) use self::model::{
    ChangeArgs, ModelArg, ModelArgs, lock, refuse_to_replace, refuse_to_replace_all_but_partials,
    refuse_to_replace_taught, set,
};
pub(crate) use self::recipe::{RecipeArgs, say_chosen_terms};
pub(crate) use self::scoring::ScoringArgs;
pub(crate) use self::values::{By, ColumnChoice, Contradictions, Format, Order, at_least, share};
pub(crate) use self::volume::VolumeArgs;

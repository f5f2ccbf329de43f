//! Figures of a model.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use tamis_train::{Keep, Kind};

use crate::model::Model;

pub(super) fn information<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyDict>> {
    let information = model.filter.information();
    let documents = information.totals.iter().map(|totals| totals.documents);
    let keep = match information.stored.keep {
        Keep::Vectors => "terms",
        Keep::Digests => "digests",
    };
    let dict = PyDict::new(py);
    dict.set_item("kind", information.recipe.kind.to_string())?;
    if information.recipe.kind == Kind::Table {
        let columns = information.recipe.columns.iter();
        let kinds = columns.map(|column| (&column.name, column.kind.to_string()));
        dict.set_item("columns", kinds.into_py_dict(py)?)?;
        dict.set_item("target", &information.recipe.target)?;
    }
    dict.set_item("documents", model.labels.names().iter().zip(documents).into_py_dict(py)?)?;
    dict.set_item("learned", information.documents)?;
    dict.set_item("remembered", information.size.documents)?;
    dict.set_item("keep", keep)?;
    dict.set_item("terms", information.size.terms)?;
    dict.set_item("features", information.size.features)?;
    dict.set_item("changes", information.changes.since_training)?;
    dict.set_item("unfitted", information.changes.since_fit)?;
    dict.set_item("bytes", information.file.bytes)?;
    dict.set_item("log_bytes", information.file.log_bytes)?;
    dict.set_item("segments", information.file.segments)?;
    Ok(dict)
}

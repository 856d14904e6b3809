//! Objects that are in place of a missing value.

use pyo3::prelude::*;

/// Whether an object is `None`, NaN, or `NA` of pandas.
pub(crate) fn is_missing(item: &Bound<'_, PyAny>) -> bool {
    item.is_none()
        || item.extract::<f64>().is_ok_and(f64::is_nan)
        || item.get_type().name().is_ok_and(|name| name == "NAType")
}

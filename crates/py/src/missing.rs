//! Python objects that mean a missing value.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Whether an object is `None`, NaN, or `NA` of pandas.
pub(crate) fn is_missing(item: &Bound<'_, PyAny>) -> bool {
    if item.is_none() {
        return true;
    }
    // The name comes last: it takes longest, and most items are numbers or strings.
    match item.extract::<f64>() {
        Ok(float) => float.is_nan(),
        Err(_) if item.is_instance_of::<PyString>() => false,
        Err(_) => item.get_type().name().is_ok_and(|name| name == "NAType"),
    }
}

/// Whether an object is a masked array of NumPy, whose data are no values where the mask is set.
pub(crate) fn is_masked_array(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "MaskedArray")
}

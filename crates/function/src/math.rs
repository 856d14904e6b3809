//! Functions on floats: exponentials, logarithms, trigonometry, distances on a sphere.

use crate::call::Call;
use crate::failure::Failure;
use crate::vector;
use model::Value;

/// Applies a function to a number as a float, or to each element of a vector.
pub(crate) fn float(
    name: &'static str,
    args: &[Value],
    compute: fn(f64) -> f64,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    match call.value(0) {
        Value::Vector(vector) => Ok(Value::Vector(vector::map(vector, compute))),
        _ => Ok(Value::Float(compute(call.float(0)?))),
    }
}

pub(crate) fn atan2(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("atan2", args);
    Ok(Value::Float(call.float(0)?.atan2(call.float(1)?)))
}

/// The angle in radians between two points on a sphere. The arguments are latitude, longitude,
/// latitude, longitude in radians.
pub(crate) fn haversine(args: &[Value]) -> Result<Value, Failure> {
    great_circle(Call::new("haversine", args), |angle| angle)
}

/// As haversine with points in degrees. The result is in radians.
pub(crate) fn haversine_deg_input(args: &[Value]) -> Result<Value, Failure> {
    great_circle(Call::new("haversine_deg_input", args), deg_to_rad)
}

pub(crate) fn deg_to_rad(degrees: f64) -> f64 {
    degrees * std::f64::consts::PI / 180.0
}

pub(crate) fn rad_to_deg(radians: f64) -> f64 {
    radians * 180.0 / std::f64::consts::PI
}

fn great_circle(call: Call<'_>, to_radians: fn(f64) -> f64) -> Result<Value, Failure> {
    let angle = |i| call.float(i).map(to_radians);
    let (lat1, lon1, lat2, lon2) = (angle(0)?, angle(1)?, angle(2)?, angle(3)?);
    let half = ((lat1 - lat2) / 2.0).sin().powi(2)
        + lat1.cos() * lat2.cos() * ((lon1 - lon2) / 2.0).sin().powi(2);
    // For opposite points, rounding may give a value above 1, which has no arc sine. NaN stays NaN.
    let half = if half > 1.0 { 1.0 } else { half };
    Ok(Value::Float(2.0 * half.sqrt().asin()))
}

//! The table of built-in functions: name, number of arguments, memory estimate, implementation. A
//! new function needs a line here, in the order of the names.

use crate::budget::MemoryEstimate;
use crate::context::FunctionContext;
use crate::failure::Failure;
use crate::function::Function;
use crate::{
    arithmetic, bits, comparison, control, convert, json, kind, list, math, random, regexes,
    string, temporal, time, vector,
};
use model::calendar::SECOND_US;
use model::{Decimal, Value};
use std::cmp::Ordering;

/// The function with this name.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Function> {
    let i = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
    FUNCTIONS.get(i)
}

/// All functions, sorted by name.
#[must_use]
pub fn functions() -> &'static [Function] {
    FUNCTIONS
}

type Compute = fn(&[Value], &dyn FunctionContext) -> Result<Value, Failure>;

/// A deterministic function with a minimum and a maximum number of arguments.
const fn pure(name: &'static str, args_min: usize, args_max: usize, call: Compute) -> Function {
    let (args_max, memory) = (Some(args_max), MemoryEstimate::Times(2));
    Function { name, args_min, args_max, deterministic: true, memory, call }
}

/// A deterministic function with a minimum number of arguments and no maximum.
const fn many(name: &'static str, args_min: usize, call: Compute) -> Function {
    Function {
        name,
        args_min,
        args_max: None,
        deterministic: true,
        memory: MemoryEstimate::Times(2),
        call,
    }
}

/// A function that depends on the clock or on randomness.
const fn changing(name: &'static str, args_min: usize, args_max: usize, call: Compute) -> Function {
    let (args_max, memory) = (Some(args_max), MemoryEstimate::Little);
    Function { name, args_min, args_max, deterministic: false, memory, call }
}

/// Replaces the default memory estimate, which is twice the arguments.
const fn estimated(memory: MemoryEstimate, function: Function) -> Function {
    Function { memory, ..function }
}

// One short name for each memory estimate, see `MemoryEstimate`.

const fn little(function: Function) -> Function {
    estimated(MemoryEstimate::Little, function)
}

/// The function requests memory itself.
const fn asks(function: Function) -> Function {
    estimated(MemoryEstimate::Asks, function)
}

const fn tree(function: Function) -> Function {
    estimated(MemoryEstimate::Tree, function)
}

const fn part(function: Function) -> Function {
    estimated(MemoryEstimate::Part, function)
}

const fn text(function: Function) -> Function {
    estimated(MemoryEstimate::Text, function)
}

const fn times(times: u64, function: Function) -> Function {
    estimated(MemoryEstimate::Times(times), function)
}

/// Microseconds of a minute.
const MINUTE_US: i64 = 60 * SECOND_US;
/// Microseconds of an hour.
const HOUR_US: i64 = 60 * MINUTE_US;

/// Sorted by name, for binary search.
static FUNCTIONS: &[Function] = &[
    pure("abs", 1, 1, |args, _| arithmetic::abs(args)),
    pure("acos", 1, 1, |args, _| math::float("acos", args, f64::acos)),
    pure("acosh", 1, 1, |args, _| math::float("acosh", args, f64::acosh)),
    many("add", 0, |args, _| arithmetic::add(args)),
    little(many("and", 0, |args, _| control::junction("and", args, false))),
    times(1, pure("append", 2, 2, list::append)),
    pure("asin", 1, 1, |args, _| math::float("asin", args, f64::asin)),
    pure("asinh", 1, 1, |args, _| math::float("asinh", args, f64::asinh)),
    little(many("assert", 1, |args, _| control::assert(args))),
    pure("atan", 1, 1, |args, _| math::float("atan", args, f64::atan)),
    pure("atan2", 2, 2, |args, _| math::atan2(args)),
    pure("atanh", 1, 1, |args, _| math::float("atanh", args, f64::atanh)),
    pure("bit_and", 2, 2, |args, _| bits::bitwise("bit_and", args, |a, b| a & b)),
    pure("bit_not", 1, 1, |args, _| bits::bit_not(args)),
    pure("bit_or", 2, 2, |args, _| bits::bitwise("bit_or", args, |a, b| a | b)),
    pure("bit_xor", 2, 2, |args, _| bits::bitwise("bit_xor", args, |a, b| a ^ b)),
    pure("ceil", 1, 1, |args, _| arithmetic::rounded("ceil", args, f64::ceil, Decimal::ceil)),
    asks(pure("chars", 1, 1, string::chars)),
    times(4, pure("chunks", 2, 2, list::chunks)),
    times(4, pure("chunks_exact", 2, 2, list::chunks_exact)),
    times(1, many("coalesce", 0, |args, _| control::coalesce(args))),
    asks(many("concat", 1, list::concat)),
    times(1, many("cond", 1, |args, _| control::cond(args))),
    pure("cos", 1, 1, |args, _| math::float("cos", args, f64::cos)),
    little(pure("cos_dist", 2, 2, |args, _| vector::cos_dist(args))),
    pure("cosh", 1, 1, |args, _| math::float("cosh", args, f64::cosh)),
    little(pure("date_trunc", 2, 2, |args, _| temporal::date_trunc(args))),
    little(pure("day", 1, 1, |args, _| {
        temporal::part_of_date("day", args, |date| i64::from(date.2))
    })),
    little(pure("day_of_week", 1, 1, |args, _| temporal::day_of_week(args))),
    times(1, pure("decode_base64", 1, 1, |args, _| bits::decode_base64(args))),
    pure("deg_to_rad", 1, 1, |args, _| math::float("deg_to_rad", args, math::deg_to_rad)),
    many("difference", 2, list::difference),
    pure("div", 2, 2, |args, _| arithmetic::div(args)),
    times(1, pure("dump_json", 1, 1, |args, _| json::dump_json(args))),
    pure("encode_base64", 1, 1, |args, _| bits::encode_base64(args)),
    little(pure("ends_with", 2, 2, |args, _| string::ends_with(args))),
    little(pure("eq", 2, 2, |args, _| comparison::eq(args))),
    pure("exp", 1, 1, |args, _| math::float("exp", args, f64::exp)),
    pure("exp2", 1, 1, |args, _| math::float("exp2", args, f64::exp2)),
    times(1, pure("first", 1, 1, |args, _| list::first(args))),
    pure("floor", 1, 1, |args, _| arithmetic::rounded("floor", args, f64::floor, Decimal::floor)),
    little(pure("format_timestamp", 1, 2, |args, _| time::format_timestamp(args))),
    asks(pure("from_substrings", 1, 1, string::from_substrings)),
    little(pure("ge", 2, 2, |args, _| comparison::ordered("ge", args, Ordering::is_ge))),
    part(pure("get", 2, 3, |args, _| json::get(args))),
    little(pure("gt", 2, 2, |args, _| comparison::ordered("gt", args, Ordering::is_gt))),
    little(pure("haversine", 4, 4, |args, _| math::haversine(args))),
    little(pure("haversine_deg_input", 4, 4, |args, _| math::haversine_deg_input(args))),
    little(pure("hour", 1, 1, |args, _| temporal::part_of_time("hour", args, HOUR_US, 24))),
    times(1, pure("if", 2, 3, |args, _| control::choose(args))),
    asks(pure("int_range", 1, 3, list::int_range)),
    many("intersection", 1, list::intersection),
    little(pure("ip_dist", 2, 2, |args, _| vector::ip_dist(args))),
    little(pure("is_bytes", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Bytes(_)))
    })),
    little(pure("is_date", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Date(_)))
    })),
    little(pure("is_decimal", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Decimal(_)))
    })),
    little(pure("is_duration", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Duration(_)))
    })),
    little(pure("is_finite", 1, 1, |args, _| kind::is(args, kind::finite))),
    little(pure("is_float", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Float(_)))
    })),
    little(pure("is_in", 2, 2, |args, _| list::is_in(args))),
    little(pure("is_infinite", 1, 1, |args, _| kind::is(args, kind::infinite))),
    little(pure("is_int", 1, 1, |args, _| kind::is(args, kind::int))),
    little(pure("is_json", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Json(_)))
    })),
    little(pure("is_list", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::List(_)))
    })),
    little(pure("is_nan", 1, 1, |args, _| kind::is(args, kind::nan))),
    little(pure("is_null", 1, 1, |args, _| kind::is(args, |value| matches!(value, Value::Null)))),
    little(pure("is_num", 1, 1, |args, _| kind::is(args, kind::number))),
    little(pure("is_string", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Str(_)))
    })),
    little(pure("is_timestamp", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Timestamp(_)))
    })),
    little(pure("is_uuid", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Uuid(_)))
    })),
    little(pure("is_vec", 1, 1, |args, _| {
        kind::is(args, |value| matches!(value, Value::Vector(_)))
    })),
    tree(pure("json", 1, 1, |args, _| json::json(args))),
    tree(many("json_object", 0, |args, _| json::json_object(args))),
    part(pure("json_to_scalar", 1, 1, |args, _| json::json_to_scalar(args))),
    little(pure("l2_dist", 2, 2, |args, _| vector::l2_dist(args))),
    pure("l2_normalize", 1, 1, |args, _| vector::l2_normalize(args)),
    times(1, pure("last", 1, 1, |args, _| list::last(args))),
    little(pure("le", 2, 2, |args, _| comparison::ordered("le", args, Ordering::is_le))),
    little(pure("length", 1, 1, |args, _| list::length(args))),
    times(1, many("list", 0, |args, _| list::list(args))),
    pure("ln", 1, 1, |args, _| math::float("ln", args, f64::ln)),
    pure("log10", 1, 1, |args, _| math::float("log10", args, f64::log10)),
    pure("log2", 1, 1, |args, _| math::float("log2", args, f64::log2)),
    times(
        3,
        pure("lowercase", 1, 1, |args, _| string::changed("lowercase", args, str::to_lowercase)),
    ),
    little(pure("lt", 2, 2, |args, _| comparison::ordered("lt", args, Ordering::is_lt))),
    times(1, many("max", 1, |args, _| comparison::extreme("max", args, Ordering::Greater))),
    part(pure("maybe_get", 2, 2, |args, _| json::maybe_get(args))),
    times(1, many("min", 1, |args, _| comparison::extreme("min", args, Ordering::Less))),
    pure("minus", 1, 1, |args, _| arithmetic::minus(args)),
    little(pure("minute", 1, 1, |args, _| temporal::part_of_time("minute", args, MINUTE_US, 60))),
    pure("mod", 2, 2, |args, _| arithmetic::modulo(args)),
    little(pure("month", 1, 1, |args, _| {
        temporal::part_of_date("month", args, |date| i64::from(date.1))
    })),
    many("mul", 0, |args, _| arithmetic::mul(args)),
    little(pure("negate", 1, 1, |args, _| control::negate(args))),
    little(pure("neq", 2, 2, |args, _| comparison::neq(args))),
    changing("now", 0, 0, |_, context| time::now(context)),
    little(many("or", 0, |args, _| control::junction("or", args, true))),
    times(1, pure("pack_bits", 1, 1, |args, _| bits::pack_bits(args))),
    tree(pure("parse_json", 1, 1, |args, _| json::parse_json(args))),
    little(pure("parse_timestamp", 1, 1, |args, _| time::parse_timestamp(args))),
    pure("pow", 2, 2, |args, _| arithmetic::pow(args)),
    times(1, pure("prepend", 2, 2, list::prepend)),
    pure("rad_to_deg", 1, 1, |args, _| math::float("rad_to_deg", args, math::rad_to_deg)),
    changing("rand_bernoulli", 1, 1, random::rand_bernoulli),
    times(1, changing("rand_choose", 1, 1, random::rand_choose)),
    changing("rand_float", 0, 0, |_, context| random::rand_float(context)),
    changing("rand_int", 2, 2, random::rand_int),
    changing("rand_uuid_v1", 0, 0, |_, context| random::rand_uuid_v1(context)),
    changing("rand_uuid_v4", 0, 0, |_, context| random::rand_uuid_v4(context)),
    asks(changing("rand_vec", 1, 2, vector::rand_vec)),
    asks(pure("regex_extract", 2, 2, regexes::regex_extract)),
    times(1, pure("regex_extract_first", 2, 2, regexes::regex_extract_first)),
    little(pure("regex_matches", 2, 2, regexes::regex_matches)),
    asks(pure("regex_replace", 3, 3, regexes::regex_replace)),
    asks(pure("regex_replace_all", 3, 3, regexes::regex_replace_all)),
    tree(pure("remove_json_path", 2, 2, |args, _| json::remove_json_path(args))),
    times(1, pure("reverse", 1, 1, list::reverse)),
    pure("round", 1, 2, |args, _| arithmetic::round(args)),
    little(pure("second", 1, 1, |args, _| temporal::second(args))),
    tree(pure("set_json_path", 3, 3, json::set_json_path)),
    pure("signum", 1, 1, |args, _| arithmetic::signum(args)),
    pure("sin", 1, 1, |args, _| math::float("sin", args, f64::sin)),
    pure("sinh", 1, 1, |args, _| math::float("sinh", args, f64::sinh)),
    times(1, pure("slice", 3, 3, list::slice)),
    times(1, pure("slice_string", 3, 3, |args, _| string::slice_string(args))),
    pure("sorted", 1, 1, list::sorted),
    pure("sqrt", 1, 1, |args, _| math::float("sqrt", args, f64::sqrt)),
    little(pure("starts_with", 2, 2, |args, _| string::starts_with(args))),
    little(pure("str_includes", 2, 2, |args, _| string::str_includes(args))),
    pure("sub", 2, 2, |args, _| arithmetic::sub(args)),
    pure("t2s", 1, 1, |args, _| string::t2s(args)),
    pure("tan", 1, 1, |args, _| math::float("tan", args, f64::tan)),
    pure("tanh", 1, 1, |args, _| math::float("tanh", args, f64::tanh)),
    part(pure("to_bool", 1, 1, |args, _| convert::to_bool(args))),
    little(pure("to_date", 1, 1, |args, _| temporal::to_date(args))),
    little(pure("to_decimal", 1, 1, |args, _| convert::to_decimal(args))),
    little(pure("to_duration", 1, 1, |args, _| temporal::to_duration(args))),
    little(pure("to_float", 1, 1, |args, _| convert::to_float(args))),
    little(pure("to_int", 1, 1, |args, _| convert::to_int(args))),
    text(pure("to_string", 1, 1, |args, _| convert::to_string(args))),
    little(pure("to_timestamp", 1, 1, |args, _| temporal::to_timestamp(args))),
    part(pure("to_unity", 1, 1, |args, _| convert::to_unity(args))),
    pure("to_uuid", 1, 1, |args, _| convert::to_uuid(args)),
    times(
        1,
        pure("trim", 1, 1, |args, _| string::changed("trim", args, |text| text.trim().to_owned())),
    ),
    times(
        1,
        pure("trim_end", 1, 1, |args, _| {
            string::changed("trim_end", args, |text| text.trim_end().to_owned())
        }),
    ),
    times(
        1,
        pure("trim_start", 1, 1, |args, _| {
            string::changed("trim_start", args, |text| text.trim_start().to_owned())
        }),
    ),
    asks(pure("unicode_normalize", 2, 2, string::unicode_normalize)),
    many("union", 1, list::union),
    asks(pure("unpack_bits", 1, 1, bits::unpack_bits)),
    times(
        3,
        pure("uppercase", 1, 1, |args, _| string::changed("uppercase", args, str::to_uppercase)),
    ),
    little(pure("uuid_timestamp", 1, 1, |args, _| time::uuid_timestamp(args))),
    little(pure("validity", 1, 2, |args, _| time::validity(args))),
    tree(pure("vec", 1, 2, |args, _| vector::vec(args))),
    asks(pure("windows", 2, 2, list::windows)),
    little(pure("year", 1, 1, |args, _| temporal::part_of_date("year", args, |date| date.0))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregates;

    #[test]
    fn names_are_sorted_so_that_look_up_finds_them() {
        assert!(functions().is_sorted_by(|a, b| a.name < b.name));
        assert!(aggregates().is_sorted_by(|a, b| a.name < b.name));
        for function in functions() {
            assert_eq!(lookup(function.name).map(|found| found.name), Some(function.name));
        }
        assert!(lookup("no_such_function").is_none());
        let changing: Vec<_> = functions()
            .iter()
            .filter(|found| !found.deterministic)
            .map(|found| found.name)
            .collect();
        assert_eq!(
            changing,
            [
                "now",
                "rand_bernoulli",
                "rand_choose",
                "rand_float",
                "rand_int",
                "rand_uuid_v1",
                "rand_uuid_v4",
                "rand_vec"
            ]
        );
    }
}

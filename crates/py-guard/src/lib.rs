//! Attributes of the Python module: [`guarded`], no panic becomes a `PanicException`, and
//! [`documented`], docstrings come from the stub.
//!
//! # Why an attribute against panics
//! PyO3 catches panics itself and raises `PanicException`, which is not an `Exception`: `except
//! Exception` does not catch it, and a server's loop ends. PyO3 has no hook for that, so each
//! function that Python calls catches its own panics. Two hundred bodies written by hand would be a
//! rule that the next one forgets; a test of the module's sources checks that each `#[pymethods]`
//! and `#[pyfunction]` has this attribute (decision 0038).
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `stub`: reads the docstrings of the stub.
//! 2. `documented`: adds them to items.

#![allow(clippy::disallowed_methods)] // it runs in the compiler, and reads the stub

mod documented;
mod stub;

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::{Block, Ident, ImplItem, Item, ReturnType, Signature, Type};
use syn::{parse_macro_input, parse_quote};

/// Goes before `#[pyclass]`, `#[pymodule]` and, on a line before `#[guarded]`, `#[pymethods]` and
/// `#[pyfunction]`. Docstrings are those of the stub; `#[documented(Name)]` names the class where
/// Python calls it otherwise.
#[proc_macro_attribute]
pub fn documented(class: TokenStream, item: TokenStream) -> TokenStream {
    let class = parse_macro_input!(class as Option<Ident>);
    let mut item = parse_macro_input!(item as Item);
    match documented::document(&mut item, class.as_ref()) {
        Ok(()) => item.into_token_stream().into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Goes before `#[pymethods]` or `#[pyfunction]`. A panic in a body raises
/// `quipu.errors.InternalError`. A function that does not return a `PyResult` returns one then.
#[proc_macro_attribute]
pub fn guarded(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as Item);
    match &mut item {
        Item::Fn(function) => guard(&mut function.sig, &mut function.block),
        Item::Impl(methods) => {
            for method in &mut methods.items {
                if let ImplItem::Fn(method) = method {
                    guard(&mut method.sig, &mut method.block);
                }
            }
        }
        other => {
            let error = syn::Error::new_spanned(other, "expected a function or an `impl`");
            return error.into_compile_error().into();
        }
    }
    item.into_token_stream().into()
}

fn guard(signature: &mut Signature, body: &mut Block) {
    let returned: Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, returned) => (**returned).clone(),
    };
    let (returned, body_of_closure) = match is_result(&returned) {
        true => (returned, quote!(#body)),
        false => (parse_quote!(::pyo3::PyResult<#returned>), quote!({ Ok(#body) })),
    };
    *body = parse_quote!({ crate::error::guarded(move || -> #returned #body_of_closure) });
    signature.output = parse_quote!(-> #returned);
}

fn is_result(returned: &Type) -> bool {
    let Type::Path(path) = returned else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == "PyResult" || last.ident == "Result")
}

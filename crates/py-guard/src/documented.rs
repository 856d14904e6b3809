//! `#[documented]`: docstrings of the Python module are those of its stub.
//!
//! # Why the stub is the source
//! Editors and type checkers read the stub, `help` and notebooks read the module, and both have to
//! say the same. Python cannot set the docstring of a native method when the module is imported, so
//! the text has to be there when Rust compiles it.
//!
//! # Invariants
//! 1. A public name that the stub lacks, or does not describe, is an error of the compiler.
//! 2. Doc comments in Rust are for readers of the code; Python never shows them.

use crate::stub::Stub;
use std::env;
use std::path::Path;
use syn::ext::IdentExt;
use syn::{Attribute, Error, Ident, ImplItem, Item, Type, parse_quote};

/// From the folder of the crate that uses the attribute.
const STUB: &str = "../../python/quipu/_quipu.pyi";

/// Replaces the docs of a class with its fields, of a class's methods, of a function or of the
/// module. `class` is the name in Python where the one in Rust differs.
pub(crate) fn document(item: &mut Item, class: Option<&Ident>) -> Result<(), Error> {
    let stub = read().map_err(|error| Error::new_spanned(&*item, error))?;
    match item {
        Item::Struct(item) => {
            let class = class.unwrap_or(&item.ident).to_string();
            describe(&mut item.attrs, &stub, &class, &item.ident)?;
            for field in &mut item.fields {
                // Without `get_all` fields are not visible in Python, and not in the stub.
                if let Some(name) = &field.ident
                    && let Some(text) = stub.docstring(&format!("{class}.{}", name.unraw()))
                {
                    set(&mut field.attrs, text);
                }
            }
            Ok(())
        }
        Item::Impl(item) => {
            let Type::Path(path) = &*item.self_ty else {
                return Err(Error::new_spanned(&item.self_ty, "expected the name of a class"));
            };
            let class = class.or_else(|| path.path.get_ident()).map(ToString::to_string);
            let class = class.unwrap_or_default();
            for method in &mut item.items {
                let ImplItem::Fn(method) = method else { continue };
                let name = &method.sig.ident;
                if !name.to_string().starts_with('_') {
                    describe(&mut method.attrs, &stub, &format!("{class}.{}", name.unraw()), name)?;
                }
            }
            Ok(())
        }
        // The module is a function that begins with `_`.
        Item::Fn(item) if item.sig.ident.to_string().starts_with('_') => {
            describe(&mut item.attrs, &stub, "", &item.sig.ident)
        }
        Item::Fn(item) => {
            let name = item.sig.ident.to_string();
            describe(&mut item.attrs, &stub, &name, &item.sig.ident)
        }
        other => Err(Error::new_spanned(other, "expected a struct, an `impl` or a function")),
    }
}

fn read() -> Result<Stub, String> {
    let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let file = Path::new(&folder).join(STUB);
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Stub::parse(&text))
}

fn describe(
    attributes: &mut Vec<Attribute>,
    stub: &Stub,
    name: &str,
    at: &Ident,
) -> Result<(), Error> {
    let none = || Error::new_spanned(at, format!("{STUB} has no docstring of `{name}`"));
    set(attributes, stub.docstring(name).ok_or_else(none)?);
    Ok(())
}

fn set(attributes: &mut Vec<Attribute>, text: &str) {
    attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    attributes.push(parse_quote!(#[doc = #text]));
}

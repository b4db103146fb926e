//! `#[derive(Encode, Decode)]` for the compact codec of `whimbrel-acl`; see there.
//!
//! Structs with named fields become records. Enums become atoms, terms or records named by their variant. Attributes:
//!
//! - `#[compact(name = "...")]` on a type, a field or a variant sets its name on the wire.
//! - `#[compact(alias = "...")]` on a field accepts a former name.
//! - `#[compact(default)]` on a field takes the default of its type where an object lacks the field.
//!
//! This crate parses declarations itself: their grammar is small, and a parser of all of Rust would cost compile
//! time.
#![forbid(unsafe_code)]

mod declaration;
mod decode;
mod encode;

use declaration::Declaration;
use proc_macro::TokenStream;

/// Derives `whimbrel_acl::compact::Encode`.
#[proc_macro_derive(Encode, attributes(compact))]
pub fn derive_encode(input: TokenStream) -> TokenStream {
    derive(input, encode::implementation)
}

/// Derives `whimbrel_acl::compact::Decode`.
#[proc_macro_derive(Decode, attributes(compact))]
pub fn derive_decode(input: TokenStream) -> TokenStream {
    derive(input, decode::implementation)
}

fn derive(input: TokenStream, implementation: fn(&Declaration) -> String) -> TokenStream {
    let code = match declaration::read(input) {
        Ok(declaration) => implementation(&declaration),
        Err(problem) => format!("::core::compile_error!({problem:?});"),
    };
    code.parse().unwrap_or_default()
}

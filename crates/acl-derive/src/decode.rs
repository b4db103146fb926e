//! Writes out `Decode`.

use crate::declaration::{Declaration, DeclarationBody, FieldDeclaration, VariantDeclaration, VariantFields};
use crate::encode::{description, letters};

const TRAIT: &str = "::whimbrel_acl::compact::Decode";
const CALLS: &str = "::whimbrel_acl::compact::object";
const SIGNATURE: &str = "r: &mut ::whimbrel_acl::compact::Reader<'_>";
const ERROR: &str = "::whimbrel_acl::compact::DecodeError";
const OK: &str = "::std::result::Result::Ok";
const ERR: &str = "::std::result::Result::Err";
const SOME: &str = "::std::option::Option::Some";
const NONE: &str = "::std::option::Option::None";

/// Returns the implementation for a declared type.
pub fn implementation(declaration: &Declaration) -> String {
    let Declaration { ident, name, body } = declaration;
    let functions = match body {
        DeclarationBody::Struct(fields) => of_struct(name, fields),
        DeclarationBody::Enum(variants) => of_enum(name, variants),
    };
    format!("#[automatically_derived] impl {TRAIT} for {ident} {{ {functions} }}")
}

/// Writes code that reads an object's fields and builds `what` from them.
fn object(what: &str, name: &str, fields: &[FieldDeclaration]) -> String {
    let of = description(name, fields);
    let (mut places, mut arms, mut made) = (String::new(), String::new(), String::new());
    for (place, FieldDeclaration { ident, has_default, of, .. }) in fields.iter().enumerate() {
        places += &format!("let mut f{place}: ::std::option::Option<{of}> = {NONE};");
        arms += &format!("{place} => f{place} = {SOME}({TRAIT}::decode(r)?),");
        let or_default = if *has_default {
            ".or_else(|| ::std::option::Option::Some(::std::default::Default::default()))"
        } else {
            ""
        };
        made += &format!("{ident}: {CALLS}::required(f{place}{or_default}, &OF, {place})?,");
    }
    format!(
        "{of} let places = {CALLS}::open(r, &OF)?; {places} \
         {CALLS}::inside(r, |r| {{ \
           for place in places.iter() {{ match place {{ {arms} _ => {CALLS}::skip(r)? }} }} {OK}(()) }})?; \
         {OK}({what} {{ {made} }})"
    )
}

fn of_struct(name: &str, fields: &[FieldDeclaration]) -> String {
    let one = object("Self", name, fields);
    let of = description(name, fields);
    let (mut places, mut arms, mut rows) = (String::new(), String::new(), String::new());
    let mut made = String::new();
    for (place, FieldDeclaration { ident, has_default, of, .. }) in fields.iter().enumerate() {
        let default = if *has_default {
            format!("|| {SOME}(<{of} as ::std::default::Default>::default())")
        } else {
            format!("<{of} as {TRAIT}>::absent")
        };
        places += &format!("let mut f{place}: ::std::option::Option<::std::vec::Vec<{of}>> = {NONE};");
        arms += &format!("{place} => f{place} = {SOME}({CALLS}::fields(r, count, {default}, &OF, {place})?),");
        rows += &format!("let f{place} = {CALLS}::rows(f{place}, count, {default}, &OF, {place})?;");
        made += &format!("{ident}: f{place},");
    }
    let (zipped, names) = zipped(0, fields.len());
    format!(
        "fn decode({SIGNATURE}) -> ::std::result::Result<Self, {ERROR}> {{ {one} }} \
         fn decode_column({SIGNATURE}, count: usize, out: &mut ::std::vec::Vec<Self>) \
           -> ::std::result::Result<(), {ERROR}> {{ {of} \
           let {SOME}(places) = {CALLS}::open_table(r, &OF, count, out)? else {{ return {OK}(()) }}; {places} \
           {CALLS}::inside(r, |r| {{ \
             for place in places.iter() {{ match place {{ {arms} _ => {CALLS}::skip_column(r, count)? }} }} {OK}(()) }})?; \
           {rows} \
           out.extend(::std::iter::Iterator::map({zipped}, |{names}| Self {{ {made} }})); \
           {OK}(()) }}"
    )
}

/// Zips the columns of some fields into one iterator of known length; also returns the pattern that names its items.
/// The zips form a tree, because each level moves a row once.
fn zipped(from: usize, to: usize) -> (String, String) {
    match to - from {
        0 => ("0..count".into(), "_".into()),
        1 => (format!("f{from}"), format!("f{from}")),
        fields => {
            let (one, ones) = zipped(from, from + fields / 2);
            let (other, others) = zipped(from + fields / 2, to);
            (format!("::std::iter::zip({one}, {other})"), format!("({ones}, {others})"))
        }
    }
}

fn of_enum(name: &str, variants: &[VariantDeclaration]) -> String {
    let (mut atoms, mut terms, mut objects, mut names) = (String::new(), String::new(), String::new(), String::new());
    for VariantDeclaration { ident, name, fields } in variants {
        match fields {
            VariantFields::None => {
                atoms += &format!("{name:?} => {OK}(Self::{ident}),");
                names += &format!("{name:?} => {SOME}(Self::{ident}),");
            }
            VariantFields::Unnamed(count) => {
                let each: Vec<String> = letters(*count, "a").iter().map(|_| format!("{TRAIT}::decode(r)?")).collect();
                terms +=
                    &format!("({name:?}, {count}) => {CALLS}::inside(r, |r| {OK}(Self::{ident}({}))),", each.join(","));
            }
            VariantFields::Named(fields) => {
                let read = object(&format!("Self::{ident}"), name, fields);
                objects += &format!("{name:?} => {{ {read} }}");
            }
        }
    }
    format!(
        "fn decode({SIGNATURE}) -> ::std::result::Result<Self, {ERROR}> {{ \
           match {CALLS}::variant(r, {name:?})? {{ \
             {CALLS}::Variant::Atom(name) => match name {{ {atoms} _ => {ERR}({CALLS}::no_variant(r, {name:?})) }}, \
             {CALLS}::Variant::Term(name, fields) => \
               match (name, fields) {{ {terms} _ => {ERR}({CALLS}::no_variant(r, {name:?})) }}, \
             {CALLS}::Variant::Object(name) => match name {{ {objects} _ => {ERR}({CALLS}::no_variant(r, {name:?})) }}, }} }} \
         fn decode_column({SIGNATURE}, count: usize, out: &mut ::std::vec::Vec<Self>) \
           -> ::std::result::Result<(), {ERROR}> {{ \
           {CALLS}::read_variants(r, count, out, |name| match name {{ {names} _ => {NONE} }}, {name:?}) }}"
    )
}

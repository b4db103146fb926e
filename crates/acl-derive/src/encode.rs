//! Writes out `Encode`.

use crate::declaration::{Declaration, DeclarationBody, FieldDeclaration, VariantDeclaration, VariantFields};

const TRAIT: &str = "::whimbrel_acl::compact::Encode";
const CALLS: &str = "::whimbrel_acl::compact::object";
const WRITER: &str = "w: &mut ::whimbrel_acl::compact::Writer<'_>";

/// Returns the implementation for a declared type.
pub fn implementation(declaration: &Declaration) -> String {
    let Declaration { ident, name, body } = declaration;
    let functions = match body {
        DeclarationBody::Struct(fields) => of_struct(name, fields),
        DeclarationBody::Enum(variants) => of_enum(variants),
    };
    format!("#[automatically_derived] impl {TRAIT} for {ident} {{ {functions} }}")
}

/// Writes a static with the description of a type.
pub fn description(name: &str, fields: &[FieldDeclaration]) -> String {
    let names: String = fields.iter().map(|field| format!("{:?},", field.name)).collect();
    let aliases: String = (0..)
        .zip(fields)
        .flat_map(|(place, field)| field.aliases.iter().map(move |alias| format!("({alias:?}, {place}),")))
        .collect::<Vec<String>>()
        .concat();
    format!(
        "static OF: {CALLS}::Description = \
         {CALLS}::Description {{ name: {name:?}, fields: &[{names}], aliases: &[{aliases}] }};"
    )
}

fn of_struct(name: &str, fields: &[FieldDeclaration]) -> String {
    let of = description(name, fields);
    let each = |code: &dyn Fn(usize, &str) -> String| -> String {
        fields.iter().enumerate().map(|(place, field)| code(place, &field.ident)).collect()
    };
    let present =
        each(&|place, field| format!("if !{TRAIT}::is_absent(&self.{field}) {{ present |= 1u64 << {place}; }}"));
    let any_present = each(&|place, field| {
        format!("if rows.iter().any(|row| !{TRAIT}::is_absent(&row.{field})) {{ present |= 1u64 << {place}; }}")
    });
    let written =
        each(&|place, field| format!("if present >> {place} & 1 == 1 {{ {TRAIT}::encode(&self.{field}, w); }}"));
    let columns = each(&|place, field| {
        format!("if present >> {place} & 1 == 1 {{ {CALLS}::column(w, rows, |row| &row.{field}); }}")
    });
    let same = each(&|_, field| format!(" && {TRAIT}::same(&self.{field}, &other.{field})"));
    format!(
        "fn encode(&self, {WRITER}) {{ {of} \
           #[allow(unused_mut)] let mut present = 0u64; {present} \
           {CALLS}::begin(w, &OF, present); \
           {CALLS}::nested(w, |w| {{ {written} }}); }} \
         fn same(&self, other: &Self) -> bool {{ true {same} }} \
         fn encode_column(rows: &[&Self], {WRITER}) {{ {of} \
           if {CALLS}::constant(rows, w) {{ return; }} \
           #[allow(unused_mut)] let mut present = 0u64; {any_present} \
           {CALLS}::nested(w, |w| {{ {CALLS}::begin_table(w, &OF, present); {columns} }}); }}"
    )
}

fn of_enum(variants: &[VariantDeclaration]) -> String {
    let written: String = variants.iter().map(written).collect();
    let same: String = variants.iter().map(same).collect();
    let names: String = variants
        .iter()
        .filter(|variant| matches!(variant.fields, VariantFields::None))
        .map(|variant| format!("Self::{} => ::std::option::Option::Some({:?}),", variant.ident, variant.name))
        .collect();
    let units: String = variants
        .iter()
        .filter(|variant| matches!(variant.fields, VariantFields::None))
        .map(|variant| format!("Self::{} => true,", variant.ident))
        .collect();
    format!(
        "fn encode(&self, {WRITER}) {{ match self {{ {written} }} }} \
         fn same(&self, other: &Self) -> bool {{ \
           #[allow(unreachable_patterns)] match (self, other) {{ {same} _ => false }} }} \
         fn encode_column(rows: &[&Self], {WRITER}) {{ \
           {CALLS}::variants(rows, w, |row| {{ \
             #[allow(unreachable_patterns)] match row {{ {names} _ => ::std::option::Option::None }} }}) }} \
         fn pays(items: &[Self]) -> bool {{ \
           items.len() >= 4 && items.iter().all(|item| {{ \
             #[allow(unreachable_patterns)] match item {{ {units} _ => false }} }}) }}"
    )
}

/// Names for fields that have none.
pub fn letters(count: usize, prefix: &str) -> Vec<String> {
    (0..count).map(|place| format!("{prefix}{place}")).collect()
}

fn written(variant: &VariantDeclaration) -> String {
    let VariantDeclaration { ident, name, fields } = variant;
    match fields {
        VariantFields::None => format!("Self::{ident} => {CALLS}::atom(w, {name:?}),"),
        VariantFields::Unnamed(count) => {
            let letters = letters(*count, "a");
            let each: String = letters.iter().map(|letter| format!("{TRAIT}::encode({letter}, w);")).collect();
            format!(
                "Self::{ident}({}) => {{ {CALLS}::term(w, {name:?}, {count}); {CALLS}::nested(w, |w| {{ {each} }}); }}",
                letters.join(",")
            )
        }
        VariantFields::Named(fields) => {
            let of = description(name, fields);
            let idents: Vec<&str> = fields.iter().map(|field| field.ident.as_str()).collect();
            let (mut present, mut each) = (String::new(), String::new());
            for (place, ident) in idents.iter().enumerate() {
                present += &format!("if !{TRAIT}::is_absent({ident}) {{ present |= 1u64 << {place}; }}");
                each += &format!("if present >> {place} & 1 == 1 {{ {TRAIT}::encode({ident}, w); }}");
            }
            format!(
                "Self::{ident} {{ {} }} => {{ {of} #[allow(unused_mut)] let mut present = 0u64; {present} \
                   {CALLS}::begin(w, &OF, present); {CALLS}::nested(w, |w| {{ {each} }}); }}",
                idents.join(",")
            )
        }
    }
}

fn same(variant: &VariantDeclaration) -> String {
    let VariantDeclaration { ident, fields, .. } = variant;
    let pairs = |own: &[String], others: &[String]| -> String {
        own.iter().zip(others).map(|(a, b)| format!(" && {TRAIT}::same({a}, {b})")).collect()
    };
    match fields {
        VariantFields::None => format!("(Self::{ident}, Self::{ident}) => true,"),
        VariantFields::Unnamed(count) => {
            let (own, others) = (letters(*count, "a"), letters(*count, "b"));
            let equal = pairs(&own, &others);
            format!("(Self::{ident}({}), Self::{ident}({})) => true {equal},", own.join(","), others.join(","))
        }
        VariantFields::Named(fields) => {
            let (own, others) = (letters(fields.len(), "a"), letters(fields.len(), "b"));
            let bound = |letters: &[String]| -> String {
                fields.iter().zip(letters).map(|(field, letter)| format!("{}: {letter},", field.ident)).collect()
            };
            let equal = pairs(&own, &others);
            format!("(Self::{ident} {{ {} }}, Self::{ident} {{ {} }}) => true {equal},", bound(&own), bound(&others))
        }
    }
}

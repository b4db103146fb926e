//! Reads the declaration of a struct or an enum.

use std::iter::Peekable;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree, token_stream::IntoIter};

/// Type declaration that carries the derive.
pub struct Declaration {
    /// Name of the type in the program.
    pub ident: String,
    /// Name of the type on the wire.
    pub name: String,
    pub body: DeclarationBody,
}

pub enum DeclarationBody {
    Struct(Vec<FieldDeclaration>),
    Enum(Vec<VariantDeclaration>),
}

/// A field with a name.
pub struct FieldDeclaration {
    pub ident: String,
    pub name: String,
    pub aliases: Vec<String>,
    pub has_default: bool,
    /// Type of the field, as written.
    pub of: String,
}

pub struct VariantDeclaration {
    pub ident: String,
    pub name: String,
    pub fields: VariantFields,
}

pub enum VariantFields {
    None,
    /// Number of unnamed fields.
    Unnamed(usize),
    Named(Vec<FieldDeclaration>),
}

/// Arguments of one `#[compact(...)]` attribute.
#[derive(Default)]
struct Attributes {
    name: Option<String>,
    aliases: Vec<String>,
    has_default: bool,
}

/// Fields of one object: there is a bit for each.
const FIELDS_MAX: usize = 64;
/// Fields of a variant without names.
const UNNAMED_MAX: usize = 15;

type Tokens = Peekable<IntoIter>;

/// Parses a declaration.
pub fn read(input: TokenStream) -> Result<Declaration, String> {
    let mut tokens = input.into_iter().peekable();
    let attributes = attributes(&mut tokens)?;
    skip_visibility(&mut tokens);
    let keyword = word(&mut tokens)?;
    let ident = word(&mut tokens)?;
    let name = attributes.name.unwrap_or_else(|| plain(&ident));
    let group = match tokens.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group,
        _ => {
            return Err(format!("{ident}: only structs with named fields and enums, without generics, can be derived"));
        }
    };
    let body = match keyword.as_str() {
        "struct" => DeclarationBody::Struct(fields(&group)?),
        "enum" => DeclarationBody::Enum(variants(&group)?),
        other => return Err(format!("{ident}: a {other} cannot be derived")),
    };
    Ok(Declaration { ident, name, body })
}

/// Returns a raw identifier without its mark.
fn plain(ident: &str) -> String {
    ident.strip_prefix("r#").unwrap_or(ident).to_owned()
}

fn word(tokens: &mut Tokens) -> Result<String, String> {
    match tokens.next() {
        Some(TokenTree::Ident(ident)) => Ok(ident.to_string()),
        other => Err(format!("expected a name, found {}", other.map_or_else(String::new, |token| token.to_string()))),
    }
}

fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

fn skip_visibility(tokens: &mut Tokens) {
    if matches!(tokens.peek(), Some(TokenTree::Ident(ident)) if ident.to_string() == "pub") {
        tokens.next();
        if matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis) {
            tokens.next();
        }
    }
}

fn attributes(tokens: &mut Tokens) -> Result<Attributes, String> {
    let mut found = Attributes::default();
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        let Some(TokenTree::Group(group)) = tokens.next() else { return Err("an attribute without brackets".into()) };
        let mut inner = group.stream().into_iter().peekable();
        let is_ours = matches!(inner.next(), Some(TokenTree::Ident(ident)) if ident.to_string() == "compact");
        if let (true, Some(TokenTree::Group(group))) = (is_ours, inner.next()) {
            attribute(&group, &mut found)?;
        }
    }
    Ok(found)
}

fn attribute(group: &Group, found: &mut Attributes) -> Result<(), String> {
    let mut tokens = group.stream().into_iter().peekable();
    while tokens.peek().is_some() {
        let key = word(&mut tokens)?;
        let mut text = || -> Result<String, String> {
            let is_text = is_punct(tokens.next().as_ref(), '=');
            let text = tokens.next().filter(|_| is_text).map(|literal| literal.to_string()).unwrap_or_default();
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            text.map(str::to_owned).ok_or_else(|| format!("compact: {key} = \"...\" is expected"))
        };
        match key.as_str() {
            "name" => found.name = Some(text()?),
            "alias" => found.aliases.push(text()?),
            "default" => found.has_default = true,
            other => return Err(format!("compact: there is name, alias and default, but no {other}")),
        }
        if is_punct(tokens.peek(), ',') {
            tokens.next();
        }
    }
    Ok(())
}

fn fields(group: &Group) -> Result<Vec<FieldDeclaration>, String> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut fields = Vec::new();
    while tokens.peek().is_some() {
        let attributes = attributes(&mut tokens)?;
        skip_visibility(&mut tokens);
        let ident = word(&mut tokens)?;
        if !is_punct(tokens.next().as_ref(), ':') {
            return Err(format!("{ident}: a type is expected"));
        }
        let name = attributes.name.unwrap_or_else(|| plain(&ident));
        let of = type_of(&mut tokens);
        fields.push(FieldDeclaration {
            ident,
            name,
            aliases: attributes.aliases,
            has_default: attributes.has_default,
            of,
        });
    }
    if fields.len() > FIELDS_MAX {
        return Err(format!("an object has at most {FIELDS_MAX} fields"));
    }
    Ok(fields)
}

/// Returns a type's tokens, up to the comma after it.
fn type_of(tokens: &mut Tokens) -> String {
    let mut depth = 0;
    let mut of = TokenStream::new();
    for token in tokens.by_ref() {
        if let TokenTree::Punct(punct) = &token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' => depth -= 1,
                ',' if depth == 0 => break,
                _ => {}
            }
        }
        of.extend([token]);
    }
    of.to_string()
}

fn variants(group: &Group) -> Result<Vec<VariantDeclaration>, String> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut variants = Vec::new();
    while tokens.peek().is_some() {
        let attributes = attributes(&mut tokens)?;
        let ident = word(&mut tokens)?;
        let name = attributes.name.unwrap_or_else(|| plain(&ident));
        let of = match tokens.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                VariantFields::Named(fields(group)?)
            }
            Some(TokenTree::Group(group)) => VariantFields::Unnamed(unnamed(group)?),
            _ => VariantFields::None,
        };
        if !matches!(of, VariantFields::None) {
            tokens.next();
        }
        // A number given to the variant does not matter.
        tokens.by_ref().take_while(|token| !is_punct(Some(token), ',')).for_each(drop);
        variants.push(VariantDeclaration { ident, name, fields: of });
    }
    Ok(variants)
}

fn unnamed(group: &Group) -> Result<usize, String> {
    let mut tokens = group.stream().into_iter().peekable();
    let mut count = 0;
    while tokens.peek().is_some() {
        type_of(&mut tokens);
        count += 1;
    }
    if count > UNNAMED_MAX {
        Err(format!("a variant has at most {UNNAMED_MAX} fields without names"))
    } else {
        Ok(count)
    }
}

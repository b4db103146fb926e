//! The `#[agent]` attribute of `whimbrel-guest`, which has its documentation.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Makes a function, or an implementation of `Agent`, the agent of this module. See the documentation of
/// `whimbrel-guest`.
#[proc_macro_attribute]
pub fn agent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let made = if arguments.is_empty() { subject(item.clone()) } else { Err("#[agent] takes no arguments".to_owned()) };
    let code = match made {
        Ok(AgentItem::Handlers(name)) => format!("::whimbrel_guest::export!(handlers {name});"),
        Ok(AgentItem::Task(name)) => format!("::whimbrel_guest::export!(task {name});"),
        Ok(AgentItem::Body(name)) => format!("::whimbrel_guest::export!(body {name});"),
        Err(error) => format!("::core::compile_error!({error:?});"),
    };
    let exports: TokenStream = code.parse().unwrap_or_default();
    item.into_iter().chain(exports).collect()
}

/// Item under the attribute.
enum AgentItem {
    /// `impl Agent for TYPE`.
    Handlers(String),
    /// `async fn NAME(ctx: Context)`.
    Task(String),
    /// `fn NAME(ctx: Context)`.
    Body(String),
}

fn subject(item: TokenStream) -> Result<AgentItem, String> {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let place = |word: &str| tokens.iter().position(|token| is(token, word));
    let parameters = |at: usize| tokens.iter().skip(at).any(|token| is_group(token, Delimiter::Parenthesis));
    if let Some(at) = place("fn").filter(|at| place("impl").is_none_or(|other| other > *at)) {
        let name = tokens.get(at + 1).map(TokenTree::to_string).filter(|_| parameters(at));
        let name = name.ok_or("#[agent] needs a function with a name")?;
        let is_async = tokens.iter().take(at).any(|token| is(token, "async"));
        return Ok(if is_async { AgentItem::Task(name) } else { AgentItem::Body(name) });
    }
    let (Some(_), Some(at)) = (place("impl"), place("for")) else {
        return Err("#[agent] stands above `async fn run(ctx: Context)`, `fn run(ctx: Context)` or `impl Agent for \
                    YourType`"
            .to_owned());
    };
    let named = tokens.iter().skip(at + 1).take_while(|token| !is_group(token, Delimiter::Brace));
    let name: TokenStream = named.cloned().collect();
    Ok(AgentItem::Handlers(name.to_string()))
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name.to_string() == word)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

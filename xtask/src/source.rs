//! A Rust file as the rules see it: what one pass over its tokens finds, and its prose.
//!
//! The tokens have no syntax tree. The contents of a macro's braces would have none either, so what
//! is read this way is read the same everywhere.

mod model;
mod prose;
mod read;
mod tokens;

use proc_macro2::{LexError, TokenStream};

pub(crate) use model::{Import, Module, Source, Type};

/// Reads a file.
///
/// # Errors
///
/// The line and a message, if the text is not made of Rust's tokens.
pub(crate) fn parse(text: &str) -> Result<Source, (usize, String)> {
    let failed = |e: LexError| (e.span().start().line, e.to_string());
    // A `#!` line is no token. A comment in its place keeps all lines valid.
    let shebang = text.starts_with("#!") && !text.starts_with("#![");
    let blanked = shebang.then(|| format!("//{}", &text[2..]));
    let text = blanked.as_deref().unwrap_or(text);
    let tokens: TokenStream = text.parse().map_err(failed)?;
    Ok(Source {
        prose: prose::prose(text),
        ..read::read(tokens)
    })
}

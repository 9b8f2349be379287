//! A Rust file as the rules see it: parsed by `syn`, with its outline and its imports.
//!
//! `syn` drops comments; [`prose`] finds them in the gaps between tokens. The contents of a macro's
//! braces have no syntax tree; there the token stream is searched instead.

pub(crate) mod imports;
pub(crate) mod modules;
pub(crate) mod outline;
pub(crate) mod prose;
mod read;

use proc_macro2::{Ident, TokenStream, TokenTree};

use imports::Import;
use outline::Outline;
use prose::Piece;

/// One parsed file.
pub(crate) struct Source {
    pub(crate) tokens: TokenStream,
    pub(crate) file: syn::File,
    pub(crate) outline: Outline,
    /// `use` trees and paths in code, in order.
    pub(crate) imports: Vec<Import>,
    /// The files that `include!("...")` names.
    pub(crate) included: Vec<String>,
    /// Comments and string literals, in order.
    pub(crate) prose: Vec<Piece>,
    /// Parts of the file that are test code.
    test_ranges: Vec<std::ops::Range<proc_macro2::LineColumn>>,
}

impl Source {
    /// Parses a file.
    ///
    /// # Errors
    ///
    /// The line and a message, if the text is not valid Rust.
    pub(crate) fn parse(text: &str) -> Result<Source, (usize, String)> {
        // `syn` expects a file without its `#!` line. A comment in its place keeps all spans valid.
        let shebang = text.starts_with("#!") && !text.starts_with("#![");
        let blanked = shebang.then(|| format!("//{}", &text[2..]));
        let text = blanked.as_deref().unwrap_or(text);
        let tokens: TokenStream = text
            .parse()
            .map_err(|e: proc_macro2::LexError| (e.span().start().line, e.to_string()))?;
        let file: syn::File =
            syn::parse2(tokens.clone()).map_err(|e| (e.span().start().line, e.to_string()))?;
        let test_ranges = outline::test_ranges(&file);
        let (outline, imports, included) = read::read(&file, &test_ranges);
        Ok(Source {
            prose: prose::pieces(text, &tokens),
            tokens,
            file,
            outline,
            imports,
            included,
            test_ranges,
        })
    }

    /// Returns whether the code that starts at this span is test code.
    pub(crate) fn is_test(&self, span: proc_macro2::Span) -> bool {
        outline::within(&self.test_ranges, span)
    }

    /// Returns the first identifier or keyword with this text, anywhere in the file.
    pub(crate) fn word(&self, word: &str) -> Option<Ident> {
        find_word(&self.tokens, word)
    }
}

fn find_word(tokens: &TokenStream, word: &str) -> Option<Ident> {
    tokens.clone().into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) if ident == word => Some(ident),
        TokenTree::Group(group) => find_word(&group.stream(), word),
        _ => None,
    })
}

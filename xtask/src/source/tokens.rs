//! Questions about a list of tokens: what an attribute says, and where an item or a path ends.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Configurations under which only tests are built.
const TEST_CFGS: [&str; 2] = ["test", "loom"];
/// The keywords that are followed by the name of what they define.
const DEFINITIONS: [&str; 9] = [
    "const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union",
];

pub(super) fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

pub(super) fn is_word(tree: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == wanted)
}

pub(super) fn word(tree: Option<&TokenTree>) -> Option<String> {
    match tree {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// Returns the tree if it is a group in these delimiters.
pub(super) fn group(tree: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match tree {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

pub(super) fn colons(trees: &[TokenTree], at: usize) -> bool {
    is_punct(trees.get(at), ':') && is_punct(trees.get(at + 1), ':')
}

/// Returns the index of the name that the keyword at an index defines.
pub(super) fn name_index(trees: &[TokenTree], at: usize) -> Option<usize> {
    let keyword = |at: usize| DEFINITIONS.iter().any(|it| is_word(trees.get(at), it));
    let name = if is_word(trees.get(at), "macro_rules") || is_word(trees.get(at + 1), "mut") {
        at + 2
    } else {
        at + 1
    };
    // `*const T` defines nothing, and `const` in `const fn f` not `fn`.
    let pointer = at > 0 && is_punct(trees.get(at - 1), '*');
    let defines =
        keyword(at) && !pointer || name == at + 2 && is_word(trees.get(at), "macro_rules");
    let named = word(trees.get(name)).is_some() && !keyword(name);
    (defines && named).then_some(name)
}

/// Returns whether the word at an index is the name in a definition, and not a use of that name.
pub(super) fn is_defined(trees: &[TokenTree], at: usize) -> bool {
    (1..=at.min(2)).any(|back| name_index(trees, at - back) == Some(at))
}

/// Returns whether the word at an index continues a path, or is a field, a method, a lifetime, or
/// the name of a field with a value or type.
pub(super) fn is_part(trees: &[TokenTree], at: usize) -> bool {
    let before = |count: usize, sign| at >= count && is_punct(trees.get(at - count), sign);
    before(1, '.') && !before(2, '.')
        || before(1, ':') && before(2, ':')
        || before(1, '\'')
        || is_punct(trees.get(at + 1), ':') && !colons(trees, at + 1)
}

/// Returns the index of the body, the first group in braces, or `None` if a `;` comes before it.
pub(super) fn body(trees: &[TokenTree], from: usize) -> Option<usize> {
    let ends = |tree: &TokenTree| {
        is_punct(Some(tree), ';') || group(Some(tree), Delimiter::Brace).is_some()
    };
    let at = from + trees.get(from..)?.iter().position(ends)?;
    matches!(trees[at], TokenTree::Group(_)).then_some(at)
}

/// Returns the index after the generic parameters that may stand at an index.
pub(super) fn after_generics(trees: &[TokenTree], from: usize) -> usize {
    let mut depth = 0;
    for (at, tree) in trees.iter().enumerate().skip(from) {
        depth += angle(tree, trees.get(at.wrapping_sub(1)));
        if depth == 0 {
            return at + usize::from(is_punct(Some(tree), '>'));
        }
    }
    trees.len()
}

/// Returns by how much a token changes the depth of angle brackets.
fn angle(tree: &TokenTree, before: Option<&TokenTree>) -> isize {
    let opens = is_punct(Some(tree), '<');
    let arrow = is_punct(before, '-') || is_punct(before, '=');
    isize::from(opens) - isize::from(is_punct(Some(tree), '>') && !arrow)
}

/// Splits tokens at the commas that are not in angle brackets.
pub(super) fn pieces(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut pieces = vec![Vec::<TokenTree>::new()];
    let mut depth = 0;
    for tree in tokens {
        let piece = pieces.last_mut().expect("there is one from the start");
        depth += angle(&tree, piece.last());
        if is_punct(Some(&tree), ',') && depth == 0 {
            pieces.push(Vec::new());
        } else {
            piece.push(tree);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Returns the contents of the attribute that starts at an index.
pub(super) fn attribute(trees: &[TokenTree], at: usize) -> Option<&Group> {
    if !is_punct(trees.get(at), '#') {
        return None;
    }
    let inner = usize::from(is_punct(trees.get(at + 1), '!'));
    group(trees.get(at + 1 + inner), Delimiter::Bracket)
}

/// Returns the value of an attribute `#[key = value]`.
pub(super) fn value(attribute: &Group, key: &str) -> Option<String> {
    let trees: Vec<TokenTree> = attribute.stream().into_iter().take(3).collect();
    let fits = is_word(trees.first(), key) && is_punct(trees.get(1), '=');
    let literal = trees.get(2).filter(|_| fits)?;
    Some(unquoted(&literal.to_string()))
}

/// Returns the contents of a string literal, or of one in parentheses.
pub(super) fn unquoted(literal: &str) -> String {
    literal.trim_matches(['(', ')', '"', ' ']).to_owned()
}

/// Returns whether an attribute marks its item as test code.
pub(super) fn marks_test(attribute: &Group) -> bool {
    let trees: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match trees.as_slice() {
        [only] => is_word(Some(only), "test"),
        [cfg, TokenTree::Group(list)] if is_word(Some(cfg), "cfg") => names_test(list),
        _ => false,
    }
}

/// Returns whether a condition names a configuration of tests, other than after `not`.
fn names_test(condition: &Group) -> bool {
    let trees: Vec<TokenTree> = condition.stream().into_iter().collect();
    trees.iter().enumerate().any(|(at, tree)| match tree {
        TokenTree::Ident(ident) => TEST_CFGS.iter().any(|cfg| ident == cfg),
        TokenTree::Group(inner) => {
            !is_word(trees.get(at.wrapping_sub(1)), "not") && names_test(inner)
        }
        _ => false,
    })
}

/// Returns the end of the item, statement, field or arm whose first attribute is at an index.
pub(super) fn item_end(trees: &[TokenTree], from: usize) -> usize {
    let (mut item, mut to_semicolon, mut depth) = (false, false, 0);
    for (at, tree) in trees.iter().enumerate().skip(from) {
        let next = trees.get(at + 1);
        match tree {
            TokenTree::Ident(ident) => {
                item |= DEFINITIONS.iter().any(|it| ident == it);
                match ident.to_string().as_str() {
                    "let" | "use" | "const" | "static" | "type" => {
                        (item, to_semicolon) = (true, true);
                    }
                    "fn" => to_semicolon = false,
                    "impl" => item = true,
                    _ => {}
                }
            }
            // What follows continues the expression or the pattern.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let goes_on = ['.', '?', '=', '|']
                    .iter()
                    .any(|sign| is_punct(next, *sign));
                if !to_semicolon && !goes_on && !is_word(next, "else") {
                    return at + 1;
                }
            }
            TokenTree::Punct(punct) => {
                depth += angle(tree, trees.get(at.wrapping_sub(1)));
                let sign = punct.as_char();
                if sign == ';' || sign == ',' && !item && depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    trees.len()
}

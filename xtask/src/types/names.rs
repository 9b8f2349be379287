//! The paths that a type expression, a bound or a signature names.

use syn::visit::{self, Visit};
use syn::{FnArg, Generics, Path, Signature};

/// Collects every path in a syntax tree of types, including generic arguments.
#[derive(Default)]
pub(super) struct Names<'ast>(pub(super) Vec<&'ast Path>);

impl<'ast> Visit<'ast> for Names<'ast> {
    fn visit_path(&mut self, path: &'ast Path) {
        self.0.push(path);
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    /// The length of an array is a number, whatever constant it names.
    fn visit_expr(&mut self, _: &'ast syn::Expr) {}
}

impl<'ast> Names<'ast> {
    /// Collects the bounds of type parameters.
    pub(super) fn generics(&mut self, generics: &'ast Generics) {
        self.visit_generics(generics);
    }

    /// Collects the parameters of a function and their bounds, without the return type.
    pub(super) fn signature(&mut self, signature: &'ast Signature) {
        self.generics(&signature.generics);
        for parameter in &signature.inputs {
            if let FnArg::Typed(parameter) = parameter {
                self.visit_type(&parameter.ty);
            }
        }
    }
}

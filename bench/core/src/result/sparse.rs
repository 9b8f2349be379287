//! Structs of measured values, whose JSON lacks what was not measured.

/// A field of such a struct.
pub trait Sparse {
    /// Returns whether the field is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T> Sparse for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Sparse for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Sparse for bool {
    fn is_absent(&self) -> bool {
        !self
    }
}

impl Sparse for u32 {}
impl Sparse for String {}

/// A struct whose fields are known by name.
pub trait Fields {
    /// The names in order.
    const FIELDS: &'static [&'static str];
}

/// Declares a struct whose JSON leaves out the fields that are [absent](Sparse::is_absent).
#[macro_export]
macro_rules! sparse {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "bench_core::result::sparse::Sparse::is_absent")]
                $field_vis $field: $type,
            )*
        }

        impl $crate::result::sparse::Fields for $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }
    };
}

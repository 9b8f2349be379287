//! Common code of the adapters of C libraries: loading a library and its functions by name, its
//! strings, and the iterator of LevelDB's interface, which RocksDB has under another prefix.
//!
//! Every function is looked up once, when the library is loaded; a missing one is an error that
//! names it.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

mod cursor;
mod text;

use bench_core::fault::Fault;

pub use cursor::{CursorFunctions, IteratorCursor};
pub use libloading::os::unix::Library;
pub use text::{copy_text, outcome, path_text, take_text};

/// Looks up a function or a variable of the library with this title.
///
/// # Errors
/// If the library does not have it.
///
/// # Safety
/// `T` must be the type that the library's header declares for this name.
pub unsafe fn symbol<T: Copy>(library: &Library, title: &str, name: &str) -> Result<T, Fault> {
    // SAFETY: as the caller promises.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    let lacks = || Fault::new(format!("the {title} library lacks the symbol {name}"));
    found.map(|found| *found).map_err(|_| lacks())
}

/// Declares `struct Functions`, with a field for each C function that an adapter calls, named
/// without the prefix. `Functions::find` looks them up in the library; its errors name the title.
///
/// The declarations must be those of the library's header.
#[macro_export]
macro_rules! functions {
    ($title:literal, $prefix:literal; $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions used, by their C names without the prefix.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn find(library: &$crate::Library) -> Result<Self, ::bench_core::fault::Fault> {
                Ok(Self {
                    $($name: {
                        let symbol = concat!($prefix, stringify!($name));
                        // SAFETY: the types are those of the library's header.
                        unsafe { $crate::symbol(library, $title, symbol) }?
                    },)*
                })
            }
        }
    };
}

/// Declares an engine over the crate's `Api`, and the implementation of `Engine` for a reference to
/// it, so that every store can borrow the library. `check` is a method that may refuse the library,
/// and `more` are methods that differ from the default ones.
#[macro_export]
macro_rules! engine {
    ($engine:ident, $store:ident, $name:literal, $title:literal, $able:expr
     $(, $check:ident)?; $($more:item)*) => {
        /// The loaded library.
        #[derive(Debug)]
        pub struct $engine {
            api: Api,
        }

        impl $engine {
            /// Loads the library at `path`, or the installed one.
            ///
            /// # Errors
            /// If there is none, or if it lacks a symbol; the error names the symbol.
            pub fn load(
                path: Option<&::std::path::Path>,
            ) -> Result<Self, ::bench_core::fault::Fault> {
                let api = Api::load(path)?;
                $(api.$check()?;)?
                Ok(Self { api })
            }
        }

        impl<'e> ::bench_core::engine::Engine for &'e $engine {
            type Store = $store<'e>;

            fn name(&self) -> &'static str {
                $name
            }

            fn title(&self) -> &'static str {
                $title
            }

            fn version(&self) -> String {
                self.api.version_text()
            }

            fn library(&self) -> Option<::bench_core::host::library::Library> {
                Some(self.api.library())
            }

            fn capabilities(&self) -> ::bench_core::engine::Capabilities {
                $able
            }

            fn open(
                &self,
                dir: &::std::path::Path,
                settings: &::bench_core::workload::settings::Settings,
            ) -> Result<Self::Store, ::bench_core::fault::Fault> {
                $store::open(&self.api, dir, settings)
            }

            $($more)*
        }
    };
}

/// Declares `struct Api`: a loaded library with its [`functions!`] and other symbols.
///
/// It is loaded from a path, or as the first of its `names` that is installed; Debian's `package`
/// contains one. The library's field is named here because only some adapters read it.
#[macro_export]
macro_rules! api {
    ($names:expr, $package:literal, $library:ident;
     $($(#[$meta:meta])* $field:ident: $type:ty = $find:expr;)*) => {
        /// The loaded library.
        #[derive(Debug)]
        pub(crate) struct Api {
            functions: Functions,
            $($(#[$meta])* pub(crate) $field: $type,)*
            /// Last, so that the functions never outlive the library.
            pub(crate) $library: $crate::Library,
        }

        impl ::std::ops::Deref for Api {
            type Target = Functions;

            #[inline]
            fn deref(&self) -> &Functions {
                &self.functions
            }
        }

        impl Api {
            /// Loads the library at `path`, or the first of its names that is installed.
            pub(crate) fn load(
                path: Option<&::std::path::Path>,
            ) -> Result<Self, ::bench_core::fault::Fault> {
                let library = ::bench_core::host::load_library::load(path, $names, $package)?;
                Ok(Self {
                    functions: Functions::find(&library)?,
                    $($field: $find(&library)?,)*
                    $library: library,
                })
            }
        }
    };
}

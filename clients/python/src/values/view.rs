//! Values as `memoryview`, without a copy.
#![allow(
    unsafe_code,
    reason = "Python reads the bytes through the buffer protocol, which hands out an address"
)]
//!
//! The stable interface of Python has the buffer protocol from 3.11 on only, and `PyO3` offers it
//! for no less. But what is used here is in every version from 3.9 on, with the same meaning: the
//! slot for the function that exports a buffer, and `PyBuffer_FillInfo`, which fills the structure,
//! so that its layout need not be known. The tests run under each version.
//!
//! A view refers to a [`ViewedValue`], which owns the value. The value never changes, and lives as
//! long as any view of it, also after the database is closed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{from_mut, null_mut};
use std::sync::OnceLock;

use cairndb::Value;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyMemoryView, PyTuple, PyType};
use pyo3::{ffi, intern};

/// The owner of a value. Empty until [`view_of`] has put a value into it.
#[pyclass(frozen, subclass, module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct ViewedValue {
    value: OnceLock<Value>,
}

#[pymethods]
impl ViewedValue {
    #[new]
    fn new() -> ViewedValue {
        ViewedValue {
            value: OnceLock::new(),
        }
    }
}

unsafe extern "C" {
    /// Fills `view` with `len` bytes at `buf`, which `exporter` owns, and counts a reference to it.
    fn PyBuffer_FillInfo(
        view: *mut c_void,
        exporter: *mut ffi::PyObject,
        buf: *mut c_void,
        len: ffi::Py_ssize_t,
        readonly: c_int,
        flags: c_int,
    ) -> c_int;
}

/// The name of the class below.
const NAME: &CStr = c"cairndb._cairndb.ExportedValue";

/// The class of the objects that export a value: [`ViewedValue`] with the buffer protocol.
static EXPORTER: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Returns a read-only `memoryview` of `value`.
pub(crate) fn view_of(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyMemoryView>> {
    let exporter = EXPORTER.get_or_try_init(py, || exporter(py))?;
    let owner = exporter.bind(py).call0()?;
    let inner = owner.cast::<ViewedValue>()?;
    // A new object is empty.
    let _ = inner.get().value.set(value);
    PyMemoryView::from(&owner)
}

/// Makes the class.
fn exporter(py: Python<'_>) -> PyResult<Py<PyType>> {
    let bases = PyTuple::new(py, [py.get_type::<ViewedValue>()])?;
    let mut slots = [
        ffi::PyType_Slot {
            slot: ffi::Py_bf_getbuffer,
            pfunc: export as *mut c_void,
        },
        ffi::PyType_Slot {
            slot: 0,
            pfunc: null_mut(),
        },
    ];
    let name: *const c_char = NAME.as_ptr();
    let flags = u32::try_from(ffi::Py_TPFLAGS_DEFAULT).unwrap_or_default();
    let mut spec = ffi::PyType_Spec {
        name,
        // As long as the base.
        basicsize: 0,
        itemsize: 0,
        flags,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification and its slots are complete, the last slot is 0, the name is static,
    // and the bases are a tuple of classes. Python copies what it keeps.
    let made = unsafe { ffi::PyType_FromSpecWithBases(from_mut(&mut spec), bases.as_ptr()) };
    // SAFETY: the call returns a new reference, or NULL with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    let class = made.cast_into::<PyType>()?;
    debug_assert!(class.hasattr(intern!(py, "__new__"))?);
    Ok(class.unbind())
}

/// Exports the value of `object`, or sets `BufferError`.
unsafe extern "C" fn export(object: *mut ffi::PyObject, view: *mut c_void, flags: c_int) -> c_int {
    // SAFETY: Python calls slots with the interpreter's lock held.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: Python passes an object of the class whose slot this is, which lives during the call.
    let object = unsafe { Borrowed::from_ptr(py, object) };
    let value = object.cast::<ViewedValue>().ok();
    let value = value.and_then(|owner| owner.get().value.get());
    let length = value.and_then(|value| ffi::Py_ssize_t::try_from(value.len()).ok());
    let (Some(value), Some(length)) = (value, length) else {
        PyBufferError::new_err("the object holds no value").restore(py);
        return -1;
    };
    let bytes = value.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: `view` is the structure that the caller of the protocol wants filled. The bytes stay
    // where they are as long as the object lives, of which the structure keeps a reference: a
    // `OnceLock` never gives its value up, and neither a heap, a mapping nor an object of Python
    // moves. They are exported read-only.
    unsafe { PyBuffer_FillInfo(view, object.as_ptr(), bytes, length, 1, flags) }
}

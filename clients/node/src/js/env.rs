//! Making JavaScript values.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use napi_sys::{napi_callback, napi_env, napi_value};

use crate::js::call::napi;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};

/// Length from which a vector becomes a `Buffer` without a copy. A copy of less is cheaper than
/// the bookkeeping of external memory.
const EXTERNAL_BYTES_MIN: usize = 16 << 10;

/// Returns a length as Node-API takes it. No allocation is longer than `isize::MAX`.
fn signed(len: usize) -> isize {
    isize::try_from(len).unwrap_or(isize::MAX)
}

impl<'s> Env<'s> {
    #[inline]
    pub(crate) fn undefined(self) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_get_undefined(self.raw(), &raw mut value))?;
        Ok(Value::new(self, value))
    }

    /// Makes an empty object.
    pub(crate) fn object(self) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_create_object(self.raw(), &raw mut value))?;
        Ok(Value::new(self, value))
    }

    #[inline]
    pub(crate) fn boolean(self, of: bool) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_get_boolean(self.raw(), of, &raw mut value))?;
        Ok(Value::new(self, value))
    }

    #[inline]
    pub(crate) fn number(self, of: f64) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_create_double(self.raw(), of, &raw mut value))?;
        Ok(Value::new(self, value))
    }

    #[inline]
    pub(crate) fn integer(self, of: i32) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_create_int32(self.raw(), of, &raw mut value))?;
        Ok(Value::new(self, value))
    }

    /// Makes a string. Invalid UTF-8 becomes U+FFFD.
    #[inline]
    pub(crate) fn string(self, text: &[u8]) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        let (start, len) = (text.as_ptr().cast::<c_char>(), signed(text.len()));
        if text.is_ascii() {
            // A copy, where UTF-8 is decoded.
            napi!(napi_create_string_latin1(
                self.raw(),
                start,
                len,
                &raw mut value
            ))?;
        } else {
            napi!(napi_create_string_utf8(
                self.raw(),
                start,
                len,
                &raw mut value
            ))?;
        }
        Ok(Value::new(self, value))
    }

    /// Makes a number of a count.
    pub(crate) fn count(self, of: u64) -> Outcome<Value<'s>> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "JavaScript has no other numbers, and no store has 8 PiB"
        )]
        self.number(of as f64)
    }

    /// Makes a `Buffer` with a copy of `bytes`.
    #[inline]
    pub(crate) fn buffer(self, bytes: &[u8]) -> Outcome<Value<'s>> {
        let (mut value, mut place) = (null_mut(), null_mut());
        napi!(napi_create_buffer_copy(
            self.raw(),
            bytes.len(),
            bytes.as_ptr().cast(),
            &raw mut place,
            &raw mut value,
        ))?;
        Ok(Value::new(self, value))
    }

    /// Makes a `Buffer` of a vector: without a copy if it is long, and if the runtime permits it
    /// (Electron does not).
    pub(crate) fn buffer_of(self, bytes: Vec<u8>) -> Outcome<Value<'s>> {
        if bytes.len() < EXTERNAL_BYTES_MIN {
            return self.buffer(&bytes);
        }
        let mut value = null_mut();
        let len = bytes.len();
        let kept = Box::into_raw(Box::new(bytes));
        // SAFETY: `kept` was just made from a box, and nothing else refers to it.
        let data = unsafe { (*kept).as_mut_ptr() };
        let made = napi!(napi_create_external_buffer(
            self.raw(),
            len,
            data.cast(),
            Some(free_vector),
            kept.cast(),
            &raw mut value,
        ));
        if made.is_ok() {
            return Ok(Value::new(self, value));
        }
        // SAFETY: Node has refused the memory, so the box is still ours.
        let bytes = unsafe { Box::from_raw(kept) };
        self.buffer(&bytes)
    }

    /// Makes a function that calls `callback` with `data`.
    pub(crate) fn function(
        self,
        name: &str,
        callback: napi_callback,
        data: *mut c_void,
    ) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_create_function(
            self.raw(),
            name.as_ptr().cast(),
            signed(name.len()),
            callback,
            data,
            &raw mut value,
        ))?;
        Ok(Value::new(self, value))
    }

    /// Makes an `Error` with a `code`.
    pub(crate) fn error(self, code: &str, message: &str) -> Outcome<Value<'s>> {
        let (code, message) = (
            self.string(code.as_bytes())?,
            self.string(message.as_bytes())?,
        );
        let mut value = null_mut();
        napi!(napi_create_error(
            self.raw(),
            code.raw(),
            message.raw(),
            &raw mut value
        ))?;
        Ok(Value::new(self, value))
    }

    pub(crate) fn type_error(self, message: &str) -> Outcome<Value<'s>> {
        let message = self.string(message.as_bytes())?;
        let mut value = null_mut();
        napi!(napi_create_type_error(
            self.raw(),
            null_mut(),
            message.raw(),
            &raw mut value
        ))?;
        Ok(Value::new(self, value))
    }

    /// Removes and returns the pending exception, if there is one.
    pub(crate) fn take_exception(self) -> Option<Value<'s>> {
        let mut pending = false;
        napi!(napi_is_exception_pending(self.raw(), &raw mut pending)).ok()?;
        if !pending {
            return None;
        }
        let mut value = null_mut();
        napi!(napi_get_and_clear_last_exception(
            self.raw(),
            &raw mut value
        ))
        .ok()?;
        Some(Value::new(self, value))
    }

    /// Calls `function` with `arguments` and ignores what it returns.
    #[inline]
    pub(crate) fn call(self, function: Value<'s>, arguments: &[napi_value]) -> Outcome<()> {
        let receiver = self.undefined()?;
        let mut returned = null_mut();
        napi!(napi_call_function(
            self.raw(),
            receiver.raw(),
            function.raw(),
            arguments.len(),
            arguments.as_ptr(),
            &raw mut returned,
        ))
    }
}

/// Frees the vector of an external buffer.
///
/// # Safety
/// `kept` is the box that was passed to Node with the buffer, and is passed here once.
unsafe extern "C" fn free_vector(_env: napi_env, _data: *mut c_void, kept: *mut c_void) {
    // SAFETY: see above.
    drop(unsafe { Box::from_raw(kept.cast::<Vec<u8>>()) });
}

//! Reading JavaScript values.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::slice;

use napi_sys::ValueType;

use crate::js::call::napi;
use crate::js::failure::{Failure, Outcome};
use crate::js::scope::Value;

/// Room that a string gets at first, and that is left when it has been copied completely: V8 writes
/// whole characters only, which take at most four bytes, and Node-API a NUL.
const SPARE_BYTES: usize = 8;

impl<'s> Value<'s> {
    #[inline]
    fn kind(self) -> Outcome<i32> {
        let mut kind = 0;
        napi!(napi_typeof(self.env().raw(), self.raw(), &raw mut kind))?;
        Ok(kind)
    }

    /// Returns whether the value is `undefined` or `null`.
    pub(crate) fn is_nullish(self) -> Outcome<bool> {
        let kind = self.kind()?;
        Ok(kind == ValueType::napi_undefined || kind == ValueType::napi_null)
    }

    /// Returns whether the value is an external, as a snapshot is.
    #[inline]
    pub(crate) fn is_external(self) -> Outcome<bool> {
        Ok(self.kind()? == ValueType::napi_external)
    }

    pub(crate) fn boolean(self) -> Outcome<bool> {
        let mut of = false;
        napi!(napi_get_value_bool(
            self.env().raw(),
            self.raw(),
            &raw mut of
        ))
        .map_err(|_| Failure::Argument("expected a boolean"))?;
        Ok(of)
    }

    #[inline]
    pub(crate) fn uint32(self) -> Outcome<u32> {
        let mut of = 0;
        napi!(napi_get_value_uint32(
            self.env().raw(),
            self.raw(),
            &raw mut of
        ))
        .map_err(|_| Failure::Argument("expected a number"))?;
        Ok(of)
    }

    pub(crate) fn number(self) -> Outcome<f64> {
        let mut of = 0.0;
        napi!(napi_get_value_double(
            self.env().raw(),
            self.raw(),
            &raw mut of
        ))
        .map_err(|_| Failure::Argument("expected a number"))?;
        Ok(of)
    }

    /// Appends the value, a string, to `out` as UTF-8.
    #[inline]
    pub(crate) fn append_utf8(self, out: &mut Vec<u8>) -> Outcome<()> {
        let start = out.len();
        // `out` is reused, so a short string finds room at once and needs no call for its length.
        let mut room = (out.capacity() - start).max(SPARE_BYTES * 8);
        loop {
            out.reserve(room);
            let mut len = 0;
            napi!(napi_get_value_string_utf8(
                self.env().raw(),
                self.raw(),
                out.spare_capacity_mut().as_mut_ptr().cast(),
                room,
                &raw mut len,
            ))
            .map_err(|_| Failure::Argument("expected a string"))?;
            if len + SPARE_BYTES <= room {
                // SAFETY: Node has written `len` bytes of the spare capacity.
                unsafe { out.set_len(start + len) };
                return Ok(());
            }
            napi!(napi_get_value_string_utf8(
                self.env().raw(),
                self.raw(),
                null_mut(),
                0,
                &raw mut len
            ))?;
            room = len + SPARE_BYTES;
        }
    }

    pub(crate) fn string(self) -> Outcome<String> {
        let mut text = Vec::new();
        self.append_utf8(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the bytes of a `Buffer` or `Uint8Array`, borrowed for the callback.
    #[inline]
    pub(crate) fn bytes(self) -> Outcome<&'s [u8]> {
        let (mut data, mut len) = (null_mut(), 0);
        napi!(napi_get_buffer_info(
            self.env().raw(),
            self.raw(),
            &raw mut data,
            &raw mut len
        ))
        .map_err(|_| Failure::Argument("expected a Buffer or Uint8Array"))?;
        if len == 0 || data.is_null() {
            return Ok(&[]);
        }
        // SAFETY: the array is alive until the callback returns, because the value is, and no
        // JavaScript runs on this thread meanwhile that could detach, resize or change it. Another
        // thread may change a shared array; the program has then stored what it raced for.
        Ok(unsafe { slice::from_raw_parts(data.cast::<u8>(), len) })
    }

    /// Writes `bytes` into a `Buffer` or `Uint8Array`.
    #[inline]
    pub(crate) fn write_bytes(self, offset: usize, bytes: &[u8]) -> Outcome<()> {
        const WRONG: Failure = Failure::Argument("expected a Buffer with room for a value");
        let (mut data, mut len) = (null_mut(), 0);
        napi!(napi_get_buffer_info(
            self.env().raw(),
            self.raw(),
            &raw mut data,
            &raw mut len
        ))
        .map_err(|_| WRONG)?;
        let end = offset.checked_add(bytes.len()).ok_or(WRONG)?;
        if end > len || data.is_null() {
            return Err(WRONG);
        }
        // SAFETY: `offset` is within the array, as was just checked.
        let place = unsafe { data.cast::<u8>().add(offset) };
        // SAFETY: there is room for `bytes`, which are in memory of ours, and no JavaScript runs on
        // this thread meanwhile that could detach or resize the array.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Returns the property `name` of an object.
    pub(crate) fn property(self, name: &CStr) -> Outcome<Value<'s>> {
        let mut value = null_mut();
        napi!(napi_get_named_property(
            self.env().raw(),
            self.raw(),
            name.as_ptr(),
            &raw mut value
        ))?;
        Ok(Value::new(self.env(), value))
    }

    /// Returns the property `name`, or `None` if it is missing, `undefined` or `null`.
    pub(crate) fn optional(self, name: &CStr) -> Outcome<Option<Value<'s>>> {
        let value = self.property(name)?;
        Ok(if value.is_nullish()? {
            None
        } else {
            Some(value)
        })
    }

    pub(crate) fn set_property(self, name: &CStr, value: Value<'s>) -> Outcome<()> {
        napi!(napi_set_named_property(
            self.env().raw(),
            self.raw(),
            name.as_ptr(),
            value.raw()
        ))
    }
}

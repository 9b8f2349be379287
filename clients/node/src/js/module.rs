//! The entry of the addon, which Node calls once for each environment.

use std::ffi::CString;

use napi_sys::{napi_env, napi_value};

use crate::EXPORTS;
use crate::js::callback::guarded;
use crate::js::scope::{Env, Value};

/// The version of Node-API that the addon needs: Node 12.22 and every later one have it.
const NODE_API_VERSION: i32 = 8;

/// Fills the module's `exports`.
///
/// # Safety
/// Node calls it, with its environment and an object.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(raw: napi_env, exports: napi_value) -> napi_value {
    let env = Env::new(raw);
    let object = Value::new(env, exports);
    let filled = guarded(|| {
        for export in EXPORTS {
            let name = CString::new(export.name).expect("names have no NUL");
            object.set_property(&name, export.function(env)?)?;
        }
        Ok(())
    });
    if let Err(failure) = filled {
        env.throw(&failure);
    }
    exports
}

/// Returns the version of Node-API that the addon needs.
#[unsafe(no_mangle)]
extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    NODE_API_VERSION
}

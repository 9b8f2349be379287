//! The options of an open, from Python's arguments.

use std::sync::Arc;

use cairndb::leveldb::{IndexedDbOrder, Order, ReverseOrder};
use cairndb::{
    Add, Append, Comparator, Compression, KeyspaceOptions, Max, MergeOperator, Options,
    RecoveryMode,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{DurabilityName, Seconds};
use crate::callbacks::{PythonMergeOperator, PythonOrder};

/// The name of the reverse of the bytewise order, under which a database stores it.
const REVERSE_NAME: &str = "rev:leveldb.BytewiseComparator";

/// What a database is opened for, as the flags of the standard library's `dbm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    Read,
    Write,
    Create,
    New,
}

impl<'py> FromPyObject<'_, 'py> for Flag {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let flag: String = object.extract()?;
        match flag.as_str() {
            "r" => Ok(Flag::Read),
            "w" => Ok(Flag::Write),
            "c" => Ok(Flag::Create),
            "n" => Ok(Flag::New),
            other => Err(PyValueError::new_err(format!(
                "flag is 'r', 'w', 'c' or 'n', not '{other}'"
            ))),
        }
    }
}

fn reverse() -> Arc<dyn Comparator> {
    Arc::new(ReverseOrder::of(REVERSE_NAME, Order::Bytewise))
}

/// Returns the order of the keys: one of the built-in names, or a pair of a name and a function.
pub(crate) fn order(comparator: Option<&Bound<'_, PyAny>>) -> PyResult<Order> {
    let Some(comparator) = comparator else {
        return Ok(Order::Bytewise);
    };
    let custom = |order: Arc<dyn Comparator>| Ok(Order::Custom(order));
    if let Ok(name) = comparator.extract::<String>() {
        return match name.as_str() {
            "bytewise" => Ok(Order::Bytewise),
            "reverse" => custom(reverse()),
            "indexeddb" => custom(Arc::new(IndexedDbOrder)),
            other => Err(PyValueError::new_err(format!(
                "comparator is 'bytewise', 'reverse', 'indexeddb' or a pair (name, function), not '{other}'"
            ))),
        };
    }
    let pair: (String, Bound<'_, PyAny>) = comparator
        .extract()
        .map_err(|_| PyTypeError::new_err("comparator is a name, or a pair (name, function)"))?;
    if !pair.1.is_callable() {
        return Err(PyTypeError::new_err(
            "the comparator's function is not callable",
        ));
    }
    custom(Arc::new(PythonOrder::new(pair.0, pair.1.unbind())))
}

/// Returns the merge operator: one of the built-in names, or a pair of a name and a function.
fn merge_operator(operator: &Bound<'_, PyAny>) -> PyResult<Arc<dyn MergeOperator>> {
    if let Ok(name) = operator.extract::<String>() {
        return match name.as_str() {
            "add" => Ok(Arc::new(Add)),
            "append" => Ok(Arc::new(Append)),
            "max" => Ok(Arc::new(Max)),
            other => Err(PyValueError::new_err(format!(
                "merge_operator is 'add', 'append', 'max' or a pair (name, function), not '{other}'"
            ))),
        };
    }
    let pair: (String, Bound<'_, PyAny>) = operator.extract().map_err(|_| {
        PyTypeError::new_err("merge_operator is a name, or a pair (name, function)")
    })?;
    if !pair.1.is_callable() {
        return Err(PyTypeError::new_err(
            "the merge operator's function is not callable",
        ));
    }
    Ok(Arc::new(PythonMergeOperator::new(pair.0, pair.1.unbind())))
}

/// Returns the options that an open, a verification and a repair have in common: the components of
/// the database, and those that its keyspaces may name.
pub(crate) fn components(
    comparator: Option<&Bound<'_, PyAny>>,
    operator: Option<&Bound<'_, PyAny>>,
    (comparators, operators): &Registered<'_>,
) -> PyResult<Options> {
    let mut options = Options::new();
    if let Order::Custom(order) = order(comparator)? {
        options = options.comparator(order);
    }
    if let Some(operator) = operator {
        options = options.merge_operator(merge_operator(operator)?);
    }
    for built_in in [reverse(), Arc::new(IndexedDbOrder)] {
        options = options.register_comparator(built_in);
    }
    for comparator in comparators {
        if let Order::Custom(order) = order(Some(comparator))? {
            options = options.register_comparator(order);
        }
    }
    for operator in operators {
        options = options.register_merge_operator(merge_operator(operator)?);
    }
    Ok(options)
}

/// Comparators and merge operators that keyspaces may name, besides those that are built in.
pub(crate) type Registered<'py> = (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>);

/// Returns the options of a keyspace. Built-in comparators and operators have short names.
pub(crate) fn keyspace(
    comparator: Option<&str>,
    operator: Option<&str>,
    compression_name: Option<String>,
    value_bytes: Option<u64>,
) -> PyResult<KeyspaceOptions> {
    let mut options = KeyspaceOptions::new();
    match comparator {
        None | Some("bytewise") => {}
        Some("reverse") => options = options.comparator(REVERSE_NAME),
        Some("indexeddb") => options = options.comparator(IndexedDbOrder.name()),
        Some(name) => options = options.comparator(name),
    }
    match operator {
        None => {}
        Some("add") => options = options.merge_operator(Add.name()),
        Some("append") => options = options.merge_operator(Append.name()),
        Some("max") => options = options.merge_operator(Max.name()),
        Some(name) => options = options.merge_operator(name),
    }
    if compression_name.is_some() {
        options = options.compression(compression(compression_name)?);
    }
    Ok(value_bytes.map_or(options.clone(), |bytes| options.value_bytes(bytes)))
}

/// Sets what an open has besides. `settings` has the arguments of `Database` by name.
pub(crate) fn settings(
    settings: &Bound<'_, PyDict>,
    options: Options,
    flag: Flag,
) -> PyResult<Options> {
    let mut options = options
        .create_if_missing(matches!(flag, Flag::Create | Flag::New))
        .error_if_exists(flag == Flag::New)
        .read_only(flag == Flag::Read)
        .compression(compression(item(settings, "compression")?)?)
        .recovery(recovery(item(settings, "recovery")?)?);
    if let Some(bytes) = item(settings, "memory")? {
        options = options.memory_budget(bytes);
    }
    if let Some(DurabilityName(durability)) = item(settings, "durability")? {
        options = options.durability(durability);
    }
    if let Some(bits) = item(settings, "filter_bits_per_key")? {
        options = options.filter_bits_per_key(bits);
    }
    if let Some(bytes) = item(settings, "value_file_bytes")? {
        options = options.value_file_bytes(bytes);
    }
    if let Some(mapped) = item(settings, "mapped")? {
        options = options.mapped(mapped);
    }
    if let Some(always) = item(settings, "verify_always")? {
        options = options.verify_always(always);
    }
    if let Some(upgrade) = item(settings, "upgrade_leveldb")? {
        options = options.upgrade_leveldb(upgrade);
    }
    if let Some(upgrade) = item(settings, "upgrade_without_log")? {
        options = options.upgrade_without_log(upgrade);
    }
    sharing(settings, options)
}

/// Sets what an open has for followers.
fn sharing(settings: &Bound<'_, PyDict>, mut options: Options) -> PyResult<Options> {
    if follows(settings)? {
        options = options.follow();
    }
    if let Some(manual) = item(settings, "manual_refresh")? {
        options = options.manual_refresh(manual);
    }
    if let Some(Seconds(lease)) = item(settings, "reader_lease")? {
        options = options.reader_lease(lease);
    }
    if let Some(bytes) = item(settings, "reader_space_max")? {
        options = options.reader_space_max(bytes);
    }
    Ok(options)
}

/// Returns whether an open is that of a follower.
pub(crate) fn follows(settings: &Bound<'_, PyDict>) -> PyResult<bool> {
    Ok(item(settings, "follow")?.unwrap_or(false))
}

/// Returns a setting, `None` if it is missing or Python's `None`. Errors name the setting.
pub(crate) fn item<'py, T>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: FromPyObjectOwned<'py>,
{
    let Some(value) = settings.get_item(name)?.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let given: PyResult<T> = value.extract().map_err(Into::into);
    given.map(Some).map_err(|error| {
        let py = settings.py();
        let text = format!("argument '{name}': {}", error.value(py));
        PyErr::from_type(error.get_type(py), text)
    })
}

fn compression(name: Option<String>) -> PyResult<Compression> {
    match name.as_deref() {
        None | Some("none") => Ok(Compression::None),
        Some("fast") => Ok(Compression::Fast),
        Some(other) => Err(PyValueError::new_err(format!(
            "compression is 'fast', 'none' or None, not '{other}'"
        ))),
    }
}

fn recovery(name: Option<String>) -> PyResult<RecoveryMode> {
    match name.as_deref() {
        None | Some("strict") => Ok(RecoveryMode::Strict),
        Some("point-in-time") => Ok(RecoveryMode::PointInTime),
        Some(other) => Err(PyValueError::new_err(format!(
            "recovery is 'strict' or 'point-in-time', not '{other}'"
        ))),
    }
}

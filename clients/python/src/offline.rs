//! Operations on a database that is not open: verify, repair, destroy, conversion of LevelDB's.

use cairndb::RepairOptions;
use cairndb::leveldb::{UpgradeOptions, UpgradeOutcome};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::PathArgument;
use crate::boundary::{Report, detached, watched};
use crate::options::{Registered, components};

/// Checks a database. See `cairndb.verify`.
#[pyfunction]
#[pyo3(signature = (
    path, *, comparator=None, merge_operator=None, comparators=Vec::new(),
    merge_operators=Vec::new(), progress=None
))]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    path: PathArgument,
    comparator: Option<Bound<'_, PyAny>>,
    merge_operator: Option<Bound<'_, PyAny>>,
    comparators: Vec<Bound<'_, PyAny>>,
    merge_operators: Vec<Bound<'_, PyAny>>,
    progress: Option<Report>,
) -> PyResult<Bound<'py, PyDict>> {
    let registered = (comparators, merge_operators);
    let options = components(comparator.as_ref(), merge_operator.as_ref(), &registered)?;
    let report = watched(py, progress, || cairndb::verify(&path.0, &options))?;
    let dict = PyDict::new(py);
    dict.set_item("tables", report.tables)?;
    dict.set_item("entries", report.entries)?;
    dict.set_item("versions", report.versions)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("values", report.values)?;
    dict.set_item("log_versions", report.log_versions)?;
    Ok(dict)
}

/// Repairs a database. See `cairndb.repair`. Returns whether it is complete, the text and the JSON.
#[pyfunction]
#[pyo3(signature = (
    source, target, *, dry_run=false, include_unnamed=false, comparator=None,
    merge_operator=None, comparators=Vec::new(), merge_operators=Vec::new(), progress=None
))]
pub(crate) fn repair(
    py: Python<'_>,
    source: PathArgument,
    target: PathArgument,
    dry_run: bool,
    include_unnamed: bool,
    comparator: Option<Bound<'_, PyAny>>,
    merge_operator: Option<Bound<'_, PyAny>>,
    comparators: Vec<Bound<'_, PyAny>>,
    merge_operators: Vec<Bound<'_, PyAny>>,
    progress: Option<Report>,
) -> PyResult<(bool, String, String)> {
    let registered = (comparators, merge_operators);
    let options = components(comparator.as_ref(), merge_operator.as_ref(), &registered)?;
    let options = RepairOptions::new(&options)
        .dry_run(dry_run)
        .include_unnamed(include_unnamed);
    let report = watched(py, progress, || {
        cairndb::repair(&source.0, &target.0, &options)
    })?;
    Ok((report.is_complete(), report.to_string(), report.to_json()))
}

/// Removes a database. See `cairndb.destroy`.
#[pyfunction]
pub(crate) fn destroy(py: Python<'_>, path: PathArgument) -> PyResult<()> {
    detached(py, || cairndb::destroy(&path.0, &cairndb::Options::new()))
}

/// Converts a LevelDB database. See `cairndb.upgrade_leveldb`.
#[pyfunction]
#[pyo3(signature = (path, *, comparator=None, upgrade_without_log=false, progress=None))]
pub(crate) fn upgrade_leveldb<'py>(
    py: Python<'py>,
    path: PathArgument,
    comparator: Option<Bound<'_, PyAny>>,
    upgrade_without_log: bool,
    progress: Option<Report>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = components(comparator.as_ref(), None, &Registered::default())?;
    let options = options.upgrade_without_log(upgrade_without_log);
    let report = watched(py, progress, || {
        cairndb::leveldb::upgrade(&path.0, UpgradeOptions::new(options))
    })?;
    let dict = PyDict::new(py);
    let converted = report.outcome == UpgradeOutcome::Converted;
    dict.set_item("converted", converted)?;
    dict.set_item("entries", report.entries)?;
    dict.set_item("raw_bytes", report.raw_bytes)?;
    dict.set_item("target_bytes", report.target_bytes)?;
    Ok(dict)
}

/// Exchanges the names of two directories, so that after a crash each name has one of them. Where
/// the file system cannot do it in one step, moves one after the other.
#[pyfunction]
#[pyo3(name = "_exchange")]
pub(crate) fn exchange(py: Python<'_>, first: PathArgument, second: PathArgument) -> PyResult<()> {
    use rustix::fs::{CWD, RenameFlags, rename, renameat_with};
    let (first, second) = (&*first.0, &*second.0);
    detached(py, || {
        let failed = |errno: rustix::io::Errno| {
            cairndb::Error::io("the directories could not be exchanged", errno.into()).path(first)
        };
        if renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
        let mut aside = first.as_os_str().to_owned();
        aside.push(".exchanged");
        rename(second, &*aside).map_err(failed)?;
        rename(first, second).map_err(failed)?;
        rename(&*aside, first).map_err(failed)
    })
}

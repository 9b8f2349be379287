//! From the options of an open to what its components need.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, PageCache, Result};
use cairndb_env::{Dir, Env};
use cairndb_files::{DatabaseSettings, Dictionaries, OutputSettings};

use crate::state::budget::Budget;
use crate::state::context::ReadContext;
use crate::state::files::mapping::Mapping;
use crate::state::files::open_files::OpenFiles;
use crate::state::files::opener::TableOpener;
use crate::state::files::reaper::Reaper;
use crate::state::keyspaces::{Keyspaces, operator_of, order_of};
use crate::state::options::{FILTER_BITS_MAX, MEMORY_BUDGET_MIN, Options};
use crate::state::sections::{Orders, Section, Sections};
use crate::versions::settings::Settings;

/// Checks the options by themselves.
///
/// # Errors
/// `InvalidArgument` if one of them is out of range.
pub(super) fn validate(options: &Options) -> Result<()> {
    if options.memory_budget < MEMORY_BUDGET_MIN {
        return Err(Error::invalid("the memory budget must be at least 256 KiB")
            .found(options.memory_budget));
    }
    if options.order.name().len() > 255 {
        return Err(Error::invalid(
            "the comparator's name is longer than 255 bytes",
        ));
    }
    if options.filter_bits_per_key > FILTER_BITS_MAX {
        return Err(Error::invalid("too many filter bits per key")
            .expected(format_args!("at most {FILTER_BITS_MAX}"))
            .found(options.filter_bits_per_key));
    }
    let operator = options.merge_operator.as_ref();
    if operator.is_some_and(|operator| operator.name().len() > 255) {
        return Err(Error::invalid(
            "the merge operator's name is longer than 255 bytes",
        ));
    }
    Ok(())
}

/// Returns what reads in each section need.
pub(super) fn contexts(
    options: &Options,
    path: &Path,
    keyspaces: &Arc<Keyspaces>,
) -> Sections<ReadContext> {
    let path: Arc<Path> = path.into();
    Sections::from_fn(|section| ReadContext {
        path: Arc::clone(&path),
        section,
        order: order_of(keyspaces, section, &options.order),
        merge_operator: match section {
            Section::Default => options.merge_operator.clone(),
            _ => Some(operator_of(keyspaces)),
        },
        fold_limits: options.fold_limits,
    })
}

pub(super) fn opener(
    options: &Options,
    env: &Arc<dyn Env>,
    dir: &Arc<dyn Dir>,
    cache: &Arc<dyn PageCache>,
    reaper: &Arc<Reaper>,
    orders: Orders,
) -> Arc<TableOpener> {
    Arc::new(TableOpener {
        files: OpenFiles::new(
            Arc::clone(dir),
            env.open_files_max(),
            options.following.follow,
        ),
        orders,
        cache: Arc::clone(cache),
        mapping: Mapping::new(env, options.mapped, dir.prefers_mapping()),
        verify_always: options.verify_always,
        reaper: Arc::clone(reaper),
        dictionaries: Arc::default(),
    })
}

pub(super) fn settings(options: &Options, budget: Budget, opener: &TableOpener) -> Settings {
    Settings {
        budget,
        durability: options.durability,
        output: output_settings(options, budget, &opener.dictionaries),
        read_only: options.read_only || options.following.follow,
        follows: options.following.follow,
        value_file: options.value_file_bytes,
        reader_space: options.following.space_max,
    }
}

fn output_settings(
    options: &Options,
    budget: Budget,
    dictionaries: &Arc<Dictionaries>,
) -> OutputSettings {
    OutputSettings {
        order: options.order.clone(),
        section: 0,
        compression: options.compression.table(),
        classes: None,
        filter_bits_per_key: options.filter_bits_per_key,
        table_bytes: budget.table,
        dictionaries: Arc::clone(dictionaries),
        begin_syncs: false,
        relocation: None,
    }
}

/// Returns how a whole database is written: by `repair`, or by a conversion.
pub(crate) fn database_settings(options: &Options, budget: Budget) -> DatabaseSettings {
    DatabaseSettings {
        output: output_settings(options, budget, &Arc::default()),
        value_file_bytes: options.value_file_bytes,
        edit_bytes: budget.edit,
    }
}

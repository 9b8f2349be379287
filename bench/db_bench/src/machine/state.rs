//! Settings and state of the machine when a run starts: clock rate, large pages, load, memory.

use std::path::Path;

use bench_core::host::facts::{kib, value};
use bench_core::sparse;
use serde::Serialize;

/// Directory in which the kernel lists its processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

sparse! {
    /// Settings and load that influence figures. Facts that the kernel does not report are absent.
    #[derive(Clone, Debug, Default, Serialize)]
    pub(crate) struct MachineState {
        /// Clock governors of all processors.
        governor: Option<String>,
        /// Whether the clock may rise above its nominal rate.
        turbo: Option<&'static str>,
        /// Whether this is a virtual machine, as far as the processor reports it.
        virtual_machine: Option<bool>,
        /// Mode in which the kernel uses large pages automatically.
        huge_pages: Option<String>,
        /// Load averages over one, five and fifteen minutes.
        load_average: Option<String>,
        /// Free memory.
        memory_free_bytes: Option<u64>,
        /// Memory available without swapping.
        memory_available_bytes: Option<u64>,
    }
}

impl MachineState {
    /// Returns the current state.
    pub(crate) fn now() -> Self {
        let system = Path::new(PROCESSORS);
        Self {
            governor: governor(system),
            turbo: turbo(system),
            virtual_machine: value("/proc/cpuinfo", "flags")
                .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            huge_pages: read(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"))
                .and_then(|text| chosen(&text)),
            load_average: read(Path::new("/proc/loadavg")).map(|text| load(&text)),
            memory_free_bytes: kib("MemFree"),
            memory_available_bytes: kib("MemAvailable"),
        }
    }
}

fn read(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Returns the governors of all processors, without duplicates.
fn governor(system: &Path) -> Option<String> {
    let mut names: Vec<String> = std::fs::read_dir(system)
        .ok()?
        .filter_map(|entry| read(&entry.ok()?.path().join("cpufreq/scaling_governor")))
        .collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns `on` or `off`: Intel's driver reports that turbo is disabled, the others that it is
/// enabled.
fn turbo(system: &Path) -> Option<&'static str> {
    let none = read(&system.join("intel_pstate/no_turbo")).map(|text| text == "0");
    let boost = || read(&system.join("cpufreq/boost")).map(|text| text == "1");
    none.or_else(boost).map(|on| if on { "on" } else { "off" })
}

/// Returns the word in brackets.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Returns the three averages at the start of the file.
fn load(text: &str) -> String {
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_choices_give_the_one_that_holds() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
        assert_eq!(load("0.10 0.83 1.76 2/149 9024"), "0.10 0.83 1.76");
    }

    #[test]
    fn clock_rates_are_read_where_the_kernel_shows_them() {
        let home = tempfile::tempdir().expect("a directory");
        let system = home.path();
        assert_eq!((governor(system), turbo(system)), (None, None));
        for (cpu, name) in [("cpu0", "powersave\n"), ("cpu1", "powersave\n")] {
            std::fs::create_dir_all(system.join(cpu).join("cpufreq")).expect("made");
            let file = system.join(cpu).join("cpufreq/scaling_governor");
            std::fs::write(file, name).expect("written");
        }
        assert_eq!(governor(system).as_deref(), Some("powersave"));
        std::fs::write(system.join("cpu1/cpufreq/scaling_governor"), "performance")
            .expect("written");
        assert_eq!(governor(system).as_deref(), Some("performance, powersave"));
        std::fs::create_dir_all(system.join("cpufreq")).expect("made");
        std::fs::write(system.join("cpufreq/boost"), "1\n").expect("written");
        assert_eq!(turbo(system), Some("on"));
        std::fs::create_dir_all(system.join("intel_pstate")).expect("made");
        std::fs::write(system.join("intel_pstate/no_turbo"), "1\n").expect("written");
        assert_eq!(turbo(system), Some("off"));
    }

    #[test]
    fn the_load_and_free_memory_of_this_machine_are_known() {
        let now = MachineState::now();
        let load = now.load_average.expect("Linux reports it");
        assert_eq!(load.split(' ').count(), 3, "{load}");
        assert!(now.memory_free_bytes <= now.memory_available_bytes.max(now.memory_free_bytes));
        assert!(now.memory_available_bytes > Some(1 << 20));
    }
}

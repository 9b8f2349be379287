//! Plans of children for the parts of a job.

use bench_core::workload::plan::{Data, Plan};

use super::job::Part;

impl Part {
    /// Returns the plan of this part: the settings of the suite, and from `base` those that only
    /// flags set.
    pub(super) fn plan(&self, label: Option<&str>, base: &Plan) -> Plan {
        let settings = &self.settings;
        let data = match settings.data.as_str() {
            "json" => Data::Json,
            "synthetic" => Data::Synthetic,
            "random" => Data::Random,
            _ => base.data.clone(),
        };
        Plan {
            benchmarks: self
                .entries
                .iter()
                .map(|entry| entry.workload.clone())
                .collect(),
            kill: self.kill,
            num: settings.num,
            reads: settings.ops,
            writes: settings.ops,
            deletes: settings.ops,
            memory: settings.memory,
            // Records of a file have fixed sizes.
            value_size: match &data {
                Data::File { .. } => base.value_size,
                Data::Synthetic | Data::Json | Data::Random => settings.value_size,
            },
            key_len: settings.key_size.unwrap_or(base.key_len),
            data,
            compression: settings.compression,
            sync: settings.sync,
            threads: settings.threads,
            distribution: settings.distribution.or(base.distribution),
            batch_size: settings.batch_size.unwrap_or(base.batch_size),
            seek_nexts: settings.seek_nexts.unwrap_or(base.seek_nexts),
            bloom_bits: settings.bloom_bits,
            variant: settings.variant,
            label: label.map(str::to_owned),
            ranked: settings.ranked,
            progress: false,
            ..base.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use bench_core::workload::plan::Distribution;

    use super::super::file::File;
    use super::super::job::{SuiteFlags, jobs};
    use super::*;

    const SUITE: &str = r#"
        [[section]]
        name = "skewed"
        distribution = "zipfian"
        before = ["fillrandom"]
        workloads = ["readrandom"]
        [[section]]
        name = "newest"
        over = "skewed"
        distribution = "latest"
        workloads = ["readrandom"]
        [[section]]
        name = "as before"
        over = "skewed"
        seek_nexts = 10
        workloads = ["readrandom"]
        [[section]]
        name = "open"
        data = ["json"]
        value_size = 1000
        key_size = 24
        before = ["fillseq"]
        workloads = ["fillrandom"]
        batch_size = 20
        ops = 0.1
    "#;

    /// Returns the plans of all parts of a suite, in order.
    fn plans(base: &Plan) -> Vec<Plan> {
        let file: File = toml::from_str(SUITE).expect("well formed");
        let asked = SuiteFlags {
            num: Some(700),
            rounds: None,
            directories: 1,
        };
        let (jobs, _) = jobs(&file, asked);
        let parts = jobs.iter().flat_map(|job| &job.parts);
        parts.map(|part| part.plan(Some("mine"), base)).collect()
    }

    #[test]
    fn a_distribution_reaches_the_children_of_its_section() {
        let drawn = |flag| -> Vec<Option<Distribution>> {
            let base = Plan {
                distribution: flag,
                ..Plan::default()
            };
            plans(&base).iter().map(|plan| plan.distribution).collect()
        };
        let uniform = Some(Distribution::Uniform);
        let (zipfian, latest) = (Some(Distribution::Zipfian), Some(Distribution::Latest));
        assert_eq!(
            drawn(None),
            [uniform, zipfian, latest, zipfian, uniform, None]
        );
        // The flag applies to sections that do not set it.
        assert_eq!(
            drawn(latest),
            [uniform, zipfian, latest, zipfian, uniform, latest]
        );
    }

    #[test]
    fn entries_after_a_seek_are_those_of_the_section_else_of_the_flag() {
        let base = Plan {
            seek_nexts: 3,
            ..Plan::default()
        };
        let read: Vec<u64> = plans(&base).iter().map(|plan| plan.seek_nexts).collect();
        assert_eq!(read, [3, 3, 3, 10, 3, 3]);
    }

    #[test]
    fn what_a_suite_says_replaces_what_flags_say() {
        let base = Plan {
            seed: 7,
            num: 5,
            value_size: 9,
            batch_size: 3,
            progress: true,
            ..Plan::default()
        };
        let plans = plans(&base);
        let last = plans.last().expect("a part");
        assert_eq!(last.benchmarks, ["fillrandom"]);
        assert_eq!((last.num, last.writes, last.value_size), (700, 70, 1000));
        assert_eq!((last.reads, last.batch_size, last.key_len), (70, 20, 24));
        let before = &plans[plans.len() - 2];
        assert_eq!(
            (before.reads, before.batch_size, before.key_len),
            (700, 3, 24)
        );
        assert_eq!(
            (&last.data, last.label.as_deref()),
            (&Data::Json, Some("mine"))
        );
        assert!(last.compression && last.ranked && !last.progress);
        assert_eq!(last.seed, 7, "only a flag sets it");
    }
}

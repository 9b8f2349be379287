//! Rounds of the same calls on two clients in turn.

use cairndb_env::testing::setting::setting;
use cairndb_env::{Env as _, RealEnv};

/// Number of keys; every call finds its key.
const KEYS: u64 = 1000;
const ROUNDS: usize = 7;

/// What is measured.
pub(crate) trait Client {
    fn get(&mut self, key: &[u8]);
    fn put(&mut self, key: &[u8], value: &[u8]);
    fn multi_get(&mut self, keys: &[&[u8]]);
    fn write(&mut self, entries: &[(Vec<u8>, Vec<u8>)]);
    /// Puts what both clients have written into the same state.
    fn settle(&mut self) {}
}

fn key(n: u64) -> Vec<u8> {
    format!("{:016}", n % KEYS).into_bytes()
}

type Call = fn(&mut dyn Client, u64);

fn get(client: &mut dyn Client, n: u64) {
    client.get(&key(n * 7919));
}

fn put(client: &mut dyn Client, n: u64) {
    client.put(&key(n * 7919), &[7; 100]);
}

fn multi_get(client: &mut dyn Client, n: u64) {
    let keys: Vec<Vec<u8>> = (0..100).map(|m| key(n + m)).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    client.multi_get(&keys);
}

fn write(client: &mut dyn Client, n: u64) {
    let entries: Vec<_> = (0..100).map(|m| (key(n + m), vec![7; 100])).collect();
    client.write(&entries);
}

/// Prints the median time of a call on each client, and their ratio.
pub(crate) fn compare(engine: &str, ours: &mut dyn Client, bare: &mut dyn Client) {
    let clock = RealEnv::default();
    let calls = setting("CAIRN_COST_OPS").unwrap_or(1000);
    for n in 0..KEYS / 100 {
        write(ours, n * 100);
        write(bare, n * 100);
    }
    let kinds: [(&str, Call, u64); 4] = [
        ("get", get, 1),
        ("put", put, 1),
        ("multi_get of 100", multi_get, 10),
        ("batch of 100", write, 10),
    ];
    println!("| {engine} | bare, us | Store, us | ratio |\n|---|---|---|---|");
    for (name, call, divisor) in kinds {
        let mut times = [Vec::new(), Vec::new()];
        bare.settle();
        for _ in 0..ROUNDS {
            let count = (calls / divisor).max(1);
            let start = clock.now_ns();
            for n in 0..count {
                call(bare, n);
            }
            let middle = clock.now_ns();
            for n in 0..count {
                call(ours, n);
            }
            times[0].push((middle - start) / count);
            times[1].push((clock.now_ns() - middle) / count);
        }
        let [bare, ours] = times.map(|mut times| {
            times.sort_unstable();
            u32::try_from(times[ROUNDS / 2]).map_or(f64::INFINITY, f64::from) / 1000.0
        });
        println!("| {name} | {bare:.1} | {ours:.1} | {:.3} |", ours / bare);
    }
}

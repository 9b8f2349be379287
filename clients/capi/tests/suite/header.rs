//! The headers: `cairndb.h` is what cbindgen generates, and both compile in C and C++.

use std::fs;

use crate::compiler::{WARNINGS, compile, has_compiler, here};

pub(crate) fn generated() -> String {
    let config = cbindgen::Config::from_file(here("cbindgen.toml")).expect("a configuration");
    let root = here("src/face.rs");
    let mut builder = cbindgen::Builder::new().with_config(config);
    builder = builder.with_src(&root);
    let module = fs::read_to_string(root).expect("a module");
    for line in module.lines() {
        if let Some(name) = line.strip_prefix("pub mod ") {
            let file = format!("src/face/{}.rs", name.trim_end_matches(';'));
            builder = builder.with_src(here(&file));
        }
    }
    let mut text = Vec::new();
    builder.generate().expect("a header").write(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn the_header_is_the_generated_one() {
    let (path, generated) = (here("include/cairndb.h"), generated());
    if std::env::var("CAIRN_REWRITE").as_deref() == Ok("1") {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let found = fs::read_to_string(&path).expect("the header exists");
    assert!(found == generated, "CAIRN_REWRITE=1 writes the header anew");
}

/// Every function, constant and type of the header is documented.
#[test]
fn everything_in_the_header_is_documented() {
    let text = fs::read_to_string(here("include/cairndb.h")).expect("the header exists");
    let lines: Vec<&str> = text.lines().collect();
    let mut declarations = 0;
    for pair in lines.windows(2) {
        let starts = [
            "#define CAIRNDB_",
            "typedef ",
            "struct ",
            "const ",
            "uint",
            "size_t cairn",
        ];
        let starts = starts.iter().any(|start| pair[1].starts_with(start))
            && !pair[1].contains("CAIRNDB_H_");
        if starts {
            declarations += 1;
            assert!(pair[0].ends_with("*/"), "not documented: {}", pair[1]);
        }
    }
    assert!(
        declarations > 20,
        "only {declarations} declarations were found"
    );
}

#[test]
fn the_headers_compile_in_c_and_cpp_without_a_warning() {
    let home = tempfile::tempdir().expect("a directory");
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++17")] {
        if !has_compiler(language) {
            continue;
        }
        for order in [["cairndb.h", "leveldb/c.h"], ["leveldb/c.h", "cairndb.h"]] {
            let source = home.path().join("source");
            let [first, second] = order;
            let text = format!(
                "#include \"{first}\"\n#include \"{second}\"\n\
                 int main(void) {{ return leveldb_major_version() != 1 || cairndb_version() == 0; }}\n"
            );
            fs::write(&source, text).expect("a source");
            let flags = [WARNINGS, &[standard]].concat();
            compile(language, &source, &flags, &home.path().join("program"));
        }
    }
}

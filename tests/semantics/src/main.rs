//! For the recipes: `inventory FOLDER` prints what the requests below a folder use, `pack FOLDER MARK` puts those below a folder into the form of
//! the corpus (`MARK` is the part of the files' paths up to which they are cut), `replay FOLDER` runs them and writes each one's rows beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cne_semantics::{corpus, in_process, inventory};
use prost::Message;

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["inventory", folder] => print_inventory(Path::new(folder)),
        ["pack", folder, mark] => pack(Path::new(folder), mark),
        ["replay", folder] => return replay(Path::new(folder)).await,
        _ => {
            println!("usage: cne-semantics inventory FOLDER | pack FOLDER MARK | replay FOLDER");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn requests(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(requests(&path));
        } else if path.extension().is_some_and(|e| e == "pb") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn print_inventory(folder: &Path) {
    let mut found = BTreeSet::new();
    for path in requests(folder) {
        found.extend(inventory::of_request(&fs::read(path).unwrap()));
    }
    found.iter().for_each(|name| println!("{name}"));
}

fn pack(folder: &Path, mark: &str) {
    for path in requests(folder) {
        let mut request = corpus::request(&fs::read(&path).unwrap());
        request.query_id = uuid_of_zeros();
        request.driver_session_id = "corpus".into();
        request.description = String::new();
        corpus::move_files(&mut request, |path| {
            let (_, below) = path.split_once(mark)?;
            Some(format!("{}{below}", corpus::ROOT))
        });
        fs::write(path, request.encode_to_vec()).unwrap();
    }
}

fn uuid_of_zeros() -> String {
    "00000000-0000-0000-0000-000000000000".into()
}

async fn replay(folder: &Path) -> ExitCode {
    let mut failed = false;
    for path in requests(folder) {
        let request = corpus::request(&fs::read(&path).unwrap());
        match in_process::run(&request, 8192).await {
            Ok(output) => {
                let file = fs::File::create(path.with_extension("arrow")).unwrap();
                let mut writer = arrow::ipc::writer::FileWriter::try_new(file, &output.schema).unwrap();
                for batch in output.partitions.iter().flatten() {
                    writer.write(batch).unwrap();
                }
                writer.finish().unwrap();
            }
            Err(error) => {
                failed = true;
                println!("{}: FAILED\n{error}", path.display());
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

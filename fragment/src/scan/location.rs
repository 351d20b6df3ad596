use object_store::path::Path;
use url::Url;

use super::ScanError;

/// Where a file lies: the store (`scheme://authority`) and its key there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Location {
    pub(crate) store: String,
    pub(crate) path: Path,
}

/// Takes a `file_path` of Comet apart. It is a URL (of Hadoop's `Path.toUri`), so the path is decoded once: a directory `d=a%2Fb` of a
/// partitioned table arrives as `d=a%252Fb`.
pub(crate) fn locate(file_path: &str) -> Result<Location, ScanError> {
    let malformed = |reason: String| ScanError::unsupported(format!("file {file_path}"), reason);
    let url = Url::parse(file_path).map_err(|error| malformed(error.to_string()))?;
    let store = match url.scheme() {
        "file" => match url.host_str() {
            None | Some("" | "localhost") => "file://".to_string(),
            Some(host) => return Err(malformed(format!("a file on host {host}"))),
        },
        scheme @ ("s3" | "s3a") => {
            format!(
                "{scheme}://{}",
                url.host_str()
                    .filter(|host| !host.is_empty())
                    .ok_or_else(|| malformed("no bucket".to_string()))?
            )
        }
        scheme => {
            return Err(malformed(format!(
                "scheme {scheme:?} is not read by executors (file, s3 and s3a are)"
            )));
        }
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(malformed("a URL with a user or password".to_string()));
    }
    // From the text, not from `url`: that has `..` and backslashes already interpreted.
    let path = file_path.split_once(':').map_or("", |(_, rest)| rest);
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.split_once('/').map_or("", |(_, path)| path),
        None => path,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path =
        Path::from_url_path(path.trim_start_matches('/')).map_err(|error| malformed(error.to_string()))?;
    Ok(Location { store, path })
}

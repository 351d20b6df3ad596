//! The types that a setting can have, and how each is written.

use std::{
    fmt,
    net::IpAddr,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

/// A type of setting. The error of `parse` says what was expected, e.g. "a whole number".
pub trait Value: Sized {
    /// How the type is written, for people.
    const TYPE: &'static str;
    /// Never printed, and may come from a file.
    const SECRET: bool = false;
    /// Its absence means something: see `absent`.
    const OPTIONAL: bool = false;

    /// Reads a value; the error completes the sentence "expected ...".
    fn parse(text: &str) -> Result<Self, &'static str>;

    /// The value of a setting that was not given; none = it has to be given.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Value> Value for Option<T> {
    const TYPE: &'static str = T::TYPE;
    const SECRET: bool = T::SECRET;
    const OPTIONAL: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        T::parse(text).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl Value for String {
    const TYPE: &'static str = "text";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.trim().is_empty() {
            Err("some text")
        } else {
            Ok(text.to_owned())
        }
    }
}

impl Value for PathBuf {
    const TYPE: &'static str = "path";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            Err("a path")
        } else {
            Ok(Self::from(text))
        }
    }
}

macro_rules! whole_numbers {
    ($($type:ty: $name:literal, $expected:literal;)*) => {$(
        impl Value for $type {
            const TYPE: &'static str = $name;

            fn parse(text: &str) -> Result<Self, &'static str> {
                text.trim().parse().map_err(|_| $expected)
            }
        }
    )*};
}

whole_numbers! {
    u64: "number", "a whole number";
    u32: "number", "a whole number";
    usize: "number", "a whole number";
    NonZeroU32: "number above 0", "a whole number above 0";
    NonZeroUsize: "number above 0", "a whole number above 0";
}

impl Value for bool {
    const TYPE: &'static str = "true or false";

    fn parse(text: &str) -> Result<Self, &'static str> {
        text.trim().parse().map_err(|_| "true or false")
    }
}

impl Value for Duration {
    const TYPE: &'static str = "duration";

    fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "a whole number with a unit of time: ms, s, m or h, e.g. 30s";
        let (number, unit) = split_unit(text).ok_or(EXPECTED)?;
        let seconds = match unit {
            "ms" => return Ok(Self::from_millis(number)),
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(EXPECTED),
        };
        number.checked_mul(seconds).map(Self::from_secs).ok_or(EXPECTED)
    }
}

/// An amount of memory or storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The amount in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The amount in bytes as a length in memory; the largest possible where it does not fit.
    pub fn to_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Value for ByteSize {
    const TYPE: &'static str = "size";

    fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "a whole number of bytes, or with a unit: KiB, MiB, GiB or TiB, e.g. 64MiB";
        let (number, unit) = split_unit(text).ok_or(EXPECTED)?;
        let factor = match unit {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            _ => return Err(EXPECTED),
        };
        number.checked_mul(factor).map(Self).ok_or(EXPECTED)
    }
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim()))
}

/// A host, by name or IP address, and a port. To listen, port 0 means any free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// Whether what is sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Value for Address {
    const TYPE: &'static str = "host:port";

    fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "host:port, e.g. 127.0.0.1:50050 or [::1]:50050";
        let text = text.trim();
        // A URL of the plain protocol says the same.
        let text = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("grpc://"))
            .unwrap_or(text);
        let (host, port) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let port = port.parse().map_err(|_| EXPECTED)?;
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let host = bracketed.unwrap_or(host);
        let is_name = !host.is_empty() && !host.contains(|c: char| "/@:[]".contains(c) || c.is_whitespace());
        let valid = if bracketed.is_some() {
            host.parse::<std::net::Ipv6Addr>().is_ok()
        } else {
            is_name
        };
        if valid {
            Ok(Self {
                host: host.to_owned(),
                port,
            })
        } else {
            Err(EXPECTED)
        }
    }
}

impl Value for Vec<String> {
    const TYPE: &'static str = "comma-separated list";
    const OPTIONAL: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        Ok(text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// For tests and for secrets that were made at run time.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself: hand it to what needs it and to nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

impl Value for Secret {
    const TYPE: &'static str = "secret";
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            Err("a secret that is not empty")
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

/// When the output of a task counts as committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Local,
    WriteBehind,
    Store,
}

impl Value for Durability {
    const TYPE: &'static str = "local, write-behind or store";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text.trim() {
            "local" => Ok(Self::Local),
            "write-behind" => Ok(Self::WriteBehind),
            "store" => Ok(Self::Store),
            _ => Err("local, write-behind or store"),
        }
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Value for LogFormat {
    const TYPE: &'static str = "text or json";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text.trim() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("text or json"),
        }
    }
}

/// How shuffle and result data is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleCompression {
    None,
    Lz4,
    Zstd,
}

impl Value for ShuffleCompression {
    const TYPE: &'static str = "none, lz4 or zstd";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text.trim() {
            "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd),
            _ => Err("none, lz4 or zstd"),
        }
    }
}

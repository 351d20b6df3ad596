//! The declaration of settings: one macro call per binary makes the struct and its table.

use crate::{SettingsError, parse::Source};

/// One setting of a binary.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the environment variable, e.g. "CNE_TASK_SLOTS"; the flag follows from it.
    pub env: &'static str,
    /// How a value is written.
    pub type_name: &'static str,
    /// None: it has to be given, or its absence means something (then `optional`).
    pub default: Option<&'static str>,
    /// Whether it may be left out though it has no default.
    pub optional: bool,
    /// Never printed; may come from a file named by `<env>_FILE`.
    pub secret: bool,
    /// What it is for; one line, with the unit where the type does not have one.
    pub doc: &'static str,
}

impl Setting {
    /// Name of the flag without the leading dashes, e.g. "task-slots".
    pub fn flag(&self) -> String {
        self.env
            .trim_start_matches("CNE_")
            .to_ascii_lowercase()
            .replace('_', "-")
    }
}

/// The settings of one binary.
pub trait Registry: Sized {
    /// Name of the binary.
    const BINARY: &'static str;
    /// Every setting, in the order of the documentation.
    const TABLE: &'static [Setting];
    /// Variable of the address at which a running process answers probes.
    const PROBED: &'static str;

    /// Takes each setting from its source.
    #[doc(hidden)]
    fn read(source: &Source) -> Result<Self, SettingsError>;

    /// What holds between settings.
    fn validate(&self) -> Result<(), SettingsError>;
}

macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident for $binary:literal probed at $probed:literal {
            $($(#[doc = $doc:literal])+ pub $field:ident: $type:ty = $env:literal $(default $default:literal)?;)*
        }
        $validate:item
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $crate::Registry for $name {
            const BINARY: &'static str = $binary;
            const PROBED: &'static str = $probed;
            const TABLE: &'static [$crate::Setting] = &[$(
                $crate::Setting {
                    env: $env,
                    type_name: <$type as $crate::Value>::TYPE,
                    default: $crate::registry::settings!(@default $($default)?),
                    optional: <$type as $crate::Value>::OPTIONAL,
                    secret: <$type as $crate::Value>::SECRET,
                    doc: concat!($($doc),+),
                },
            )*];

            fn read(source: &$crate::parse::Source) -> Result<Self, $crate::SettingsError> {
                Ok(Self { $($field: source.get($env, $crate::registry::settings!(@default $($default)?))?,)* })
            }

            $validate
        }

        impl $name {
            /// Reads flags (without the program's name) and variables. Those of the other binary are let pass.
            pub fn from_args_and_env<A, K, V>(
                args: impl IntoIterator<Item = A>,
                env: impl IntoIterator<Item = (K, V)>,
            ) -> Result<$crate::Invocation<Self>, $crate::SettingsError>
            where
                A: Into<std::ffi::OsString>,
                K: Into<std::ffi::OsString>,
                V: Into<std::ffi::OsString>,
            {
                $crate::parse::invocation(
                    args.into_iter().map(Into::into),
                    env.into_iter().map(|(k, v)| (k.into(), v.into())),
                )
            }
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
}
pub(crate) use settings;

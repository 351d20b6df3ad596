//! Who an executor is to AWS: credentials of its own, out of `aws-config`'s sources, for `object_store`.
//!
//! * [`Source`] says where this process's credentials come from. It is chosen once, by the environment, and it alone is asked from then on:
//!   where web identity (IRSA), a container's endpoint (EKS Pod Identity, ECS) or a profile is configured and fails, nothing else is tried.
//! * [`Identities`] holds one [`Identity`] per process and role. [`Identities::process`] is the process's own, [`Identities::role`] one that
//!   is assumed from it.
//! * [`Identity`] keeps a credential and replaces it ahead of its expiry. At most one request is under way, however many tasks ask; while
//!   a valid credential is there, nobody waits for the next one.
//! * [`IdentityError`] says what went wrong, and whether it may go away.

mod counts;
mod error;
mod fetch;
mod identities;
mod refresh;
mod source;

pub use counts::IdentityCounts;
pub use error::IdentityError;
pub use fetch::{Fetch, Issued};
pub use identities::{AssumedRole, Identities, IdentityOptions};
pub use refresh::{Doubt, Identity, RefreshPolicy};
pub use source::Source;

#[cfg(test)]
mod tests;

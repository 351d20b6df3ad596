//! Functions over dates.

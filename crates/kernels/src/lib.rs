//! User-mode Linux kernels, built from a distribution's source package, and kept in the user's cache.
//!
//! | module | contents |
//! |---|---|
//! | [`version`] | [`Version`]: of a kernel, and what a user wants of it |
//! | [`source`] | [`Source`]: an archive or a folder with a kernel's source, and where distributions keep them |
//! | [`options`] | [`Options`]: what is configured, each option with its reason |
//! | [`edit`] | [`Edit`]: a change of a kernel's source, found by the names in a line |
//! | [`recipe`] | [`Recipe`]: options and edits, and how kernels of other ones are recognized |
//! | [`tools`] | the programs that a build runs, and the packages that have them |
//! | [`build`] | [`build`](build::build): from a source to a kernel in the cache |
//! | [`cache`] | [`Kernels`]: the kernels that there are |
//!
//! Start with [`Kernels::find`]. The folder `kernel` has the options and the edits.

pub mod build;
pub mod cache;
pub mod edit;
pub mod options;
pub mod recipe;
pub mod source;
pub mod tools;
pub mod version;

pub use cache::{Kernel, Kernels};
pub use edit::Edit;
pub use options::Options;
pub use recipe::Recipe;
pub use source::Source;
pub use version::Version;

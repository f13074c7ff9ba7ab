//! Schemas: for each topic a list of versions 0, 1, 2…, shared by its partitions.

mod codec;
mod registry;
mod schema;

pub(crate) use registry::ROOT;
pub use registry::{Added, Schemas};
pub use schema::{Schema, SchemaType, StoredSchema};

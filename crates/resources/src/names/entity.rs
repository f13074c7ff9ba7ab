//! The rule for tenants, clusters and namespaces.

use super::InvalidName;

/// Checks a tenant's, cluster's or namespace's own name: ASCII letters, digits and `-=:._`.
pub fn check_entity(name: &str) -> Result<(), InvalidName> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-=:._".contains(&byte);
    if name.bytes().all(allowed) { Ok(()) } else { Err(InvalidName(format!("Invalid named entity: {name}"))) }
}

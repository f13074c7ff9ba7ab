//! The names of what is placed and of where it can be.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bundle::{BundleError, BundleRange};

macro_rules! shared_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

shared_text! {
    /// The id of a broker, `<advertised host>:<web port>`. Cheap to clone.
    BrokerId
}

shared_text! {
    /// The full name of a bundle, `tenant/namespace/0x…_0x…`. Cheap to clone.
    BundleName
}

impl BrokerId {
    /// The part before the last colon, which isolation policies match; all of it if there is none.
    #[must_use]
    pub fn host(&self) -> &str {
        self.rsplit_once(':').map_or(self, |(host, _)| host)
    }
}

impl BundleName {
    /// The name of the bundle of `namespace` (`tenant/namespace`) with this range.
    #[must_use]
    pub fn new(namespace: &str, range: BundleRange) -> Self {
        format!("{namespace}/{range}").into()
    }

    /// The namespace, `tenant/namespace`: everything before the last slash.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The range.
    ///
    /// # Errors
    /// [`BundleError`] when the part after the last slash is not a range.
    pub fn range(&self) -> Result<BundleRange, BundleError> {
        self.rsplit_once('/').map_or(&**self, |(_, range)| range).parse()
    }
}

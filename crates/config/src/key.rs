//! The description of a key, and the macro that declares a section of them.

use std::ops::RangeInclusive;

use crate::section;

/// A key that has an effect.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name, as in `broker.conf`.
    pub name: &'static str,
    /// The title of the section it belongs to.
    pub section: &'static str,
    /// What it does, in one or more lines.
    pub doc: &'static str,
    /// The default, as it would be written in a file.
    pub default: &'static str,
    /// What one of a numeric value stands for.
    pub unit: Option<&'static str>,
    /// Whether it can be changed while the broker runs.
    pub dynamic: bool,
    pub(crate) within: Option<RangeInclusive<i64>>,
    pub(crate) accepts: fn(Option<&RangeInclusive<i64>>) -> String,
    pub(crate) takes_nothing: bool,
}

impl Key {
    /// The valid values, in words.
    pub fn accepts(&self) -> String {
        (self.accepts)(self.within.as_ref())
    }
}

/// Every key that has an effect, section by section.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    section::ALL.iter().flat_map(|keys| keys.iter())
}

/// The key of that name, if it is one that has an effect.
pub fn find(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.name == name)
}

/// Declares a section: a struct of plain fields, and the table of their keys.
///
/// A row reads `"brokerConfName" => field: Type as Kind [range] = "default", dynamic;` where `Kind` parses the text,
/// and range and `dynamic` are optional.
macro_rules! declare {
    (
        $(#[doc = $about:literal])+
        pub struct $section:ident, $title:literal;
        $(
            $(#[doc = $doc:literal])+
            $name:literal => $field:ident: $value:ty as $kind:ty $([$within:expr])? = $default:literal $(, $dynamic:ident)?;
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $section {
            $($(#[doc = $doc])+ pub $field: $value,)+
        }

        impl $section {
            pub(crate) const KEYS: &'static [$crate::Key] = &[$($crate::Key {
                name: $name,
                section: $title,
                doc: concat!($($doc, "\n"),+),
                default: $default,
                unit: <$kind as $crate::kind::Kind>::UNIT,
                dynamic: $crate::key::declare!(@is $($dynamic)?),
                within: $crate::key::declare!(@within $($within)?),
                accepts: <$kind as $crate::kind::Kind>::accepts,
                takes_nothing: <$kind as $crate::kind::Kind>::TAKES_NOTHING,
            }),+];

            /// Reads the section, or adds every problem there is with it.
            pub(crate) fn read(
                texts: &$crate::settings::Texts,
                problems: &mut Vec<$crate::Problem>,
            ) -> Option<Self> {
                $(let $field: Option<$value> = $crate::settings::read::<$kind>(
                    texts, $name, $crate::key::declare!(@within $($within)?).as_ref(), problems,
                );)+
                Some(Self { $($field: $field?),+ })
            }
        }
    };
    (@is dynamic) => { true };
    (@is) => { false };
    (@within $within:expr) => { Some($within) };
    (@within) => { None::<std::ops::RangeInclusive<i64>> };
}

pub(crate) use declare;

//! Topic names: `persistent://tenant/namespace/name`, and everything derived from them.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use super::{Domain, InvalidName, NamespaceName, url};

const SCHEME: &str = "://";
const PARTITION: &str = "-partition-";

/// A topic's full name. Cloning shares it.
#[derive(Clone)]
pub struct TopicName(Arc<Parts>);

struct Parts {
    full: String,
    domain: Domain,
    namespace: NamespaceName,
    /// Where the local name begins in `full`.
    local: usize,
    /// The partition's index and the length of the partitioned topic's name in `full`.
    partition: Option<(u32, usize)>,
}

impl TopicName {
    /// The topic `local` of a namespace. A slash in `local` makes it, as in any full name, one of the older form with a
    /// cluster.
    pub fn new(domain: Domain, namespace: &NamespaceName, local: &str) -> Result<Self, InvalidName> {
        format!("{domain}{SCHEME}{namespace}/{local}").parse()
    }

    /// The topic whose log is stored under `name`: `tenant/namespace/domain/encoded-local-name`.
    pub fn from_log_name(name: &str) -> Result<Self, InvalidName> {
        let refused = || InvalidName(format!("Invalid managedLedger name: {name}"));
        let (rest, local) = name.rsplit_once('/').ok_or_else(refused)?;
        let (namespace, domain) = rest.rsplit_once('/').ok_or_else(refused)?;
        if !matches!(namespace.split('/').count(), 2 | 3) {
            return Err(refused());
        }
        Self::new(domain.parse()?, &namespace.parse()?, &url::decode(local)?)
    }

    fn of_parts(full: String, domain: Domain, namespace: NamespaceName, local_len: usize) -> Result<Self, InvalidName> {
        let blank =
            |name: &str| InvalidName(format!("Invalid topic name: {name}. Topic local name must not be blank."));
        let local = full.len() - local_len;
        if is_blank(&full[local..]) {
            return Err(blank(&full));
        }
        let partition = partition_suffix(&full[local..]).map(|(index, suffix)| (index, full.len() - suffix));
        if let Some((_, end)) = partition
            && is_blank(&full[local..end])
        {
            return Err(blank(&full[..end]));
        }
        Ok(Self(Arc::new(Parts { full, domain, namespace, local, partition })))
    }

    /// The full name, with its domain in lower case.
    pub fn as_str(&self) -> &str {
        &self.0.full
    }

    /// Whether the topic's messages are stored.
    pub fn domain(&self) -> Domain {
        self.0.domain
    }

    /// Whether the topic's messages are stored.
    pub fn is_persistent(&self) -> bool {
        self.0.domain == Domain::Persistent
    }

    /// The topic's namespace.
    pub fn namespace(&self) -> &NamespaceName {
        &self.0.namespace
    }

    /// The tenant that owns the topic.
    pub fn tenant(&self) -> &str {
        self.0.namespace.tenant()
    }

    /// The name within the namespace, as clients write it.
    pub fn local_name(&self) -> &str {
        &self.0.full[self.0.local..]
    }

    /// The name within the namespace as one segment of a path.
    pub fn encoded_local_name(&self) -> String {
        url::encode(self.local_name())
    }

    /// Which partition of a partitioned topic this is, if it is one.
    pub fn partition_index(&self) -> Option<u32> {
        self.0.partition.map(|(index, _)| index)
    }

    /// Whether this is one partition of a partitioned topic.
    pub fn is_partition(&self) -> bool {
        self.0.partition.is_some()
    }

    /// The full name of the partitioned topic, or of this one if it isn't a partition.
    pub fn base_name(&self) -> &str {
        self.0.partition.map_or(&self.0.full, |(_, end)| &self.0.full[..end])
    }

    /// The partitioned topic this is a partition of, or this topic itself.
    pub fn base(&self) -> Self {
        let Some((_, end)) = self.0.partition else { return self.clone() };
        let full = self.0.full[..end].to_owned();
        let local = self.0.local;
        // The name of a partitioned topic may itself end like a partition's.
        let partition = partition_suffix(&full[local..])
            .map(|(index, suffix)| (index, full.len() - suffix))
            .filter(|&(_, end)| !is_blank(&full[local..end]));
        let (domain, namespace) = (self.0.domain, self.0.namespace.clone());
        Self(Arc::new(Parts { full, domain, namespace, local, partition }))
    }

    /// The partition `index` of this topic; this topic itself if it is that partition already.
    pub fn partition(&self, index: u32) -> Self {
        let suffix = format!("{PARTITION}{index}");
        if self.0.full.ends_with(&suffix) {
            return self.clone();
        }
        let full = format!("{}{suffix}", self.0.full);
        // An index beyond i32 is not read back as one, so it isn't one here.
        let partition = partition_suffix(&full[self.0.local..]).map(|(index, suffix)| (index, full.len() - suffix));
        let (domain, namespace, local) = (self.0.domain, self.0.namespace.clone(), self.0.local);
        Self(Arc::new(Parts { full, domain, namespace, local, partition }))
    }

    /// The name under which the topic's log is stored: `tenant/namespace/domain/encoded-local-name`.
    pub fn log_name(&self) -> String {
        format!("{}/{}/{}", self.0.namespace, self.0.domain, self.encoded_local_name())
    }

    /// The name in lookup and admin paths: `domain/tenant/namespace/encoded-local-name`.
    pub fn lookup_name(&self) -> String {
        format!("{}/{}/{}", self.0.domain, self.0.namespace, self.encoded_local_name())
    }

    /// The name under which the schemas of all partitions are kept: `tenant/namespace/encoded-base-name`.
    pub fn schema_name(&self) -> String {
        let local = &self.base_name()[self.0.local..];
        format!("{}/{}/{}", self.tenant(), self.0.namespace.local_name(), url::encode(local))
    }

    /// Whether this is one of the topics in which the cluster keeps its own state. They are hidden from listings.
    pub fn is_system(&self) -> bool {
        const EVENTS: [&str; 4] = [
            "__change_events",
            "__transaction_buffer_snapshot",
            "__transaction_buffer_snapshot_segments",
            "__transaction_buffer_snapshot_indexes",
        ];
        let base = self.base_name();
        EVENTS.contains(&&base[self.0.local..])
            || base.starts_with("persistent://pulsar/system/transaction_coordinator_assign")
            || base.starts_with("persistent://pulsar/system/__transaction_log_")
            || base.ends_with("__transaction_pending_ack")
    }
}

/// The index and length of a partition's suffix: a decimal i32 without sign or leading zeros.
fn partition_suffix(local: &str) -> Option<(u32, usize)> {
    let digits = &local[local.rfind(PARTITION)? + PARTITION.len()..];
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let index = digits.parse().ok().filter(|&index: &u32| is_plain && i32::try_from(index).is_ok())?;
    Some((index, PARTITION.len() + digits.len()))
}

/// Whether there are only spaces as Java counts them: not the ones that forbid a line break.
fn is_blank(text: &str) -> bool {
    text.chars().all(|char| {
        matches!(char, '\u{1c}'..='\u{1f}')
            || char.is_whitespace() && !matches!(char, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
    })
}

impl FromStr for TopicName {
    type Err = InvalidName;

    /// Parses a full name, or a short one: `topic` or `tenant/namespace/topic`, which are persistent. A fourth slash
    /// makes a full name one of the older form, `domain://tenant/cluster/namespace/topic`.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (domain, rest) = match text.split_once(SCHEME) {
            Some((domain, rest)) => (domain.parse()?, rest.to_owned()),
            None => (Domain::Persistent, expand_short(text)?),
        };
        let full = format!("{domain}{SCHEME}{rest}");
        let parts: Vec<&str> = rest.splitn(4, '/').collect();
        let (namespace, local) = match *parts.as_slice() {
            [tenant, namespace, local] => (NamespaceName::new(tenant, namespace)?, local),
            [tenant, cluster, namespace, local] => (NamespaceName::with_cluster(tenant, cluster, namespace)?, local),
            _ => return Err(InvalidName(format!("Invalid topic name: {text}"))),
        };
        let local_len = local.len();
        Self::of_parts(full, domain, namespace, local_len)
    }
}

fn expand_short(text: &str) -> Result<String, InvalidName> {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    match *parts.as_slice() {
        [local] => Ok(format!("{}/{local}", NamespaceName::DEFAULT)),
        // Taken as it is: an empty part is an error of the full form.
        [_, _, _] => Ok(text.to_owned()),
        _ => Err(InvalidName(format!(
            "Invalid short topic name '{text}', it should be in the format of <tenant>/<namespace>/<topic> or <topic>"
        ))),
    }
}

impl PartialEq for TopicName {
    fn eq(&self, other: &Self) -> bool {
        self.0.full == other.0.full
    }
}

impl Eq for TopicName {}

impl Hash for TopicName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.full.hash(state);
    }
}

impl PartialOrd for TopicName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TopicName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.full.cmp(&other.0.full)
    }
}

impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0.full
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.full)
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.full)
    }
}

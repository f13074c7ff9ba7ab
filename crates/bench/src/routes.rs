//! Which connection serves which topics.

use std::collections::BTreeMap;

use crate::Error;
use crate::connection::{Connection, Lookup};

/// Redirections that are followed.
const HOPS: usize = 20;

/// The topics of one connection, all served by one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) address: String,
    /// Names, with their number among all topics.
    pub(crate) topics: Vec<(usize, String)>,
}

/// The names of `count` topics: the name itself if it is one, else with a number behind it.
pub(crate) fn names(topic: &str, count: u32) -> Vec<String> {
    match count {
        1 => vec![topic.to_owned()],
        _ => (0..count).map(|number| format!("{topic}-{number}")).collect(),
    }
}

/// Finds the broker of each topic, starting at `address`, and spreads the topics over `connections` connections.
///
/// Each broker gets at least one connection. If connections are left over, several serve the same topic.
pub(crate) fn plan(address: &str, topics: &[String], connections: u32) -> Result<Vec<Route>, Error> {
    let mut owners = BTreeMap::<String, Vec<(usize, String)>>::new();
    let mut directory = Connection::open(address)?;
    for (number, topic) in topics.iter().enumerate() {
        let owner = locate(&mut directory, address, topic)?;
        owners.entry(owner).or_default().push((number, topic.clone()));
    }
    Ok(spread(owners, connections as usize))
}

fn spread(owners: BTreeMap<String, Vec<(usize, String)>>, connections: usize) -> Vec<Route> {
    let brokers = owners.len().max(1);
    let mut routes = Vec::new();
    for (place, (address, topics)) in owners.into_iter().enumerate() {
        let share = connections / brokers + usize::from(place < connections % brokers);
        for at in 0..share.max(1) {
            let share = share.max(1);
            let mine = match topics.len() {
                count if count < share => vec![topics[at % count].clone()],
                _ => topics.iter().skip(at).step_by(share).cloned().collect(),
            };
            routes.push(Route { address: address.clone(), topics: mine });
        }
    }
    routes
}

fn locate(directory: &mut Connection, address: &str, topic: &str) -> Result<String, Error> {
    let mut at = address.to_owned();
    let mut answer = directory.lookup(topic, false)?;
    for _ in 0..HOPS {
        match answer {
            Lookup::Here(url) if url.is_empty() => return Ok(at),
            Lookup::Here(url) => return host_and_port(topic, &url),
            Lookup::Ask { url, authoritative } => {
                at = host_and_port(topic, &url)?;
                answer = Connection::open(&at)?.lookup(topic, authoritative)?;
            }
        }
    }
    Err(Error::Redirected { topic: topic.to_owned(), hops: HOPS })
}

fn host_and_port(topic: &str, url: &str) -> Result<String, Error> {
    let rest = url.strip_prefix("pulsar://").map(|rest| rest.trim_end_matches('/'));
    rest.filter(|rest| rest.contains(':'))
        .map(str::to_owned)
        .ok_or_else(|| Error::ServiceUrl { topic: topic.to_owned(), url: url.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(routes: &[Route]) -> Vec<Vec<usize>> {
        routes.iter().map(|route| route.topics.iter().map(|topic| topic.0).collect()).collect()
    }

    fn owned_by(brokers: &[&str], count: usize) -> BTreeMap<String, Vec<(usize, String)>> {
        let mut owners = BTreeMap::<_, Vec<_>>::new();
        for number in 0..count {
            let broker = brokers[number % brokers.len()].to_owned();
            owners.entry(broker).or_default().push((number, format!("t-{number}")));
        }
        owners
    }

    #[test]
    fn connections_share_the_topics() {
        assert_eq!(topics(&spread(owned_by(&["a"], 5), 2)), [vec![0, 2, 4], vec![1, 3]]);
    }

    #[test]
    fn topics_share_the_connections_when_there_are_fewer() {
        assert_eq!(topics(&spread(owned_by(&["a"], 2), 4)), [vec![0], vec![1], vec![0], vec![1]]);
    }

    #[test]
    fn every_broker_is_connected_to() {
        let routes = spread(owned_by(&["a", "b", "c"], 6), 1);
        assert_eq!(topics(&routes), [vec![0, 3], vec![1, 4], vec![2, 5]]);
    }

    #[test]
    fn addresses_are_taken_out_of_service_urls() {
        assert_eq!(host_and_port("t", "pulsar://host:6650/").expect("an address"), "host:6650");
        assert!(host_and_port("t", "pulsar+ssl://host:6651").is_err());
        assert!(host_and_port("t", "").is_err());
    }

    #[test]
    fn a_single_topic_keeps_its_name() {
        assert_eq!(names("t", 1), ["t"]);
        assert_eq!(names("t", 2), ["t-0", "t-1"]);
    }
}

//! Clients that publish, consume and acknowledge until the broker dies.

use std::cell::RefCell;
use std::rc::Rc;

use plerion_test_client::Error;
use tokio::task::JoinSet;

use crate::history::History;
use crate::plan::TOPICS;

mod consumer;
mod life;
mod producer;

pub(crate) use consumer::Consume;
pub(crate) use life::{Life, Mode};
pub(crate) use producer::Publish;

/// What all clients of a run write into.
pub(crate) type Shared = Rc<RefCell<History>>;

/// Makes every subscription, so that nothing is published before them.
pub(crate) async fn subscribe_all(port: u16) -> Result<(), Error> {
    let mut client = plerion_test_client::Client::open(port).await?;
    for topic in TOPICS {
        for subscription in topic.subscriptions {
            let consumer = plerion_test_client::Consumer::new(
                topic.name,
                subscription.name,
                subscription.kind,
                client.next_request(),
            );
            client.subscribe(&consumer).await?;
        }
    }
    Ok(())
}

/// Starts every producer and consumer.
pub(crate) fn start(life: &Life, history: &Shared, clients: &mut JoinSet<()>) {
    for (topic, plan) in TOPICS.iter().enumerate() {
        for producer in 0..plan.producers.len() {
            clients.spawn_local(Publish { topic, producer }.run(life.clone(), history.clone()));
        }
        for (subscription, plan) in plan.subscriptions.iter().enumerate() {
            for number in 0..plan.consumers {
                let consume = Consume { topic, subscription, number };
                clients.spawn_local(consume.run(life.clone(), history.clone()));
            }
        }
    }
}

//! What brokers answer.

use plerion_wire::ServerError;
use plerion_wire::proto::BaseCommand;
use plerion_wire::proto::command_lookup_topic_response::LookupType;
use plerion_wire::proto::command_partitioned_topic_metadata_response::LookupType as PartitionsType;

/// The id of the request that a command answers.
pub(crate) fn request_of(command: &BaseCommand) -> Option<u64> {
    macro_rules! first {
        ($($field:ident),+) => {
            None$(.or_else(|| command.$field.as_ref().map(|answer| answer.request_id)))+
        };
    }
    let ack = command.ack_response.as_ref().and_then(|answer| answer.request_id);
    ack.or_else(|| {
        first!(
            success,
            error,
            producer_success,
            partition_metadata_response,
            lookup_topic_response,
            consumer_stats_response,
            get_last_message_id_response,
            get_topics_of_namespace_response,
            get_schema_response,
            get_or_create_schema_response,
            watch_topic_list_success,
            tc_client_connect_response,
            new_txn_response,
            add_partition_to_txn_response,
            add_subscription_to_txn_response,
            end_txn_response
        )
    })
}

/// Why a request was refused; `None` if the command is no refusal.
pub(crate) fn refusal_of(command: &BaseCommand) -> Option<(ServerError, String)> {
    if let Some(error) = &command.error {
        return Some((error.error(), error.message.clone()));
    }
    if let Some(lookup) = &command.lookup_topic_response {
        return (lookup.response() == LookupType::Failed).then(|| (lookup.error(), lookup.message().into()));
    }
    if let Some(partitions) = &command.partition_metadata_response {
        let failed = partitions.response() == PartitionsType::Failed;
        return failed.then(|| (partitions.error(), partitions.message().into()));
    }
    macro_rules! first {
        ($($field:ident $code:ident $text:ident),+ $(,)?) => {
            None$(.or_else(|| {
                let answer = command.$field.as_ref()?;
                answer.$code.map(|_| (answer.$code(), answer.$text().to_owned()))
            }))+
        };
    }
    first!(
        ack_response error message,
        consumer_stats_response error_code error_message,
        get_schema_response error_code error_message,
        get_or_create_schema_response error_code error_message,
        tc_client_connect_response error message,
        new_txn_response error message,
        add_partition_to_txn_response error message,
        add_subscription_to_txn_response error message,
        end_txn_response error message,
    )
}

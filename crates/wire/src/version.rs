//! Protocol versions: a number each side announces in its handshake, and what it implies.

/// The newest protocol version, announced by the server: `min` of both sides is in force.
pub const SERVER_MAX: i32 = 21;

/// The version a connection speaks, given what its client announced.
#[must_use]
pub fn negotiate(client: i32) -> i32 {
    client.clamp(0, SERVER_MAX)
}

/// Understands PING and PONG.
#[must_use]
pub fn supports_keep_alive(version: i32) -> bool {
    version >= 1
}

/// Understands CLOSE_PRODUCER and CLOSE_CONSUMER from the server; otherwise the connection must be dropped.
#[must_use]
pub fn supports_server_close(version: i32) -> bool {
    version >= 5
}

/// Understands REACHED_END_OF_TOPIC. Clients in C++ and Go announce such a version and close the connection on it
/// nonetheless.
#[must_use]
pub fn supports_reached_end_of_topic(version: i32) -> bool {
    version >= 9
}

/// Understands a checksum in MESSAGE frames.
#[must_use]
pub fn supports_message_checksum(version: i32) -> bool {
    version >= 11
}

/// Understands ACTIVE_CONSUMER_CHANGE.
#[must_use]
pub fn supports_active_consumer_change(version: i32) -> bool {
    version >= 12
}

/// Sends JSON schemas as Avro definitions; older clients send a JSON schema document.
#[must_use]
pub fn supports_avro_schema_for_json(version: i32) -> bool {
    version >= 13
}

/// Understands AUTH_CHALLENGE.
#[must_use]
pub fn supports_auth_challenge(version: i32) -> bool {
    version >= 14
}

/// Understands the broker entry metadata part of MESSAGE frames, if its feature flags say so too.
#[must_use]
pub fn supports_broker_entry_metadata(version: i32) -> bool {
    version >= 18
}

/// Understands ACK_RESPONSE.
#[must_use]
pub fn supports_ack_response(version: i32) -> bool {
    version >= 17
}

/// Understands TOPIC_MIGRATED.
#[must_use]
pub fn supports_topic_migrated(version: i32) -> bool {
    version >= 20
}

/// Carries the schema type AUTO_CONSUME in SUBSCRIBE; older clients send none.
#[must_use]
pub fn supports_auto_consume_schema(version: i32) -> bool {
    version >= 21
}

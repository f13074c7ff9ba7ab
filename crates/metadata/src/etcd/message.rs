//! The part of etcd's protocol that is used, with the numbers of its `rpc.proto` and `kv.proto`.

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHeader {
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub(super) create_revision: i64,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    /// 1 when the key was created.
    #[prost(int64, tag = "4")]
    pub(super) version: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) value: bytes::Bytes,
    #[prost(int64, tag = "6")]
    pub(super) lease: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
    #[prost(bool, tag = "9")]
    pub(super) count_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub(super) more: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: bytes::Bytes,
    #[prost(int64, tag = "3")]
    pub(super) lease: i64,
    #[prost(bool, tag = "4")]
    pub(super) prev_kv: bool,
    #[prost(bool, tag = "6")]
    pub(super) ignore_lease: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutResponse {
    #[prost(message, optional, tag = "2")]
    pub(super) prev_kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeResponse {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestOp {
    #[prost(oneof = "Request", tags = "1, 2, 3")]
    pub(super) request: Option<Request>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    DeleteRange(DeleteRangeRequest),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseOp {
    #[prost(oneof = "Response", tags = "1, 2, 3")]
    pub(super) response: Option<Response>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Response {
    #[prost(message, tag = "1")]
    Range(RangeResponse),
    #[prost(message, tag = "2")]
    Put(PutResponse),
    #[prost(message, tag = "3")]
    DeleteRange(DeleteRangeResponse),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    /// 0 equal, 1 greater, 2 less, 3 not equal.
    #[prost(int32, tag = "1")]
    pub(super) result: i32,
    /// 0 the version.
    #[prost(int32, tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(oneof = "Target", tags = "4")]
    pub(super) value: Option<Target>,
    /// Every key of the range must compare so; an absent one has version 0.
    #[prost(bytes = "vec", tag = "64")]
    pub(super) range_end: Vec<u8>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Target {
    #[prost(int64, tag = "4")]
    Version(i64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchRequest {
    #[prost(oneof = "WatchCommand", tags = "1")]
    pub(super) command: Option<WatchCommand>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum WatchCommand {
    #[prost(message, tag = "1")]
    Create(WatchCreateRequest),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchCreateRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
    #[prost(bool, tag = "4")]
    pub(super) progress_notify: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "3")]
    pub(super) created: bool,
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    /// Above 0 if the watch was to begin at a revision that is compacted.
    #[prost(int64, tag = "5")]
    pub(super) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(super) cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// 0 put, 1 delete.
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseGrantRequest {
    /// Seconds.
    #[prost(int64, tag = "1")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseGrantResponse {
    #[prost(int64, tag = "2")]
    pub(super) id: i64,
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseRevokeRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseRevokeResponse {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseKeepAliveRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseKeepAliveResponse {
    /// Seconds left; 0 if there is no such lease.
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
}

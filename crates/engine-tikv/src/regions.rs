//! Where regions end, as PD knows it.
//!
//! # Why
//! The client asks all regions of a range for a page of rows at once, although the first region
//! has enough of them: a scan of R regions would read each page R times. So a request is cut at
//! the end of its first region. Regions split and merge meanwhile; then the request has two
//! regions, or a part of one, and only costs more.

use env::sync::Mutex;
use prost::Message;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::codec::ProstCodec;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};

/// Time after which a region is asked for again.
const KNOWN_FOR: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

// The parts of PD's messages that are used here.

#[derive(Clone, PartialEq, Message)]
struct RequestHeader {
    #[prost(uint64, tag = "1")]
    cluster: u64,
}

#[derive(Clone, PartialEq, Message)]
struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    cluster: u64,
}

#[derive(Clone, PartialEq, Message)]
struct MembersRequest {}

#[derive(Clone, PartialEq, Message)]
struct Members {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "3")]
    leader: Option<Member>,
}

#[derive(Clone, PartialEq, Message)]
struct Member {
    #[prost(string, repeated, tag = "4")]
    addresses: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct RegionRequest {
    #[prost(message, optional, tag = "1")]
    header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
}

/// It has no region if the server refuses to answer.
#[derive(Clone, PartialEq, Message)]
struct RegionAnswer {
    #[prost(message, optional, tag = "2")]
    region: Option<EncodedRegion>,
}

#[derive(Clone, PartialEq, Message)]
struct EncodedRegion {
    #[prost(bytes = "vec", tag = "2")]
    start: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    end: Vec<u8>,
}

/// Keys from `start` to before `end`; an empty `end` is that of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Region {
    start: Vec<u8>,
    end: Vec<u8>,
}

/// The leader of the PD servers.
#[derive(Clone)]
struct Leader {
    channel: Channel,
    cluster: u64,
}

/// Boundaries of regions, asked for when they are needed.
pub(crate) struct Regions {
    servers: Vec<String>,
    leader: Mutex<Option<Leader>>,
    /// By start.
    known: Mutex<BTreeMap<Vec<u8>, (Region, Instant)>>,
}

const GROUP_BYTES: usize = 8;

/// A key as regions have it: groups of eight bytes, each followed by 255 less the bytes that are
/// filled up with zeros.
fn encoded(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity((key.len() / GROUP_BYTES + 1) * (GROUP_BYTES + 1));
    let mut rest = key;
    loop {
        let (group, after) = rest.split_at(rest.len().min(GROUP_BYTES));
        out.extend_from_slice(group);
        let filled = GROUP_BYTES - group.len();
        out.extend(std::iter::repeat_n(0, filled));
        out.push(255 - filled as u8);
        if filled > 0 {
            return out;
        }
        rest = after;
    }
}

/// The key of [`encoded`], or the largest that is not above a boundary that is no whole key.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for group in bytes.chunks(GROUP_BYTES + 1) {
        let filled = match group.get(GROUP_BYTES) {
            Some(&marker) => usize::from(255 - marker).min(GROUP_BYTES),
            None => 0,
        };
        let kept = group.len().min(GROUP_BYTES) - filled.min(group.len());
        out.extend_from_slice(group.get(..kept).unwrap_or_default());
        if filled > 0 {
            break;
        }
    }
    out
}

async fn connect(server: &str) -> Option<Channel> {
    let address = match server.contains("://") {
        true => server.to_owned(),
        false => format!("http://{server}"),
    };
    let endpoint = Endpoint::from_shared(address).ok()?;
    endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).connect().await.ok()
}

async fn ask<Q, A>(channel: Channel, path: &'static str, question: Q) -> Option<A>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.ok()?;
    let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
    Some(grpc.unary(tonic::Request::new(question), path, codec).await.ok()?.into_inner())
}

impl Regions {
    pub(crate) fn new(servers: &[String]) -> Self {
        Self { servers: servers.to_vec(), leader: Mutex::default(), known: Mutex::default() }
    }

    async fn leader(&self) -> Option<Leader> {
        let known = self.leader.lock().clone();
        if known.is_some() {
            return known;
        }
        for server in &self.servers {
            let Some(channel) = connect(server).await else { continue };
            let path = "/pdpb.PD/GetMembers";
            let members: Option<Members> = ask(channel, path, MembersRequest {}).await;
            let Some(Members { header: Some(header), leader: Some(leader) }) = members else {
                continue;
            };
            let Some(address) = leader.addresses.first() else { continue };
            if let Some(channel) = connect(address).await {
                let leader = Leader { channel, cluster: header.cluster };
                *self.leader.lock() = Some(leader.clone());
                return Some(leader);
            }
        }
        None
    }

    async fn ask(&self, path: &'static str, key: &[u8]) -> Option<Region> {
        let leader = self.leader().await?;
        let header = Some(RequestHeader { cluster: leader.cluster });
        let request = RegionRequest { header, key: encoded(key) };
        let answer: Option<RegionAnswer> = ask(leader.channel, path, request).await;
        match answer.and_then(|answer| answer.region) {
            Some(region) => {
                Some(Region { start: decoded(&region.start), end: decoded(&region.end) })
            }
            None => {
                // Another server may lead now.
                *self.leader.lock() = None;
                None
            }
        }
    }

    fn learn(&self, region: &Region) {
        let mut known = self.known.lock();
        known.insert(region.start.clone(), (region.clone(), Instant::now() + KNOWN_FOR));
    }

    /// The first end of a region above `key`; `None` if there is none, or PD does not answer.
    pub(crate) async fn end_above(&self, key: &[u8]) -> Option<Vec<u8>> {
        let is_in = |region: &Region| region.end.is_empty() || key < region.end.as_slice();
        let known =
            self.known.lock().range(..=key.to_vec()).next_back().map(|(_, one)| one.clone());
        let region = match known {
            Some((region, until)) if is_in(&region) && Instant::now() < until => region,
            _ => {
                let region = self.ask("/pdpb.PD/GetRegion", key).await?;
                self.learn(&region);
                region
            }
        };
        Some(region.end).filter(|end| end.as_slice() > key)
    }

    /// The last start of a region below `key`; `None` if there is none, or PD does not answer.
    pub(crate) async fn start_below(&self, key: &[u8]) -> Option<Vec<u8>> {
        let is_in = |region: &Region| region.end.is_empty() || key <= region.end.as_slice();
        let known = self.known.lock().range(..key.to_vec()).next_back().map(|(_, one)| one.clone());
        let region = match known {
            Some((region, until)) if is_in(&region) && Instant::now() < until => region,
            _ => {
                let mut region = self.ask("/pdpb.PD/GetRegion", key).await?;
                if region.start.as_slice() >= key {
                    region = self.ask("/pdpb.PD/GetPrevRegion", key).await?;
                }
                self.learn(&region);
                region
            }
        };
        Some(region.start).filter(|start| start.as_slice() < key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_keys_are_decoded_and_sort_as_keys_do() {
        let keys: [&[u8]; 7] =
            [b"", b"\0", b"a", b"aaaaaaa", b"aaaaaaaa", b"aaaaaaaa\0", b"aaaaaaaab"];
        assert!(keys.iter().map(|key| encoded(key)).is_sorted());
        for key in keys {
            assert_eq!(decoded(&encoded(key)), key);
        }
        assert_eq!(encoded(b"abc"), b"abc\0\0\0\0\0\xfa");
        assert_eq!(decoded(b""), b"");
    }
}

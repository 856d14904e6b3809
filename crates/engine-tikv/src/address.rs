//! Addresses: `tikv://pd1:2379,pd2:2379/name?snapshot_seconds=600`.

use std::time::Duration;
use store::{Error, ErrorKind, Result};

/// TiDB's default for the time that old versions are kept.
const SNAPSHOT_SECONDS: u64 = 600;

const FORM: &str = "write tikv://pd1:2379,pd2:2379/name, with the addresses of the PD servers";

/// Where a database is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Hosts and ports of PD servers.
    pub(crate) servers: Vec<String>,
    /// Letters, digits, `_`, `-` and `.`.
    pub(crate) name: String,
    /// Snapshots that are older are not read; `None` if there is no limit.
    pub(crate) snapshot_age_max: Option<Duration>,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let refused = |what: &str, hint: &str| {
            Error::new(ErrorKind::InvalidInput, format!("{text}: {what}\nhint: {hint}"))
        };
        let rest = text.strip_prefix("tikv://").unwrap_or(text);
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(a, b)| (a, Some(b)));
        let Some((servers, name)) = rest.split_once('/') else {
            return Err(refused("the name of a database is missing", FORM));
        };
        let servers: Vec<String> = servers.split(',').map(str::to_owned).collect();
        if servers.iter().any(|server| !server.contains(':')) {
            return Err(refused("a server has no port", FORM));
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_allowed) {
            let hint = "names have letters, digits, \"_\", \"-\" and \".\"";
            return Err(refused("the name of the database is wrong", hint));
        }
        let mut seconds = SNAPSHOT_SECONDS;
        for setting in query.iter().flat_map(|query| query.split('&')) {
            let value = setting.strip_prefix("snapshot_seconds=").map(str::parse);
            let Some(Ok(value)) = value else {
                let hint = "the setting is snapshot_seconds, a number; 0 means no limit";
                return Err(refused("there is no such setting", hint));
            };
            seconds = value;
        }
        let snapshot_age_max = (seconds > 0).then(|| Duration::from_secs(seconds));
        Ok(Self { servers, name: name.to_owned(), snapshot_age_max })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_address_names_servers_and_a_database() {
        let address = Address::parse("tikv://a:1,b:2/graphs?snapshot_seconds=0").unwrap();
        let servers = vec!["a:1".to_owned(), "b:2".to_owned()];
        let want = Address { servers, name: "graphs".to_owned(), snapshot_age_max: None };
        assert_eq!(address, want);
        let age = Address::parse("tikv://a:1/graphs").unwrap().snapshot_age_max;
        assert_eq!(age, Some(Duration::from_secs(600)));
    }

    #[test]
    fn a_wrong_address_is_refused_with_a_hint() {
        for text in
            ["tikv://a:1", "tikv://a:1/", "tikv://a/x", "tikv://a:1/x:y", "tikv://a:1/x?y=1"]
        {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("\nhint: "), "{error}");
        }
    }
}

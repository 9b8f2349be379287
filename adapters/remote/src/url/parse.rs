//! The parser of addresses. Untrusted input causes an error, never a panic.

use std::time::Duration;

use cairndb_store::{Error, Result};

use crate::url::host::Host;
use crate::url::secret::Secret;

/// Longest URL that is accepted; a longer one is a mistake.
const URL_BYTES_MAX: usize = 64 << 10;

/// What a URL consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) scheme: String,
    pub(super) user: Option<Secret>,
    pub(super) password: Option<Secret>,
    pub(super) hosts: Vec<Host>,
    pub(super) path: String,
    pub(super) settings: Vec<(String, String)>,
}

pub(super) fn parts(url: &str) -> Result<Parts> {
    if url.len() > URL_BYTES_MAX {
        return Err(Error::invalid("the URL is longer than 64 KiB"));
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(Error::invalid(
            "the URL has no scheme: write file:///path, memory:, etcd://, postgres:// or tikv://",
        ));
    };
    let valid = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if scheme.is_empty() || !scheme.chars().all(valid) {
        return Err(Error::invalid(
            "the scheme of the URL is not made of letters and digits",
        ));
    }
    if rest.contains('#') {
        return Err(Error::invalid(
            "a URL of a store has no fragment: write %23 for #",
        ));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        None => ("", rest),
        Some(rest) => match rest.find('/') {
            None => (rest, ""),
            Some(at) => rest.split_at(at),
        },
    };
    let scheme = scheme.to_ascii_lowercase();
    // A `/` or `?` in a password ends the authority early, and what follows it would be taken for a
    // path or setting, which messages show. So would everything if one of both slashes is missing.
    let has_hosts = !authority.is_empty() || scheme != "file";
    if has_hosts && (path.contains('@') || query.contains('@')) {
        return Err(Error::invalid(
            "the URL has an @ after the first / or ?: write // before user and password; in a \
             password, write %2F for / and %3F for ?; in a path or setting, write %40 for @",
        ));
    }
    let (user, password, hosts) = split_authority(authority)?;
    let path = decode(path, "path")?;
    let path = match scheme.as_str() {
        "file" => path,
        _ => path.strip_prefix('/').map(str::to_owned).unwrap_or(path),
    };
    Ok(Parts {
        user,
        password,
        hosts: hosts_of(hosts)?,
        path,
        settings: settings_of(query)?,
        scheme,
    })
}

type Credentials<'a> = (Option<Secret>, Option<Secret>, &'a str);

fn split_authority(authority: &str) -> Result<Credentials<'_>> {
    // The last `@`: an unencoded one in a password belongs to the password.
    let Some((credentials, hosts)) = authority.rsplit_once('@') else {
        return Ok((None, None, authority));
    };
    let (user, password) = match credentials.split_once(':') {
        Some((user, password)) => (user, Some(decode(password, "password")?)),
        None => (credentials, None),
    };
    let user = decode(user, "user")?;
    let user = (!user.is_empty()).then(|| Secret::new(user));
    Ok((user, password.map(Secret::new), hosts))
}

fn hosts_of(hosts: &str) -> Result<Vec<Host>> {
    if hosts.is_empty() {
        return Ok(Vec::new());
    }
    hosts.split(',').map(host_of).collect()
}

fn host_of(text: &str) -> Result<Host> {
    let invalid =
        || Error::invalid("a host of the URL is not name:port, address:port or [IPv6]:port");
    let (name, port) = if let Some(rest) = text.strip_prefix('[') {
        let (name, rest) = rest.split_once(']').ok_or_else(invalid)?;
        if !name
            .chars()
            .all(|c| c.is_ascii_hexdigit() || ":.%".contains(c))
        {
            return Err(invalid());
        }
        match rest {
            "" => (name.to_owned(), None),
            rest => (
                name.to_owned(),
                Some(rest.strip_prefix(':').ok_or_else(invalid)?),
            ),
        }
    } else {
        match text.split_once(':') {
            Some((name, port)) => (decode(name, "host")?, Some(port)),
            None => (decode(text, "host")?, None),
        }
    };
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"[]".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(invalid());
    }
    let port = match port {
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            let port: u16 = port.parse().map_err(|_| invalid())?;
            Some(port).filter(|port| *port != 0)
        }
        Some(_) => return Err(invalid()),
    };
    Ok(Host { name, port })
}

fn settings_of(query: &str) -> Result<Vec<(String, String)>> {
    let mut settings: Vec<(String, String)> = Vec::new();
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let (name, value) = (decode(name, "setting")?, decode(value, "setting")?);
        if settings.iter().any(|(known, _)| *known == name) {
            return Err(Error::invalid(format!(
                "the setting {name:?} is there twice"
            )));
        }
        settings.push((name, value));
    }
    Ok(settings)
}

/// Decodes percent-encoding. `part` is what the message names; the text may be a secret.
fn decode(text: &str, part: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = (rest.next().and_then(digit), rest.next().and_then(digit));
        let (Some(high), Some(low)) = digits else {
            return Err(Error::invalid(format!(
                "the {part} of the URL has a % without two hexadecimal digits (write %25 for %)"
            )));
        };
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("the {part} of the URL is not UTF-8")))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Parses `250ms`, `5s` or `2m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    let millis = match unit {
        "ms" => number,
        "s" => number.checked_mul(1000)?,
        "m" => number.checked_mul(60_000)?,
        _ => return None,
    };
    // More than a year is a mistake, and would overflow a clock.
    (millis < 366 * 86_400_000).then(|| Duration::from_millis(millis))
}

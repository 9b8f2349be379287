//! What messages and saved positions call a store: its address without secrets.

use cairndb_remote::Address;

/// Returns scheme, hosts and path of an address, without user, password and settings.
pub(super) fn of(address: &Address) -> String {
    let hosts = address.hosts().iter().map(|host| {
        let name = if host.name.contains(':') {
            format!("[{}]", host.name)
        } else {
            host.name.clone()
        };
        match host.port {
            Some(port) => format!("{name}:{port}"),
            None => name,
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!(
        "{}://{}/{}",
        address.scheme(),
        hosts.join(","),
        address.path()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_secret_and_no_setting() {
        let url = "postgres://ada:secret@[::1]:5433,db.example/main/stones?timeout=5s";
        let name = of(&Address::parse(url).unwrap());
        assert_eq!(name, "postgres://[::1]:5433,db.example/main/stones");
    }
}

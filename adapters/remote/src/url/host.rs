//! The name and port of a server.

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name or address; an IPv6 address without its brackets.
    pub name: String,
    /// The port, if the URL has one.
    pub port: Option<u16>,
}

impl Host {
    /// Returns `name:port` with the default port of the engine, as a client needs it.
    pub fn authority(&self, default_port: u16) -> String {
        let port = self.port.unwrap_or(default_port);
        if self.name.contains(':') {
            format!("[{}]:{port}", self.name)
        } else {
            format!("{}:{port}", self.name)
        }
    }
}

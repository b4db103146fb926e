//! Default address of a node in a cluster.

use std::net::ToSocketAddrs;

use anyhow::bail;

/// Returns the default address of a node: on this machine if the engine is here, too.
///
/// # Errors
/// It is not: then other nodes may be anywhere.
pub fn default_address(engine: &str) -> anyhow::Result<String> {
    if hosts(engine).iter().all(|host| is_here(host)) {
        return Ok("127.0.0.1:0".to_owned());
    }
    bail!("other nodes need an address of this one: give it with --listen, as --listen 10.0.0.2:7001")
}

/// Returns the hosts of an engine's address: `nats://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME?...`.
fn hosts(engine: &str) -> Vec<String> {
    let rest = engine.split_once("://").map_or(engine, |(_, rest)| rest);
    let servers = rest.split(['/', '?']).next().unwrap_or_default();
    servers.split(',').map(|server| server.rsplit_once('@').map_or(server, |(_, host)| host).to_owned()).collect()
}

/// Returns true if a host, with or without a port, is this machine.
fn is_here(host: &str) -> bool {
    let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:4222")
    };
    with_port.to_socket_addrs().is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_beside_engine_need_no_address() {
        for here in
            ["nats://127.0.0.1:4222/garden", "nats://localhost", "nats://a:b@127.0.0.1:1,127.0.0.1:2/x?partitions=4"]
        {
            assert_eq!(default_address(here).expect(here), "127.0.0.1:0");
        }
        for elsewhere in
            ["nats://192.0.2.1:4222/garden", "nats://127.0.0.1:1,192.0.2.1:4222/garden", "nats://a:b@192.0.2.1"]
        {
            assert!(default_address(elsewhere).is_err(), "{elsewhere}");
        }
    }
}

//! The health check that `--health` makes: an image without a shell has no other program for it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::options::Options;
use crate::tls;

/// The longest wait for the connection, and for each part of the response.
const TIMEOUT: Duration = Duration::from_secs(2);
const MAX_RESPONSE: u64 = 64 * 1024;

/// Queries the health of the emulator that runs with these options, and returns the body of the response.
pub(crate) fn check(options: &Options) -> Result<String, String> {
    let (host, port) = (reachable(&options.host), options.port);
    let response = get(&host, port, options.tls.is_some())
        .map_err(|error| format!("no healthy emulator at {host}:{port}: {error}"))?;
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    let status = head.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    if status != "200" {
        return Err(format!("no healthy emulator at {host}:{port}: status {status:?}: {body}"));
    }
    Ok(body.to_owned())
}

/// The host that a client on the same machine connects to.
fn reachable(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() && address.is_ipv4() => {
            Ipv4Addr::LOCALHOST.to_string()
        }
        Ok(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.to_string(),
        _ => host.to_owned(),
    }
}

fn get(host: &str, port: u16, is_https: bool) -> io::Result<String> {
    let stream = connect(host, port)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let address = stream.peer_addr()?;
    let authority = address.to_string();
    if is_https {
        return exchange(tls::client(address.ip(), stream)?, &authority);
    }
    exchange(stream, &authority)
}

/// Sends the request, and reads the response until the server closes the connection.
fn exchange(mut stream: impl Read + Write, authority: &str) -> io::Result<String> {
    let request =
        format!("GET /-/health HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    // In one piece: a server may respond to the first of several, and close the connection.
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    match stream.take(MAX_RESPONSE).read_to_end(&mut response) {
        // A server may close the connection without the close of TLS.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8_lossy(&response).into_owned()),
    }
}

/// Connects to the first address of the host that accepts connections.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut outcome = Err(io::Error::other("the host has no address"));
    for address in (host, port).to_socket_addrs()? {
        outcome = TcpStream::connect_timeout(&address, TIMEOUT);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

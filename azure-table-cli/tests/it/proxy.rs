//! A proxy in front of an emulator that changes its responses: it returns the rows of each page in reverse, for example, as a
//! service without key order may do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::Value;

use crate::support::{Emulator, Run};

/// Changes the lines of the head of a response, and the rows of its page.
pub(crate) type Edit = fn(&mut Vec<String>, &mut Vec<Value>);

pub(crate) struct Proxy<'e> {
    emulator: &'e Emulator,
    origin: String,
}

impl<'e> Proxy<'e> {
    /// Starts a proxy that reverses the rows of each page. It ends with the tests.
    pub(crate) fn reversing(emulator: &'e Emulator) -> Self {
        Self::start(emulator, |_, rows| rows.reverse())
    }

    /// Starts a proxy that changes the headers of each response, and the rows of each page.
    pub(crate) fn start(emulator: &'e Emulator, edit: Edit) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let to = emulator.origin.strip_prefix("http://").unwrap().to_owned();
        thread::spawn(move || {
            for client in listener.incoming() {
                let to = to.clone();
                thread::spawn(move || forward(client.unwrap(), &to, edit));
            }
        });
        Self { emulator, origin }
    }

    pub(crate) fn connection_string(&self) -> String {
        self.emulator.connection_string().replace(&self.emulator.origin, &self.origin)
    }

    /// Runs the program with these arguments, connected to the proxy.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.emulator.command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", self.connection_string());
        Run::of(&command.output().unwrap())
    }
}

/// Forwards one request; both connections end with it.
fn forward(client: TcpStream, to: &str, edit: Edit) {
    let mut client = BufReader::new(client);
    let Some((head, body)) = message(&mut client) else { return };
    let mut service = TcpStream::connect(to).unwrap();
    service.write_all(&serialized(&head, &body)).unwrap();
    let (mut head, mut body) = message(&mut BufReader::new(service)).unwrap();
    if let Ok(mut page) = serde_json::from_slice::<Value>(&body)
        && let Some(rows) = page["value"].as_array_mut()
    {
        edit(&mut head, rows);
        body = page.to_string().into_bytes();
    }
    // The program may have been killed.
    let _ = client.get_mut().write_all(&serialized(&head, &body));
}

/// Reads the lines of the head and the body of a request or a response; `None` if the connection ends before it.
fn message(stream: &mut BufReader<TcpStream>) -> Option<(Vec<String>, Vec<u8>)> {
    let lines = stream.by_ref().lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    head.first()?;
    let length = head.iter().find_map(|line| header(line, "content-length"));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Writes a message with the length of this body.
fn serialized(head: &[String], body: &[u8]) -> Vec<u8> {
    let replaced = ["content-length", "connection"];
    let kept = head.iter().filter(|line| replaced.iter().all(|name| header(line, name).is_none()));
    let head: String = kept.flat_map(|line| [&**line, "\r\n"]).collect();
    let end = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), end.as_bytes(), body].concat()
}

fn header<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (found, value) = line.split_once(':')?;
    found.eq_ignore_ascii_case(name).then(|| value.trim())
}

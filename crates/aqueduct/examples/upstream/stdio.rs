//! The server on standard input and output: a line is a message, and each is answered by a thread of its own.

use std::{
    io::{BufRead, Write},
    sync::{Arc, mpsc},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    protocol::{self, From, Out},
    state::State,
};

/// Standard output, a whole message at a time.
struct Stdout {
    noise: bool,
}

impl Out for Stdout {
    fn send(&self, message: &Value) {
        let mut line = Vec::new();
        if self.noise {
            line.extend_from_slice(
                b"Server is running...\n{\"not\": \"a message\"}\n\n[1, 2\n\x1b[32mok\x1b[0m\n",
            );
        }
        line.extend_from_slice(message.to_string().as_bytes());
        line.push(b'\n');
        self.raw(&line);
    }

    fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        // Whoever does not listen any more needs nothing.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn pour(&self, bytes: &[u8]) {
        self.raw(bytes);
    }

    fn is_closed(&self) -> bool {
        false
    }
}

pub(crate) fn serve(state: &Arc<State>) {
    let out: Arc<dyn Out> = Arc::new(Stdout { noise: state.flags.noise });
    let (listener, told) = mpsc::channel();
    state.listeners.lock().unwrap().push(listener);
    let telling = Arc::clone(&out);
    std::thread::spawn(move || told.iter().for_each(|message| telling.send(&message)));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            state.note("unreadable", json!({"bytes": line.len()}));
            continue;
        };
        if state.flags.noise {
            eprintln!("DEBUG got {} bytes", line.len());
        }
        // What has to come in its order is looked at here.
        let from = From { session: None, headers: Value::Null };
        if message.get("id").is_none() || message["method"] == "initialize" {
            protocol::handle(state, &message, &from, &*out);
            continue;
        }
        let (state, out) = (Arc::clone(state), Arc::clone(&out));
        protocol::announce(&state, &message, &from);
        std::thread::spawn(move || protocol::handle(&state, &message, &from, &*out));
    }
    state.note("input closed", json!({"pid": std::process::id()}));
    while state.flags.stubborn {
        std::thread::sleep(Duration::from_secs(1));
    }
}

//! Takes traces as the gateway does and prints each span as a line of JSON:
//!
//! ```text
//! cargo run --example receiver aqueduct.toml
//! ```

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use gateway::{
    config::{self, Environment, Sources},
    store::traces::Packed,
    trace::{
        lines,
        otlp::{Full, Opened, Sink, listen},
    },
};

struct Printer;

impl Sink for Printer {
    fn has_room(&self) -> bool {
        true
    }

    fn report(&self, spans: Vec<Packed>) -> Result<(), Full> {
        let mut text = Vec::new();
        for span in &spans {
            lines::write(&span.span(), &mut text).map_err(|_| Full)?;
        }
        io::stdout().lock().write_all(&text).map_err(|_| Full)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let config = config::load(Sources { file, environment: Environment::capture(), ..Sources::default() })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let receivers = listen(&config, true, Arc::new(Printer)).await;
        for (name, opened) in [("HTTP", &receivers.http), ("gRPC", &receivers.grpc)] {
            match opened {
                Opened::Here { address } => writeln!(io::stdout(), "{name} {address}")?,
                other => return Err(format!("{name} is not open: {other:?}").into()),
            }
        }
        tokio::signal::ctrl_c().await?;
        receivers.close().await;
        Ok(())
    })
}

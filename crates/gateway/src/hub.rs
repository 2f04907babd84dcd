//! The thread that reads what servers say, where calls come from standard input.
//!
//! It continues the calls whose answers it reads, and writes their replies. So it may block, as a runtime that keeps time
//! and hears signals must not: as long as a client does not read its answers, nothing is read for it.

use std::{future, io, thread};

use tokio::runtime::{Builder, Handle};

/// The way to that thread, which lives as long as the process.
#[derive(Debug, Clone)]
pub struct Hub(Handle);

impl Hub {
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let hub = Self(runtime.handle().clone());
        thread::Builder::new()
            .name("hub".to_owned())
            .spawn(move || runtime.block_on(future::pending::<()>()))?;
        Ok(hub)
    }

    /// Has something read there.
    pub(crate) fn spawn(&self, reading: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(reading);
    }
}

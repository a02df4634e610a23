//! The daemon that keeps the names of nodes: one of its own for each test, so that no other node is met.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// An `epmd` that ends with this.
#[derive(Debug)]
pub struct Names {
    port: u16,
    daemon: Child,
}

impl Names {
    /// Starts `epmd` on a free port of this machine.
    ///
    /// # Errors
    /// There is no free port, no `epmd` on PATH, or it does not listen.
    pub fn start() -> io::Result<Names> {
        let free = TcpListener::bind("127.0.0.1:0")?;
        let port = free.local_addr()?.port();
        drop(free);
        let mut command = Command::new("epmd");
        command.args(["-port", &port.to_string()]).stdin(Stdio::null());
        let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let names = Names { port, daemon };
        // A node that found nobody would start a daemon of its own, which nobody ends.
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(names);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "epmd does not listen"))
    }

    /// Lets a command, and those that it starts, register their names here.
    pub fn serve(&self, command: &mut Command) {
        command.env("ERL_EPMD_PORT", self.port.to_string());
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

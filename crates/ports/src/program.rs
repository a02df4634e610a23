//! `{spawn, Command}` and `{spawn_executable, File}`: programs that the machine starts and speaks to through pipes.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use atoll_platform::environment;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};
use command_fds::{CommandFdExt, FdMapping};
use parking_lot::Mutex;
use rustix::fs::{Access, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::driver::{Driver, Event, Failure, Opened};
use crate::framing::Frames;
use crate::open::Settings;
use crate::output::Queue;
use crate::poller::{self, Target, Waiter};
use crate::port::{Port, State};

/// Bytes read at once.
const BUFFER: usize = 64 << 10;
/// The shell that commands are given to.
const SHELL: &str = "/bin/sh";

/// A program that runs, or has run.
struct Program {
    /// Reading from it; `None` at the end, or if nothing is read.
    input: Option<OwnedFd>,
    /// Writing to it.
    output: Option<OwnedFd>,
    queue: Queue,
    frames: Frames,
    child: Option<Running>,
    os_pid: Option<u32>,
    /// How it ended, as `exit_status` tells it.
    status: Option<i32>,
    /// The owner has been told that it ended.
    over: bool,
    buffer: Vec<u8>,
}

/// A process of the operating system that has not been waited for.
struct Running {
    child: Child,
    /// Ready when the process has ended.
    ends: OwnedFd,
}

/// A command line, for the shell.
///
/// # Errors
/// The command is empty, or there can be no more processes or descriptors.
pub fn open_command(command: &OsStr, settings: &Settings) -> Result<Opened, Failure> {
    if command.is_empty() {
        return Err(Failure::BadArgument);
    }
    let mut line = OsString::from("exec ");
    line.push(command);
    let mut shell = Command::new(SHELL);
    shell.arg0("sh").arg("-c").arg(line);
    Ok(Opened { driver: Box::new(start(shell, settings)?), name: command.to_string_lossy().into_owned() })
}

/// An executable file with arguments.
///
/// # Errors
/// It does not exist, or may not be executed.
pub fn open_file(file: &OsStr, settings: &Settings) -> Result<Opened, Failure> {
    rustix::fs::access(file, Access::EXEC_OK).map_err(Failure::System)?;
    // Without a slash the name would be looked for on PATH.
    let path = if file.as_bytes().contains(&b'/') { file.into() } else { Path::new(".").join(file) };
    let mut program = Command::new(path);
    program.arg0(settings.argument_0.as_deref().unwrap_or(file)).args(&settings.arguments);
    Ok(Opened { driver: Box::new(start(program, settings)?), name: file.to_string_lossy().into_owned() })
}

/// The ends of a pipe: ours, which does not block, and the program's.
fn pipe(reads: bool) -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (own, other) = if reads { (read, write) } else { (write, read) };
    let flags = rustix::fs::fcntl_getfl(&own)?;
    rustix::fs::fcntl_setfl(&own, flags | OFlags::NONBLOCK)?;
    Ok((own, other))
}

fn start(mut command: Command, settings: &Settings) -> Result<Program, Failure> {
    let system = |error: std::io::Error| Failure::System(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    command.env_clear().envs(environment::all()).process_group(0);
    for (variable, value) in settings.environment.iter().filter(|(variable, _)| !variable.is_empty()) {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    if let Some(folder) = &settings.folder {
        command.current_dir(folder);
    }
    let (input, from_program) = pipe(true).map_err(Failure::System)?;
    let (output, to_program) = pipe(false).map_err(Failure::System)?;
    if settings.errors_to_output {
        command.stderr(from_program.try_clone().map_err(system)?);
    }
    if settings.standard_streams {
        command.stdout(if settings.input { Stdio::from(from_program) } else { Stdio::inherit() });
        command.stdin(if settings.output { Stdio::from(to_program) } else { Stdio::inherit() });
    } else {
        let mapping = |parent_fd, child_fd| FdMapping { parent_fd, child_fd };
        let to_program = settings.output.then(|| mapping(to_program, 3));
        let from_program = settings.input.then(|| mapping(from_program, 4));
        let ends = to_program.into_iter().chain(from_program).collect();
        command.fd_mappings(ends).map_err(|_| Failure::BadArgument)?;
    }
    let mut program = Program {
        input: settings.input.then_some(input),
        output: settings.output.then_some(output),
        queue: Queue::of_nonblocking(),
        frames: Frames::default(),
        child: None,
        os_pid: None,
        status: None,
        over: false,
        buffer: Vec::new(),
    };
    match command.spawn() {
        Ok(child) => {
            program.os_pid = Some(child.id());
            let ends = Pid::from_raw(child.id() as i32)
                .ok_or(Errno::SRCH)
                .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
            program.child = Some(Running { ends: ends.map_err(Failure::System)?, child });
        }
        Err(error) => {
            let Failure::System(error) = system(error) else { return Err(Failure::BadArgument) };
            if let Some(folder) = settings.folder.as_ref().filter(|folder| !Path::new(folder).is_dir()) {
                eprintln!("spawn: Could not cd to {}", folder.display());
            }
            if matches!(error, Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) {
                return Err(Failure::System(error));
            }
            // As if the program had started, and had said by its status why it could not go on.
            program.status = Some(error.raw_os_error());
        }
    }
    // The command still holds the program's ends of the pipes: without this there would be no end of input.
    drop(command);
    Ok(program)
}

/// The status as programs see it: of a signal, what a shell would say.
fn number(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

impl Driver for Program {
    fn start(&mut self, port: &Port, state: &mut State) -> Result<(), Failure> {
        if let Some(input) = &self.input {
            port.wait_for(input.as_fd(), Event::Input)?;
        }
        match &self.child {
            Some(running) if port.settings.exit_status => port.wait_for(running.ends.as_fd(), Event::Input)?,
            Some(_) => {}
            None => self.both_over(port, state),
        }
        Ok(())
    }

    fn output(&mut self, port: &Port, _: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        let Some(output) = &self.output else { return Ok(()) };
        self.queue.push(data);
        self.queue.write(output.as_fd())?;
        if self.queue.bytes() > 0 {
            port.wait_for(output.as_fd(), Event::Output)?;
        }
        Ok(())
    }

    fn ready(&mut self, port: &Port, state: &mut State, event: Event) -> Result<(), Errno> {
        if event == Event::Output
            && let Some(output) = &self.output
        {
            self.queue.write(output.as_fd())?;
            if self.queue.bytes() == 0 {
                port.stop_waiting(output.as_fd(), Event::Output);
            }
            return Ok(());
        }
        // Input may be the program's, or the news that it has ended.
        self.read(port, state)?;
        if port.is_open() && port.settings.exit_status {
            self.wait(port);
            self.both_over(port, state);
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.queue.bytes()
    }

    fn os_pid(&self) -> Option<u32> {
        self.os_pid
    }

    fn takes_output(&self) -> bool {
        self.output.is_some()
    }

    fn stop(&mut self, _: &Port, _: &mut State) {
        self.input = None;
        self.output = None;
        if let Some(running) = self.child.take() {
            bury_later(running);
        }
    }
}

impl Program {
    fn read(&mut self, port: &Port, state: &mut State) -> Result<(), Errno> {
        let Some(input) = &self.input else { return Ok(()) };
        self.buffer.resize(BUFFER, 0);
        match rustix::io::read(input, &mut self.buffer[..]) {
            Ok(0) => {
                port.stop_waiting(input.as_fd(), Event::Input);
                self.input = None;
                if !port.settings.exit_status {
                    self.frames.finish(port, state);
                    port.reached_end(state, self);
                }
            }
            Ok(count) => {
                let buffer = std::mem::take(&mut self.buffer);
                self.frames.receive(port, state, &buffer[..count]);
                self.buffer = buffer;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Looks whether the program has ended.
    fn wait(&mut self, port: &Port) {
        let Some(running) = &mut self.child else { return };
        if let Ok(Some(status)) = running.child.try_wait() {
            port.stop_waiting(running.ends.as_fd(), Event::Input);
            self.status = Some(number(status));
            self.child = None;
        }
    }

    /// When the program has ended and everything it has written is read, the owner learns its status.
    fn both_over(&mut self, port: &Port, state: &mut State) {
        let reads_on = self.input.is_some() && self.os_pid.is_some();
        if reads_on || self.child.is_some() || std::mem::replace(&mut self.over, true) {
            return;
        }
        if port.settings.exit_status
            && let Some(status) = self.status.take()
        {
            port.tell_owner(state, |heap| heap.tuple(&[known_atom("exit_status"), Term::small(status.into())]));
        }
        self.frames.finish(port, state);
        port.reached_end(state, self);
    }
}

/// A program whose port is closed: it is waited for, so that the system can forget it.
struct Orphan(Mutex<Option<Running>>);

impl Waiter for Orphan {
    fn ready(self: Arc<Self>, _: Event) {
        let mut running = self.0.lock();
        if let Some(one) = &mut *running
            && !matches!(one.child.try_wait(), Ok(None))
        {
            poller::remove(&Target::Other(self.clone()), one.ends.as_raw_fd(), Event::Input);
            *running = None;
        }
    }
}

fn bury_later(mut running: Running) {
    if !matches!(running.child.try_wait(), Ok(None)) {
        return;
    }
    let orphan = Arc::new(Orphan(Mutex::new(Some(running))));
    if let Some(running) = &*orphan.0.lock() {
        // What cannot be waited for stays in the system's table until the machine ends.
        let _ = poller::add(Target::Other(orphan.clone()), running.ends.as_fd(), Event::Input);
    }
}

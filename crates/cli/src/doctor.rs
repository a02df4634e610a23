//! `atoll doctor`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What is off while one of the functions that begin like this is missing.
const FEATURES: [(&str, &[&str]); 12] = [
    (
        "distribution",
        &["erlang:dist_", "erlang:setnode/", "erts_internal:create_dist_", "erts_internal:new_connection/"],
    ),
    ("linked-in drivers", &["erl_ddll:"]),
    ("native libraries", &["erlang:load_nif/"]),
    ("sockets (socket)", &["prim_socket:"]),
    ("network interfaces (net)", &["prim_net:"]),
    ("compression (zlib)", &["zlib:"]),
    ("compression (zstd)", &["zstd:"]),
    ("terminal of OTP 26 and later", &["prim_tty:"]),
    ("tracing", &["erts_internal:trace", "erlang:trace_", "erlang:seq_trace"]),
    ("trace sessions", &["erts_internal:trace_session", "erts_trace:", "trace:"]),
    ("ports", &["erts_internal:open_port/", "erts_internal:port_", "erlang:ports/"]),
    ("counts of locks", &["erts_debug:lcnt_"]),
];

/// The last release whose functions are known.
const NEWEST: u32 = 29;

/// The release of an OTP, and its full version.
fn release(otp: &Path) -> Option<(u32, String)> {
    let folders = std::fs::read_dir(otp.join("releases")).ok()?.flatten();
    let numbers = folders.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let number = numbers.max()?;
    let version = std::fs::read_to_string(otp.join(format!("releases/{number}/OTP_VERSION"))).unwrap_or_default();
    Some((number, version.trim().to_owned()))
}

/// The OTP that is found, as text, and its release.
fn found(given: Option<&Path>, out: &mut String) -> Result<Option<u32>, std::fmt::Error> {
    let Some(otp) = atoll_vm::find_otp(given) else {
        writeln!(out, "OTP: none found (--otp DIR, ATOLL_OTP, the erl on PATH, /usr/lib/erlang)")?;
        return Ok(None);
    };
    let release = release(&otp);
    let version = release.as_ref().map_or("of an unknown release", |(_, version)| version.as_str());
    writeln!(out, "OTP: {version} in {}", otp.display())?;
    Ok(release.map(|(number, _)| number))
}

fn report(given: Option<&Path>) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let release = found(given, &mut out)?;
    let known: Vec<String> = [25, 27, NEWEST].iter().map(ToString::to_string).collect();
    writeln!(out, "Releases whose functions are known: {}", known.join(", "))?;
    writeln!(out, "Heap architectures: {}", atoll_vm::architectures().join(", "))?;
    let missing = atoll_vm::missing_functions();
    for number in [25, 27, NEWEST] {
        let count = missing.iter().filter(|one| one.is_in(number)).count();
        let of = atoll_vm::known_functions(number);
        writeln!(out, "OTP {number}: {count} of {of} built-in and native functions are missing")?;
    }
    let number = release.unwrap_or(NEWEST);
    let names: Vec<String> = missing.iter().filter(|one| one.is_in(number)).map(ToString::to_string).collect();
    let is_off = |starts: &[&str]| names.iter().any(|name| starts.iter().any(|start| name.starts_with(start)));
    writeln!(out, "\nOff, or in part, with OTP {number}:")?;
    for (feature, _) in FEATURES.iter().filter(|(_, starts)| is_off(starts)) {
        writeln!(out, "  {feature}")?;
    }
    writeln!(out, "\nMissing with OTP {number}:")?;
    let mut by_module: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (module, function) in names.iter().filter_map(|name| name.split_once(':')) {
        by_module.entry(module).or_default().push(function);
    }
    for (module, functions) in by_module {
        writeln!(out, "  {module}: {}", functions.join(" "))?;
    }
    Ok(out)
}

/// Prints what was found and what is missing; with `list`, only the missing functions.
pub fn doctor(otp: Option<&Path>, list: bool) -> Result<i32, String> {
    let text = match list {
        true => atoll_vm::missing_functions().iter().map(|one| format!("{one}\n")).collect(),
        false => report(otp).map_err(|error| error.to_string())?,
    };
    match std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()) {
        // A reader that has seen enough, as `head`, is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_otp_that_is_not_there_is_told() {
        let text = report(Some(Path::new("/nowhere"))).unwrap();
        assert!(text.starts_with("OTP: of an unknown release in /nowhere\n"), "{text}");
        assert!(text.contains("OTP 25: "));
    }
}

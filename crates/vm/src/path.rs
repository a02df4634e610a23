//! Finding modules: the program's folder, `-pa` folders, then OTP's libraries.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where modules are looked for.
#[derive(Debug, Default)]
pub struct CodePath {
    first: Vec<PathBuf>,
    otp: Option<PathBuf>,
    libraries: OnceLock<HashMap<String, PathBuf>>,
}

/// Libraries that are looked into before the folders of all others are listed.
const FIRST_LIBRARIES: [&str; 3] = ["stdlib-", "kernel-", "erts-"];

impl CodePath {
    /// Looks into `first` in order, then into OTP's libraries below `otp`.
    pub fn new(first: Vec<PathBuf>, otp: Option<PathBuf>) -> CodePath {
        CodePath { first, otp, libraries: OnceLock::new() }
    }

    /// The file of a module.
    pub fn find(&self, module: &str) -> Option<PathBuf> {
        if module.contains('/') || module.contains('\0') {
            return None;
        }
        let file = format!("{module}.beam");
        let near = self.first.iter().map(|folder| folder.join(&file)).find(|path| path.is_file());
        near.or_else(|| self.libraries().get(module).cloned())
    }

    /// OTP's root.
    pub fn otp(&self) -> Option<&Path> {
        self.otp.as_deref()
    }

    /// First number of a library's version, from the name of its folder.
    pub fn release_of(&self, library: &str) -> Option<u32> {
        let folders = folders_in(&self.otp.as_ref()?.join("lib"));
        folders.iter().find_map(|folder| {
            let version = folder.file_name()?.to_str()?.strip_prefix(library)?.strip_prefix('-')?.to_owned();
            version.split('.').next()?.parse().ok()
        })
    }

    fn libraries(&self) -> &HashMap<String, PathBuf> {
        self.libraries.get_or_init(|| {
            let mut modules = HashMap::new();
            let Some(otp) = &self.otp else { return modules };
            let mut roots = vec![otp.join("lib")];
            // Debian puts Elixir's libraries beside Erlang's.
            roots.extend(otp.parent().map(|parent| parent.join("elixir/lib")));
            let mut folders: Vec<PathBuf> = roots.iter().flat_map(|root| folders_in(root)).collect();
            folders.sort_by_key(|folder| {
                let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (FIRST_LIBRARIES.iter().position(|first| name.starts_with(first)).unwrap_or(usize::MAX), name)
            });
            for folder in folders {
                let ebin = folder.join("ebin");
                for file in folders_or_files_in(&ebin) {
                    if file.extension().is_some_and(|extension| extension == "beam")
                        && let Some(module) = file.file_stem().and_then(|stem| stem.to_str())
                    {
                        modules.entry(module.to_owned()).or_insert(file.clone());
                    }
                }
            }
            modules
        })
    }
}

fn folders_or_files_in(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    folders_or_files_in(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn is_otp(folder: &Path) -> bool {
    folders_in(&folder.join("lib"))
        .iter()
        .any(|library| library.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stdlib-")))
}

/// Finds OTP: `given`, the environment variable `ATOLL_OTP`, the `erl` on PATH, the usual places.
pub fn find_otp(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    if let Some(variable) = std::env::var_os("ATOLL_OTP") {
        return Some(variable.into());
    }
    let usual = ["/usr/lib/erlang", "/usr/local/lib/erlang", "/opt/erlang"].map(PathBuf::from);
    // The first `erl` may be a script that starts this machine.
    on_path("erl").iter().filter_map(|erl| root_of(erl)).chain(usual).find(|folder| is_otp(folder))
}

fn on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).filter(|file| file.is_file()).collect()
}

/// `ROOT/bin/erl`, through links.
fn root_of(erl: &Path) -> Option<PathBuf> {
    Some(std::fs::canonicalize(erl).ok()?.parent()?.parent()?.to_owned())
}

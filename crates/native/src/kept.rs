//! Machine code that is kept between runs, so that a later run need not make it again.
//!
//! Code is found by a digest of what it is made of: the intermediate code of its region, in which symbols stand for
//! what differs from run to run. So code that is found is that which the code generator would make; what changes (a
//! module, a heap, Atoll itself) has another digest. Atoms have the same numbers in each run because their names are
//! kept too ([`atoms::reserve_atoms`]).
//!
//! Each module of a program has a file, which is read when the first of its functions is compiled and replaced as a
//! whole. A file that is damaged, or of another user, is as none.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atoll_term::{Term, atoms};
use cranelift_codegen::ir::Function;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::processor::processor;

/// Changes with the form of files, and with what is done to code behind the code generator.
const FORM: u32 = 2;
/// Most atoms whose numbers are kept. Modules with others are compiled in each run.
const MOST_ATOMS: usize = 1 << 16;
/// Most bytes of a file. One that would be longer keeps what this run has used alone.
const MOST_OF_MODULE: usize = 8 << 20;
/// Bytes of all files from which on the oldest are deleted.
const MOST_OF_ALL: u64 = 256 << 20;
/// The file with the names of atoms, in the order of their numbers.
const ATOMS: &str = "atoms";
/// The file with the functions that were compiled.
const FUNCTIONS: &str = "functions";
/// The folder for all of this, of which nothing else is expected.
const FOLDER: &str = "machine-code";
/// Most bytes of it. If it would be longer, functions of earlier runs are forgotten.
const MOST_OF_FUNCTIONS: usize = 1 << 20;

/// Bytes of the digest that a version's folder has as its name.
const VERSION: usize = 8;

/// A SHA-256 digest.
pub type Key = [u8; 32];

/// The digest of a module's code.
pub type Module = [u8; 16];

/// Functions of modules, by their indices.
pub type Functions = HashMap<Module, BTreeSet<u32>>;

/// What is kept for a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Region {
    /// Its code.
    Code(Code),
    /// Floats live over a call of a helper: other code has to be made.
    KeepsFloats,
}

/// Machine code of a region, to be completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// The instructions.
    pub bytes: Vec<u8>,
    /// Where they begin.
    pub begins: usize,
    /// Where distances to other regions are missing, 4 bytes each, and numbers of the symbols of these.
    pub jumps: Vec<(usize, u32)>,
    /// Where words are missing, 8 bytes each, and numbers of their symbols.
    pub words: Vec<(usize, u32)>,
}

/// What is kept of a module.
#[derive(Default)]
struct Regions {
    /// The file.
    file: Vec<u8>,
    /// What stands in it: where, and how many bytes.
    found: HashMap<Key, (usize, usize)>,
    /// What is new.
    new: HashMap<Key, Region>,
    /// Digests that were found in the file in this run.
    used: HashSet<Key>,
    highest_atom: u32,
}

/// The code that is kept.
pub struct Kept {
    folder: PathBuf,
    /// Names whose numbers are reserved, those of the first atoms that are not well-known.
    names: Vec<&'static str>,
    modules: HashMap<Module, Regions>,
    /// Functions that were compiled in this run.
    compiled: Functions,
    /// Those that were compiled in earlier ones.
    hot: Functions,
    /// Regions whose code was found.
    pub hits: u64,
    /// There is code that cannot be kept because there are too many atoms.
    is_full: bool,
}

impl Kept {
    /// The code that is kept below this folder for this processor. Reserves the numbers of atoms that it needs. `None`:
    /// the folder is not one that this user alone can write to, or cannot be made.
    pub fn open(folder: &Path) -> Option<Kept> {
        let isa = processor()?;
        let mut digest = Sha256::new();
        let (version, generator) = (env!("CARGO_PKG_VERSION"), cranelift_codegen::VERSION);
        let flags: Vec<String> = isa.isa_flags().iter().map(ToString::to_string).collect();
        digest.update(format!("{FORM} {version} {generator} {} {} {flags:?}", isa.triple(), isa.flags()));
        digest.update(atoms::WELL_KNOWN.join("\n"));
        let folder = folder.join(FOLDER).join(hexadecimal(&digest.finalize()[..VERSION]));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        if !is_own(&folder) {
            return None;
        }
        // Names of atoms live as long as the machine's process.
        let file: &'static [u8] = Vec::leak(read(&folder.join(ATOMS)).unwrap_or_default());
        let mut names: Vec<&'static str> = postcard::from_bytes(file).unwrap_or_default();
        if !atoms::reserve_atoms(names.iter().copied()) {
            names.clear();
        }
        let hot = functions(&folder);
        Some(Kept { folder, names, modules: HashMap::new(), compiled: Functions::new(), hot, hits: 0, is_full: false })
    }

    /// What is kept for this region of a module.
    pub fn find(&mut self, module: Module, key: &Key) -> Option<Region> {
        let folder = &self.folder;
        let regions = self.modules.entry(module).or_insert_with(|| Regions::read(&folder.join(hexadecimal(&module))));
        if let Some(new) = regions.new.get(key) {
            return Some(new.clone());
        }
        let (start, length) = regions.found.get(key)?;
        let found = postcard::from_bytes(regions.file.get(*start..start + length)?).ok()?;
        regions.used.insert(*key);
        self.hits += 1;
        Some(found)
    }

    /// Keeps this for a region of a module that has atoms with numbers up to this one.
    pub fn keep(&mut self, module: Module, highest_atom: u32, key: Key, region: Region) {
        if highest_atom as usize >= atoms::WELL_KNOWN.len() + MOST_ATOMS {
            self.is_full = true;
            return;
        }
        let regions = self.modules.entry(module).or_default();
        regions.new.insert(key, region);
        regions.highest_atom = regions.highest_atom.max(highest_atom);
    }

    /// Functions that were compiled in earlier runs. They are likely to be used much again.
    pub fn hot(&self) -> &Functions {
        &self.hot
    }

    /// Notes that a function was compiled.
    pub fn compiled(&mut self, module: Module, function: usize) {
        if !self.hot.get(&module).is_some_and(|known| known.contains(&(function as u32))) {
            self.compiled.entry(module).or_default().insert(function as u32);
        }
    }

    /// Writes what is new, and forgets what was read.
    pub fn save(&mut self) {
        if self.is_full && self.names.len() > MOST_ATOMS / 2 {
            return self.begin_anew();
        }
        self.save_functions();
        let modules = std::mem::take(&mut self.modules);
        let changed: Vec<(Module, Regions)> =
            modules.into_iter().filter(|(_, regions)| !regions.new.is_empty()).collect();
        let highest = changed.iter().map(|(_, regions)| regions.highest_atom).max();
        // Without the names, the code would never be found.
        if !highest.is_some_and(|highest| self.save_atoms(highest)) {
            return;
        }
        for (module, regions) in changed {
            let file = regions.file();
            if write(&self.folder.join(hexadecimal(&module)), &file).is_none() {
                return;
            }
        }
        if let Some(all) = self.folder.parent() {
            delete_oldest(all, &self.folder, MOST_OF_ALL);
        }
    }

    /// Atoms of many programs have taken the numbers that are kept, and those of this one find no place any more: the
    /// next run begins with none.
    fn begin_anew(&mut self) {
        self.modules.clear();
        self.compiled.clear();
        self.is_full = false;
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| is_ours(path)).for_each(|path| drop(fs::remove_file(path)));
    }

    fn save_functions(&mut self) {
        let compiled = std::mem::take(&mut self.compiled);
        if compiled.is_empty() {
            return;
        }
        // Another machine may have written others.
        let mut all = functions(&self.folder);
        for (module, functions) in &compiled {
            all.entry(*module).or_default().extend(functions);
        }
        let file = postcard::to_stdvec(&all).ok().filter(|file| file.len() <= MOST_OF_FUNCTIONS);
        let file = file.or_else(|| postcard::to_stdvec(&compiled).ok()).unwrap_or_default();
        let _ = write(&self.folder.join(FUNCTIONS), &file);
    }

    /// Has the file have the names of all atoms up to this number. False: it has others, of another program that ran at
    /// the same time, or cannot be written.
    fn save_atoms(&self, highest: u32) -> bool {
        let first = atoms::WELL_KNOWN.len() as u32;
        let name = |place| self.names.get(place as usize).copied();
        let name = |index| name(index - first).unwrap_or_else(|| atoms::atom_name(Term::atom(index)));
        let names: Vec<&str> = (first..highest + 1).map(name).collect();
        let path = self.folder.join(ATOMS);
        let file = read(&path).unwrap_or_default();
        let present: Vec<&str> = postcard::from_bytes(&file).unwrap_or_default();
        let both = present.len().min(names.len());
        if present[..both] != names[..both] {
            return false;
        }
        both == names.len() || postcard::to_stdvec(&names).ok().and_then(|file| write(&path, &file)).is_some()
    }
}

/// What a file consists of: digests, and what was written for each.
type Entries<'f> = Vec<(Key, &'f [u8])>;

impl Regions {
    fn read(path: &Path) -> Regions {
        let file = read(path).unwrap_or_default();
        let entries: Entries<'_> = postcard::from_bytes(&file).unwrap_or_default();
        let place = |bytes: &[u8]| (bytes.as_ptr() as usize - file.as_ptr() as usize, bytes.len());
        let found = entries.into_iter().map(|(key, bytes)| (key, place(bytes))).collect();
        Regions { file, found, ..Regions::default() }
    }

    fn file(&self) -> Vec<u8> {
        let new: Vec<(Key, Vec<u8>)> =
            self.new.iter().filter_map(|(key, region)| Some((*key, postcard::to_stdvec(region).ok()?))).collect();
        let entries = |is_kept: &dyn Fn(&Key) -> bool| {
            let old = self.found.iter().filter(|(key, _)| is_kept(key));
            let old = old.filter_map(|(key, (start, length))| Some((*key, self.file.get(*start..start + length)?)));
            let entries: Entries<'_> = old.chain(new.iter().map(|(key, bytes)| (*key, bytes.as_slice()))).collect();
            postcard::to_stdvec(&entries).unwrap_or_default()
        };
        let file = entries(&|_| true);
        if file.len() <= MOST_OF_MODULE { file } else { entries(&|key| self.used.contains(key)) }
    }
}

fn functions(folder: &Path) -> Functions {
    read(&folder.join(FUNCTIONS)).and_then(|file| postcard::from_bytes(&file).ok()).unwrap_or_default()
}

/// The digest of a region's intermediate code.
pub fn key(function: &Function) -> Key {
    let mut bytes = Bytes(Vec::with_capacity(1 << 14));
    function.stencil.hash(&mut bytes);
    Sha256::digest(&bytes.0).into()
}

/// What is hashed, one behind the other.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file or folder is this user's, and nobody else can write to it.
fn is_own(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.uid() == atoll_platform::user_id() && about.mode() & 0o022 == 0)
}

/// Bytes of a file in front of which their digest stands. `None`: there is none, or it is damaged.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok().filter(|_| is_own(path))?.read_to_end(&mut bytes).ok()?;
    let (digest, _) = bytes.split_first_chunk::<32>()?;
    let is_whole = <[u8; 32]>::from(Sha256::digest(&bytes[32..])) == *digest;
    is_whole.then(|| bytes.split_off(32))
}

/// Replaces a file as a whole. Whatever the user's mask is, nobody else can write to it, or [`read`] would refuse it.
fn write(path: &Path, bytes: &[u8]) -> Option<()> {
    let beside = path.with_extension(std::process::id().to_string());
    let all = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&Sha256::digest(bytes))?;
        file.write_all(bytes)?;
        fs::rename(&beside, path)
    };
    all().inspect_err(|_| drop(fs::remove_file(&beside))).ok()
}

/// Whether a name is that of a digest of so many bytes.
fn is_digest(name: &OsStr, bytes: usize) -> bool {
    name.len() == 2 * bytes && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

/// Whether a path is that of a file that this module writes.
fn is_ours(path: &Path) -> bool {
    let is_file = |name: &OsStr| is_digest(name, size_of::<Module>()) || name == ATOMS || name == FUNCTIONS;
    path.file_stem().is_some_and(is_file)
        && path.parent().and_then(Path::file_name).is_some_and(|version| is_digest(version, VERSION))
}

/// Deletes the files of all versions in a folder that were written first, if all have more bytes than this. The names
/// of the present version stay, without which none of its code would be found.
fn delete_oldest(folder: &Path, present: &Path, most: u64) {
    if folder.file_name() != Some(OsStr::new(FOLDER)) {
        return;
    }
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries(folder)
        .flat_map(|version| entries(&version))
        .filter(|path| is_ours(path) && *path != present.join(ATOMS))
        .filter_map(|path| Some((fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?, path)))
        .filter_map(|(about, path)| Some((about.modified().ok()?, about.len(), path)))
        .collect();
    let mut sum: u64 = files.iter().map(|(_, length, _)| length).sum();
    files.sort();
    for (_, length, path) in files {
        if sum <= most {
            return;
        }
        sum -= length;
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An empty folder of a version, in one of this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("atoll-kept-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let version = folder.join(FOLDER).join("0123456789abcdef");
        DirBuilder::new().recursive(true).mode(0o700).create(&version).unwrap();
        version
    }

    fn remove(version: &Path) {
        fs::remove_dir_all(version.parent().and_then(Path::parent).unwrap()).unwrap();
    }

    fn kept(folder: &Path) -> Kept {
        let (compiled, hot) = (Functions::new(), functions(folder));
        Kept {
            folder: folder.to_owned(),
            names: Vec::new(),
            modules: HashMap::new(),
            compiled,
            hot,
            hits: 0,
            is_full: false,
        }
    }

    fn code(byte: u8) -> Region {
        Region::Code(Code { bytes: vec![byte; 3], begins: 1, jumps: vec![(2, 7)], words: Vec::new() })
    }

    #[test]
    fn what_is_kept_is_found_by_its_module_and_digest_alone() {
        let folder = folder("found");
        let mut first = kept(&folder);
        assert_eq!(first.find([1; 16], &[1; 32]), None);
        first.keep([1; 16], 0, [1; 32], code(1));
        first.keep([1; 16], 0, [2; 32], Region::KeepsFloats);
        first.keep([2; 16], u32::MAX, [3; 32], code(3));
        first.compiled([1; 16], 5);
        first.save();
        let mut second = kept(&folder);
        assert_eq!(second.find([1; 16], &[1; 32]), Some(code(1)));
        assert_eq!(second.find([1; 16], &[2; 32]), Some(Region::KeepsFloats));
        assert_eq!(second.find([2; 16], &[1; 32]), None);
        assert_eq!(second.find([2; 16], &[3; 32]), None, "its atoms are not kept");
        assert_eq!(second.hot()[&[1; 16]], BTreeSet::from([5]));
        // Those of two machines that ran at the same time.
        second.compiled([1; 16], 6);
        first.compiled([1; 16], 7);
        second.save();
        first.save();
        assert_eq!(functions(&folder)[&[1; 16]], BTreeSet::from([5, 6, 7]));
        remove(&folder);
    }

    #[test]
    fn files_that_are_damaged_or_open_to_others_are_as_none() {
        let folder = folder("damaged");
        let path = folder.join("file");
        write(&path, b"content").unwrap();
        assert_eq!(read(&path).as_deref(), Some(&b"content"[..]));
        set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        assert_eq!(read(&path), None);
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.push(0);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path), None);
        fs::write(&path, "short").unwrap();
        assert_eq!(read(&path), None);
        remove(&folder);
    }

    #[test]
    fn a_list_of_names_that_has_no_room_for_a_program_is_begun_anew() {
        let folder = folder("full");
        let mut kept = kept(&folder);
        kept.keep([1; 16], 0, [1; 32], code(1));
        kept.save();
        let keep_too_many = |kept: &mut Kept| kept.keep([2; 16], u32::MAX, [2; 32], code(2));
        keep_too_many(&mut kept);
        kept.save();
        assert_eq!(kept.find([1; 16], &[1; 32]), Some(code(1)), "this program alone has too many");
        kept.names = vec!["a_name"; MOST_ATOMS / 2 + 1];
        keep_too_many(&mut kept);
        kept.save();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(kept.find([1; 16], &[1; 32]), None);
        remove(&folder);
    }

    #[test]
    fn names_of_a_program_that_ran_at_the_same_time_stay() {
        let folder = folder("names");
        let atom = atoms::atom("a_name_of_this_program").unwrap().atom_index();
        let file = postcard::to_stdvec(&vec!["a_name_of_another_program"; atom as usize]).unwrap();
        write(&folder.join(ATOMS), &file).unwrap();
        let mut kept = kept(&folder);
        kept.keep([1; 16], atom, [1; 32], code(1));
        kept.save();
        assert_eq!(read(&folder.join(ATOMS)), Some(file));
        assert_eq!(kept.find([1; 16], &[1; 32]), None, "code was kept that nobody finds");
        remove(&folder);
    }

    /// What lies beside them is not ours.
    #[test]
    fn the_oldest_files_are_deleted_and_no_others() {
        let version = folder("oldest");
        let all = version.parent().unwrap();
        let make = |path: PathBuf, seconds| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(&path).unwrap();
            file.set_len(100).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            path
        };
        let digest = |digit: &str| digit.repeat(32);
        let [a, b, c] = [("a", 30), ("b", 10), ("c", 20)].map(|(name, time)| make(version.join(digest(name)), time));
        let others = [
            make(version.join("letter"), 1),
            make(version.join(ATOMS), 1),
            make(all.join("pictures").join(digest("d")), 1),
            make(all.join("letter"), 1),
            make(all.parent().unwrap().join("0123456789abcdef").join(digest("e")), 1),
        ];
        delete_oldest(all, &version, 300);
        assert!(a.exists() && b.exists() && c.exists());
        delete_oldest(all, &version, 299);
        assert!(a.exists() && !b.exists() && c.exists());
        delete_oldest(all, &version, 100);
        assert!(a.exists() && !c.exists());
        delete_oldest(all, &version, 0);
        delete_oldest(all.parent().unwrap(), &version, 0);
        assert!(!a.exists() && others.iter().all(|other| other.exists()));
        remove(&version);
    }
}

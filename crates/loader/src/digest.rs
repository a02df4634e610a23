//! The module's digest.

use md5::{Digest, Md5};

use crate::container::Chunks;

/// MD5 over the chunks that determine what the code does, in a fixed order. The old identifiers of
/// funs are taken as zero, because they were once computed from the digest.
pub(crate) fn digest(chunks: &Chunks<'_>) -> [u8; 16] {
    let mut md5 = Md5::new();
    let plain = [chunks.latin1_atoms, chunks.atoms, chunks.code, chunks.strings, chunks.imports, chunks.exports];
    for chunk in plain.into_iter().flatten() {
        md5.update(chunk);
    }
    if let Some(lambdas) = chunks.lambdas {
        let (count, entries) = lambdas.split_at(lambdas.len().min(4));
        md5.update(count);
        for entry in entries.chunks(24) {
            md5.update(&entry[..entry.len().min(20)]);
            md5.update([0; 4]);
        }
    }
    for chunk in [chunks.literals, chunks.meta].into_iter().flatten() {
        md5.update(chunk);
    }
    md5.finalize().into()
}

//! Files that are given twice.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::input::place::Place;

/// The identity of a file, whatever its path: its device and inode.
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    identity(&std::fs::metadata(path).ok()?)
}

/// The distinct files, each once.
pub(crate) fn different(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let mut seen = HashSet::new();
    let is_new = |path: &&PathBuf| identity_of(path).is_none_or(|identity| seen.insert(identity));
    paths.iter().filter(is_new).collect()
}

/// Leaves out files that occurred before under the same label, and files that are `known` under any. Returns their
/// number.
pub(crate) fn leave_out(places: &mut Vec<Place>, known: &[Place]) -> u64 {
    if known.len() + places.len() < 2 || places.is_empty() {
        return 0;
    }
    let inode = |place: &Place| match place.once {
        Some(_) => None,
        None => place.inode.or_else(|| Some(identity_of(&place.path)?.1)),
    };
    let all = known.iter().chain(&*places);
    let mut inodes: Vec<_> = all.zip(0usize..).filter_map(|(place, at)| Some((inode(place)?, at))).collect();
    inodes.sort_unstable();
    let mut duplicates = HashSet::new();
    // only files with a common inode number need a look at their devices
    for equal in inodes.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
        let mut seen = HashSet::new();
        for (_, at) in equal {
            let place = at.checked_sub(known.len()).map(|own| &places[own]);
            let Some(identity) = identity_of(&place.unwrap_or_else(|| &known[*at]).path) else { continue };
            match place {
                None => _ = seen.insert((identity, None)),
                Some(place) => {
                    let is_known = seen.contains(&(identity, None));
                    if is_known || !seen.insert((identity, Some(&place.label))) {
                        duplicates.insert(at - known.len());
                    }
                }
            }
        }
    }
    let mut at = 0..places.len();
    places.retain(|_| at.next().is_none_or(|at| !duplicates.contains(&at)));
    duplicates.len() as u64
}

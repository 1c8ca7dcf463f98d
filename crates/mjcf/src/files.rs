//! Where the content of files comes from, and which files a model may read.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// Where the content of a file comes from. A map of bytes by name is one, and so is a closure
/// `Fn(&Path) -> io::Result<Vec<u8>>`.
pub trait Load {
    /// The content of a file of at most `limit` bytes; paths are those of the model's files joined with the names in them.
    ///
    /// # Errors
    /// When there is no such file, it cannot be read or may not be, or it is larger.
    fn load(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;
}

impl<F: Fn(&Path) -> io::Result<Vec<u8>>> Load for F {
    fn load(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self(path).and_then(|bytes| if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) })
    }
}

/// No files: a model that stands alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Load for NoFiles {
    fn load(&self, _: &Path, _: u64) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::NotFound, "the model was given as text, without files"))
    }
}

/// Files in memory: a name is the path as the model's file gives it, folders of the compiler before it, `/` between; else the
/// file's bare name.
fn find<'m>(get: impl Fn(&str) -> Option<&'m [u8]>, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let path = normalize(path);
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    let bare = parts.last().map_or("", |p| p.as_ref());
    let found = get(&parts.join("/")).or_else(|| get(bare));
    let bytes = found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no file of this name was given"))?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes.to_vec()) }
}

impl<B: AsRef<[u8]>> Load for HashMap<String, B> {
    fn load(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        find(|name| self.get(name).map(AsRef::as_ref), path, limit)
    }
}

impl<B: AsRef<[u8]>> Load for BTreeMap<String, B> {
    fn load(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        find(|name| self.get(name).map(AsRef::as_ref), path, limit)
    }
}

/// How far outside its own folder a model may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// not at all
    Folder,
    /// to models, meshes and images (by extension), as in `meshdir="../assets"`, but into no hidden folder
    #[default]
    Assets,
    /// to any file that this process can read
    Anywhere,
}

/// Extensions of files that a model may load from outside its folder.
const ASSETS: [&str; 6] = ["xml", "mjcf", "stl", "obj", "msh", "png"];

/// Files of the file system, as far as a model may read them.
///
/// What lies in the model's folder, links resolved, is open to it. What lies outside is governed by [`Reach`]: many models
/// keep their meshes in a neighbouring folder, but a model that somebody else wrote shall not read keys and passwords. Only
/// regular files are read.
#[derive(Clone, Debug)]
pub struct Files {
    folder: PathBuf,
    /// the main file, which its user named: open wherever a link of that name leads
    main: Option<PathBuf>,
    reach: Reach,
}

impl Files {
    /// For the model in this file, with the default [`Reach`].
    pub fn of(main: &Path) -> Self {
        let folder = main.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { folder, main: Some(main.to_path_buf()), reach: Reach::default() }
    }

    /// Files in this folder and below.
    pub fn within(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), main: None, reach: Reach::Folder }
    }

    /// The same with another reach.
    #[must_use]
    pub fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Whether the model may read this file, a path without links.
    fn allow(&self, path: &Path) -> io::Result<()> {
        let here = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let folder = here.canonicalize()?;
        if self.reach == Reach::Anywhere || path.starts_with(&folder) {
            return Ok(());
        }
        let deny = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        if self.reach == Reach::Folder {
            return deny("it lies outside the model's folder");
        }
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        if !ASSETS.contains(&extension.as_str()) {
            return deny("it lies outside the model's folder and is no model, mesh or image");
        }
        let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
        let hidden = |c: Component<'_>| c.as_os_str().to_string_lossy().starts_with('.');
        if path.components().skip(shared).any(hidden) {
            return deny("it lies in a hidden folder outside the model's folder");
        }
        Ok(())
    }
}

impl Load for Files {
    fn load(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let real = path.canonicalize()?;
        if self.main.as_deref() != Some(path) {
            self.allow(&real)?;
        }
        read_file(&real, limit)
    }
}

/// The content of a regular file of at most `limit` bytes: nothing else is opened, since a pipe would wait for a writer and a
/// device may have no end.
///
/// # Errors
/// It cannot be read, is a folder, pipe, socket or device, or is larger.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let found = path.metadata()?;
    if !found.is_file() {
        let what = if found.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let mut bytes = Vec::new();
    // a file that grows, or says that it is empty as those of /proc do
    std::fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if found.len() > limit || bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"))
}

/// Removes `.` and resolves `..` as far as the path itself allows, so that one file has one name.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_its_folder_and_assets_beside_it() {
        let root = std::env::temp_dir().join(format!("kiloworld-files-{}", std::process::id()));
        for (name, text) in [
            ("a/model.xml", "model"),
            ("a/notes.txt", "inside"),
            ("b/part.stl", "asset"),
            ("b/secret.txt", "secret"),
            (".keys/part.stl", "hidden"),
        ] {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
            std::fs::write(file, text).expect("writable");
        }
        let main = root.join("a/model.xml");
        let read = |files: &Files, name: &str| files.load(&root.join("a").join(name), 100).map_err(|e| e.to_string());
        let files = Files::of(&main);
        assert_eq!(read(&files, "notes.txt"), Ok(b"inside".to_vec()));
        assert_eq!(read(&files, "../b/part.stl"), Ok(b"asset".to_vec()));
        assert!(read(&files, "../b/secret.txt").is_err_and(|e| e.contains("no model, mesh or image")));
        assert!(read(&files, "../.keys/part.stl").is_err_and(|e| e.contains("hidden")));
        assert!(read(&files, "../b").is_err());
        assert!(files.load(&main, 3).is_err_and(|e| e.to_string().contains("larger than 3 bytes")));
        let strict = files.clone().reach(Reach::Folder);
        assert!(read(&strict, "../b/part.stl").is_err_and(|e| e.contains("outside the model's folder")));
        assert_eq!(read(&Files::within(&root), "../b/secret.txt"), Ok(b"secret".to_vec()));
        assert_eq!(read(&files.clone().reach(Reach::Anywhere), "../b/secret.txt"), Ok(b"secret".to_vec()));
        #[cfg(unix)]
        {
            // a link is what it points to
            std::os::unix::fs::symlink(root.join("b/secret.txt"), root.join("a/link.stl")).expect("a link");
            assert!(read(&files, "link.stl").is_err());
            // but a main file was named by its user: in caches it links to a name made of its content
            std::fs::write(root.join("b/0f3a"), "blob").expect("writable");
            std::os::unix::fs::symlink(root.join("b/0f3a"), root.join("a/cached.xml")).expect("a link");
            assert_eq!(read(&Files::of(&root.join("a/cached.xml")), "cached.xml"), Ok(b"blob".to_vec()));
            assert!(read(&files, "cached.xml").is_err());
        }
        std::fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn a_map_finds_files_by_path_and_by_bare_name() {
        let map = BTreeMap::from([("assets/a.stl".to_owned(), vec![1_u8]), ("b.stl".to_owned(), vec![2])]);
        assert_eq!(map.load(Path::new("./assets/x/../a.stl"), 9).expect("there"), [1]);
        assert_eq!(map.load(Path::new("somewhere/b.stl"), 9).expect("there"), [2]);
        assert!(map.load(Path::new("a.stl"), 9).is_err());
        assert!(map.load(Path::new("b.stl"), 0).is_err());
    }
}

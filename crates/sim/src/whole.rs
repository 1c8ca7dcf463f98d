//! Files that are written whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file in the making: it lies beside its place under another name, and takes its place in [`WholeFile::finish`]. Dropped before,
/// it leaves nothing behind; whoever reads the place sees the old file or the new one, never a part.
#[derive(Debug)]
pub struct WholeFile {
    out: Option<BufWriter<File>>,
    beside: PathBuf,
    place: PathBuf,
}

impl WholeFile {
    /// Begins a file. What stands at `path` is replaced in the end, through a link what it points to.
    ///
    /// # Errors
    /// The folder cannot be written to, or something stands there that is not a regular file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let place = if path.is_symlink() { path.canonicalize()? } else { path.to_owned() };
        if place.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "something stands there that is not a regular file",
            ));
        }
        let name =
            place.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
        for k in 0..100 {
            let mut other = std::ffi::OsString::from(".");
            other.push(name);
            other.push(format!(".{}-{k}.part", std::process::id()));
            let beside = place.with_file_name(other);
            match OpenOptions::new().write(true).create_new(true).open(&beside) {
                Ok(file) => return Ok(Self { out: Some(BufWriter::new(file)), beside, place }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many unfinished files lie beside it"))
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// What is left cannot be written, or the file cannot be moved there.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(out) = self.out.take() {
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        }
        std::fs::rename(&self.beside, &self.place)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        self.out = None;
        // gone already where it took its place
        let _ = std::fs::remove_file(&self.beside);
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let dir = std::env::temp_dir().join(format!("kiloworld-whole-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let list = || std::fs::read_dir(&dir).expect("a folder").count();
        let path = dir.join("a.txt");
        let mut file = WholeFile::create(&path).expect("begun");
        file.write_all(b"new").expect("written");
        assert!(!path.exists() && list() == 1);
        drop(file);
        assert_eq!(list(), 0, "dropped, it leaves nothing");
        std::fs::write(&path, "old").expect("written");
        let mut file = WholeFile::create(&path).expect("begun");
        file.write_all(b"new").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"old");
        file.finish().expect("in place");
        assert_eq!((std::fs::read(&path).expect("there"), list()), (b"new".to_vec(), 1));
        assert!(WholeFile::create(&dir).is_err() && WholeFile::create(&dir.join("no/a.txt")).is_err());
        #[cfg(unix)]
        {
            let link = dir.join("link.txt");
            std::os::unix::fs::symlink("a.txt", &link).expect("a link");
            let mut file = WholeFile::create(&link).expect("begun");
            file.write_all(b"through").expect("written");
            file.finish().expect("in place");
            assert!(link.is_symlink() && std::fs::read(&path).expect("there") == b"through");
        }
        std::fs::remove_dir_all(dir).expect("removed");
    }
}

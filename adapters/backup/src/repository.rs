//! `Repository`: a place that holds backups of one database, and the objects in it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Env;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::hex::{from_hex, to_hex};
use crate::key::Key;
use crate::object::{Decoder, Encoder, Hash, encode};
use crate::pace::Pace;
use crate::place::Place;
use crate::records::{self, BASES, CHAIN, DATA, Record, Writer, chain_name};

/// Name of the object that makes a place one of backups.
const MARKER: &str = "meta/format";
/// Name of the object that says who writes.
const OWNER: &str = "meta/owner";
/// Name of the object that lists damaged ones.
const DAMAGED: &str = "meta/damaged";
const VERSION: u32 = 1;
/// Contents of the object that proves a key.
const PROOF: &[u8] = b"CairnDB backup";
/// Maximum length of contents that are kept in memory.
const CONTENTS_BYTES_MAX: usize = (2 << 30) + (64 << 20);

/// The contents of [`MARKER`].
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    format: u32,
    id: String,
    created_ms: u64,
    /// An encrypted object, in hexadecimal digits, if the others are encrypted.
    proof: Option<String>,
}

/// Who writes, as of some moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) writer: Writer,
    /// When it last looked for changes, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    pub(crate) incarnation: u64,
    pub(crate) seq: u64,
    /// Whether it has ended.
    pub(crate) ended: bool,
}

/// A place that holds backups of one database; see [`Backup`](crate::Backup).
pub struct Repository {
    env: Arc<dyn Env>,
    place: Box<dyn Place>,
    key: Option<Key>,
    id: String,
    pace: Pace,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Repository {
    /// Opens the backups in a place.
    ///
    /// # Errors
    /// - `NotFound` if there are none.
    /// - `InvalidArgument` if a key is missing, wrong, or given for backups that are not encrypted.
    /// - `FormatTooNew`, `Corruption`, `Io`.
    pub fn open(env: Arc<dyn Env>, place: Box<dyn Place>, key: Option<Key>) -> Result<Repository> {
        let marker = match read_small(&*place, MARKER) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = "there is no backup here; check the place, or make one first";
                return Err(Error::new(ErrorKind::NotFound, message)
                    .directory(place.url().as_ref())
                    .source_error(error));
            }
            marker => marker?,
        };
        let marker: Marker = serde_json::from_slice(&marker).map_err(|error| {
            let error = Error::corruption("the object cannot be read").source_error(error);
            error.file(MARKER).directory(place.url().as_ref())
        })?;
        if marker.format > VERSION {
            let message = "a newer version has written these backups; use that";
            return Err(Error::new(ErrorKind::FormatTooNew, message)
                .directory(place.url().as_ref())
                .found(format_args!("version {}", marker.format)));
        }
        let wrong = |message| Error::invalid(message).directory(place.url().as_ref());
        match (&key, &marker.proof) {
            (None, Some(_)) => {
                return Err(wrong(
                    "the backups are encrypted; give their key (for cairn: CAIRN_BACKUP_KEY)",
                ));
            }
            (Some(_), None) => {
                return Err(wrong("the backups are not encrypted; leave the key out"));
            }
            (Some(key), Some(proof)) if !proves(proof, key) => {
                return Err(wrong(
                    "the key is not the one that the backups were made with",
                ));
            }
            _ => {}
        }
        Ok(Repository {
            pace: Pace::new(Arc::clone(&env), None),
            key: key.map(|key| key.of_place(&marker.id)),
            id: marker.id,
            env,
            place,
        })
    }

    /// Like [`Repository::open`], but makes an empty place one for backups.
    ///
    /// # Errors
    /// Those of `open` and of the place.
    pub fn open_or_create(
        env: Arc<dyn Env>,
        place: Box<dyn Place>,
        key: Option<Key>,
    ) -> Result<Repository> {
        let proof = key
            .as_ref()
            .map(|key| encode(&*env, Some(key), MARKER, PROOF));
        let proof = proof.transpose()?.map(|(proof, _)| to_hex(&proof));
        let marker = Marker {
            format: VERSION,
            id: format!("{:016x}", env.random_u64()),
            created_ms: env.wall_ms(),
            proof,
        };
        let marker = json(&marker);
        if matches!(place.download(MARKER), Err(error) if error.kind() == ErrorKind::NotFound) {
            // Whether they are encrypted is not known then, and must not be guessed.
            if !place.list(CHAIN, "")?.is_empty() {
                let message = "the place has backups, but not the object that describes them; \
                               restore that object, or choose another place";
                let error = Error::corruption(message).file(MARKER);
                return Err(error.directory(place.url().as_ref()));
            }
            // If another program has made it meanwhile, that one counts.
            let _ = place.create(MARKER, &marker)?;
        }
        Repository::open(env, place, key)
    }

    /// Limits what is written to, and read from, the place to so many bytes a second. Default: no
    /// limit.
    #[must_use]
    pub fn bandwidth(mut self, bytes_per_second: Option<u64>) -> Repository {
        self.pace = Pace::new(Arc::clone(&self.env), bytes_per_second);
        self
    }

    /// Returns the place.
    pub fn place(&self) -> &dyn Place {
        &*self.place
    }

    pub(crate) fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    /// Returns what distinguishes these backups from those in other places.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the hash of contents that `read` hands to its argument.
    pub(crate) fn hash_of(
        &self,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Hash> {
        let mut hasher = Key::hasher(self.key.as_ref());
        read(&mut |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        Ok(*hasher.finalize().as_bytes())
    }

    /// Waits.
    pub(crate) fn pause(&self, time: Duration) {
        self.pace.pause(time);
    }

    /// Uploads contents that `read` hands to its argument, and that have this hash. Returns the
    /// number of bytes stored.
    pub(crate) fn upload(
        &self,
        name: &str,
        hash: Hash,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<u64> {
        let mut upload = self.place.upload(name)?;
        let mut stored = 0;
        let mut encoder = Encoder::new(&*self.env, self.key.as_ref(), name, |bytes| {
            self.pace.take(bytes.len() as u64);
            stored += bytes.len() as u64;
            upload.write(bytes)
        })?;
        read(&mut |bytes| encoder.add(bytes))?;
        if encoder.finish()? != hash {
            let message = "the file has changed while it was read; try again";
            return Err(Error::corruption(message).file(name));
        }
        upload.finish()?;
        Ok(stored)
    }

    /// Uploads contents under the name.
    pub(crate) fn put(&self, name: &str, contents: &[u8]) -> Result<u64> {
        let (stored, _) = encode(&*self.env, self.key.as_ref(), name, contents)?;
        self.pace.take(stored.len() as u64);
        let mut upload = self.place.upload(name)?;
        upload.write(&stored)?;
        upload.finish()?;
        Ok(stored.len() as u64)
    }

    /// Creates a record of the chain. Returns its hash, and the number of bytes stored, or `None`
    /// if there is another one.
    pub(crate) fn create(&self, number: u64, contents: &[u8]) -> Result<Option<(Hash, u64)>> {
        let name = chain_name(number);
        let (stored, hash) = encode(&*self.env, self.key.as_ref(), &name, contents)?;
        self.pace.take(stored.len() as u64);
        let done = (hash, stored.len() as u64);
        let mut created = self.place.create(&name, &stored);
        if created.is_err() {
            // It may be there, but not durably: a second attempt makes it so, or fails.
            let again = self.place.create(&name, &stored);
            created = again.or(created);
        }
        if created? {
            return Ok(Some(done));
        }
        // An attempt whose answer was lost may have created it.
        let (_, found) = self.read_hashed(&name)?;
        Ok((found == hash).then_some(done))
    }

    /// Returns whether an error of an object leaves the others readable.
    pub(crate) fn is_of_object(&self, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::Corruption | ErrorKind::FormatTooNew | ErrorKind::NotFound => true,
            ErrorKind::Io => error.file_name().is_some() && self.place.list(BASES, "").is_ok(),
            _ => false,
        }
    }

    /// Hands the parts of the contents of an object to `take`, and returns the hash.
    ///
    /// # Errors
    /// `NotFound`, `Corruption`, `Io`; those of `take`.
    pub(crate) fn read(
        &self,
        name: &str,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Hash> {
        let download = self.place.download(name)?;
        let decoder = Decoder::new(download, self.key.as_ref(), self.place.url(), name)?;
        decoder.read(|bytes| {
            self.pace.take(bytes.len() as u64);
            take(bytes)
        })
    }

    /// Returns the contents of an object.
    pub(crate) fn read_all(&self, name: &str) -> Result<Vec<u8>> {
        self.read_hashed(name).map(|(contents, _)| contents)
    }

    fn read_hashed(&self, name: &str) -> Result<(Vec<u8>, Hash)> {
        let mut contents = Vec::new();
        let hash = self.read(name, |bytes| {
            if contents.len() + bytes.len() > CONTENTS_BYTES_MAX {
                return Err(Error::corruption("the object is too long").file(name));
            }
            contents.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok((contents, hash))
    }

    /// Returns a record of the chain, its changes, and its hash in hexadecimal digits.
    pub(crate) fn record(&self, number: u64) -> Result<(Record, Vec<u8>, String)> {
        let name = chain_name(number);
        let (contents, hash) = self.read_hashed(&name)?;
        let (record, rest) = self.parsed::<Record>(&name, &contents)?;
        Ok((record, rest.to_vec(), to_hex(&hash)))
    }

    /// Splits the contents of an object into header and rest.
    pub(crate) fn parsed<'b, T: DeserializeOwned>(
        &self,
        name: &str,
        contents: &'b [u8],
    ) -> Result<(T, &'b [u8])> {
        let parsed = records::parse(contents);
        parsed.map_err(|error| error.file(name).directory(self.place.url().as_ref()))
    }

    /// Says who writes.
    pub(crate) fn note_owner(&self, owner: &Owner) -> Result<()> {
        self.put(OWNER, &json(owner)).map(drop)
    }

    /// Has later backups upload the contents of damaged objects again.
    pub(crate) fn note_damaged(&self, objects: &BTreeSet<String>) -> Result<()> {
        self.put(DAMAGED, &json(objects)).map(drop)
    }

    /// Returns the objects that were found damaged.
    pub(crate) fn damaged(&self) -> Result<BTreeSet<String>> {
        match self.read_all(DAMAGED) {
            Ok(contents) => Ok(serde_json::from_slice(&contents).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Io => Err(error),
            // Then the next verification finds them again.
            Err(_) => Ok(BTreeSet::new()),
        }
    }

    /// Returns who wrote last, if that can be found out.
    pub(crate) fn owner(&self) -> Result<Option<Owner>> {
        match self.read_all(OWNER) {
            Ok(contents) => Ok(serde_json::from_slice(&contents).ok()),
            Err(error) if error.kind() == ErrorKind::Io => Err(error),
            // It only informs.
            Err(_) => Ok(None),
        }
    }
}

fn json(object: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(object).expect("it has only texts and numbers")
}

/// Returns whether the key is the one of the proof.
fn proves(proof: &str, key: &Key) -> bool {
    struct Bytes(Vec<u8>, usize);
    impl crate::place::Download for Bytes {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            let left = &self.0[self.1..];
            let len = left.len().min(out.len());
            out[..len].copy_from_slice(&left[..len]);
            self.1 += len;
            Ok(len)
        }
    }
    let Some(proof) = from_hex(proof) else {
        return false;
    };
    let mut found = Vec::new();
    let decoder = Decoder::new(Box::new(Bytes(proof, 0)), Some(key), "", MARKER);
    let read = decoder.and_then(|decoder| {
        decoder.read(|bytes| {
            found.extend_from_slice(bytes);
            Ok(())
        })
    });
    read.is_ok() && found == PROOF
}

/// Returns an object that is stored as it is.
fn read_small(place: &dyn Place, name: &str) -> Result<Vec<u8>> {
    let mut download = place.download(name)?;
    let (mut found, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match download.read(&mut buffer)? {
            0 => return Ok(found),
            read => found.extend_from_slice(&buffer[..read]),
        }
        if found.len() > 1 << 20 {
            return Err(Error::corruption("the object is too long").file(name));
        }
    }
}

/// Returns the name of an object with contents of files. The number is that of the next record when
/// it was uploaded: what is pruned is never uploaded under the same name again.
pub(crate) fn data_name(hash: Hash, next: u64) -> String {
    format!("{DATA}/{}-{next:x}", to_hex(&hash))
}

/// Returns the hash in the name of an object with contents of files.
pub(crate) fn hash_in(name: &str) -> Option<Hash> {
    let (_, name) = name.split_once('/')?;
    let (hash, _) = name.split_once('-')?;
    from_hex(hash)?.try_into().ok()
}

//! `Key`: the secret of an encrypted backup.

use std::fmt;

use cairndb_base::{Error, Result};
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use crate::hex::from_hex;

const KEY_BYTES: usize = 32;
/// Length of the random part of a nonce; the number of the chunk is the rest.
pub(crate) const NONCE_PREFIX_BYTES: usize = 16;
/// What encryption adds to a chunk.
pub(crate) const TAG_BYTES: usize = 16;

/// A secret of 32 bytes. What is encrypted with it, by XChaCha20-Poly1305, can neither be read nor
/// changed without it. It is never part of a message.
#[derive(Clone)]
pub struct Key {
    cipher: XChaCha20Poly1305,
    /// Key of the hashes that name objects: a plain hash would tell what is in them.
    hash: [u8; KEY_BYTES],
    /// The place whose objects it encrypts; empty before that is known.
    id: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Returns the key that 64 hexadecimal digits state.
    ///
    /// # Errors
    /// `InvalidArgument`, without the text.
    pub fn parse(text: &str) -> Result<Key> {
        let secret = from_hex(text.trim()).filter(|secret| secret.len() == KEY_BYTES);
        let secret = secret.ok_or_else(|| {
            Error::invalid("a key has 64 hexadecimal digits; `openssl rand -hex 32` makes one")
        })?;
        let cipher = blake3::derive_key("CairnDB backup: encryption of objects", &secret);
        Ok(Key {
            cipher: XChaCha20Poly1305::new(&cipher.into()),
            hash: blake3::derive_key("CairnDB backup: names of objects", &secret),
            id: String::new(),
        })
    }

    /// Returns the key for the objects of one place, which are valid in no other.
    pub(crate) fn of_place(self, id: &str) -> Key {
        let id = id.to_owned();
        Key { id, ..self }
    }

    /// Returns a hasher of contents.
    pub(crate) fn hasher(key: Option<&Key>) -> blake3::Hasher {
        key.map_or_else(blake3::Hasher::new, |key| {
            blake3::Hasher::new_keyed(&key.hash)
        })
    }

    fn nonce(prefix: [u8; NONCE_PREFIX_BYTES], chunk: u64) -> XNonce {
        let mut nonce = [0; NONCE_PREFIX_BYTES + 8];
        nonce[..NONCE_PREFIX_BYTES].copy_from_slice(&prefix);
        nonce[NONCE_PREFIX_BYTES..].copy_from_slice(&chunk.to_le_bytes());
        nonce.into()
    }

    /// Encrypts chunk number `chunk` of the object in place; `about` and the place are bound to it.
    pub(crate) fn encrypt(
        &self,
        prefix: [u8; NONCE_PREFIX_BYTES],
        chunk: u64,
        about: &[u8],
        bytes: &mut Vec<u8>,
    ) {
        let nonce = Key::nonce(prefix, chunk);
        let about = [about, self.id.as_bytes()].concat();
        let encrypted = self.cipher.encrypt_in_place(&nonce, &about, bytes);
        encrypted.expect("a chunk is far below the limit of the cipher");
    }

    /// Decrypts a chunk in place. Returns whether it is what was encrypted.
    pub(crate) fn decrypt(
        &self,
        prefix: [u8; NONCE_PREFIX_BYTES],
        chunk: u64,
        about: &[u8],
        bytes: &mut Vec<u8>,
    ) -> bool {
        let nonce = Key::nonce(prefix, chunk);
        let about = [about, self.id.as_bytes()].concat();
        self.cipher.decrypt_in_place(&nonce, &about, bytes).is_ok()
    }
}

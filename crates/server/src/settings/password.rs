//! Passwords, as hashes that can stand in a file.

use std::sync::Mutex;

use anyhow::{Result, anyhow};
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use subtle::ConstantTimeEq;

use crate::lock::lock;

/// The hash of a password (argon2id, RFC 9106), for the settings file.
///
/// # Errors
/// If the system has no random bytes for the salt.
pub fn hash(password: &str) -> Result<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| anyhow!("hashing the password: {error}"))
}

/// Checks the form of a hash.
///
/// # Errors
/// If it is not the hash of a password.
pub(crate) fn check_hash(hash: &str) -> Result<()> {
    match PasswordHash::new(hash) {
        Ok(hash) if hash.algorithm.as_str().starts_with("argon2") => Ok(()),
        _ => Err(anyhow!("expected a hash, as tamisd --hash-password prints it, got something else")),
    }
}

/// A password to compare with. A hash takes tens of milliseconds on purpose, so a password that was right once is
/// compared, in constant time, with itself.
pub(crate) struct Password {
    hash: String,
    known: Mutex<Option<Vec<u8>>>,
}

impl Password {
    pub(crate) fn new(hash: String) -> Self {
        Password { hash, known: Mutex::new(None) }
    }

    /// Whether `password` was right before.
    pub(crate) fn is_known(&self, password: &[u8]) -> bool {
        lock(&self.known).as_ref().is_some_and(|known| known[..].ct_eq(password).into())
    }

    /// Whether `password` is right. May take long and 19 MiB.
    pub(crate) fn is(&self, password: &[u8]) -> bool {
        let is_right = self.is_known(password)
            || PasswordHash::new(&self.hash)
                .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok());
        if is_right {
            *lock(&self.known) = Some(password.to_vec());
        }
        is_right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_right_or_wrong() {
        let hash = hash("open sesame").unwrap();
        check_hash(&hash).unwrap();
        assert!(check_hash("open sesame").is_err());
        let password = Password::new(hash);
        for is_known in [false, true] {
            assert_eq!(password.is_known(b"open sesame"), is_known);
            assert!(password.is(b"open sesame"));
            assert!(!password.is(b"open sesam") && !password.is(b""));
        }
    }
}

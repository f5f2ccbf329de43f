//! Which certificates are trusted.

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::imap::session::ImapError;
use crate::settings::Account;

/// The certificates that an account trusts.
pub(super) fn trusted(account: &Account) -> Result<Vec<CertificateDer<'static>>, ImapError> {
    let mut trusted = rustls_native_certs::load_native_certs().certs;
    if let Some(path) = &account.ca {
        let own = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        trusted.extend(own.map_err(|error| ImapError::Lost(format!("ca = {}: {error}", path.display())))?);
    }
    Ok(trusted)
}

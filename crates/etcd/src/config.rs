//! How etcd is reached.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// How etcd is reached.
#[derive(Clone, Debug)]
pub struct Config {
    /// The members' client URLs, such as `https://10.0.0.1:2379`. The first one is asked first.
    pub members: Vec<String>,
    /// The user, where etcd authenticates.
    pub user: Option<User>,
    /// A file with certificates of authorities, in PEM. The roots of the web, if there is none.
    pub authorities: Option<PathBuf>,
    /// What all keys begin with.
    pub prefix: String,
    /// A member that does not answer within this time is away, and the next one is asked. Each is asked once.
    pub patience: Duration,
}

/// A user of etcd.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            members: vec!["https://127.0.0.1:2379".to_owned()],
            user: None,
            authorities: None,
            prefix: "/lasthop/".to_owned(),
            patience: Duration::from_secs(2),
        }
    }
}

impl Config {
    pub(crate) fn tls(&self) -> io::Result<TlsConfig> {
        let roots = match &self.authorities {
            None => RootCerts::WebPki,
            Some(path) => {
                let pem = std::fs::read(path)?;
                let certificates = parse_pem(&pem).filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(error) => Some(Err(io::Error::new(io::ErrorKind::InvalidData, error))),
                });
                RootCerts::from(certificates.collect::<io::Result<Vec<_>>>()?)
            }
        };
        Ok(TlsConfig::builder().root_certs(roots).build())
    }
}

/// Without the password.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({})", self.name)
    }
}

//! Three members of etcd on this machine.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lasthop_etcd::{Config, Etcd};
use lasthop_packet::Instant;
use lasthop_registry::Registry as _;

/// Three members. They end with this, by SIGKILL.
pub struct Cluster {
    folder: tempfile::TempDir,
    ports: Vec<[u16; 2]>,
    members: Vec<Option<Child>>,
    /// Certificate and key, if they speak TLS.
    tls: Option<[PathBuf; 2]>,
}

impl Cluster {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), None)
    }

    pub fn start_in(folder: tempfile::TempDir, tls: Option<[PathBuf; 2]>) -> Self {
        // All at once, so that they differ.
        let sockets: Vec<_> =
            (0..6).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free")).collect();
        let port = |index: usize| sockets[index].local_addr().expect("it is bound").port();
        let ports = (0..3).map(|index| [port(2 * index), port(2 * index + 1)]).collect();
        let mut cluster = Self { folder, ports, members: vec![None, None, None], tls };
        drop(sockets);
        for member in 0..3 {
            cluster.run(member);
        }
        cluster
    }

    /// Starts a member that does not run, with what it has on its disk.
    pub fn run(&mut self, member: usize) {
        assert!(self.members[member].is_none(), "it runs");
        let peer = |member: usize| format!("http://127.0.0.1:{}", self.ports[member][1]);
        let all: Vec<String> = (0..3).map(|member| format!("m{member}={}", peer(member))).collect();
        let client = self.url(member);
        let mut command = Command::new("etcd");
        command
            .args(["--name", &format!("m{member}"), "--data-dir"])
            .arg(self.folder.path().join(format!("m{member}")))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer(member), "--initial-advertise-peer-urls", &peer(member)])
            .args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some([certificate, key]) = &self.tls {
            command.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
        }
        self.members[member] = Some(command.spawn().expect("it starts"));
    }

    /// SIGKILL.
    pub fn kill(&mut self, member: usize) {
        if let Some(mut child) = self.members[member].take() {
            child.kill().expect("it runs");
            child.wait().expect("it has ended");
        }
    }

    pub fn url(&self, member: usize) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.ports[member][0])
    }

    pub fn config(&self) -> Config {
        let members = (0..3).map(|member| self.url(member)).collect();
        // A member that is killed refuses connections. On a busy machine, one that runs may take seconds.
        Config { members, patience: Duration::from_secs(20), ..Config::default() }
    }

    pub fn registry(&self) -> Etcd {
        let registry = Etcd::new(&self.config()).expect("it can be read");
        wait_for(&registry);
        registry
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..3).for_each(|member| self.kill(member));
    }
}

/// Waits until a registry answers.
pub fn wait_for(registry: &Etcd) {
    let answers = (0..600).any(|_| {
        std::thread::park_timeout(Duration::from_millis(100));
        registry.snapshot(Instant::ZERO).is_ok()
    });
    assert!(answers, "etcd does not answer: {:?}", registry.snapshot(Instant::ZERO));
}

/// Lets only a user with the name `root` and a password do anything.
pub fn enable_users(cluster: &Cluster, authorities: &Path, password: &str) {
    let control = |arguments: &[&str]| {
        let mut command = Command::new("etcdctl");
        let done = command
            .env("ETCDCTL_API", "3")
            .arg("--cacert")
            .arg(authorities)
            .args(["--endpoints", &cluster.url(0)])
            .args(arguments)
            .output()
            .expect("it starts");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    control(&["user", "add", &format!("root:{password}")]);
    control(&["user", "grant-role", "root", "root"]);
    control(&["auth", "enable"]);
}

//! The settings of the service, which a run restores.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::run::properties;
use crate::wire::Server;

/// The file that has the settings from before the run until they are restored.
pub(super) const FILE: &str = "azure-table-conformance-settings.xml";
/// The time beyond the one within which the service applies changes.
const MARGIN: Duration = Duration::from_secs(10);
const BETWEEN_READS: Duration = Duration::from_secs(1);

/// The settings from before the run, as XML.
#[derive(Debug)]
pub(super) struct Settings(String);

impl Settings {
    /// Refuses to replace the file of a run that did not restore the settings.
    pub(super) fn check_file() -> Result<(), String> {
        if !Path::new(FILE).exists() {
            return Ok(());
        }
        Err(format!(
            "{FILE} exists: a run may not have restored the settings in it. Restore them by \
             live --restore-settings {FILE}, then remove the file"
        ))
    }

    /// Reads the settings, and keeps them in the file.
    pub(super) async fn keep(server: &Server) -> Result<Self, String> {
        let mut file = create().map_err(|error| format!("{FILE}: {error}"))?;
        let kept = match properties::read(server).await {
            Ok(xml) => file.write_all(xml.as_bytes()).and_then(|()| file.sync_all()).map(|()| xml),
            Err(error) => Err(std::io::Error::other(format!("service properties: {error}"))),
        };
        kept.map(Self).map_err(|error| {
            remove();
            error.to_string()
        })
    }

    /// Reads the settings of a file.
    pub(super) fn of_file(path: &Path) -> Result<Self, String> {
        let xml = std::fs::read_to_string(path);
        xml.map(Self).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Writes the settings, and waits until the service returns them.
    pub(super) async fn write(&self, server: &Server) -> Result<(), String> {
        let end = Instant::now() + server.settle + MARGIN;
        let mut is_accepted = false;
        while let Err(reason) = self.attempt(server, &mut is_accepted).await {
            if Instant::now() > end {
                return Err(reason);
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        Ok(())
    }

    /// Writes the settings unless the service has accepted them, and compares those that it returns.
    async fn attempt(&self, server: &Server, is_accepted: &mut bool) -> Result<(), String> {
        if !*is_accepted {
            properties::write(server, &self.0).await?;
            *is_accepted = true;
        }
        let is_applied = properties::are_equal(&properties::read(server).await?, &self.0);
        let reason = || "the service accepted the settings, but returns others".to_owned();
        is_applied.then_some(()).ok_or_else(reason)
    }

    /// Restores the settings from before the run, and removes the file.
    pub(super) async fn restore(&self, server: &Server) -> Result<(), String> {
        self.write(server).await?;
        remove();
        Ok(())
    }
}

/// The entry of what was not restored.
pub(super) fn left(reason: &str) -> String {
    format!("the settings of the service ({reason}): live --restore-settings {FILE} restores them")
}

/// Creates the file, which only the user may read.
fn create() -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(FILE)
}

/// Without the right to remove it, the next run reports that the file exists.
fn remove() {
    drop(std::fs::remove_file(FILE));
}

//! The environment variables, whose names are those of the options.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{OptionsError, error};

/// The variables `AZURE_TABLE_EMULATOR_*`. An empty variable counts as missing.
pub(super) struct Environment<'a>(pub(super) &'a dyn Fn(&str) -> Option<OsString>);

/// A value, and the argument or variable that it comes from.
pub(super) struct Setting {
    pub(super) value: String,
    pub(super) name: String,
}

impl Environment<'_> {
    /// The value of an argument, otherwise of its variable.
    pub(super) fn setting(
        &self,
        argument: Option<String>,
        option: &str,
    ) -> Result<Option<Setting>, OptionsError> {
        if let Some(value) = argument {
            return Ok(Some(Setting { value, name: format!("--{option}") }));
        }
        let value = self.text(option)?;
        Ok(value.map(|value| Setting { value, name: full_name(option) }))
    }

    /// The path in an argument, otherwise in its variable.
    pub(super) fn path_setting(&self, argument: Option<PathBuf>, option: &str) -> Option<PathBuf> {
        argument.or_else(|| self.path(option))
    }

    pub(super) fn path(&self, option: &str) -> Option<PathBuf> {
        self.raw(&full_name(option)).map(PathBuf::from)
    }

    pub(super) fn text(&self, option: &str) -> Result<Option<String>, OptionsError> {
        self.named(&full_name(option))
    }

    /// The variable of another program.
    pub(super) fn named(&self, name: &str) -> Result<Option<String>, OptionsError> {
        let text = self.raw(name).map(OsString::into_string).transpose();
        text.or_else(|_| error(format!("{name} is not UTF-8")))
    }

    pub(super) fn switch(&self, option: &str) -> Result<bool, OptionsError> {
        match self.text(option)?.as_deref() {
            Some("1" | "true") => Ok(true),
            None | Some("0" | "false") => Ok(false),
            Some(_) => error(format!("{} must be 1, true, 0 or false", full_name(option))),
        }
    }

    fn raw(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

impl Setting {
    pub(super) fn number<N: FromStr>(&self, range: &str) -> Result<N, OptionsError> {
        self.value.parse().or_else(|_| error(format!("{} is a number {range}", self.name)))
    }

    pub(super) fn one_of(&self, values: &[&str]) -> Result<(), OptionsError> {
        if values.contains(&&*self.value) {
            return Ok(());
        }
        error(format!("{} must be {}", self.name, values.join(" or ")))
    }
}

/// `AZURE_TABLE_EMULATOR_MAX_CONNECTIONS` for `max-connections`.
pub(super) fn full_name(option: &str) -> String {
    let option = match option {
        "tableKeepAliveTimeout" => "keep-alive",
        option => option,
    };
    format!("AZURE_TABLE_EMULATOR_{}", option.replace('-', "_").to_ascii_uppercase())
}

/// Reads a file that an option names. Editors on Windows may begin it with a byte order mark.
pub(crate) fn read(file: &Path) -> Result<String, OptionsError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(cause) => error(format!("{} cannot be read: {cause}", file.display())),
    }
}

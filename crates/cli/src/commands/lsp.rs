//! `whimbrel lsp`: the language server, on standard input and output.

use std::cell::OnceCell;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustc_hash::FxHashMap;
use whimbrel_editor::server::{EditorHost, LanguageServer};
use whimbrel_editor::society::SocietyText;

use crate::arguments::LspArguments;
use crate::cached_folder::{CachedFile, cached_folder};
use crate::framed_messages as framed;
use crate::project_files::read_society;
use whimbrel_terminal::screen::print_bytes;

/// Files of this machine.
#[derive(Default)]
struct Disk {
    /// Folder with copies of the library's files, once it was looked for.
    library: OnceCell<Option<PathBuf>>,
}

impl EditorHost for Disk {
    fn society(&mut self, file: &Path, open: &FxHashMap<PathBuf, String>) -> Option<SocietyText> {
        read_society(file, open).ok()
    }

    fn library_folder(&self) -> Option<&Path> {
        // Read-only: nobody should think that a change of a copy changes the library.
        self.library.get_or_init(|| cached_folder("library", &library_files(), true).ok()).as_deref()
    }
}

fn library_files() -> Vec<CachedFile> {
    whimbrel_bdi::library_texts().map(|(name, text)| (name.to_owned(), text)).collect()
}

/// Serves one editor until it ends the server.
pub fn lsp(_arguments: &LspArguments) -> anyhow::Result<ExitCode> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut server = LanguageServer::new(Disk::default(), whimbrel::VERSION);
    while let Some(message) = framed::read(&mut input)? {
        for answer in server.handle(&message) {
            print_bytes(&framed::bytes(&answer))?;
        }
        if let Some(is_in_order) = server.ended() {
            return Ok(if is_in_order { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::FAILURE)
}

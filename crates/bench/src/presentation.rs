//! The ways in which a comparison is shown: as a table, as JSON, as a picture.

use std::fs;
use std::path::Path;

use crate::comparison::Comparison;
use crate::error::CompareError;
use crate::{plot, table};

impl Comparison {
    /// The table and its notes, as wide as the terminal on standard output, or 140 columns where there is none.
    pub fn table(&self) -> String {
        let terminal = console::Term::stdout();
        let columns = terminal.size_checked().map_or(140, |(_, columns)| usize::from(columns));
        self.table_within(columns)
    }

    /// The table and its notes; where `columns` are too few for one table, in two.
    pub fn table_within(&self, columns: usize) -> String {
        table::render(self, columns)
    }

    /// Every run and the summary, as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Writes [`Comparison::to_json`] to a file.
    pub fn write_json(&self, path: &Path) -> Result<(), CompareError> {
        let text = self.to_json().map_err(|error| CompareError::io("write", path)(error.into()))?;
        fs::write(path, text).map_err(CompareError::io("write", path))
    }

    /// A picture of the whole, as SVG.
    pub fn to_svg(&self) -> String {
        plot::render(self)
    }

    /// Writes [`Comparison::to_svg`] to a file.
    pub fn write_plot(&self, path: &Path) -> Result<(), CompareError> {
        fs::write(path, self.to_svg()).map_err(CompareError::io("write", path))
    }
}

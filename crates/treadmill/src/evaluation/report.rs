//! What an evaluation found: tables with the published figure beside the measured one, plots, and whether the claims
//! hold.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// One figure of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// What the paper prints, where it does.
    pub published: Option<f64>,
    /// What was measured here; `None` where the program did not survive, or was not run.
    pub measured: Option<f64>,
}

/// A table: one row for each program.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Short name, also of its file: `table-2`.
    pub name: String,
    /// What it shows, with the unit.
    pub title: String,
    /// The columns behind the programs' names.
    pub columns: Vec<String>,
    /// Programs and figures.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A plot as SVG text.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Short name, also of its file: `figure-5-TRANS`.
    pub name: String,
    /// The SVG document.
    pub svg: String,
}

/// A statement, and whether it holds on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The statement.
    pub statement: String,
    /// What was measured.
    pub measured: String,
    /// Whether it holds.
    pub holds: bool,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The tables, and the figures' data as tables.
    pub tables: Vec<Table>,
    /// The figures.
    pub plots: Vec<Plot>,
    /// The claims.
    pub claims: Vec<Claim>,
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 1.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

impl Report {
    /// The tables and claims as text: `published / measured` in each cell.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            let _ = writeln!(text, "{}: {}", table.name, table.title);
            let _ = write!(text, "{:24}", "");
            table.columns.iter().for_each(|column| {
                let _ = write!(text, "{column:>18}");
            });
            text.push('\n');
            for (name, cells) in &table.rows {
                let _ = write!(text, "{name:24}");
                for cell in cells {
                    let both = match cell.published {
                        Some(_) => format!("{} / {}", number(cell.published), number(cell.measured)),
                        None => number(cell.measured),
                    };
                    let _ = write!(text, "{both:>18}");
                }
                text.push('\n');
            }
            text.push('\n');
        }
        for claim in &self.claims {
            let verdict = if claim.holds { "holds" } else { "FAILS" };
            let _ = writeln!(text, "{verdict}  {}: {}", claim.statement, claim.measured);
        }
        text
    }

    /// Every figure as lines `table,program,column,published,measured`.
    pub fn csv(&self) -> String {
        let mut text = String::from("table,program,column,published,measured\n");
        let full = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for table in &self.tables {
            for (name, cells) in &table.rows {
                for (column, cell) in table.columns.iter().zip(cells) {
                    let (published, measured) = (full(cell.published), full(cell.measured));
                    let _ = writeln!(text, "{},{name},{column},{published},{measured}", table.name);
                }
            }
        }
        text
    }

    /// Writes `report.txt`, `report.csv` and each plot into a folder, which is made if it is missing.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("report.txt"), self.text())?;
        std::fs::write(folder.join("report.csv"), self.csv())?;
        for plot in &self.plots {
            std::fs::write(folder.join(format!("{}.svg", plot.name)), &plot.svg)?;
        }
        Ok(())
    }
}

//! Files of one kind of rows, none longer than a bound.

use super::STEP_ROWS;
use crate::export::failed;
use crate::relation_arrow::{arrow_schema, record_batch};
use crate::result_arrow::parquet_properties;
use crate::spark_export::statistics::{Part, PartFile, arrow_type_name};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use model::Frame;
use parquet::arrow::ArrowWriter;
use session::ColumnOf;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Result;

/// Rows of a row group, the smallest part that a task of Spark reads.
const GROUP_ROWS: usize = 8 * STEP_ROWS;

/// Bytes in memory at which a row group ends before it has [`GROUP_ROWS`].
const GROUP_BYTES: usize = 64 << 20;

/// Bytes at which a file ends before it has its number of rows.
const FILE_BYTES: usize = 1 << 30;

/// The files of vertices or of edges, while they are written.
pub(super) struct Parts<'f> {
    folder: &'f Path,
    kind: &'static str,
    columns: &'f [ColumnOf],
    schema: SchemaRef,
    rows_max: u64,
    open: Option<OpenFile>,
    files: Vec<PartFile>,
}

struct OpenFile {
    path: PathBuf,
    writer: ArrowWriter<BufWriter<File>>,
    rows: u64,
}

impl<'f> Parts<'f> {
    /// Creates the folder of the files.
    pub(super) fn create(
        folder: &'f Path,
        kind: &'static str,
        columns: &'f [ColumnOf],
        rows_max: u64,
    ) -> Result<Self> {
        let path = folder.join(kind);
        std::fs::create_dir(&path).map_err(failed(&path))?;
        // No column is of any type, so the schema depends on no values.
        let schema = Arc::new(arrow_schema(columns).unwrap_or_else(Schema::empty));
        Ok(Self { folder, kind, columns, schema, rows_max, open: None, files: Vec::new() })
    }

    /// Appends rows, to as many files as they need. `tell` gets the rows that were written.
    pub(super) fn write(&mut self, rows: Frame, tell: &dyn Fn(usize) -> Result<()>) -> Result<()> {
        let batch = record_batch(self.columns, rows)?;
        let mut from = 0;
        while from < batch.num_rows() {
            let mut file = match self.open.take() {
                Some(file) => file,
                None => self.begin()?,
            };
            let free = usize::try_from(self.rows_max - file.rows).unwrap_or(usize::MAX);
            let rows = free.min(batch.num_rows() - from);
            file.append(&batch.slice(from, rows))?;
            from += rows;
            tell(rows)?;
            match file.rows == self.rows_max || file.writer.bytes_written() >= FILE_BYTES {
                true => self.end(file)?,
                false => self.open = Some(file),
            }
        }
        Ok(())
    }

    /// Ends the last file. There is at least one, so that readers find the columns.
    pub(super) fn finish(mut self) -> Result<Part> {
        match self.open.take() {
            Some(file) => self.end(file)?,
            None if self.files.is_empty() => {
                let file = self.begin()?;
                self.end(file)?;
            }
            None => {}
        }
        let fields = self.schema.fields().iter();
        let columns = fields.map(|f| (f.name().clone(), arrow_type_name(f.data_type()))).collect();
        Ok(Part { rows: self.files.iter().map(|file| file.rows).sum(), columns, files: self.files })
    }

    fn begin(&self) -> Result<OpenFile> {
        let name = format!("{}/part-{:05}.parquet", self.kind, self.files.len());
        let path = self.folder.join(name);
        let file = File::create_new(&path).map_err(failed(&path))?;
        let out = BufWriter::with_capacity(1 << 20, file);
        let properties = parquet_properties();
        let writer = ArrowWriter::try_new(out, Arc::clone(&self.schema), Some(properties));
        Ok(OpenFile { writer: writer.map_err(failed(&path))?, path, rows: 0 })
    }

    fn end(&mut self, file: OpenFile) -> Result<()> {
        let OpenFile { path, writer, rows } = file;
        let out = writer.into_inner().map_err(failed(&path))?;
        let file = out.into_inner().map_err(|error| failed(&path)(error.into_error()))?;
        file.sync_all().map_err(failed(&path))?;
        let bytes = file.metadata().map_err(failed(&path))?.len();
        let name = format!("{}/part-{:05}.parquet", self.kind, self.files.len());
        self.files.push(PartFile { name, rows, bytes });
        Ok(())
    }
}

impl OpenFile {
    fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        let wrong = failed(&self.path);
        self.writer.write(rows).map_err(&wrong)?;
        self.rows += rows.num_rows() as u64;
        if self.writer.in_progress_rows() >= GROUP_ROWS || self.writer.memory_size() >= GROUP_BYTES
        {
            self.writer.flush().map_err(&wrong)?;
        }
        Ok(())
    }
}

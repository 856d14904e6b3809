//! One atomic change of the database's files, and its bytes.
//!
//! # Why written by hand
//! The grammar is one page, `docs/formats/manifest.md`, and a frozen sample pins it. A derived
//! encoding would change whenever the struct is refactored.
//!
//! # Invariants
//! 1. Sections come in ascending order of their tags, each at most once; an absent section says
//!    nothing. So an edit has exactly one encoding.
//! 2. Unknown sections are refused: an older program never skips one of a newer program.

use crate::table::{SharedPlace, TableMeta, TableSummary};
use crate::version::{AddedTable, LEVEL_MAX, TreeEdit};
use base::{
    ColumnShape, Key, KeyShape, KeyspaceId, Merge, SeqNo, Shape, TableId, VALUES_MAX, WORDS_MAX,
    varint,
};

/// First byte of every edit.
const EDIT_VERSION: u8 = 1;
/// Value columns of a shape whose number is one byte.
const NARROW_VALUES_MAX: usize = 64;
/// Marks a wide shape: it is stored in place of the byte, followed by the number as a varint. A
/// program that knows only narrow shapes reads it as 255 columns and refuses them.
const WIDE: u8 = 255;

const KEYSPACES_ADDED: u8 = 1;
const TREES: u8 = 2;
const KEYSPACES_DROPPED: u8 = 3;
const WAL_FIRST_LIVE: u8 = 4;
const LAST_SEQ: u8 = 5;
const NEXT_TABLE_ID: u8 = 6;
const NEXT_KEYSPACE_ID: u8 = 7;
const FOLDERS: u8 = 8;
const IDENTITY: u8 = 9;
const KEYSPACES_CHANGED: u8 = 10;
const SYNCED_BYTES: u8 = 11;
const SHARED_FILES: u8 = 12;

/// One atomic change: all of it is in the database after a crash, or none.
///
/// Within an edit, keyspaces are added first, then trees change, then keyspaces are dropped, then
/// others are renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// New keyspaces.
    pub keyspaces_added: Vec<AddedKeyspace>,
    /// Keyspaces that are gone, with all their tables.
    pub keyspaces_dropped: Vec<KeyspaceId>,
    /// Keyspaces that get another name or definition. They may take the name of a keyspace that is
    /// dropped in the same edit.
    pub keyspaces_changed: Vec<ChangedKeyspace>,
    /// Tables that join and leave, a keyspace at most once.
    pub trees: Vec<(KeyspaceId, TreeEdit)>,
    /// The WAL segment from which recovery replays.
    pub wal_first_live: Option<u64>,
    /// No write in tables or in WAL segments before the first live one is newer than this.
    pub last_seq: Option<SeqNo>,
    /// First table id never given out.
    pub next_table_id: Option<TableId>,
    /// First keyspace id never given out.
    pub next_keyspace_id: Option<u32>,
    /// Folders that hold tables, relative to the database's folder or absolute.
    pub folders: Option<Vec<String>>,
    /// A number of this database alone, and of its backups and restored copies; never 0.
    pub identity: Option<u128>,
    /// How many bytes of the manifest were synced when the edit was written, if that is not all
    /// bytes before it. [`super::Manifest`] sets it; the author of an edit leaves it out.
    pub synced_bytes: Option<u64>,
}

/// A new keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedKeyspace {
    /// Its id, never used before.
    pub id: KeyspaceId,
    /// Its name, unique among living keyspaces.
    pub name: String,
    /// Its shape; never changes.
    pub shape: Shape,
    /// The definition that the layers above store; opaque bytes here.
    pub definition: Vec<u8>,
}

/// A new name and definition of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedKeyspace {
    /// Its id.
    pub id: KeyspaceId,
    /// Its name, unique among living keyspaces after the edit.
    pub name: String,
    /// Bytes here.
    pub definition: Vec<u8>,
}

impl VersionEdit {
    /// An edit of one tree.
    #[must_use]
    pub fn of_tree(keyspace: KeyspaceId, edit: TreeEdit) -> Self {
        Self { trees: vec![(keyspace, edit)], ..Self::default() }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![EDIT_VERSION];
        put_section(&mut out, KEYSPACES_ADDED, &self.keyspaces_added, |out, added| {
            let AddedKeyspace { id, name, shape, definition } = added;
            varint::put(out, u64::from(id.0));
            varint::put_bytes(out, name.as_bytes());
            put_shape(out, shape);
            varint::put_bytes(out, definition);
        });
        put_section(&mut out, TREES, &self.trees, |out, (id, edit)| {
            varint::put(out, u64::from(id.0));
            varint::put(out, edit.removed.len() as u64);
            edit.removed.iter().for_each(|id| varint::put(out, id.0));
            varint::put(out, edit.added.len() as u64);
            edit.added.iter().for_each(|table| put_table(out, table));
        });
        put_section(&mut out, KEYSPACES_DROPPED, &self.keyspaces_dropped, |out, id| {
            varint::put(out, u64::from(id.0));
        });
        let numbers = [
            (WAL_FIRST_LIVE, self.wal_first_live),
            (LAST_SEQ, self.last_seq.map(|seq| seq.0)),
            (NEXT_TABLE_ID, self.next_table_id.map(|id| id.0)),
            (NEXT_KEYSPACE_ID, self.next_keyspace_id.map(u64::from)),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                out.push(tag);
                varint::put(&mut out, number);
            }
        }
        if let Some(folders) = &self.folders {
            out.push(FOLDERS);
            varint::put(&mut out, folders.len() as u64);
            folders.iter().for_each(|folder| varint::put_bytes(&mut out, folder.as_bytes()));
        }
        if let Some(identity) = self.identity {
            out.push(IDENTITY);
            out.extend_from_slice(&identity.to_le_bytes());
        }
        put_section(&mut out, KEYSPACES_CHANGED, &self.keyspaces_changed, |out, changed| {
            let ChangedKeyspace { id, name, definition } = changed;
            varint::put(out, u64::from(id.0));
            varint::put_bytes(out, name.as_bytes());
            varint::put_bytes(out, definition);
        });
        if let Some(bytes) = self.synced_bytes {
            out.push(SYNCED_BYTES);
            varint::put(&mut out, bytes);
        }
        self.put_shared(&mut out);
        out
    }

    /// The places of joining tables that share files, in the order of the tables.
    fn put_shared(&self, out: &mut Vec<u8>) {
        let added = self.trees.iter().flat_map(|(_, tree)| &tree.added);
        let places: Vec<_> =
            added.filter_map(|table| Some((table.meta.id, table.meta.shared?))).collect();
        put_section(out, SHARED_FILES, &places, |out, (id, SharedPlace { file, offset })| {
            [id.0, file.0, *offset].iter().for_each(|&number| varint::put(out, number));
        });
    }

    /// Reads the bytes of [`VersionEdit::encode`].
    ///
    /// # Errors
    /// The expected contents, in words, where the bytes are not an edit of this format version.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut input = Input(bytes);
        let version = input.byte("the edit's version")?;
        if version != EDIT_VERSION {
            return Err(format!("edit of version {version}, this program knows {EDIT_VERSION}"));
        }
        let mut edit = Self::default();
        let mut tag_before = 0;
        while !input.0.is_empty() {
            let tag = input.byte("a section's tag")?;
            if tag <= tag_before {
                return Err(format!("section {tag} after section {tag_before}"));
            }
            tag_before = tag;
            edit.decode_section(tag, &mut input)?;
        }
        Ok(edit)
    }

    fn decode_section(&mut self, tag: u8, input: &mut Input<'_>) -> Result<(), String> {
        match tag {
            KEYSPACES_ADDED => {
                self.keyspaces_added = input.list("keyspaces", |input| {
                    Ok(AddedKeyspace {
                        id: input.keyspace()?,
                        name: input.text("a keyspace's name")?,
                        shape: take_shape(input)?,
                        definition: input.bytes("a keyspace's definition")?.to_vec(),
                    })
                })?;
            }
            TREES => {
                self.trees = input.list("trees", |input| {
                    let id = input.keyspace()?;
                    let removed =
                        input.list("tables that leave", |i| i.number("a table").map(TableId))?;
                    let added = input.list("tables that join", take_table)?;
                    Ok((id, TreeEdit { added, removed }))
                })?;
            }
            KEYSPACES_DROPPED => {
                self.keyspaces_dropped = input.list("dropped keyspaces", Input::keyspace)?;
            }
            WAL_FIRST_LIVE => self.wal_first_live = Some(input.number("a WAL segment")?),
            LAST_SEQ => self.last_seq = Some(SeqNo(input.number("a sequence number")?)),
            NEXT_TABLE_ID => self.next_table_id = Some(TableId(input.number("a table")?)),
            NEXT_KEYSPACE_ID => self.next_keyspace_id = Some(input.keyspace()?.0),
            FOLDERS => self.folders = Some(input.list("folders", |i| i.text("a folder"))?),
            IDENTITY => self.identity = Some(input.identity()?),
            KEYSPACES_CHANGED => {
                self.keyspaces_changed = input.list("changed keyspaces", |input| {
                    Ok(ChangedKeyspace {
                        id: input.keyspace()?,
                        name: input.text("a keyspace's name")?,
                        definition: input.bytes("a keyspace's definition")?.to_vec(),
                    })
                })?;
            }
            SYNCED_BYTES => self.synced_bytes = Some(input.number("bytes of the manifest")?),
            SHARED_FILES => self.take_shared(input)?,
            unknown => return Err(format!("unknown section {unknown}")),
        }
        Ok(())
    }
}

impl VersionEdit {
    fn take_shared(&mut self, input: &mut Input<'_>) -> Result<(), String> {
        let places = input.list("tables that share files", |input| {
            let id = TableId(input.number("a table")?);
            let file = TableId(input.number("a shared file")?);
            Ok((id, SharedPlace { file, offset: input.number("a table's offset")? }))
        })?;
        if places.is_empty() {
            return Err("a list of no tables that share files".to_owned());
        }
        // In the order of the tables, so that an edit has one encoding.
        let mut added = self.trees.iter_mut().flat_map(|(_, tree)| &mut tree.added);
        for (id, place) in places {
            let table = added.find(|table| table.meta.id == id);
            let table = table.ok_or_else(|| format!("table {id} shares a file and joins not"))?;
            table.meta.shared = Some(place);
        }
        Ok(())
    }
}

fn put_shape(out: &mut Vec<u8>, shape: &Shape) {
    out.push(match shape.key {
        KeyShape::Bytes => 0,
        KeyShape::Words(words) => words,
    });
    match shape.values.len() {
        count if count <= NARROW_VALUES_MAX => out.push(count as u8),
        count => {
            out.push(WIDE);
            varint::put(out, count as u64);
        }
    }
    out.extend(shape.values.iter().map(|column| match column {
        ColumnShape::Bytes => 0,
        ColumnShape::Word { merge: None } => 1,
        ColumnShape::Word { merge: Some(Merge::AddInt) } => 2,
        ColumnShape::Word { merge: Some(Merge::AddFloat) } => 3,
        ColumnShape::Word { merge: Some(Merge::Min) } => 4,
        ColumnShape::Word { merge: Some(Merge::Max) } => 5,
    }));
}

fn take_shape(input: &mut Input<'_>) -> Result<Shape, String> {
    let key = match input.byte("a key's shape")? {
        0 => KeyShape::Bytes,
        words if words as usize <= WORDS_MAX => KeyShape::Words(words),
        words => return Err(format!("a key of {words} words, at most {WORDS_MAX} are possible")),
    };
    let what = "the number of value columns";
    let (count, possible) = match input.byte(what)? {
        WIDE => (input.number(what)?, NARROW_VALUES_MAX + 1..=VALUES_MAX),
        count => (u64::from(count), 0..=NARROW_VALUES_MAX),
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > VALUES_MAX {
        return Err(format!("{count} value columns, at most {VALUES_MAX} are possible"));
    }
    if !possible.contains(&count) {
        return Err(format!("{count} value columns, written as another number of them is"));
    }
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(match input.byte("a value column's shape")? {
            0 => ColumnShape::Bytes,
            1 => ColumnShape::Word { merge: None },
            2 => ColumnShape::Word { merge: Some(Merge::AddInt) },
            3 => ColumnShape::Word { merge: Some(Merge::AddFloat) },
            4 => ColumnShape::Word { merge: Some(Merge::Min) },
            5 => ColumnShape::Word { merge: Some(Merge::Max) },
            unknown => return Err(format!("unknown shape {unknown} of a value column")),
        });
    }
    Ok(Shape { key, values })
}

/// Appends a tag, a count and the items; nothing if there are none.
fn put_section<T>(out: &mut Vec<u8>, tag: u8, items: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    if items.is_empty() {
        return;
    }
    out.push(tag);
    varint::put(out, items.len() as u64);
    items.iter().for_each(|item| put(out, item));
}

fn put_table(out: &mut Vec<u8>, table: &AddedTable) {
    let TableMeta { id, folder, global_seq, summary, shared: _ } = &table.meta;
    out.push(table.level);
    let numbers = [
        table.run,
        id.0,
        u64::from(*folder),
        global_seq.0,
        summary.bytes,
        summary.rows,
        summary.deletes,
        summary.merges,
        summary.repeats,
        summary.first_words,
        summary.seq_min.0,
        summary.seq_max.0,
        summary.range_tombstones,
    ];
    numbers.iter().for_each(|&number| varint::put(out, number));
    out.extend_from_slice(&summary.fingerprint.to_le_bytes());
    put_key(out, &summary.first_key);
    put_key(out, &summary.last_key);
}

fn take_table(input: &mut Input<'_>) -> Result<AddedTable, String> {
    let level = input.byte("a level")?;
    if level as usize > LEVEL_MAX {
        return Err(format!("level {level}, the deepest is {LEVEL_MAX}"));
    }
    let run = input.number("a run")?;
    let id = TableId(input.number("a table")?);
    let folder = input.number("a table's folder")?;
    let folder = u16::try_from(folder).map_err(|_| format!("folder {folder} of a table"))?;
    let global_seq = SeqNo(input.number("a table's sequence number")?);
    let summary = TableSummary {
        bytes: input.number("a table's bytes")?,
        rows: input.number("a table's rows")?,
        deletes: input.number("a table's deletes")?,
        merges: input.number("a table's merges")?,
        repeats: input.number("a table's repeats")?,
        first_words: input.number("a table's first words")?,
        seq_min: SeqNo(input.number("a table's smallest sequence number")?),
        seq_max: SeqNo(input.number("a table's largest sequence number")?),
        range_tombstones: input.number("a table's range tombstones")?,
        fingerprint: input.fingerprint()?,
        first_key: take_key(input)?,
        last_key: take_key(input)?,
    };
    let meta = TableMeta { id, folder, global_seq, shared: None, summary: summary.into() };
    Ok(AddedTable { level, run, meta })
}

/// 0 and the bytes, or 1 + the number of words and the words.
fn put_key(out: &mut Vec<u8>, key: &Key) {
    match key {
        Key::Bytes(bytes) => {
            out.push(0);
            varint::put_bytes(out, bytes);
        }
        Key::Words { words, len } => {
            out.push(1 + len);
            words[..*len as usize].iter().for_each(|&word| varint::put(out, word));
        }
    }
}

fn take_key(input: &mut Input<'_>) -> Result<Key, String> {
    match input.byte("a key")? {
        0 => Ok(Key::Bytes(input.bytes("a key")?.to_vec())),
        tag if tag as usize <= 1 + WORDS_MAX => {
            let mut words = [0; WORDS_MAX];
            let len = tag - 1;
            for word in &mut words[..len as usize] {
                *word = input.number("a key's word")?;
            }
            Ok(Key::Words { words, len })
        }
        tag => Err(format!("a key of {} words, at most {WORDS_MAX} are possible", tag - 1)),
    }
}

/// The bytes not read yet.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self, what: &str) -> Result<u8, String> {
        let (&first, rest) = self.0.split_first().ok_or_else(|| format!("ends before {what}"))?;
        self.0 = rest;
        Ok(first)
    }

    fn number(&mut self, what: &str) -> Result<u64, String> {
        varint::take(&mut self.0).ok_or_else(|| format!("no number where {what} should be"))
    }

    fn bytes(&mut self, what: &str) -> Result<&'a [u8], String> {
        varint::take_bytes(&mut self.0).ok_or_else(|| format!("ends within {what}"))
    }

    fn text(&mut self, what: &str) -> Result<String, String> {
        let bytes = self.bytes(what)?.to_vec();
        String::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"))
    }

    fn keyspace(&mut self) -> Result<KeyspaceId, String> {
        let id = self.number("a keyspace")?;
        u32::try_from(id).map(KeyspaceId).map_err(|_| format!("keyspace {id} is past 32 bits"))
    }

    fn identity(&mut self) -> Result<u128, String> {
        let (head, rest) =
            self.0.split_first_chunk().ok_or_else(|| "ends within an identity".to_owned())?;
        self.0 = rest;
        Ok(u128::from_le_bytes(*head))
    }

    fn fingerprint(&mut self) -> Result<u64, String> {
        let (head, rest) =
            self.0.split_first_chunk().ok_or_else(|| "ends within a fingerprint".to_owned())?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*head))
    }

    fn list<T>(
        &mut self,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count = self.number(what)?;
        // An item takes a byte at least, so a wild count is refused before memory is reserved.
        if count > self.0.len() as u64 {
            return Err(format!("{count} {what} in {} bytes", self.0.len()));
        }
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn table(id: u64, level: u8, run: u64, first: &[u64], last: &[u64]) -> AddedTable {
        let summary = TableSummary {
            bytes: 1000 + id,
            rows: 10,
            deletes: 1,
            merges: 2,
            repeats: 3,
            first_words: 4,
            first_key: Key::words(first),
            last_key: Key::words(last),
            seq_min: SeqNo(5),
            seq_max: SeqNo(900),
            range_tombstones: 1,
            fingerprint: 0x0123_4567_89ab_cdef ^ id,
        };
        AddedTable {
            level,
            run,
            meta: TableMeta {
                id: TableId(id),
                folder: 0,
                global_seq: SeqNo::ZERO,
                shared: None,
                summary: summary.into(),
            },
        }
    }

    fn key() -> impl Strategy<Value = Key> {
        prop_oneof![
            prop::collection::vec(any::<u64>(), 0..=WORDS_MAX).prop_map(|words| Key::words(&words)),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(Key::Bytes),
        ]
    }

    fn shape() -> impl Strategy<Value = Shape> {
        let column = prop_oneof![
            Just(ColumnShape::Bytes),
            prop::sample::select(vec![
                None,
                Some(Merge::AddInt),
                Some(Merge::AddFloat),
                Some(Merge::Min),
                Some(Merge::Max),
            ])
            .prop_map(|merge| ColumnShape::Word { merge }),
        ];
        let values = prop_oneof![
            9 => prop::collection::vec(column.clone(), 0..5),
            1 => prop::collection::vec(column, 60..300),
        ];
        (0..=WORDS_MAX as u8, values).prop_map(|(words, values)| {
            let key = if words == 0 { KeyShape::Bytes } else { KeyShape::Words(words) };
            Shape { key, values }
        })
    }

    prop_compose! {
        fn added()(
            level in 0..=LEVEL_MAX as u8,
            folder in any::<u16>(),
            n in prop::array::uniform14(any::<u64>()),
            first_key in key(),
            last_key in key(),
            shared in prop::option::of((any::<u64>(), any::<u64>())),
        ) -> AddedTable {
            let shared =
                shared.map(|(file, offset)| SharedPlace { file: TableId(file), offset });
            let summary = TableSummary {
                bytes: n[0], rows: n[1], deletes: n[2], merges: n[3], repeats: n[4],
                first_words: n[5], first_key, last_key, seq_min: SeqNo(n[6]), seq_max: SeqNo(n[7]),
                range_tombstones: n[8], fingerprint: n[9],
            };
            let (id, summary) = (TableId(n[10]), summary.into());
            let meta = TableMeta { id, folder, global_seq: SeqNo(n[11]), shared, summary };
            AddedTable { level, run: n[12], meta }
        }
    }

    prop_compose! {
        fn edit()(
            keyspaces_added in prop::collection::vec(
                (any::<u32>().prop_map(KeyspaceId), "\\PC{0,8}", shape(), any::<[u8; 3]>())
                    .prop_map(|(id, name, shape, definition)| AddedKeyspace {
                        id,
                        name,
                        shape,
                        definition: definition.to_vec(),
                    }),
                0..3,
            ),
            keyspaces_dropped in
                prop::collection::vec(any::<u32>().prop_map(KeyspaceId), 0..3),
            trees in prop::collection::vec(
                (
                    any::<u32>().prop_map(KeyspaceId),
                    (
                        prop::collection::vec(added(), 0..3),
                        prop::collection::vec(any::<u64>().prop_map(TableId), 0..3),
                    ).prop_map(|(added, removed)| TreeEdit { added, removed }),
                ),
                0..3,
            ),
            wal_first_live in any::<Option<u64>>(),
            last_seq in any::<Option<u64>>().prop_map(|seq| seq.map(SeqNo)),
            next_table_id in any::<Option<u64>>().prop_map(|id| id.map(TableId)),
            next_keyspace_id in any::<Option<u32>>(),
            folders in prop::option::of(prop::collection::vec("\\PC{0,8}", 0..3)),
            identity in any::<Option<u128>>(),
            keyspaces_changed in prop::collection::vec(
                (any::<u32>().prop_map(KeyspaceId), "\\PC{0,8}", any::<[u8; 3]>()).prop_map(
                    |(id, name, definition)| ChangedKeyspace {
                        id,
                        name,
                        definition: definition.to_vec(),
                    },
                ),
                0..3,
            ),
            synced_bytes in any::<Option<u64>>(),
        ) -> VersionEdit {
            VersionEdit {
                keyspaces_added, keyspaces_dropped, keyspaces_changed, trees, wal_first_live, last_seq,
                next_table_id, next_keyspace_id, folders, identity, synced_bytes,
            }
        }
    }

    proptest! {
        #[test]
        fn an_edit_comes_back_as_it_was(edit in edit()) {
            prop_assert_eq!(VersionEdit::decode(&edit.encode()), Ok(edit));
        }

        #[test]
        fn a_cut_edit_never_panics_and_never_reads_as_the_whole(edit in edit(), at in any::<prop::sample::Index>()) {
            let bytes = edit.encode();
            let cut = at.index(bytes.len());
            prop_assert_ne!(VersionEdit::decode(&bytes[..cut]), Ok(edit));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut versioned = vec![EDIT_VERSION];
            versioned.extend(bytes);
            if let Ok(edit) = VersionEdit::decode(&versioned) {
                prop_assert_eq!(VersionEdit::decode(&edit.encode()), Ok(edit));
            }
        }
    }

    /// The bytes of a program that knew one byte of columns, and how it reads a wider shape.
    #[test]
    fn up_to_64_value_columns_are_counted_in_one_byte_and_more_behind_255() {
        let count_of = |values: usize| {
            let mut out = Vec::new();
            let values = vec![ColumnShape::Bytes; values];
            put_shape(&mut out, &Shape { key: KeyShape::Bytes, values });
            out[1..].iter().copied().take_while(|&byte| byte != 0).collect::<Vec<_>>()
        };
        assert_eq!(count_of(64), [64]);
        assert_eq!(count_of(65), [255, 65]);
        assert_eq!(count_of(VALUES_MAX), [255, 0x80, 0x20]);
        let mut many = vec![0, 255];
        varint::put(&mut many, VALUES_MAX as u64 + 1);
        many.extend(vec![0; VALUES_MAX + 1]);
        let refused = take_shape(&mut Input(&many)).unwrap_err();
        assert_eq!(refused, "4097 value columns, at most 4096 are possible");
    }

    /// One encoding for one shape.
    #[test]
    fn a_narrow_shape_is_not_read_behind_255() {
        for bytes in [&[0, 255, 1, 0][..], &[0, 65, 0]] {
            assert!(take_shape(&mut Input(bytes)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn unknown_or_disordered_sections_are_refused() {
        for bytes in [&[1_u8, 99][..], &[1, 5, 1, 4, 1], &[1, 4, 1, 4, 1], &[2], &[]] {
            assert!(VersionEdit::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}

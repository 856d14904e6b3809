//! The selected rows of a batch: those that conditions before have kept.

/// Rows of a batch, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection<'s> {
    /// This number of rows, from the first.
    All(usize),
    /// These rows.
    Some(&'s [u32]),
}

impl Selection<'_> {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(rows) => rows.len(),
        }
    }

    /// The row at a position.
    #[inline]
    pub(crate) fn row(&self, position: usize) -> u32 {
        match self {
            Self::All(_) => position as u32,
            Self::Some(rows) => rows[position],
        }
    }

    /// The rows at which `is_kept` holds; it has one value for each row.
    pub(crate) fn narrowed(&self, is_kept: &[bool]) -> Vec<u32> {
        let mut kept = vec![0; is_kept.len()];
        let mut count = 0;
        // Without a branch per row, which would often be mispredicted.
        match self {
            Self::All(_) => {
                for (row, &is_kept) in is_kept.iter().enumerate() {
                    kept[count] = row as u32;
                    count += usize::from(is_kept);
                }
            }
            Self::Some(rows) => {
                for (&row, &is_kept) in rows.iter().zip(is_kept) {
                    kept[count] = row;
                    count += usize::from(is_kept);
                }
            }
        }
        kept.truncate(count);
        kept
    }

    /// All rows.
    pub(crate) fn to_vec(self) -> Vec<u32> {
        match self {
            Self::All(rows) => (0..rows as u32).collect(),
            Self::Some(rows) => rows.to_vec(),
        }
    }

    /// The rows without `others`, which are some of them.
    pub(crate) fn without(&self, others: &[u32]) -> Vec<u32> {
        let mut others = others.iter().peekable();
        let mut rest = Vec::with_capacity(self.len() - others.len());
        for position in 0..self.len() {
            let row = self.row(position);
            if others.next_if_eq(&&row).is_none() {
                rest.push(row);
            }
        }
        rest
    }

    /// For each row, whether it is one of `others`, which are some of them.
    pub(crate) fn contains(&self, others: &[u32]) -> Vec<bool> {
        let mut found = vec![false; self.len()];
        self.positions(others).for_each(|position| found[position] = true);
        found
    }

    /// The positions of `others`, which are some of the rows.
    pub(crate) fn positions<'o>(&'o self, others: &'o [u32]) -> impl Iterator<Item = usize> + 'o {
        let mut position = 0;
        others.iter().map(move |&other| match self {
            Self::All(_) => other as usize,
            Self::Some(rows) => {
                while rows[position] != other {
                    position += 1;
                }
                position
            }
        })
    }
}

/// The rows of two ascending lists without common rows, ascending.
pub(crate) fn merged(a: &[u32], b: &[u32]) -> Vec<u32> {
    if a.is_empty() {
        return b.to_vec();
    }
    let mut all = Vec::with_capacity(a.len() + b.len());
    let mut b = b.iter().peekable();
    for row in a {
        while let Some(other) = b.next_if(|other| *other < row) {
            all.push(*other);
        }
        all.push(*row);
    }
    all.extend(b);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with one row after another.
        #[test]
        fn rows_are_narrowed_taken_away_and_merged(
            rows in prop::collection::vec((any::<bool>(), any::<bool>()), 0..200),
        ) {
            let listed = |of: &dyn Fn(&(bool, bool)) -> bool| -> Vec<u32> {
                (0..).zip(&rows).filter(|(_, row)| of(row)).map(|(row, _)| row).collect()
            };
            let all = listed(&|row| row.0);
            let (kept, rest) = (listed(&|row| row.0 && row.1), listed(&|row| row.0 && !row.1));
            let some = Selection::Some(&all);
            let flags = some.contains(&kept);
            prop_assert_eq!(&some.narrowed(&flags), &kept);
            prop_assert_eq!(&some.without(&kept), &rest);
            prop_assert_eq!(&merged(&kept, &rest), &all);
            let whole = Selection::All(rows.len());
            let flags: Vec<bool> = rows.iter().map(|row| row.1).collect();
            prop_assert_eq!(whole.narrowed(&flags), listed(&|row| row.1));
            prop_assert_eq!(whole.contains(&listed(&|row| row.1)), flags);
            prop_assert_eq!(whole.without(&all), listed(&|row| !row.0));
        }
    }
}

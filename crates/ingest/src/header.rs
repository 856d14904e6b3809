//! Tells whether the first record of a text is a header: by known names, and by comparing it with
//! the records that follow.

use crate::{
    known_names, number,
    options::{ColumnRef, TextOptions, VertexType, WeightType},
};

/// Records that must follow before their common form speaks for a header.
const COMPARED_MIN: usize = 3;

/// Letters that two names must share before their ends speak for a header.
const STEM_LETTERS_MIN: usize = 3;

type Fields<'a> = &'a [Vec<u8>];

/// Whether the first of these records is a header.
pub(crate) fn has_header(rows: &[Fields<'_>], options: &TextOptions) -> bool {
    let Some((first, data)) = rows.split_first() else { return false };
    let columns = options.edges.columns.as_ref();
    let by_name = columns.is_some_and(|c| {
        let all = [Some(&c.source), Some(&c.target), c.weight.as_ref()];
        all.into_iter().flatten().any(|column| matches!(column, ColumnRef::Name(_)))
    });
    if by_name {
        return true;
    }
    if let Some(header) = options.header {
        return header;
    }
    let names: Vec<_> = first.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect();
    if known_names::are_of_vertices(&names) {
        return true;
    }
    let is_text = options.edges.vertex == VertexType::Str;
    if known_names::pair(&names).is_some() && !(is_text && is_like_the_rest(first, data)) {
        return true;
    }
    if is_after_index(first, data) {
        return true;
    }
    if !is_text {
        return is_header_of_numbers(first, data);
    }
    if is_numbered_pair(first, data) {
        return true;
    }
    let weight = match columns.map(|c| &c.weight) {
        Some(Some(ColumnRef::Index(index))) => Some(*index),
        Some(_) => None,
        None => Some(2),
    };
    let weight = weight.filter(|_| options.edges.weight != WeightType::None);
    let is_weight = |row: Fields<'_>, i: usize| row.get(i).map(|f| is_number(f));
    weight.is_some_and(|i| {
        is_weight(first, i) == Some(false)
            && data.first().and_then(|row| is_weight(row, i)) == Some(true)
            && !first.get(i).is_some_and(|f| number::is_null(f, &options.null_values))
    }) || (differs(first, data, 0) && differs(first, data, 1) && !repeats(first, data))
}

fn is_number(field: &[u8]) -> bool {
    number::parse_f64(field).is_ok()
}

/// Among integer vertices a header is a record of words. A blank name is that of an index, if
/// numbers follow.
fn is_header_of_numbers(first: Fields<'_>, data: &[Fields<'_>]) -> bool {
    let named = first.iter().filter(|f| !f.trim_ascii().is_empty());
    let words = named.clone().all(|f| !is_number(f));
    let all_named = named.clone().count() == first.len();
    let numbers_follow = data.first().is_some_and(|row| {
        row.len() == first.len() && row.iter().all(|f| is_number(f) || number::is_null(f, &[]))
    });
    words && (all_named || (named.count() >= 2 && numbers_follow))
}

/// Whether a record is the header that pandas writes with its index: a blank name above numbers,
/// and words, or the numbers of columns that have no names.
fn is_after_index(first: Fields<'_>, data: &[Fields<'_>]) -> bool {
    let Some((blank, names)) = first.split_first() else { return false };
    let is_number = |row: &Fields<'_>| {
        row.len() == first.len() && row.first().is_some_and(|f| number::parse_u64(f).is_ok())
    };
    let is_word = |name: &Vec<u8>| !name.trim_ascii().is_empty() && !self::is_number(name);
    let is_count = |(i, name): (usize, &Vec<u8>)| *name == i.to_string().into_bytes();
    blank.trim_ascii().is_empty()
        && names.len() > 1
        && !data.is_empty()
        && data.iter().all(is_number)
        && (names.iter().all(is_word) || names.iter().enumerate().all(is_count))
}

/// Pairs of ends that tell two columns of one name apart.
const NUMBERED: [(u8, u8); 5] =
    [(b'1', b'2'), (b'0', b'1'), (b'a', b'b'), (b'x', b'y'), (b'i', b'j')];

/// Whether the first record has one name with two numbers or letters, such as `gene_a,gene_b`, and
/// no vertex below has this name. Among `node1,node2` and `node2,node3` it is an edge.
fn is_numbered_pair(first: Fields<'_>, data: &[Fields<'_>]) -> bool {
    let [source, target, ..] = first else { return false };
    let (source, target) = (source.trim_ascii(), target.trim_ascii());
    let (Some((&one, stem)), Some((&other, stem_of_target))) =
        (source.split_last(), target.split_last())
    else {
        return false;
    };
    let is_pair = NUMBERED.contains(&(one.to_ascii_lowercase(), other.to_ascii_lowercase()));
    let is_apart = one.is_ascii_digit()
        || stem.last().is_some_and(|b| b"_ -.".contains(b))
        || (one.is_ascii_uppercase() && stem.last().is_some_and(u8::is_ascii_lowercase));
    let letters = stem.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let has_stem = |f: &Vec<u8>| {
        let start = f.trim_ascii_start().get(..stem.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(stem))
    };
    stem == stem_of_target
        && is_pair
        && is_apart
        && letters >= STEM_LETTERS_MIN
        && data.len() >= COMPARED_MIN
        && !data.iter().flat_map(|row| row.iter()).any(has_stem)
}

/// Whether a column's first value is of another form than all that follow.
fn differs(first: Fields<'_>, data: &[Fields<'_>], column: usize) -> bool {
    let Some(first) = first.get(column).map(|f| f.trim_ascii()) else { return false };
    let follow = data.iter().filter_map(|row| row.get(column)).map(|f| f.trim_ascii());
    let all = |is: &dyn Fn(&[u8]) -> bool| !is(first) && follow.clone().all(is);
    let is_word = !first.is_empty() && first.iter().all(|&b| b.is_ascii_alphabetic() || b == b'_');
    if follow.clone().count() >= 1 && is_word && all(&is_number) {
        return true;
    }
    if follow.clone().count() < COMPARED_MIN || first.is_empty() {
        return false;
    }
    let is_capital = |f: &[u8]| f.first().is_some_and(u8::is_ascii_uppercase);
    follow.clone().all(|f| !f.is_empty())
        && (all(&|f| f.iter().any(u8::is_ascii_digit)) && !first.iter().any(u8::is_ascii_digit)
            || all(&|f| f.contains(&b'@'))
            || all(&|f| f.windows(3).any(|three| three == b"://"))
            || (is_word && first.iter().all(|b| !b.is_ascii_uppercase()) && all(&is_capital)))
}

/// Whether the first record is like an edge of vertices that are called as columns may be, such as
/// `node1,node2` before `node2,node3`.
fn is_like_the_rest(first: Fields<'_>, data: &[Fields<'_>]) -> bool {
    let stem = |f: &[u8]| {
        let f = f.trim_ascii();
        f[..f.len() - f.iter().rev().take_while(|b| b.is_ascii_digit()).count()].to_vec()
    };
    let stems: Vec<_> = data.iter().flat_map(|row| row.iter()).map(|f| stem(f)).collect();
    let is_numbered = |f: &Vec<u8>| f.trim_ascii().last().is_some_and(u8::is_ascii_digit);
    first.iter().any(|name| is_numbered(name) && stems.contains(&stem(name)))
}

/// Whether a value of the first record occurs among the vertices that follow.
fn repeats(first: Fields<'_>, data: &[Fields<'_>]) -> bool {
    let vertices = || data.iter().flat_map(|row| row.iter().take(2));
    first.iter().take(2).any(|value| vertices().any(|other| other == value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeOptions;

    #[track_caller]
    fn check(text: &str, vertex: VertexType, want: bool) {
        let rows: Vec<Vec<Vec<u8>>> = text
            .lines()
            .map(|line| line.split(',').map(|f| f.as_bytes().to_vec()).collect())
            .collect();
        let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
        let edges = EdgeOptions { vertex, ..EdgeOptions::default() };
        let options = TextOptions { edges, ..TextOptions::default() };
        assert_eq!(has_header(&rows, &options), want, "{text:?}");
    }

    #[test]
    fn known_names_are_a_header_among_names() {
        for header in ["follower,followee", "node_1,node_2", ":START_ID,:END_ID", "From,To"] {
            check(&format!("{header}\nann,bob\n"), VertexType::Str, true);
            check(&format!("{header}\n1,2\n"), VertexType::U64, true);
        }
    }

    #[test]
    fn a_first_record_of_another_form_is_a_header() {
        check("fan,idol\nu1,u2\nu3,u4\nu5,u6\n", VertexType::Str, true);
        check("fan,idol\nAnn,Bob\nCarl,Dora\nEve,Fay\n", VertexType::Str, true);
        check(
            "writer,reader\na@x.org,b@x.org\nc@x.org,a@x.org\nb@x.org,c@x.org\n",
            VertexType::Str,
            true,
        );
        check(",fan,idol\n0,1,2\n", VertexType::U64, true);
    }

    #[test]
    fn a_blank_name_above_numbers_is_that_of_an_index() {
        for vertex in [VertexType::U64, VertexType::Str] {
            check(",person,friend\n7,ann,bob\n3,bob,carl\n", vertex, true);
            check(",0,1\n0,1,2\n1,2,3\n", vertex, true);
            check(",1,2\nann,1,2\n", vertex, false);
            check(",bob\n,carl\n", VertexType::Str, false);
        }
    }

    #[test]
    fn one_name_with_two_ends_is_a_header_unless_vertices_have_it() {
        for header in ["gene_a,gene_b", "protein1,protein2", "Person A,Person B", "nameX,nameY"] {
            check(&format!("{header}\nann,bob\nbob,carl\ncarl,ann\n"), VertexType::Str, true);
        }
        check("gene1,gene2\ngene2,gene3\ngene3,gene4\ngene4,x\n", VertexType::Str, false);
        check("gene1,gene3\nann,bob\nbob,carl\ncarl,ann\n", VertexType::Str, false);
        check("ab1,ab2\ncd1,cd2\nef1,ef2\ngh1,gh2\n", VertexType::Str, false);
        check("lena,lenb\nann,bob\nbob,carl\ncarl,ann\n", VertexType::Str, false);
    }

    #[test]
    fn an_edge_is_no_header() {
        check("ann,bob\nbob,carl\ncarl,ann\ndora,eve\n", VertexType::Str, false);
        check("ann,bob\nann,Carl\nann,Dora\nann,Eve\n", VertexType::Str, false);
        check("node1,node2\nnode2,node3\n", VertexType::Str, false);
        check("u1,u2\nu3,u4\nu5,u6\nu7,u8\n", VertexType::Str, false);
        check("source,target\nsource1,target2\n", VertexType::Str, true);
        check("1,2\n3,4\n", VertexType::U64, false);
        check("x,1\n2,3\n", VertexType::U64, false);
    }
}

//! In a process of its own, for names are reserved before the first atom is made.

use atoll_term::Term;
use atoll_term::atoms::{
    TRUE, WELL_KNOWN, atom, atom_indices, atom_limit_and_count, atom_name, existing_atom, is_made, reserve_atoms,
};

#[test]
fn names_with_reserved_numbers_are_no_atoms_before_they_are_made() {
    let first = WELL_KNOWN.len() as u32;
    let number = |place: u32| Term::atom(first + place);
    let (_, before) = atom_limit_and_count();
    assert!(reserve_atoms(["one_name", "true", "another_name"].into_iter()));
    assert_eq!(existing_atom("another_name"), None);
    assert!(!is_made(number(2)));
    assert_eq!(atom_limit_and_count().1, before);

    assert_eq!(atom("of_this_run"), Ok(number(3)));
    assert_eq!(atom("another_name"), Ok(number(2)));
    assert_eq!(atom("true"), Ok(TRUE));
    assert_eq!(existing_atom("another_name"), Some(number(2)));
    assert_eq!(atom_name(number(2)), "another_name");
    assert!(is_made(number(2)) && is_made(TRUE) && !is_made(number(0)));
    assert_eq!(atom_limit_and_count().1, before + 2);
    assert_eq!(atom_indices(), first as usize + 4);

    assert!(!reserve_atoms(["too_late"].into_iter()));
    assert_eq!(atom("too_late"), Ok(number(4)));
}

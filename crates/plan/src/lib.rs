//! Rules to checked strata and join orders. Pure: no storage.

//! The Intel 5000/6000 family as a guest sees it.

//! airlane: many virtual machines share one network card.

fn main() {}

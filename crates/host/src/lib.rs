//! The augmented host driver: three answers to a command, routing by VM-ID.

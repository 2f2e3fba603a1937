//! Guest memory as a device sees it: live maps, bounds-checked access, faults.

//! A card of the family as its server sees it: the accesses that go to its [`Device`](airlane_iwl::Device) as they are.

/// Length of BAR 0 (`iwl-fh.h`: the last register lies below 0x2000).
pub const BAR_SIZE: u64 = 0x2000;

/// A PCI Express function has an extended configuration space, even an empty one. QEMU's ports rely on
/// it: from 11.1 on they read Link Status 2 (PCI Express Base 2.0 7.8.20) of whatever is behind them,
/// which lies beyond 256 bytes where the capability is near their end.
pub const CONFIG_SIZE: u64 = 4096;

/// Makes a type a [`PciDevice`](airlane_transport::PciDevice) by the device in one of its fields. `messages_read` is what
/// it does besides when a batch of messages has been read.
#[macro_export]
macro_rules! pci_device {
    ($port:ty, $device:tt, messages_read: $messages_read:expr) => {
        impl ::airlane_transport::PciDevice for $port {
            fn messages_read(&mut self) {
                let noted: fn(&mut Self) = $messages_read;
                noted(self);
            }

            fn config_read(&mut self, offset: u64, data: &mut [u8]) {
                self.$device.config_read(offset, data);
            }

            fn config_write(&mut self, offset: u64, data: &[u8]) {
                self.$device.config_write(offset, data);
            }

            fn config_size(&self) -> u64 {
                $crate::CONFIG_SIZE
            }

            fn bar_size(&self, bar: u8) -> u64 {
                if bar == 0 { $crate::BAR_SIZE } else { 0 }
            }

            fn bar_read(&mut self, _bar: u8, offset: u64, data: &mut [u8]) {
                self.$device.bar_read(offset, data);
            }

            fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
                self.$device.bar_write(offset, data);
            }

            fn memory(&mut self) -> &mut ::airlane_dma::Memory {
                self.$device.memory()
            }

            fn reset(&mut self) {
                self.$device.reset();
            }

            fn take_interrupt(&mut self) -> Option<u16> {
                self.$device.take_msi().then_some(0)
            }

            fn intx_level(&self) -> bool {
                self.$device.intx_level()
            }
        }
    };
}

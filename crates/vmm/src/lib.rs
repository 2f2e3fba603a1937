//! Transports: vfio-user for cards, vhost-user for hwsim radios.

"""Attribution: a trajectory and a manifest in, resource events and exposure out. Pure."""

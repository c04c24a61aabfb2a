"""Attribution: maps a trajectory and a manifest to resource events and exposure. Pure."""

"""The layouts: one file each, each emits a Plan."""

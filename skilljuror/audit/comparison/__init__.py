"""Match and compare the units of two bundles."""

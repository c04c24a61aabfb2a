"""What several tests share: builders of input, scripted parts, recomputations."""

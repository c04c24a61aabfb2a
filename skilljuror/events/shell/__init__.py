"""Parse shell text into simple commands: expansion, wrappers, printed text."""

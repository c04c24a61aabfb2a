"""Shell text as simple commands: parsing, expansion, wrappers, printed text."""

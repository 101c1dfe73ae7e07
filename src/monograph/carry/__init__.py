"""Export of a file to plain files, and import of other stores as documents."""

"""Functions that read and write the rows of a .mono file. Nearly all SQL of Monograph is in this package."""
